"""Figures as SVG, drawn to stand on a light or a dark page."""

from collections.abc import Mapping, Sequence
from io import StringIO
from typing import Any
from xml.etree import ElementTree

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from weft.arrays import Floats, Int64s

COLOURS = ("#2f6fb0", "#d1662b", "#3c8d5a", "#8a5fb0", "#b08d1e", "#c0508a", "#2a9d9d", "#8a6d5a")
INK = "#7d7d7d"  # readable on white and on black
SVG = "http://www.w3.org/2000/svg"
ElementTree.register_namespace("", SVG)
ElementTree.register_namespace("xlink", "http://www.w3.org/1999/xlink")

Tips = list[tuple[Line2D, list[str]]]  # a line, and a text for every mark on it

STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "weft",  # the same figure is the same file
    "font.family": "sans-serif",
    "font.size": 10,
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": INK,
    "grid.alpha": 0.25,
    "legend.frameon": False,
}


def ccdf(series: Mapping[str, Int64s], xlabel: str) -> str:
    """The share that has at least as many, for every count, on logarithmic axes."""
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(6, 3.6), layout="constrained")
        axes = figure.add_subplot()
        for colour, (label, counts) in zip(COLOURS, series.items(), strict=False):
            axes.loglog(*shares_with_at_least(counts), ".-", ms=4, lw=1, color=colour, label=label)
        axes.set(xlabel=xlabel, ylabel="share with at least as many")
        axes.grid(True)
        axes.legend()
        return svg(figure)


def shares_with_at_least(counts: Int64s) -> tuple[Int64s, Floats]:
    """The counts above zero that there are, and for each the share of them that is no smaller."""
    positive = np.sort(counts[counts > 0])
    values, first = np.unique(positive, return_index=True)
    return values, 1 - first / max(len(positive), 1)


def svg(figure: Figure, tips: Mapping[str, tuple[Line2D, Sequence[str]]] | None = None) -> str:
    """The figure as SVG; tips stand by a name that is unique on the page."""
    named = dict(tips or {})
    for name, (line, _) in named.items():
        line.set_gid(name)
    buffer = StringIO()
    figure.savefig(
        buffer, format="svg", transparent=True, metadata=dict.fromkeys(("Creator", "Date", "Format", "Type"))
    )
    text = buffer.getvalue()
    root = ElementTree.fromstring(text[text.index("<svg") :])
    groups = {group.get("id"): group for group in root.iter(f"{{{SVG}}}g")}
    for name, (_, texts) in named.items():
        for mark, text in zip(groups[name].iter(f"{{{SVG}}}use"), texts, strict=True):
            mark.set("data-tip", text)
    return ElementTree.tostring(root, encoding="unicode")
