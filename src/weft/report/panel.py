"""The figure of an experiment, a panel for each of the paper's.

What the paper states is drawn hollow, or dotted where it is a mean over the axis. What a failed run leaves out is left
out.
"""

import math

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from weft.experiments.claim import Claim, claims_of
from weft.experiments.experiment import MEAN, Experiment, Panel
from weft.experiments.results import Figures, Results
from weft.report.figure import COLOURS, INK, STYLE, svg

MARKERS = "osD^vPX*"
DOTTED = (0, (1, 3))


def draw_panels(results: Results, figures: Figures) -> str:
    experiment = results.experiment
    draw = _draw_names if results.points[0].x is None else _draw_lines
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(4.2 * len(experiment.panels), _height(results)), layout="constrained")
        parts = figure.subplots(1, len(experiment.panels), squeeze=False)[0]
        for axes, panel in zip(parts, experiment.panels, strict=True):
            draw(axes, results, panel, figures)
            axes.set_title(panel.title, color=INK, fontsize="medium")
            axes.grid(True)
        return svg(figure)


def _height(results: Results) -> float:
    """Names stand in rows, lines in a panel of fixed height."""
    named = results.points[0].x is None
    return 1.8 + 0.3 * len(results.experiment.panels[0].systems) if named else 4.2


def _draw_lines(axes: Axes, results: Results, panel: Panel, figures: Figures) -> None:
    x_of = {point.label: point.x for point in results.points if point.x is not None}
    for colour, marker, system in zip(COLOURS, MARKERS, panel.systems, strict=False):
        ours = {x: figures.get((panel.metric, system, label), math.nan) for label, x in x_of.items()}
        axes.plot(list(ours), list(ours.values()), marker=marker, ms=4, lw=1.2, color=colour, label=system)
        for claim in _stated(results.experiment, panel, system):
            if claim.at == MEAN:
                axes.axhline(claim.low, ls=DOTTED, lw=1, color=colour)
            elif claim.at in x_of:
                axes.plot([x_of[claim.at]], [claim.low], marker, ms=9, mfc="none", color=colour)
    axes.set_xlabel(results.experiment.axis)
    if panel.logarithmic:
        axes.set_yscale("log")
    else:
        axes.set_ylim(0, 1.08 * axes.dataLim.y1)
    _explain(axes, results, panel)


def _draw_names(axes: Axes, results: Results, panel: Panel, figures: Figures) -> None:
    rows = list(range(len(panel.systems)))
    for colour, marker, point in zip(COLOURS, MARKERS, results.points, strict=False):
        ours = [figures.get((panel.metric, system, point.label), math.nan) for system in panel.systems]
        axes.plot(ours, rows, marker, ms=5, color=colour, label=point.label)
        for row, system in enumerate(panel.systems):
            paper = [claim.low for claim in _stated(results.experiment, panel, system) if claim.at == point.label]
            axes.plot(paper, [row] * len(paper), marker, ms=9, mfc="none", color=colour)
    axes.set_yticks(rows, panel.systems)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.axvline(1, lw=1, color=INK)
    _explain(axes, results, panel)


def _explain(axes: Axes, results: Results, panel: Panel) -> None:
    """The legend, under the panel, where it hides nothing."""
    stated = [claim for system in panel.systems for claim in _stated(results.experiment, panel, system)]
    if any(claim.at != MEAN for claim in stated):
        axes.plot([], [], "o", ms=9, mfc="none", color=INK, label="paper")
    if any(claim.at == MEAN for claim in stated):
        axes.plot([], [], ls=DOTTED, lw=1, color=INK, label="paper, mean")
    axes.legend(fontsize="small", loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2)


def _stated(experiment: Experiment, panel: Panel, system: str) -> list[Claim]:
    """The numbers that the paper gives of the system in this panel."""
    claims = claims_of(experiment)
    return [c for c in claims if c.metric == panel.metric and c.systems == (system,) and c.value is not None]
