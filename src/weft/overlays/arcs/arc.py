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
from weft.model.ring import phase
from weft.overlays.arcs.workshop import Arrays, Columns, Range
from weft.overlays.lazy_greedy import ChosenLinks, added_links

NO_NODE = -1


def arcs_of(nodes: int, length: int) -> list[Range]:
    return [(low, min(low + length, nodes)) for low in range(0, nodes, length)]


def within(arrays: Arrays, low: int, high: int, *, seed: int, worth: int) -> Columns:
    """Fingers between the nodes of an arc, on top of those that are in the table."""
    return _among(arrays, np.arange(low, high), _near_phases(len(arrays["table"]), high - low), [seed, low], worth)


def among_heavy(arrays: Arrays, low: int, high: int, *, seed: int) -> Columns:
    """Fingers between the nodes of most interests, wherever they are on the ring."""
    return _among(arrays, arrays["heavy"][low:high], all_phases(len(arrays["table"])), [seed, low])


def _among(arrays: Arrays, node: Int64s, phases: Int32s, seed: list[int], worth: int = 1) -> Columns:
    nodes = len(arrays["table"])
    interest = _interest(arrays, node)
    tcc = unlinked(interest.indptr, interest.indices)
    table = arrays["table"][node]
    join_all(tcc, *_links_among(table, node))
    ring_ids = node if len(phases) == nodes else node - node[0]
    places = arrays["places"][node] if len(arrays["places"]) else np.empty(0, np.int32)
    constraint = fingers(empty_bits(table), ring_ids.astype(np.int32), phases, places)
    return finger_columns(added_links(interest, tcc, constraint, np.random.default_rng(seed), worth), node, nodes)


def empty_bits(table: Int32s) -> Int32s:
    """A bit for each empty phase of every node."""
    bits: Int32s = ((table == NO_NODE) @ (1 << np.arange(table.shape[1]))).astype(np.int32)
    return bits


def _links_among(table: Int32s, node: Int64s) -> tuple[Int32s, Int32s]:
    """Fingers of the table that lead to the nodes themselves, by index; `node` is ascending."""
    index = np.minimum(np.searchsorted(node, table), len(node) - 1)
    rows, phases = np.nonzero(node[index] == table)
    return rows.astype(np.int32), index[rows, phases].astype(np.int32)


def _interest(arrays: Arrays, node: Int64s) -> Csr:
    """Interests of some nodes in the topics that occur among them."""
    interest = Csr(arrays["node_start"], arrays["node_topic"], len(arrays["topic_start"]) - 1)
    return interest.take(node).compact()


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
