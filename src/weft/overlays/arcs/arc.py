"""Fingers within an arc of the ring, by GSwicoL.

A finger of a short phase ends near its owner, whatever the rest of the ring is like. So arcs choose theirs each for
itself, by the very same greedy. Nodes are numbered by their places on the ring.
"""

from functools import lru_cache

import numpy as np

from weft.arrays import Int32s, Int64s
from weft.kernels.greedy.connectivity import join_all, unlinked
from weft.kernels.greedy.constraint import fingers
from weft.model.csr import Csr
from weft.model.ring import phase, phase_count
from weft.overlays.arcs.workshop import Arrays, Columns, Range
from weft.overlays.lazy_greedy import ChosenLinks, added_links


def arcs_of(nodes: int, length: int) -> list[Range]:
    return [(low, min(low + length, nodes)) for low in range(0, nodes, length)]


def within(arrays: Arrays, low: int, high: int, *, seed: int, places: int, spare: int) -> Columns:
    """Fingers between the nodes of an arc; each may be pointed at by so many, but for the spare ones."""
    nodes, size = len(arrays["node_start"]) - 1, high - low
    interest = _interest(arrays, low, high)
    successors = np.arange(size - 1, dtype=np.int32)
    tcc = unlinked(interest.indptr, interest.indices)
    join_all(tcc, successors, successors + 1)
    own = np.arange(size, dtype=np.int32)
    empty = np.full(size, (1 << phase_count(nodes)) - 2, np.int32)
    taken = np.full(size, places - spare, np.int32) if places else np.empty(0, np.int32)
    constraint = fingers(empty, own, _near_phases(nodes, size), taken)
    rng = np.random.default_rng([seed, 1, low])
    return finger_columns(added_links(interest, tcc, constraint, rng), own.astype(np.int64) + low, nodes)


def _interest(arrays: Arrays, low: int, high: int) -> Csr:
    """Interests of an arc in the topics that occur there."""
    indptr = arrays["node_start"][low : high + 1]
    topics = arrays["node_topic"][indptr[0] : indptr[-1]]
    return Csr(indptr - indptr[0], topics, len(arrays["topic_start"]) - 1).compact()


def finger_columns(chosen: ChosenLinks, node: Int64s, nodes: int) -> Columns:
    """Fingers that were chosen among nodes that are known by their index."""
    owner, target = node[chosen.owners], node[chosen.others]
    return {
        "owner": owner.astype(np.int32),
        "target": target.astype(np.int32),
        "phase": phase((target - owner) % nodes).astype(np.int32),
        "gain": chosen.contributions,
    }


def _near_phases(nodes: int, size: int) -> Int32s:
    """The phase of every distance inside an arc; distances back are counted from the end of the array."""
    if nodes < 2 * size:
        return all_phases(nodes)
    ahead, back = phase(np.arange(size)), phase(nodes - np.arange(size, 0, -1))
    return np.concatenate([ahead, back]).astype(np.int32)


@lru_cache(maxsize=1)
def all_phases(nodes: int) -> Int32s:
    return phase(np.arange(nodes)).astype(np.int32)
