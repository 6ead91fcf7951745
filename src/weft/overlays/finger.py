"""Finger tables, and how their empty phases are filled: table[v, i] is the finger that node v owns in phase i.

On a ring of |V| nodes every node has a candidate in each phase below ceil(log2 |V|), so that a full table is Property 1
of BeaConvey and NSMF. Phase 0 has one candidate only, the successor. The
papers' figures fit floor(log2 |V|) fingers a node: with `phases` whole a table leaves out the last phase where |V| cuts
it short.

The greedy opens fingers as long as one contributes. What is left is filled by proposals, a whole table each, of which
those are accepted that the constraint permits: with latencies the nearest node of the phase, then, if wanted, that of
the largest overlap, and at last any.

Where the in-degree is bounded, chance decides who gets the last places of a node, and who gets none proposes again, as
long as there is a node with a place to propose. kernels/greedy/filling.py proves that all phases can be filled in the
end, if the bound has a place for each phase.
"""

from dataclasses import dataclass

import numpy as np

from weft.arrays import Bools, Int32s, Int64s
from weft.errors import WeftError
from weft.kernels.greedy.constraint import Constraint, fingers
from weft.kernels.greedy.filling import fill_by_chance, fill_by_moving
from weft.kernels.greedy.overlap import closest_fingers
from weft.kernels.parallel import chunk_bounds, threads_for
from weft.model.instance import Instance
from weft.model.latency import Latency
from weft.model.overlay import Overlay, overlay_from_links
from weft.model.ring import Phases, clockwise, phase, phase_count
from weft.overlays.lazy_greedy import ChosenLinks, kernel_seed, lazy_greedy, links_to_publishers
from weft.overlays.preference import Preference

NO_NODE = -1


def empty_table(nodes: int, phases: Phases = "cut") -> Int32s:
    return np.full((nodes, phase_count(nodes, phases)), NO_NODE, np.int32)


def phase_starts(count: int) -> Int64s:
    """The smallest distance of each of so many phases."""
    return np.int64(1) << np.arange(count)


def table_of_distances(ring_ids: Int64s, distances: Int64s) -> Int32s:
    """The nodes at the given distances from every node; one row of distances for all, or a row for each."""
    node = np.empty(len(ring_ids), np.int32)
    node[ring_ids] = np.arange(len(ring_ids), dtype=np.int32)
    table: Int32s = node[(ring_ids[:, None] + distances) % len(ring_ids)]
    return table


def random_table(ring_ids: Int64s, rng: np.random.Generator, phases: Phases = "cut") -> Int32s:
    """RandomL: all nodes of a phase are equally likely; the last phase ends where the ring does."""
    starts = phase_starts(phase_count(len(ring_ids), phases))
    ends = np.minimum(2 * starts, len(ring_ids))
    return table_of_distances(ring_ids, rng.integers(starts, ends, size=(len(ring_ids), len(starts))))


def empty_phases(table: Int32s, ring_ids: Int64s, in_degree: int | None = None) -> Constraint:
    """One finger may be opened in every empty phase of the table, and so many may point at a node; None: any number."""
    bits = (table == NO_NODE) @ phase_starts(table.shape[1])
    phase_of = phase(np.arange(len(table)))
    arrays = bits.astype(np.int32), ring_ids.astype(np.int32), phase_of.astype(np.int32)
    if in_degree is None:
        return fingers(*arrays)
    _require_in_degree(in_degree, *table.shape)
    taken = np.bincount(table[:, 1:][table[:, 1:] != NO_NODE], minlength=len(table))
    return fingers(*arrays, places=(in_degree - 1 - taken).astype(np.int32))


def _require_in_degree(in_degree: int, nodes: int, phases: int) -> None:
    least = max(phases, 1)
    if not least <= in_degree < 2**31:
        raise WeftError(
            f"An in-degree of {in_degree} is out of range: each of {nodes} nodes opens {phases} fingers, "
            f"so that as many point at a node on average. Give {least} or more."
        )


@dataclass(frozen=True, eq=False)
class Fingers:
    """A table that is being filled. Who fills it asks the constraint, not the table, which fingers may be opened."""

    ring_ids: Int64s
    table: Int32s
    constraint: Constraint
    contributions: Int32s  # of the fingers in the table, when they were chosen; else 0

    @property
    def is_bounded(self) -> bool:
        return len(self.constraint.places) > 0

    @property
    def full(self) -> Bools:
        """The nodes that no further finger may point at, but that of their predecessor."""
        return self.constraint.places <= 0 if self.is_bounded else np.zeros(len(self.table), np.bool_)

    @property
    def empty(self) -> Bools:
        """Which phases of every node may get a finger, in the shape of the table."""
        empty: Bools = (self.constraint.room[:, None] & phase_starts(self.table.shape[1])) != 0
        return empty

    @property
    def links(self) -> tuple[Int32s, Int32s]:
        """Owners and targets of the fingers that it has."""
        nodes, phases = np.nonzero(self.table != NO_NODE)
        return nodes.astype(np.int32), self.table[nodes, phases]

    def take(self, chosen: ChosenLinks) -> None:
        """Fingers that were chosen under the constraint, which counts them already."""
        distances = clockwise(self.ring_ids[chosen.owners], self.ring_ids[chosen.others], len(self.ring_ids))
        self.table[chosen.owners, phase(distances)] = chosen.others
        self.contributions[chosen.owners, phase(distances)] = chosen.contributions

    def accept(self, proposed: Int32s, rng: np.random.Generator) -> bool:
        """Opens those of the proposed fingers, a table of them, that are permitted; whether any were proposed."""
        nodes, phases = np.nonzero(self.empty & (proposed != NO_NODE))
        proposals = len(nodes)
        if self.is_bounded:
            nodes, phases = self._with_places(nodes, phases, proposed[nodes, phases], rng)
        self.table[nodes, phases] = proposed[nodes, phases]
        np.bitwise_and.at(self.constraint.room, nodes, ~(np.int32(1) << phases.astype(np.int32)))
        return proposals > 0

    def _with_places(
        self, nodes: Int64s, phases: Int64s, targets: Int32s, rng: np.random.Generator
    ) -> tuple[Int64s, Int64s]:
        """Proposals to every target, any as many as it has places, which are taken; successors need none."""
        order = np.lexsort((rng.random(len(nodes)), targets))
        order = order[phases[order] > 0]
        ascending = targets[order]
        rank = np.arange(len(order)) - np.searchsorted(ascending, ascending)
        taken = order[rank < self.constraint.places[ascending]]
        np.subtract.at(self.constraint.places, targets[taken], 1)
        chosen = np.sort(np.append(taken, np.flatnonzero(phases == 0)))
        return nodes[chosen], phases[chosen]


def with_close_fingers(
    instance: Instance,
    ring_ids: Int64s,
    table: Int32s,
    rng: np.random.Generator,
    preference: Preference,
    in_degree: int | None = None,
    for_publishers: bool = False,
) -> Overlay:
    """The overlay of a table whose empty phases are filled, by contribution and then as is preferred.

    With `for_publishers`, those who publish without subscribing are linked with subscribers before the rest is filled.
    """
    filling = Fingers(ring_ids, table, empty_phases(table, ring_ids, in_degree), np.zeros_like(table))
    _fill_greedily(instance, filling, rng, preference)
    if for_publishers and instance.publishers is not None:
        filling.take(links_to_publishers(instance, filling.constraint, rng, *filling.links))
    fill(instance, filling, rng, preference)
    return overlay_from_table(ring_ids, table)


def _fill_greedily(instance: Instance, filling: Fingers, rng: np.random.Generator, preference: Preference) -> None:
    """Fill as long as a finger contributes; those that the table has already count as links."""
    sources, targets = filling.links
    filling.take(
        lazy_greedy(instance, filling.constraint, rng, sources=sources, targets=targets, preference=preference)
    )


def fill(instance: Instance, filling: Fingers, rng: np.random.Generator, preference: Preference) -> None:
    """Fill all phases that are empty."""
    anyone = random_table(filling.ring_ids, rng)[:, : filling.table.shape[1]]
    if preference.closeness is not None:
        while filling.accept(nearest(filling, preference.closeness.latency), rng) and filling.is_bounded:
            pass
    if preference.fill == "overlap":
        while filling.accept(_closest(instance, filling, rng), rng) and filling.is_bounded:
            pass
    if filling.is_bounded:
        fill_the_rest(filling, rng)
    else:
        filling.accept(anyone, rng)


def fill_the_rest(filling: Fingers, rng: np.random.Generator) -> None:
    """Fill by chance, and where no node of a phase has a place by moving other fingers."""
    nodes = len(filling.table)
    node_at, order = np.argsort(filling.ring_ids).astype(np.int32), rng.permutation(nodes).astype(np.int32)
    fill_by_chance(filling.constraint, node_at, order, kernel_seed(rng), filling.table)
    fill_by_moving(filling.constraint, node_at, filling.contributions, filling.table)


def nearest(filling: Fingers, latency: Latency) -> Int32s:
    """The nearest node of every empty phase that has a place, as measured by round-trip time."""
    nodes = len(filling.ring_ids)
    order, starts = np.argsort(filling.ring_ids), phase_starts(filling.table.shape[1])
    full = filling.full
    proposed, empty = np.full_like(filling.table, NO_NODE), filling.empty
    for node in np.flatnonzero(empty.any(axis=1)):
        clockwise_from = np.roll(order, -int(filling.ring_ids[node]))
        trips = latency.round_trip(np.full(nodes, node), clockwise_from)
        trips = np.where(full[clockwise_from], np.inf, trips)
        for phase_of_it in np.flatnonzero(empty[node]):
            start = starts[phase_of_it]
            found = start + np.argmin(trips[start : 2 * start])
            if trips[found] < np.inf:
                proposed[node, phase_of_it] = clockwise_from[found]
    return proposed


def _closest(instance: Instance, filling: Fingers, rng: np.random.Generator) -> Int32s:
    """The node of largest overlap in every empty phase that has a place, if any overlaps."""
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
