"""Fingers from an arc to others: what arcs leave in parts is joined, by the same greedy.

kernels/arcs/elder.py says which components an arc joins, and to whom. Each arc opens the fingers of its own nodes only,
so that two arcs never want the same phase; they may want the same place at a node, and then the larger contribution has
it (swico.py).
"""

from typing import NamedTuple

import numpy as np

from weft.arrays import Int32s, Int64s, distinct
from weft.kernels.arcs.component import find_components
from weft.kernels.arcs.elder import ELDER, FINISHED, FROM_MAIN, connected_keys, find_keys, representatives
from weft.kernels.greedy.constraint import fingers
from weft.model.csr import Csr
from weft.overlays.arcs.arc import all_phases, empty_bits, finger_columns
from weft.overlays.arcs.workshop import Arrays, Columns
from weft.overlays.lazy_greedy import added_links

STREAMS = 1_000_003  # a seed's streams, one an arc: more than there are arcs


class Subscriptions(NamedTuple):
    node: Int64s | Int32s
    topic: Int32s
    key: Int32s  # of the component, or ELDER


def components(arrays: Arrays, first: int, last: int) -> Columns:
    """Components of a range of topics."""
    start, table = arrays["topic_start"], arrays["table"]
    label = np.empty(start[last] - start[first], np.int32)
    parts, main = np.zeros(last - first, np.int32), np.zeros(last - first, np.int32)
    find_components(first, last, start, arrays["topic_node"], table, label, parts, main)
    return {"label": label, "parts": parts, "main": main}


def across(arrays: Arrays, low: int, high: int, *, seed: int, way: int, worth: int, arc: int) -> Columns:
    """Fingers from the nodes of an arc that join components."""
    indptr, lists = arrays["node_start"], (arrays["topic_start"], arrays["topic_node"])
    label, parts, main = (arrays[name] for name in ("label", "parts", "main"))
    keys = find_keys(low, high, indptr, arrays["node_topic"], *lists, label, parts, main, way)
    topics = arrays["node_topic"][indptr[low] : indptr[high]]
    wanted = distinct(topics[keys == ELDER] if way == FROM_MAIN else topics[keys >= 0])
    known = np.isin(topics, wanted) & (keys != FINISHED)
    nodes = np.repeat(np.arange(low, high), np.diff(indptr[low : high + 1]))
    own = Subscriptions(nodes[known], topics[known], keys[known])
    seeds, places = (seed, seed * STREAMS + low), arrays["places"]
    others = Subscriptions(*representatives(low, high, wanted, *lists, label, main, places, way, *seeds, arc))
    return _joined(arrays, low, high, wanted, own, others, np.random.default_rng([seed, low]), worth)


def _joined(
    arrays: Arrays,
    low: int,
    high: int,
    topics: Int32s,
    own: Subscriptions,
    others: Subscriptions,
    rng: np.random.Generator,
    worth: int,
) -> Columns:
    """Fingers of the arc, in a graph of its nodes and the others."""
    outside = distinct(others.node)
    node = np.concatenate([np.arange(low, high), outside])
    row = np.concatenate([own.node - low, high - low + np.searchsorted(outside, others.node)])
    topic = np.searchsorted(topics, np.concatenate([own.topic, others.topic])).astype(np.int32)
    order = np.lexsort((topic, row))
    indptr = np.searchsorted(row[order], np.arange(len(node) + 1)).astype(np.int64)
    interest, key = Csr(indptr, topic[order], len(topics)), np.concatenate([own.key, others.key])[order]
    tcc = connected_keys(indptr, interest.indices, key, np.lexsort((key, interest.indices)))
    empty = np.append(empty_bits(arrays["table"][low:high]), np.zeros(len(outside), np.int32))
    nodes = len(arrays["table"])
    constraint = fingers(empty, node.astype(np.int32), all_phases(nodes), arrays["places"][node])
    return finger_columns(added_links(interest, tcc, constraint, rng, worth), node, nodes)
