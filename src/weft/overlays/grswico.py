"""GrSwico (NSMF section 4, Algorithm 4): on a ring in random order, the fingers of highest contribution in every phase.

It starts from no links at all: the successors are candidates like all others, although every node gets its own in the
end. GSwicoL (`swico.py`) is the same greedy on top of the ring.
"""

from typing import Literal

import numpy as np

from weft.arrays import Int32s, Int64s
from weft.kernels.greedy.constraint import Constraint
from weft.kernels.greedy.overlap import closest_fingers
from weft.kernels.parallel import chunk_bounds, threads_for
from weft.model.instance import Instance
from weft.model.overlay import Overlay
from weft.model.ring import clockwise, phase
from weft.overlays.finger import NO_NODE, empty_phases, empty_table, overlay_from_table, phase_starts
from weft.overlays.lazy_greedy import Closeness, Tie, kernel_seed, lazy_greedy
from weft.overlays.random import random_ring, random_table

Fill = Literal["random", "overlap"]


def grswico(instance: Instance, *, seed: int, tie: Tie = "random", fill: Fill = "random") -> Overlay:
    rng = np.random.default_rng(seed)
    ring_ids = random_ring(instance.nodes, rng)
    return with_close_fingers(instance, ring_ids, empty_table(instance.nodes), rng, tie, fill)


def with_close_fingers(
    instance: Instance,
    ring_ids: Int64s,
    table: Int32s,
    rng: np.random.Generator,
    tie: Tie,
    fill: Fill,
    closeness: Closeness | None = None,
) -> Overlay:
    """The overlay of a table whose empty phases are filled: greedily, and where nothing contributes as `fill` says.

    With closeness both look at distance: what contributes nothing goes to the nearest node of the phase.
    """
    fill_greedily(instance, ring_ids, table, rng, tie, closeness)
    if closeness is not None:
        fill_by_distance(ring_ids, table, closeness)
    return overlay_from_table(ring_ids, filled(instance, ring_ids, table, rng, fill))


def fill_greedily(
    instance: Instance,
    ring_ids: Int64s,
    table: Int32s,
    rng: np.random.Generator,
    tie: Tie,
    closeness: Closeness | None = None,
) -> None:
    """Fills empty phases of the table as long as a finger contributes; those it has already count as links."""
    nodes, phases = np.nonzero(table != NO_NODE)
    chosen = lazy_greedy(
        instance,
        empty_phases(table, ring_ids),
        rng,
        sources=nodes.astype(np.int32),
        targets=table[nodes, phases],
        tie=tie,
        closeness=closeness,
    )
    distances = clockwise(ring_ids[chosen.owners], ring_ids[chosen.others], len(ring_ids))
    table[chosen.owners, phase(distances)] = chosen.others


def filled(instance: Instance, ring_ids: Int64s, table: Int32s, rng: np.random.Generator, fill: Fill) -> Int32s:
    """The table with all its empty phases filled, at random or by the largest overlap with the node."""
    anyone = random_table(ring_ids, rng)
    if fill == "overlap":
        fill_by_overlap(instance, empty_phases(table, ring_ids), rng, table)
    return np.where(table == NO_NODE, anyone, table)


def fill_by_overlap(instance: Instance, empty: Constraint, rng: np.random.Generator, table: Int32s) -> None:
    interest, subscribers = instance.interest, instance.subscribers
    topic_sizes = np.append(0, np.cumsum(subscribers.counts[interest.indices]))
    visits = np.diff(topic_sizes[interest.indptr]) * (empty.room != 0)
    with threads_for(int(visits.sum())):
        closest_fingers(
            interest.indptr,
            interest.indices,
            subscribers.indptr,
            subscribers.indices,
            empty,
            chunk_bounds(visits),
            kernel_seed(rng),
            table,
        )


def fill_by_distance(ring_ids: Int64s, table: Int32s, closeness: Closeness) -> None:
    """The nearest node of every empty phase, as measured by round-trip time."""
    nodes = len(ring_ids)
    order = np.argsort(ring_ids)
    starts = phase_starts(nodes)
    for node, phases in enumerate(table == NO_NODE):
        clockwise_from = np.roll(order, -int(ring_ids[node]))
        trips = closeness.latency.round_trip(np.full(nodes, node), clockwise_from)
        for empty in np.flatnonzero(phases):
            start = starts[empty]
            table[node, empty] = clockwise_from[start + np.argmin(trips[start : 2 * start])]
