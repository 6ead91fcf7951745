"""Repair of overlays with a ring: first the ring, then the fingers.

Nodes stay in their order. A node that joins comes between two neighbours: where rings go by interest, the two with
which it shares the most topics, over and above those that the two share with each other; else any. So it costs two
links, less the one between these, and where a node leaves its neighbours open one.

Ids are numbered again in this order, 0 to |V| - 1. A finger stays where its phase is as before, which most are: one
node more or less in between moves it by one. Where fingers go by interest, they are chosen again by the greedy, which
favours those that are there (favour.py). What then is left of the phases keeps its fingers, and else gets new ones as
in a design. Property 1 holds, and the bound on the in-degree.

A Chord that was repaired has fingers that are anywhere in their phase, as BeaConvey 3.1 allows; new ones are v + 2^i.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from weft.arrays import Bools, Int32s, Int64s
from weft.kernels.greedy.connectivity import join_all, unlinked
from weft.model.csr import Csr
from weft.model.instance import Instance
from weft.model.overlay import Overlay
from weft.model.ring import clockwise, phase, phase_count
from weft.overlays.chord import chord_table
from weft.overlays.favour import favoured
from weft.overlays.finger import NO_NODE, Fingers, empty_phases, fill, overlay_from_table
from weft.overlays.lazy_greedy import ChosenLinks, links_to_publishers
from weft.overlays.preference import Preference
from weft.overlays.swico import even_in_degree, table_with_successors

RINGS = ("chord", "random", "grswico", "swico-s", "swico-l", "swico-sl", "swico-even")
RING_BY_INTEREST = ("swico-s", "swico-sl", "swico-even")
FINGERS_BY_INTEREST = ("grswico", "swico-l", "swico-sl", "swico-even")


def repaired_ring(
    instance: Instance,
    order: Int64s,
    sources: Int32s,
    targets: Int32s,
    algorithm: str,
    parameters: Mapping[str, Any],
    rng: np.random.Generator,
) -> Overlay:
    """The overlay of all nodes, where those of `order` were on the ring and had these links."""
    ring_ids = np.empty(instance.nodes, np.int64)
    ring_ids[_with_joiners(instance, order, algorithm in RING_BY_INTEREST, rng)] = np.arange(instance.nodes)
    table = table_with_successors(ring_ids)
    if algorithm in FINGERS_BY_INTEREST:
        in_degree = even_in_degree(instance.nodes) if algorithm == "swico-even" else parameters.get("in_degree")
        preference = Preference(fill=parameters.get("fill") or "random")
        _fill_by_interest(
            instance, ring_ids, table, sources, targets, in_degree, preference, rng, algorithm == "swico-even"
        )
    else:
        filling = Fingers(ring_ids, table, empty_phases(table, ring_ids), np.zeros_like(table))
        filling.accept(_proposals(filling, sources, targets), rng)
        if "chord" in (algorithm, parameters.get("long")):
            filling.accept(chord_table(ring_ids), rng)
        fill(instance, filling, rng, Preference())
    return overlay_from_table(ring_ids, table)


def _with_joiners(instance: Instance, order: Int64s, by_interest: bool, rng: np.random.Generator) -> Int64s:
    """The ring with all nodes."""
    ring = order.tolist()
    matrix = instance.interest.matrix(np.int32)
    for node in np.setdiff1d(np.arange(instance.nodes), order).tolist():
        place = int(rng.integers(len(ring) + 1))
        if by_interest and len(ring) > 1:
            shared = np.asarray((matrix[ring] @ matrix[[node]].T).todense()).ravel()
            after = np.roll(ring, -1)
            between = np.asarray(matrix[ring].multiply(matrix[after]).sum(axis=1)).ravel()
            gained = shared + np.roll(shared, -1) - between
            place = 1 + int(rng.choice(np.flatnonzero(gained == gained.max())))
        ring.insert(place, node)
    return np.array(ring, np.int64)


def _fill_by_interest(
    instance: Instance,
    ring_ids: Int64s,
    table: Int32s,
    sources: Int32s,
    targets: Int32s,
    in_degree: int | None,
    preference: Preference,
    rng: np.random.Generator,
    for_publishers: bool,
) -> None:
    filling = Fingers(ring_ids, table, empty_phases(table, ring_ids, in_degree), np.zeros_like(table))
    interest = instance.interest
    tcc = unlinked(interest.indptr, interest.indices)
    join_all(tcc, *filling.links)
    found = favoured(interest, tcc, filling.constraint, sources, targets, rng)
    filling.take(ChosenLinks(sources[found.kept], targets[found.kept], found.contributions[found.kept]))
    filling.take(found.opened)
    left_sources, left_targets = sources[~found.kept], targets[~found.kept]
    if for_publishers and instance.publishers is not None:
        serve = _shared(instance.with_publishers.interest, left_sources, left_targets)
        filling.accept(_proposals(filling, left_sources[serve], left_targets[serve]), rng)
        filling.take(links_to_publishers(instance, filling.constraint, rng, *filling.links))
    filling.accept(_proposals(filling, left_sources, left_targets), rng)
    fill(instance, filling, rng, preference)


def _shared(interest: Csr, sources: Int32s, targets: Int32s) -> Bools:
    """Whether the two ends share a topic."""
    matrix = interest.matrix(np.int32)
    shared: Bools = np.asarray(matrix[sources].multiply(matrix[targets]).sum(axis=1)).ravel() > 0
    return shared


def _proposals(filling: Fingers, sources: Int32s, targets: Int32s) -> Int32s:
    """Links in a table, each in the phase in which it is at its owner; one of those that are in the same."""
    proposed = np.full_like(filling.table, NO_NODE)
    if phase_count(len(filling.table)):
        distances = clockwise(filling.ring_ids[sources], filling.ring_ids[targets], len(filling.table))
        proposed[sources, phase(distances)] = targets
    return proposed
