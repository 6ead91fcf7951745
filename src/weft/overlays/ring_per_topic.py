"""RingPT, a ring per topic: the subscribers of every topic in a circle, in random order (DC paper, VIII-D).

What per-topic overlays cost that do not look at other topics: degrees of almost twice the number of subscriptions.
"""

import numpy as np

from weft.model.instance import Instance
from weft.model.overlay import Overlay, overlay_from_links


def ring_per_topic(instance: Instance, *, seed: int) -> Overlay:
    subscribers = instance.subscribers
    shuffle = np.random.default_rng(seed).random(len(subscribers))
    nodes = subscribers.indices[np.lexsort((shuffle, subscribers.row_of_each()))]
    following = np.arange(1, len(nodes) + 1)
    ends = subscribers.indptr[1:][subscribers.counts > 0]
    following[ends - 1] = subscribers.indptr[:-1][subscribers.counts > 0]
    pairs = np.sort(np.stack([nodes, nodes[following]], axis=1), axis=1)
    links = np.unique(pairs[pairs[:, 0] != pairs[:, 1]], axis=0)
    return overlay_from_links(instance.nodes, links[:, 0], links[:, 1])
