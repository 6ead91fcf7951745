"""Proof of topic-connectivity, topic by topic: every topic's subscribers, with the links among them, are one component.

Only numpy and scipy work here, none of the kernels that overlays are built and measured with.
"""

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from weft.arrays import Int64s
from weft.errors import WeftError
from weft.model.instance import Instance
from weft.model.overlay import Overlay


def topic_violations(instance: Instance, overlay: Overlay) -> list[str]:
    """A sentence for every topic that is not connected; none for a topic-connected overlay."""
    if overlay.nodes != instance.nodes:
        raise WeftError(f"The overlay has {overlay.nodes} nodes and the instance {instance.nodes}: they do not match.")
    nodes, topics = instance.interest.row_of_each(), instance.interest.indices
    component = _component_of_each(instance, overlay)
    order = np.lexsort((component, topics))
    topic_changes, component_changes = np.diff(topics[order]) != 0, np.diff(component[order]) != 0
    breaks = np.flatnonzero(component_changes & ~topic_changes)
    broken, first = np.unique(topics[order][breaks], return_index=True)
    parts = 1 + np.bincount(np.searchsorted(broken, topics[order][breaks]), minlength=len(broken))
    apart = zip(nodes[order[breaks[first]]], nodes[order[breaks[first] + 1]], strict=True)
    return [
        f"Topic {topic} is in {count} parts: no path joins its subscribers {one} and {other}."
        for topic, count, (one, other) in zip(broken, parts, apart, strict=True)
    ]


def _component_of_each(instance: Instance, overlay: Overlay) -> Int64s:
    """The component of every subscription, in the order of `instance.interest`.

    A link connects, for each topic that both its ends subscribe to, the two subscriptions.
    """
    interest = instance.interest
    keys = interest.row_of_each() * np.int64(instance.topics) + interest.indices  # ascending
    matrix = interest.matrix()
    link, topic = (matrix[overlay.sources] * matrix[overlay.targets]).nonzero()
    ends = [
        np.searchsorted(keys, nodes[link] * np.int64(instance.topics) + topic)
        for nodes in (overlay.sources, overlay.targets)
    ]
    graph = sparse.coo_array((np.ones(len(link), np.int8), ends), shape=(len(keys), len(keys)))
    _, component = csgraph.connected_components(graph, directed=False)
    return component.astype(np.int64)
