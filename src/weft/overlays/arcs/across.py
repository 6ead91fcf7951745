"""Fingers from an arc to others: what arcs leave in parts is joined, by the same greedy.

kernels/arcs/elder.py says which components an arc joins, and to whom. Each arc opens the fingers of its own nodes only,
so that two arcs never want the same phase; they may want the same place at a node, and then the larger contribution has
it (`accepted`).
"""

import numpy as np

from weft.kernels.arcs.component import find_components
from weft.kernels.arcs.elder import ELDER, FINISHED, FROM_MAIN, connected_keys, find_keys, representatives
from weft.kernels.greedy.constraint import fingers
from weft.model.csr import Csr
from weft.overlays.arcs.arc import all_phases, empty_bits, finger_columns
from weft.overlays.arcs.workshop import Arrays, Columns
from weft.overlays.lazy_greedy import added_links

NO_NODE = -1


def components(arrays: Arrays, first: int, last: int) -> Columns:
    """Components of a range of topics."""
    start, table = arrays["topic_start"], arrays["table"]
    label = np.empty(start[last] - start[first], np.int32)
    parts, main = np.zeros(last - first, np.int32), np.zeros(last - first, np.int32)
    find_components(first, last, start, arrays["topic_node"], table, label, parts, main)
    return {"label": label, "parts": parts, "main": main}


def across(arrays: Arrays, low: int, high: int, *, seed: int, way: int, worth: int) -> Columns:
    """Fingers that join components of an arc to elder ones."""
    nodes = len(arrays["node_start"]) - 1
    indptr, lists = arrays["node_start"], (arrays["topic_start"], arrays["topic_node"])
    label, parts, main = (arrays[name] for name in ("label", "parts", "main"))
    keys = find_keys(low, high, indptr, arrays["node_topic"], *lists, label, parts, main, way)
    topics = arrays["node_topic"][indptr[low] : indptr[high]]
    node = np.repeat(np.arange(low, high), np.diff(indptr[low : high + 1]))
    wanted = np.unique(topics[keys >= 0] if way != FROM_MAIN else topics[keys == ELDER])
    known = np.isin(topics, wanted) & (keys != FINISHED)
    places = arrays["places"]
    others, of, their = representatives(low, high, wanted, *lists, label, main, places, way, seed, seed * 1_000_003 + low)
    return _joined(arrays, low, high, seed, worth, nodes, (node[known], topics[known], keys[known]), (others, of, their), wanted)


def _joined(arrays, low, high, seed, worth, nodes, own, far, wanted) -> Columns:
    others, of, their = far
    outside = np.unique(others)
    node = np.concatenate([np.arange(low, high), outside])
    row = np.concatenate([own[0] - low, high - low + np.searchsorted(outside, others)])
    topic = np.searchsorted(wanted, np.concatenate([own[1], of])).astype(np.int32)
    key = np.concatenate([own[2], their])
    order = np.lexsort((topic, row))
    indptr = np.searchsorted(row[order], np.arange(len(node) + 1)).astype(np.int64)
    interest = Csr(indptr, topic[order], len(wanted))
    tcc = connected_keys(indptr, interest.indices, key[order], np.lexsort((key[order], interest.indices)))
    empty = np.append(empty_bits(arrays["table"][low:high]), np.zeros(len(outside), np.int32))
    places = arrays["places"][node]
    constraint = fingers(empty, node.astype(np.int32), all_phases(nodes), places)
    rng = np.random.default_rng([seed, low])
    return finger_columns(added_links(interest, tcc, constraint, rng, worth), node, nodes)
