"""The ring of a divided SWICO: GSwicoS over the nodes most like each other.

Until its links are a ring, a link of GSwicoS contributes the overlap of its ends, whatever the others are: the greedy
is Kruskal's, with two links a node. So each node proposes the few nodes most like it, in parallel, and one pass over
all proposals, largest overlap first, takes the links; it needs three numbers a node. Nodes that lack a link then
propose again, among themselves, until few do. What fragments are left are laid one after the other, by the signatures
of their ends.

Ties are broken by hash, so that the ring does not depend on who proposed first.
"""

from functools import partial

import numpy as np

from weft.arrays import Int32s, Int64s
from weft.kernels.arcs.alike import HASHES, NOBODY, link_fragments, meet, sign
from weft.kernels.greedy.fragment import ring_order
from weft.overlays.arcs.workshop import Arrays, Columns, Range, Workshop

ALIKE = 16  # proposals of a node in a round
ENOUGH = 0.002  # of all nodes: a round that links fewer is the last


def signed(arrays: Arrays, first: int, last: int, *, seed: int) -> Columns:
    signature = np.empty((last - first, HASHES), np.uint64)
    indptr = arrays["given_node_start"][first : last + 1]
    sign(0, last - first, indptr - indptr[0], arrays["given_node_topic"][indptr[0] : indptr[-1]], seed, signature)
    return {"signature": signature}


def _alike(arrays: Arrays, first: int, last: int, *, seed: int) -> Columns:
    """Pairs of open nodes, and the topics that they share."""
    found = np.empty((last - first, ALIKE), np.int32)
    shared = np.zeros_like(found)
    interest, subscribers = (arrays["node_start"], arrays["node_topic"]), (arrays["topic_start"], arrays["topic_node"])
    meet(first, last, *interest, *subscribers, arrays["ring_open"], arrays["ring_far_end"], seed, found, shared)
    rows, columns = np.nonzero(found != NOBODY)
    source, target = (rows + first).astype(np.int32), found[rows, columns]
    twice = (found[np.clip(target - first, 0, last - first - 1)] == source[:, None]).any(axis=1)
    kept = ~(twice & (target >= first) & (target < last) & (source > target))
    return {"source": source[kept], "target": target[kept], "shared": shared[rows, columns][kept]}


def ring_of(workshop: Workshop, nodes: int, ranges: list[Range], seed: int) -> Int64s:
    """Nodes in the order of the ring. The arrays are those of nodes in the order of their signatures."""
    room, far_end = np.full(nodes, 2, np.int32), np.arange(nodes, dtype=np.int32)
    sources, targets, number = [], [], 0
    while True:
        workshop.put(ring_open=room > 0, ring_far_end=far_end.copy())
        workshop.run(f"alike-{number}", partial(_alike, seed=seed), ranges)
        source, target = workshop.arrays["source"], workshop.arrays["target"]
        taken = link_fragments(source, target, _order(source, target, workshop.arrays["shared"], seed), room, far_end)
        sources.append(source[taken])
        targets.append(target[taken])
        number += 1
        if len(sources[-1]) <= ENOUGH * nodes:
            links = np.concatenate(sources), np.concatenate(targets)
            return ring_order(nodes, *links, np.arange(nodes, dtype=np.int32)).astype(np.int64)


def _order(source: Int32s, target: Int32s, shared: Int32s, seed: int) -> Int64s:
    """Largest overlap first, ties in the order of a hash."""
    low, high = np.minimum(source, target).astype(np.uint64), np.maximum(source, target).astype(np.uint64)
    key = (low * np.uint64(0x9E3779B97F4A7C15) + high + np.uint64(seed)) * np.uint64(0xBF58476D1CE4E5B9)
    key ^= key >> np.uint64(29)
    return np.lexsort((key * np.uint64(0x94D049BB133111EB), -shared))
