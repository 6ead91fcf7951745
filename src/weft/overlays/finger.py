"""Finger tables, and how their empty phases are filled: table[v, i] is the finger that node v owns in phase i.

On a ring of |V| nodes every node has a candidate in each phase below ceil(log2 |V|), so that a full table is Property 1
of BeaConvey and NSMF. Phase 0 has one candidate only, the successor.

The greedy opens fingers as long as one contributes. What is left is filled by proposals, a whole table each, of which
those are accepted that the constraint permits: with latencies the nearest node of the phase, then, if wanted, that of
the largest overlap, and at last any.
"""

from dataclasses import dataclass

import numpy as np

from weft.arrays import Bools, Int32s, Int64s
from weft.kernels.greedy.constraint import Constraint, fingers
from weft.kernels.greedy.overlap import closest_fingers
from weft.kernels.parallel import chunk_bounds, threads_for
from weft.model.instance import Instance
from weft.model.latency import Latency
from weft.model.overlay import Overlay, overlay_from_links
from weft.model.ring import clockwise, phase, phase_count
from weft.overlays.lazy_greedy import kernel_seed, lazy_greedy
from weft.overlays.preference import Preference

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


def random_table(ring_ids: Int64s, rng: np.random.Generator) -> Int32s:
    """RandomL: all nodes of a phase are equally likely; the last phase ends where the ring does."""
    starts = phase_starts(len(ring_ids))
    ends = np.minimum(2 * starts, len(ring_ids))
    return table_of_distances(ring_ids, rng.integers(starts, ends, size=(len(ring_ids), len(starts))))


def empty_phases(table: Int32s, ring_ids: Int64s) -> Constraint:
    """A constraint of one finger in every empty phase of the table."""
    bits = (table == NO_NODE) @ phase_starts(len(table))
    phase_of = phase(np.arange(len(table)))
    return fingers(bits.astype(np.int32), ring_ids.astype(np.int32), phase_of.astype(np.int32))


@dataclass(frozen=True, eq=False)
class Fingers:
    """A table that is being filled. Who fills it asks the constraint, not the table, which fingers may be opened."""

    ring_ids: Int64s
    table: Int32s
    constraint: Constraint

    @property
    def empty(self) -> Bools:
        """Which phases of every node may get a finger, in the shape of the table."""
        empty: Bools = (self.constraint.room[:, None] & phase_starts(len(self.table))) != 0
        return empty

    def accept(self, proposed: Int32s) -> None:
        """Open those of the proposed fingers, a table of them, that are permitted."""
        nodes, phases = np.nonzero(self.empty & (proposed != NO_NODE))
        self.table[nodes, phases] = proposed[nodes, phases]
        np.bitwise_and.at(self.constraint.room, nodes, ~(np.int32(1) << phases.astype(np.int32)))


def with_close_fingers(
    instance: Instance, ring_ids: Int64s, table: Int32s, rng: np.random.Generator, preference: Preference
) -> Overlay:
    """The overlay of a table whose empty phases are filled, by contribution and then as is preferred."""
    filling = Fingers(ring_ids, table, empty_phases(table, ring_ids))
    _fill_greedily(instance, filling, rng, preference)
    fill(instance, filling, rng, preference)
    return overlay_from_table(ring_ids, table)


def _fill_greedily(instance: Instance, filling: Fingers, rng: np.random.Generator, preference: Preference) -> None:
    """Fill phases as long as a finger contributes; those that the table has already count as links."""
    table, ring_ids = filling.table, filling.ring_ids
    nodes, phases = np.nonzero(table != NO_NODE)
    links = nodes.astype(np.int32), table[nodes, phases]
    chosen = lazy_greedy(instance, filling.constraint, rng, sources=links[0], targets=links[1], preference=preference)
    distances = clockwise(ring_ids[chosen.owners], ring_ids[chosen.others], len(ring_ids))
    table[chosen.owners, phase(distances)] = chosen.others


def fill(instance: Instance, filling: Fingers, rng: np.random.Generator, preference: Preference) -> None:
    """Fill all phases that are empty."""
    anyone = random_table(filling.ring_ids, rng)
    if preference.closeness is not None:
        filling.accept(nearest(filling, preference.closeness.latency))
    if preference.fill == "overlap":
        filling.accept(_closest(instance, filling, rng))
    filling.accept(anyone)


def nearest(filling: Fingers, latency: Latency) -> Int32s:
    """The nearest node of every empty phase, as measured by round-trip time."""
    nodes = len(filling.ring_ids)
    order, starts = np.argsort(filling.ring_ids), phase_starts(nodes)
    proposed = np.full_like(filling.table, NO_NODE)
    for node, phases in enumerate(filling.empty):
        clockwise_from = np.roll(order, -int(filling.ring_ids[node]))
        trips = latency.round_trip(np.full(nodes, node), clockwise_from)
        for empty in np.flatnonzero(phases):
            start = starts[empty]
            proposed[node, empty] = clockwise_from[start + np.argmin(trips[start : 2 * start])]
    return proposed


def _closest(instance: Instance, filling: Fingers, rng: np.random.Generator) -> Int32s:
    """The node of largest overlap in every empty phase, if any overlaps."""
    interest, subscribers = instance.interest, instance.subscribers
    proposed = np.full_like(filling.table, NO_NODE)
    topic_sizes = np.append(0, np.cumsum(subscribers.counts[interest.indices]))
    visits = np.diff(topic_sizes[interest.indptr]) * (filling.constraint.room != 0)
    with threads_for(int(visits.sum())):
        closest_fingers(
            interest.indptr,
            interest.indices,
            subscribers.indptr,
            subscribers.indices,
            filling.constraint,
            chunk_bounds(visits),
            kernel_seed(rng),
            proposed,
        )
    return proposed


def overlay_from_table(ring_ids: Int64s, table: Int32s) -> Overlay:
    nodes, phases = table.shape
    sources = np.repeat(np.arange(nodes), phases)
    return overlay_from_links(
        nodes, sources, table.ravel(), np.tile(np.arange(phases), nodes), ring_ids=ring_ids, ring_size=nodes
    )
