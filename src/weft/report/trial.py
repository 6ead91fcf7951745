"""Trials as a table, a figure and files: the mean of every figure with its confidence interval."""

import csv
import json
import math
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from weft.model.storage import new_folder, write_meta
from weft.report.figure import COLOURS, INK, STYLE, svg
from weft.sim.trial import Mean, System, Trials

HEADINGS = {
    "links": "links",
    "connections": "most connections of a broker",
    "messages_a_delivery": "messages a delivery",
    "average_path": "hops to a subscriber",
    "busiest_sends": "messages of the busiest broker",
}
SHORT = {  # headings on a terminal
    "messages_a_delivery": "messages/delivery",
    "relays_a_delivery": "relays",
    "controls_a_delivery": "controls",
    "missed": "missed",
    "average_path": "hops",
    "maximum_path": "longest",
    "milliseconds": "ms",
    "bytes_a_delivery": "bytes",
    "busiest_sends": "busiest sends",
    "connections": "connections",
    "links": "links",
    "tco_support_ratio": "TcoSuppR",
    "known_peers": "peers",
    "known_entries": "entries",
}
WHERE_ANY = ("controls_a_delivery", "missed")  # shown where a system has any
DRAWN = tuple(HEADINGS)
TICKS = 4  # of an axis, at most
COUNTS = ("busiest_sends", "connections", "links")
DECADE = 10  # from the least to the most of counts, beyond which their axis is logarithmic


def write_trials(
    trials: Trials, folder: Path, meta: dict[str, Any], *, baseline: str | None = None, force: bool = False
) -> None:
    """Write trials.csv (a row a trial), summary.csv and summary.json (a row a system), figure.svg.

    With a baseline, as in `random+scribe`, the summaries have the ratios of all figures to that system's.
    """
    with new_folder(folder, force=force) as partial:
        write_meta(partial, meta)
        trials.to_pandas().to_csv(partial / "trials.csv", index=False)
        (partial / "summary.json").write_text(json.dumps(trials.summary(baseline), indent=2) + "\n")
        with (partial / "summary.csv").open("w", newline="") as file:
            csv.writer(file).writerows(_summary_rows(trials, baseline))
        with matplotlib.rc_context(STYLE):
            (partial / "figure.svg").write_text(svg(draw_trials(trials)))


def _summary_rows(trials: Trials, baseline: str | None) -> Iterator[list[object]]:
    other = None if baseline is None else trials.system_called(baseline)
    yield ["overlay", "router", "figure", "mean", "low", "high", *([] if other is None else ["ratio"])]
    for system, figure in product(trials.systems, trials.known_figures):
        mean = trials.mean(system, figure)
        ratio = None if other is None else trials.ratio(system, other, figure)
        shown = [] if other is None else ["" if ratio is None else ratio.value]
        yield [*system, figure, mean.value, mean.low, mean.high, *shown]


def lines(trials: Trials) -> list[list[str]]:
    """Cells of a table that fits a terminal, the heading first."""
    figures = shown_figures(trials)
    rows = ([name(system), *(cell(trials.mean(system, figure)) for figure in figures)] for system in trials.systems)
    return [["", *(SHORT[figure] for figure in figures)], *rows]


def ratio_lines(trials: Trials, baseline: str) -> list[list[str]]:
    """Cells of a table of the ratios to a baseline."""
    figures, other = shown_figures(trials), trials.system_called(baseline)
    rows = ([name(system), *(_ratio(trials, system, other, figure) for figure in figures)] for system in trials.systems)
    return [[f"/ {name(other)}", *(SHORT[figure] for figure in figures)], *rows]


def _ratio(trials: Trials, system: System, baseline: System, figure: str) -> str:
    ratio = trials.ratio(system, baseline, figure)
    return "-" if ratio is None else cell(ratio, digits=3)


def shown_figures(trials: Trials) -> list[str]:
    """The figures that are worth a column: those that are known, and of some only where there are any."""
    known = [figure for figure in SHORT if figure in trials.known_figures]
    return [figure for figure in known if figure not in WHERE_ANY or any(getattr(row, figure) for row in trials.rows)]


def cell(mean: Mean, digits: int = 2) -> str:
    """The mean and its margin, to the first digit of the margin; so many digits where there is none."""
    if math.isnan(mean.value):
        return "-"
    if not mean.margin:
        return f"{mean.value:,.{0 if mean.value == round(mean.value) else digits}f}"
    digits = max(0, -math.floor(math.log10(mean.margin)))
    return f"{mean.value:,.{digits}f} ± {mean.margin:,.{digits}f}"


def draw_trials(trials: Trials) -> Figure:
    """A panel a figure, a row a system; bars are 95 % confidence intervals."""
    height = 1.1 + 0.3 * len(trials.systems)
    picture = Figure(figsize=(3.1 * len(DRAWN), height), layout="constrained")
    places = picture.subplots(1, len(DRAWN), sharey=True, squeeze=False).flatten()
    for axes, figure in zip(places, DRAWN, strict=True):
        _draw(axes, trials, figure)
    places[0].set_yticks(range(len(trials.systems)), list(map(name, trials.systems)))
    places[0].set_ylim(len(trials.systems) - 0.5, -0.5)
    return picture


def name(system: System) -> str:
    return f"{system[1]} on {system[0]}"


def _draw(axes: Axes, trials: Trials, figure: str) -> None:
    overlays = list(dict.fromkeys(overlay for overlay, _ in trials.systems))
    for row, system in enumerate(trials.systems):
        mean = trials.mean(system, figure)
        colour = COLOURS[overlays.index(system[0]) % len(COLOURS)]
        axes.errorbar(mean.value, row, xerr=mean.margin or 0, fmt="o", ms=5, capsize=3, lw=1.2, color=colour)
    axes.set_title(HEADINGS[figure], color=INK, fontsize="medium")
    axes.grid(True)
    means = [trials.mean(system, figure) for system in trials.systems]
    low, high = min(mean.value for mean in means), max(mean.high for mean in means)
    if figure in COUNTS and 0 < low <= high / DECADE:
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(FixedLocator(_ticks(low, high)))
        axes.xaxis.set_minor_locator(NullLocator())
    else:
        axes.set_xlim(0, 1.08 * high)
        axes.xaxis.set_major_locator(MaxNLocator(TICKS, integer=figure in COUNTS))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))


def _ticks(low: float, high: float) -> list[float]:
    """A few round numbers of a logarithmic axis: as dense as there is room for."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for leading in ((1, 2, 5), (1, 3), (1,)):
        shown = [first * 10.0**power for power in powers for first in leading if low <= first * 10.0**power <= high]
        if len(shown) <= TICKS:
            return shown
    return shown[:: math.ceil(len(shown) / TICKS)]
