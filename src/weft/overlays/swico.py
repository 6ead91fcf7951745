"""SWICO, the small-world and interest-close overlay (BeaConvey section 3.2, Algorithm 1).

    swico-s   short links by GSwicoS, long ones by Chord or RandomL
    swico-l   short links by RandomS, long ones by GSwicoL
    swico-sl  both
    swico-even  swico-sl with at most 2 ceil(log2 |V|) fingers that point at a node, so that no node has more than
                3 ceil(log2 |V|) links, and with links from known publishers to subscribers

GSwicoS orders the nodes in a ring. It takes the link of highest contribution among those that some ring through all
links taken so far contains: degree at most two, and no cycle before the last link. Nodes of different fragments are not
connected on any topic yet, so that the contribution of such a link is the overlap of its ends. When none contributes,
the fragments are joined in random order.

GSwicoL takes, on top of the ring, the finger of highest contribution among those of a phase that is empty at their
owner, and leaves what does not contribute to chance.

Above weft.overlays.arcs.swico.DIVIDED_FROM nodes, or where the length of an arc is given, the last two are divided.

With latencies both weigh contribution against round-trip time d: what counts is contribution * (1 / d)^closeness, as in
Vitis' utility. Where no finger contributes, the nearest node of the phase is taken.
"""

from typing import Literal

import numpy as np

from weft.arrays import Int32s, Int64s
from weft.kernels.greedy.constraint import circle
from weft.kernels.greedy.fragment import ring_order
from weft.model.instance import Instance
from weft.model.latency import Latency
from weft.model.overlay import Overlay
from weft.model.ring import Phases, phase_count
from weft.overlays.arcs.swico import divided, is_divided
from weft.overlays.chord import chord_table
from weft.overlays.finger import empty_table, overlay_from_table, random_table, with_close_fingers
from weft.overlays.lazy_greedy import lazy_greedy
from weft.overlays.preference import CLOSENESS, Closeness, Fill, Preference, Tie, closeness_of
from weft.overlays.random import random_ring

Long = Literal["chord", "random"]


def swico_s(instance: Instance, *, seed: int, long: Long = "chord", phases: Phases = "cut") -> Overlay:
    rng = np.random.default_rng(seed)
    ring_ids = gswico_s(instance, rng)
    fingers = chord_table(ring_ids, phases) if long == "chord" else random_table(ring_ids, rng, phases)
    return overlay_from_table(ring_ids, fingers)


def swico_l(
    instance: Instance,
    *,
    seed: int,
    tie: Tie = "random",
    fill: Fill = "random",
    latency: Latency | None = None,
    closeness: float = CLOSENESS,
    in_degree: int | None = None,
    phases: Phases = "cut",
) -> Overlay:
    rng = np.random.default_rng(seed)
    preference = Preference(tie, fill, closeness_of(instance, latency, closeness))
    return gswico_l(instance, random_ring(instance.nodes, rng), rng, preference, in_degree, phases=phases)


def swico_sl(
    instance: Instance,
    *,
    seed: int,
    tie: Tie = "random",
    fill: Fill = "random",
    latency: Latency | None = None,
    closeness: float = CLOSENESS,
    in_degree: int | None = None,
    arc: int | None = None,
    phases: Phases = "cut",
) -> Overlay:
    preference = Preference(tie, fill, closeness_of(instance, latency, closeness))
    if may_divide(tie, fill, latency, phases) and is_divided(instance.nodes, arc):
        return divided(instance, seed=seed, arc=arc, in_degree=in_degree, for_publishers=False)
    return gswico_sl(instance, np.random.default_rng(seed), preference, in_degree, phases=phases)


def swico_even(
    instance: Instance,
    *,
    seed: int,
    tie: Tie = "random",
    fill: Fill = "random",
    latency: Latency | None = None,
    closeness: float = CLOSENESS,
    arc: int | None = None,
) -> Overlay:
    preference = Preference(tie, fill, closeness_of(instance, latency, closeness))
    rng, in_degree = np.random.default_rng(seed), even_in_degree(instance.nodes)
    if may_divide(tie, fill, latency) and is_divided(instance.nodes, arc):
        return divided(instance, seed=seed, arc=arc, in_degree=in_degree, for_publishers=True)
    return gswico_sl(instance, rng, preference, in_degree, for_publishers=True)


def even_on_ring(instance: Instance, ring_ids: Int64s, *, seed: int, latency: Latency | None = None) -> Overlay:
    """The fingers of `swico-even` for nodes that have their places, 0 to |V| - 1, already."""
    preference = Preference(closeness=closeness_of(instance, latency, CLOSENESS))
    rng, in_degree = np.random.default_rng(seed), even_in_degree(instance.nodes)
    return gswico_l(instance, ring_ids, rng, preference, in_degree, for_publishers=True)


def may_divide(tie: Tie, fill: Fill, latency: object, phases: Phases = "cut") -> bool:
    """Whether the design can be divided: arcs have all phases, and weigh neither latencies nor overlaps."""
    return tie == "random" and fill == "random" and latency is None and phases == "cut"


def even_in_degree(nodes: int) -> int:
    """Twice what it is on average, so that half of the places are left when all fingers are there."""
    return 2 * max(phase_count(nodes), 1)


def gswico_s(instance: Instance, rng: np.random.Generator, closeness: Closeness | None = None) -> Int64s:
    """The ring id of every node. Ties are broken by chance, whatever is preferred among fingers."""
    chosen = lazy_greedy(instance, circle(instance.nodes), rng, preference=Preference(closeness=closeness))
    starts = rng.permutation(instance.nodes).astype(np.int32)
    ring_ids = np.empty(instance.nodes, np.int64)
    ring_ids[ring_order(instance.nodes, chosen.owners, chosen.others, starts)] = np.arange(instance.nodes)
    return ring_ids


def gswico_l(
    instance: Instance,
    ring_ids: Int64s,
    rng: np.random.Generator,
    preference: Preference,
    in_degree: int | None = None,
    for_publishers: bool = False,
    phases: Phases = "cut",
) -> Overlay:
    table = table_with_successors(ring_ids, phases)
    return with_close_fingers(instance, ring_ids, table, rng, preference, in_degree, for_publishers)


def gswico_sl(
    instance: Instance,
    rng: np.random.Generator,
    preference: Preference,
    in_degree: int | None = None,
    for_publishers: bool = False,
    phases: Phases = "cut",
) -> Overlay:
    ring_ids = gswico_s(instance, rng, preference.closeness)
    return gswico_l(instance, ring_ids, rng, preference, in_degree, for_publishers, phases)


def table_with_successors(ring_ids: Int64s, phases: Phases = "cut") -> Int32s:
    table = empty_table(len(ring_ids), phases)
    table[:, :1] = chord_table(ring_ids)[:, :1]
    return table
