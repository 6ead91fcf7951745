"""A bound on the diameter of topics: links on top of a topic-connected overlay, as few as the greedy finds.

GM makes long chains: it takes whatever link joins the most parts, wherever these are. The DC paper asks for low
diameters, and quotes overlays in which no two subscribers of a topic are more than three hops apart. Topics that are
too long get links to their middle (`kernels/greedy/shorten.py`), the largest topics first, so that small ones find many
of theirs there already.
"""

import numpy as np

from weft.arrays import Int32s
from weft.errors import WeftError
from weft.kernels.greedy.shorten import END, shorten
from weft.model.instance import LIMIT, Instance
from weft.model.overlay import Overlay, neighbours_of, overlay_from_links
from weft.overlays.quality import topic_diameters, topic_subgraph

LEAST = 2  # hops: with one, all subscribers of a topic would be linked with each other


def require_diameter(diameter: int | None) -> None:
    if diameter is not None and diameter < LEAST:
        raise WeftError(f"`diameter` {diameter} is out of range: give a number of hops from {LEAST}.", "diameter")


def within_diameter(instance: Instance, overlay: Overlay, diameter: int | None) -> Overlay:
    """The overlay with links added until no two subscribers in a part of a topic are farther apart."""
    require_diameter(diameter)
    if diameter is None:
        return overlay
    subscribers = instance.subscribers
    longest = topic_diameters(instance, topic_subgraph(instance, overlay))
    topics = np.flatnonzero(longest > diameter)
    topics = topics[np.argsort(-subscribers.counts[topics], kind="stable")]
    most = int(subscribers.counts[topics].sum())
    sources, targets = np.empty(most, np.int32), np.empty(most, np.int32)
    count = shorten(
        topics,
        subscribers.indptr,
        subscribers.indices,
        *_linked_lists(overlay, most),
        diameter // 2,
        diameter % 2 == 1,
        sources,
        targets,
    )
    ends = np.concatenate([overlay.sources, sources[:count]]), np.concatenate([overlay.targets, targets[:count]])
    figures = {**overlay.meta, "links_for_diameter": count}
    return overlay_from_links(instance.nodes, *ends, **figures)


def _linked_lists(overlay: Overlay, more: int) -> tuple[Int32s, Int32s, Int32s, int]:
    """The neighbours of every node as lists, with room for so many more links."""
    neighbours = neighbours_of(overlay)
    entries = len(neighbours)
    if entries + 2 * more > LIMIT:
        raise WeftError(f"{entries + 2 * more} links are too many for a bound on diameters: at most {LIMIT}.")
    to, next_entry = np.empty(entries + 2 * more, np.int32), np.empty(entries + 2 * more, np.int32)
    to[:entries] = neighbours.indices
    next_entry[:entries] = np.arange(1, entries + 1)
    last = neighbours.indptr[1:][neighbours.counts > 0] - 1
    next_entry[last] = END
    head = np.where(neighbours.counts > 0, neighbours.indptr[:-1], END).astype(np.int32)
    return head, next_entry, to, entries
