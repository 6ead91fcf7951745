"""How a number is spread over brokers or deliveries, for two systems in one picture."""

from collections.abc import Mapping

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from weft.arrays import Floats, Int64s
from weft.report.figure import COLOURS, STYLE, svg

BINS = 30
MANY = 60  # different values: more of them are put together


def spread(series: Mapping[str, Int64s], xlabel: str, ylabel: str, *, logarithmic: bool = False) -> str:
    """The share that has each value, or one of a range of values; on a logarithmic axis what has none is left out."""
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(5, 3.4), layout="constrained")
        axes = figure.add_subplot()
        bounds = _bounds(np.concatenate(list(series.values())), logarithmic)
        for colour, (label, values) in zip(COLOURS, series.items(), strict=False):
            _draw(axes, values, bounds, colour, label)
        axes.set(xlabel=xlabel, ylabel=ylabel)
        if logarithmic:
            axes.set_xscale("log")
        else:
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_ylim(bottom=0)
        axes.yaxis.set_major_formatter(lambda share, _: f"{100 * share:.3g} %")
        axes.grid(True)
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, 1.22), ncols=1, fontsize="small")
        return svg(figure)


def _draw(axes: Axes, values: Int64s, bounds: Floats, colour: str, label: str) -> None:
    counts = np.histogram(values, bounds)[0] / max(len(values), 1)
    axes.stairs(counts, bounds, color=colour, lw=1.6, label=label)
    axes.stairs(counts, bounds, color=colour, fill=True, alpha=0.18)


def _bounds(values: Int64s, logarithmic: bool) -> Floats:
    high = max(int(values.max(initial=0)), 1)
    if logarithmic:
        return np.unique(np.round(np.geomspace(1, high + 1, BINS))).astype(np.float64)
    low = int(values.min(initial=high))
    step = max(1, -(-(high - low + 1) // MANY))
    return np.arange(low - 0.5, high + 0.5 + step, step)
