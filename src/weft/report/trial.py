"""Trials as a table, a figure and files: the mean of every figure with its confidence interval."""

import csv
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from weft.model.storage import new_folder, write_meta
from weft.report.figure import COLOURS, INK, STYLE, svg
from weft.sim.trial import FIGURES, Mean, System, Trials

HEADINGS = {
    "links": "links",
    "connections": "most connections of a broker",
    "messages_a_delivery": "messages a delivery",
    "relays_a_delivery": "of them to relays",
    "average_path": "hops to a subscriber",
    "maximum_path": "longest",
    "busiest_sends": "messages of the busiest broker",
}
SHORT = {  # headings on a terminal
    "messages_a_delivery": "messages/delivery",
    "average_path": "hops",
    "busiest_sends": "busiest sends",
    "connections": "connections",
    "links": "links",
}
DRAWN = tuple(SHORT)
TICKS = 4  # of an axis, at most
LOGARITHMIC = ("busiest_sends", "connections", "links")


def write_trials(trials: Trials, folder: Path, meta: dict[str, Any], *, force: bool = False) -> None:
    """Write trials.csv (a row a trial), summary.csv and summary.json (a row a system), figure.svg."""
    with new_folder(folder, force=force) as partial:
        write_meta(partial, meta)
        trials.to_pandas().to_csv(partial / "trials.csv", index=False)
        (partial / "summary.json").write_text(json.dumps(trials.summary(), indent=2) + "\n")
        with (partial / "summary.csv").open("w", newline="") as file:
            csv.writer(file).writerows(_summary_rows(trials))
        with matplotlib.rc_context(STYLE):
            (partial / "figure.svg").write_text(svg(draw_trials(trials)))


def _summary_rows(trials: Trials) -> Iterator[list[object]]:
    yield ["overlay", "router", "figure", "mean", "low", "high"]
    for system in trials.systems:
        for figure in FIGURES:
            mean = trials.mean(system, figure)
            yield [*system, figure, mean.value, mean.low, mean.high]


def lines(trials: Trials) -> list[list[str]]:
    """Cells of a table that fits a terminal, the heading first."""
    rows = ([name(system), *(cell(trials.mean(system, figure)) for figure in SHORT)] for system in trials.systems)
    return [["", *SHORT.values()], *rows]


def cell(mean: Mean) -> str:
    """The mean and its margin, to the first digit of the margin."""
    if not mean.margin:
        return f"{mean.value:,.{0 if mean.value == round(mean.value) else 2}f}"
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
    high = max(mean.high for mean in means)
    if figure in LOGARITHMIC:
        axes.set_xscale("log")
        ticks = _ticks(min(mean.value for mean in means), high)
        axes.xaxis.set_major_locator(FixedLocator(ticks))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))
    else:
        axes.set_xlim(0, 1.08 * high)
        axes.xaxis.set_major_locator(MaxNLocator(TICKS))


def _ticks(low: float, high: float) -> list[float]:
    """A few numbers of two digits, as far apart as the logarithmic axis lets them be."""
    low = max(low, 1e-9)
    count = min(TICKS, 1 + int(4 * math.log10(max(high, low) / low) / 0.3))  # a tick a third of a doubling at most
    shown = np.geomspace(low, max(high, low), count) if count > 1 else [max(high, low)]
    return sorted({float(f"{value:.2g}") for value in shown})
