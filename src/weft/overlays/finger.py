"""Finger tables: table[v, i] is the finger that node v owns in phase i.

On a ring of |V| nodes every node has a candidate in each phase below ceil(log2 |V|), so that a full table is Property 1
of BeaConvey and NSMF. Phase 0 has one candidate only, the successor.
"""

import numpy as np

from weft.arrays import Int32s, Int64s
from weft.kernels.greedy.constraint import Constraint, fingers
from weft.model.overlay import Overlay, overlay_from_links
from weft.model.ring import phase, phase_count

NO_NODE = -1


def empty_table(nodes: int) -> Int32s:
    return np.full((nodes, phase_count(nodes)), NO_NODE, np.int32)


def phase_starts(nodes: int) -> Int64s:
    """The smallest distance of every phase."""
    return np.int64(1) << np.arange(phase_count(nodes))


def table_of_distances(ring_ids: Int64s, distances: Int64s) -> Int32s:
    """The nodes at the given distances from every node; one row of distances for all, or a row for each."""
    node = np.empty(len(ring_ids), np.int32)
    node[ring_ids] = np.arange(len(ring_ids), dtype=np.int32)
    table: Int32s = node[(ring_ids[:, None] + distances) % len(ring_ids)]
    return table


def empty_phases(table: Int32s, ring_ids: Int64s) -> Constraint:
    """One finger may be opened in every empty phase of the table."""
    bits = (table == NO_NODE) @ phase_starts(len(table))
    phase_of = phase(np.arange(len(table)))
    return fingers(bits.astype(np.int32), ring_ids.astype(np.int32), phase_of.astype(np.int32))


def overlay_from_table(ring_ids: Int64s, table: Int32s) -> Overlay:
    nodes, phases = table.shape
    sources = np.repeat(np.arange(nodes), phases)
    return overlay_from_links(
        nodes, sources, table.ravel(), np.tile(np.arange(phases), nodes), ring_ids=ring_ids, ring_size=nodes
    )
