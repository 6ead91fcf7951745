"""A run of Vitis as files: its figures, those of every round and every node, and the rounds as a picture."""

import json
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from weft.model.storage import new_folder, write_meta
from weft.report.figure import COLOURS, INK, STYLE, svg
from weft.sim.vitis_run import VitisRounds, VitisRun

PANELS = {
    "nodes": "brokers that are there",
    "hit_ratio": "hit ratio",
    "delivery_time": "ms until the content is there",
    "relays_per_delivery": "relays a delivery",
    "upkeep_messages": "gossip: messages of a broker",
}


def write_vitis(run: VitisRun, folder: Path, meta: dict[str, Any], *, force: bool = False) -> None:
    """Write summary.json, rounds.csv, nodes.csv and figure.svg."""
    with new_folder(folder, force=force) as partial:
        write_meta(partial, meta)
        (partial / "summary.json").write_text(json.dumps(run.figures, indent=2) + "\n")
        run.rounds.to_pandas().to_csv(partial / "rounds.csv", index=False)
        run.nodes.to_pandas().to_csv(partial / "nodes.csv", index=False)
        with matplotlib.rc_context(STYLE):
            (partial / "figure.svg").write_text(svg(_draw_rounds(run.rounds)))


def _draw_rounds(rounds: VitisRounds) -> Figure:
    """A panel a figure over time; seconds in which something changed are shaded until the network has settled."""
    frame = rounds.to_pandas()
    picture = Figure(figsize=(7.2, 1.25 * len(PANELS)), layout="constrained")
    places = picture.subplots(len(PANELS), 1, sharex=True, squeeze=False).flatten()
    times = frame["time"].to_numpy()
    for axes, colour, (column, title) in zip(places, COLOURS, PANELS.items(), strict=False):
        values = frame[column].to_numpy(np.float64)
        if column not in ("nodes", "upkeep_messages"):
            values = np.where(frame["expected_deliveries"] > 0, values, np.nan)  # nothing was to be delivered
        axes.fill_between(
            times, 0, 1, where=~frame["settled"], transform=axes.get_xaxis_transform(), color=INK, alpha=0.15
        )
        axes.plot(times, values, lw=1.2, marker="." if len(times) < 60 else None, color=colour)
        axes.set_title(title, color=INK, fontsize="medium", loc="left")
        axes.grid(True)
        axes.margins(y=0.15)
        if column == "relays_per_delivery":
            axes.set_ylim(bottom=0)
    places[-1].set_xlabel("seconds; shaded: not settled since the last change")
    return picture
