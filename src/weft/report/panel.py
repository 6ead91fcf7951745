"""The panels of an experiment, as in the paper's figure: together as one picture, or each by itself for a page.

What the paper states is drawn hollow, or dotted where it is a mean over the axis. What a failed run leaves out is left
out. Every mark carries its value, which a page shows under the pointer.
"""

import math
from itertools import cycle
from textwrap import fill

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from weft.experiments.engine.claim import Claim, claims_of
from weft.experiments.engine.experiment import MEAN, Experiment, Panel
from weft.experiments.engine.results import Figures, Results
from weft.report.figure import COLOURS, INK, STYLE, Tips, svg
from weft.report.markdown import number

MARKERS = "osD^vPX*"
DOTTED = (0, (1, 3))
COLUMNS = 4
TITLE, TITLE_OVER_NAMES = 40, 30  # letters a line


def draw_panels(results: Results, figures: Figures) -> str:
    """All panels, in rows of a few."""
    panels = results.experiment.panels
    columns = min(COLUMNS, len(panels))
    rows = math.ceil(len(panels) / columns)
    with matplotlib.rc_context(STYLE):
        picture = Figure(figsize=(4.2 * columns, rows * _height(results)), layout="constrained")
        places = picture.subplots(rows, columns, squeeze=False).flatten()
        for axes, panel in zip(places, panels, strict=False):
            _draw(axes, results, panel, figures)
        for unused in places[len(panels) :]:
            unused.remove()
        return svg(picture)


def draw_panel(results: Results, panel: Panel, figures: Figures, name: str) -> str:
    """The name sets its marks apart from those of other pictures on the same page."""
    with matplotlib.rc_context(STYLE):
        picture = Figure(figsize=(4.2, _height(results)), layout="constrained")
        tips = _draw(picture.add_subplot(), results, panel, figures)
        return svg(picture, {f"{name}-{mark}": (line, texts) for mark, (line, texts) in enumerate(tips)})


def _height(results: Results) -> float:
    """Height of a panel: names stand in rows, lines in a panel of fixed height."""
    named = results.points[0].x is None
    return 1.8 + 0.3 * max(len(panel.systems) for panel in results.experiment.panels) if named else 4.2


def _draw(axes: Axes, results: Results, panel: Panel, figures: Figures) -> Tips:
    draw = _draw_names if results.points[0].x is None else _draw_lines
    tips = draw(axes, results, panel, figures)
    width = TITLE_OVER_NAMES if results.points[0].x is None else TITLE
    axes.set_title(fill(panel.title, width), color=INK, fontsize="medium")
    axes.grid(True)
    _explain(axes, results, panel)
    return tips


def _draw_lines(axes: Axes, results: Results, panel: Panel, figures: Figures) -> Tips:
    tips: Tips = []
    x_of: dict[str, float] = {point.label: point.x for point in results.points if point.x is not None}
    looks = _looks(results.experiment, panel)
    for system in panel.systems:
        colour, marker = looks[system]
        ours = [figures.get((panel.metric, system, label), math.nan) for label in x_of]
        if all(map(math.isnan, ours)):
            continue
        (line,) = axes.plot(list(x_of.values()), ours, marker=marker, ms=4, lw=1.2, color=colour, label=system)
        tips.append((line, [_tip(system, at, y) for at, y in zip(x_of, ours, strict=True) if math.isfinite(y)]))
        for claim in _stated(results.experiment, panel, system):
            if claim.at == MEAN:
                axes.axhline(claim.low, ls=DOTTED, lw=1, color=colour)
            elif claim.at in x_of:
                tips.append(_hollow(axes, x_of[claim.at], claim.low, marker, colour, claim))
    axes.set_xlabel(results.experiment.axis)
    if results.experiment.logarithmic_axis:
        axes.set_xscale("log")
    else:
        axes.locator_params(axis="x", nbins=6)
    if panel.logarithmic:
        axes.set_yscale("log")
    else:
        axes.set_ylim(0, 1.08 * axes.dataLim.y1)
    return tips


def _draw_names(axes: Axes, results: Results, panel: Panel, figures: Figures) -> Tips:
    tips: Tips = []
    rows = list(range(len(panel.systems)))
    for colour, marker, point in zip(COLOURS, MARKERS, results.points, strict=False):
        ours = [figures.get((panel.metric, system, point.label), math.nan) for system in panel.systems]
        (line,) = axes.plot(ours, rows, marker, ms=5, color=colour, label=point.label)
        known = zip(panel.systems, ours, strict=True)
        tips.append((line, [_tip(system, point.label, x) for system, x in known if math.isfinite(x)]))
        for row, system in enumerate(panel.systems):
            for claim in _stated(results.experiment, panel, system):
                if claim.at == point.label:
                    tips.append(_hollow(axes, claim.low, row, marker, colour, claim))
    axes.set_yticks(rows, panel.systems)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    if results.experiment.metrics[panel.metric].relative:
        axes.axvline(1, lw=1, color=INK)
    if panel.logarithmic:
        axes.set_xscale("log")
    return tips


def _looks(experiment: Experiment, panel: Panel) -> dict[str, tuple[str, str]]:
    """The colour and the marker of each system: the same in all panels, unless there are too many systems for that."""
    systems = experiment.systems if len(experiment.systems) <= len(COLOURS) else panel.systems
    return dict(zip(systems, zip(cycle(COLOURS), cycle(MARKERS), strict=False), strict=False))


def _hollow(axes: Axes, x: float, y: float, marker: str, colour: str, claim: Claim) -> tuple[Line2D, list[str]]:
    (line,) = axes.plot([x], [y], marker, ms=9, mfc="none", color=colour)
    return line, [_tip(f"{claim.systems[0]}, paper", claim.at, claim.low)]


def _tip(system: str, at: str, value: float) -> str:
    return f"{system}, {at}: {number(value)}"


def _explain(axes: Axes, results: Results, panel: Panel) -> None:
    """The legend, under the panel, where it hides nothing."""
    stated = [claim for system in panel.systems for claim in _stated(results.experiment, panel, system)]
    labels = {point.label for point in results.points}
    if any(claim.at in labels for claim in stated):
        axes.plot([], [], "o", ms=9, mfc="none", color=INK, label="paper")
    if any(claim.at == MEAN for claim in stated):
        axes.plot([], [], ls=DOTTED, lw=1, color=INK, label="paper, mean")
    axes.legend(fontsize="small", loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2)


def _stated(experiment: Experiment, panel: Panel, system: str) -> list[Claim]:
    """The numbers that the paper gives of the system in this panel."""
    claims = claims_of(experiment)
    return [c for c in claims if c.metric == panel.metric and c.systems == (system,) and c.value is not None]
