"""The picture of docs/weave.md: one topic on a small overlay, by Scribe, Pie and Weave.

python benchmarks/weave_picture.py docs/figures/weave.svg
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import weft
from weft.model.instance import Instance
from weft.model.overlay import Overlay
from weft.sim.bulk import trace
from weft.sim.network import network_for

NODES = 40


def main() -> None:
    instance = weft.generate("social", nodes=NODES, seed=4)
    links, random = weft.design(instance, "swico-sl", seed=1), weft.design(instance, "random", seed=1)
    topic = int(np.argsort(instance.subscribers.counts)[-4])
    figure = Figure(figsize=(12, 4.4))
    axes = figure.subplots(1, 3)
    draw(axes[0], instance, random, "scribe", topic, "Scribe on random fingers")
    draw(axes[1], instance, links, "pie", topic, "Pie on swico-sl")
    draw(axes[2], instance, links, "weave", topic, "Weave on swico-sl")
    figure.tight_layout()
    with rc_context({"svg.hashsalt": "weft", "svg.fonttype": "none"}):
        figure.savefig(Path(sys.argv[1]), bbox_inches="tight", metadata={"Date": None})


def draw(axis: Axes, instance: Instance, overlay: Overlay, router: str, topic: int, title: str) -> None:
    """All nodes on the ring, and an arrow for every message of one publication."""
    angles = 2 * np.pi * overlay.ring_ids / NODES
    places = np.column_stack([np.sin(angles), np.cos(angles)])
    subscribers = instance.subscribers[topic]
    issuer = int(subscribers[0])
    found = trace(network_for(router, instance, overlay), router, topic, issuer)
    for source, target in zip(overlay.sources.tolist(), overlay.targets.tolist(), strict=True):
        axis.plot(*places[[source, target]].T, color="0.93", linewidth=0.6, zorder=0)
    for source, target in zip(found.sources.tolist(), found.targets.tolist(), strict=True):
        arrow = {"arrowstyle": "-|>", "color": "#2b6cb0", "shrinkA": 4, "shrinkB": 4, "linewidth": 1.1}
        axis.annotate("", xy=places[target], xytext=places[source], arrowprops=arrow, zorder=2)
    relays = np.setdiff1d(np.union1d(found.sources, found.targets), subscribers)
    axis.scatter(*places.T, s=14, color="0.75", zorder=3)
    axis.scatter(*places[subscribers].T, s=46, color="#2f855a", zorder=4, label="subscriber")
    axis.scatter(*places[relays].T, s=46, color="#dd6b20", zorder=4, label="relay")
    axis.scatter(*places[[issuer]].T, s=110, facecolors="none", edgecolors="black", zorder=5, label="issuer")
    hops = found.hops[found.delivered == 1].mean()
    about = f"{len(found.sources)} messages, {len(relays)} relays, {hops:.1f} hops on average"
    axis.set_title(f"{title}\n{about}", fontsize=10)
    axis.set_axis_off()
    axis.set_aspect("equal")
    axis.legend(loc="lower center", bbox_to_anchor=(0.5, -0.1), ncol=3, fontsize=8, frameon=False)


if __name__ == "__main__":
    main()
