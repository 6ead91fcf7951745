"""Simulations of churn as files: a row an interval, the summary, and a figure."""

import csv
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure

from weft.model.storage import new_folder, write_meta
from weft.report.figure import COLOURS, INK, STYLE, svg
from weft.sim.churn import LOSSES, Churned, Interval
from weft.sim.churn_runs import summary_of

DRAWN = {
    "lost, % of what was expected": LOSSES,
    "doubled, % of what was expected": ("doubled",),
    "late, % of what was expected": ("late",),
    "messages to relays a delivery": ("relays",),
}


def write_churned(done: Sequence[Churned], folder: Path, meta: dict[str, Any], *, force: bool = False) -> None:
    """Write churn.csv (a row an interval of each run), summary.json, figure.svg."""
    with new_folder(folder, force=force) as partial:
        write_meta(partial, {**meta, "router": done[0].router, "runs": len(done)})
        with (partial / "churn.csv").open("w", newline="") as file:
            rows = csv.DictWriter(file, ["run", *asdict(done[0].intervals[0])])
            rows.writeheader()
            for number, churned in enumerate(done):
                rows.writerows({"run": number, **asdict(each)} for each in churned.intervals)
        (partial / "summary.json").write_text(json.dumps(summary_of(done), indent=2) + "\n")
        with matplotlib.rc_context(STYLE):
            (partial / "figure.svg").write_text(svg(_draw(done)))


def _draw(done: Sequence[Churned]) -> Figure:
    """A panel a figure over the hours, a step an interval, a line a run."""
    picture = Figure(figsize=(3.1 * len(DRAWN), 2.6), layout="constrained")
    for axes, (title, figures) in zip(picture.subplots(1, len(DRAWN)).flatten(), DRAWN.items(), strict=True):
        for number, churned in enumerate(done):
            hours = [*(each.begins for each in churned.intervals), churned.hours]
            shown = [_share(each, figures) for each in churned.intervals]
            axes.stairs(shown, hours, color=COLOURS[number % len(COLOURS)], baseline=None, lw=1.2)
        axes.set_title(title, color=INK, fontsize="medium")
        axes.set_xlabel("hours")
        axes.set_ylim(bottom=0)
        axes.grid(True)
    return picture


def _share(interval: Interval, figures: Sequence[str]) -> float:
    counted = float(sum(getattr(interval, name) for name in figures))
    if figures == ("relays",):
        return counted / max(interval.delivered, 1)
    return 100 * counted / max(interval.expected, 1)
