"""SWICO divided: the DC paper's idea, applied to `swico-sl` and `swico-even`.

    ring      GSwicoS over the pairs of nodes that are most alike (ring.py)
    heavy     GSwicoL among the nodes of most interests, wherever they are: a link between two of them contributes most
    within    GSwicoL within each arc of the ring (arc.py)
    across    GSwicoL from each arc to the components that other arcs leave (across.py)
    rest      links to publishers, and any node where no finger contributes

The greedy takes the links of highest contribution wherever they are. Arcs that were done one after the other to their
ends would spend the places of much-wanted nodes on small contributions. So arcs are done in rounds, each of which takes
what contributes a certain amount at least (a threshold greedy, as that of Kumar et al., SPAA 2013), and the heavy
nodes, whose places everybody wants, before all others and to their end. Between rounds one process accepts what was
proposed, so far as nodes have places left; it holds the finger table, a number for every node and phase. All else is
done range by range, and the result does not depend on where.
"""

from functools import partial
from typing import NamedTuple

import numpy as np

from weft.arrays import Int32s, Int64s
from weft.errors import WeftError
from weft.kernels.arcs.elder import FROM_MAIN, TO_ELDERS, TO_OTHERS, accept
from weft.kernels.arcs.publisher import propose
from weft.kernels.greedy.constraint import fingers
from weft.model.instance import Instance
from weft.model.overlay import Overlay
from weft.model.publisher import Publishers
from weft.model.ring import phase_count
from weft.overlays.arcs.across import across, components
from weft.overlays.arcs.arc import all_phases, among_heavy, arcs_of, empty_bits, within
from weft.overlays.arcs.numbering import renumber
from weft.overlays.arcs.ring import ring_of, signed
from weft.overlays.arcs.workshop import Arrays, Bench, Columns, Range, Work, Workshop, ranges_by
from weft.overlays.finger import Fingers, fill_the_rest

DIVIDED_FROM = 131_072  # nodes: up to here the greedy is not divided
ARC = 8192  # nodes of an arc
LEAST_ARC = 256
HEAVY = 8192  # nodes, at most so many,
HEAVY_SHARE = 8  # at most one of so many: the rest is for the arcs,
HEAVY_SUBSCRIPTIONS = 4_000_000  # and with at most so many subscriptions in all
ANY_NUMBER = 2**30  # of places

# Of every round what a finger contributes at the least, and the joins across arcs after those within.
ROUNDS = ((4, (TO_OTHERS,)), (2, (TO_OTHERS,)), (1, (TO_ELDERS, *4 * (FROM_MAIN,))))


class Woven(NamedTuple):
    """A finger table while it is filled; nodes are numbered by their places on the ring."""

    table: Int32s
    gains: Int32s  # what each finger contributed when it was chosen
    places: Int32s  # how many more fingers may point at a node


def is_divided(nodes: int, arc: int | None) -> bool:
    """Whether a design is divided: where the length of an arc is given, or the nodes are many."""
    if arc is not None and arc != 0 and not arc >= LEAST_ARC:
        raise WeftError(f"`arc` {arc} is out of range: give {LEAST_ARC} nodes or more, or 0 for none.", "arc")
    return arc != 0 if arc is not None else nodes > DIVIDED_FROM


def divided(instance: Instance, *, seed: int, arc: int | None, in_degree: int | None, for_publishers: bool) -> Overlay:
    """Divide the design, and do it in this process."""
    bench, interest, subscribers = Bench(), instance.interest, instance.subscribers
    bench.put(given_node_start=interest.indptr, given_node_topic=interest.indices)
    bench.put(given_topic_start=subscribers.indptr, given_topic_node=subscribers.indices)
    publishers = instance.publishers if for_publishers else None
    return design_in(bench, publishers, seed=seed, arc=arc or ARC, in_degree=in_degree)


def design_in(
    workshop: Workshop, publishers: Publishers | None, *, seed: int, arc: int, in_degree: int | None
) -> Overlay:
    """The overlay, from the arrays given_node_* and given_topic_*."""
    node_at = _ring(workshop, seed)
    counts = np.diff(workshop.arrays["node_start"])
    woven = _with_successors(len(node_at), in_degree)
    arcs = arcs_of(len(node_at), arc)
    topics = ranges_by(np.diff(workshop.arrays["topic_start"]) + 1)
    workshop.put(heavy=heavy_nodes(counts))
    _step(workshop, woven, "heavy", partial(among_heavy, seed=seed), [(0, HEAVY)], seed)
    for worth, ways in ROUNDS:
        _step(workshop, woven, f"within-{worth}", partial(within, seed=seed, worth=worth), arcs, seed)
        for number, way in enumerate(ways):
            name = f"{worth}-{number}"
            _find_components(workshop, woven, f"components-{name}", topics)
            work = partial(across, seed=seed + number, way=way, worth=worth, arc=arc)
            _step(workshop, woven, f"across-{name}", work, arcs, seed)
    if publishers is not None:
        _link_publishers(workshop, woven, publishers, seed)
    _fill(woven, seed)
    _find_components(workshop, woven, "components", topics)
    return _overlay_on(node_at, woven.table)


def heavy_nodes(counts: Int64s) -> Int64s:
    """Nodes of most interests, ascending."""
    order = np.argsort(-counts, kind="stable")[: min(HEAVY, len(counts) // HEAVY_SHARE)]
    return np.sort(order[np.cumsum(counts[order]) <= HEAVY_SUBSCRIPTIONS])


def _ring(workshop: Workshop, seed: int) -> Int64s:
    """Nodes of the instance in the order of the ring, by which the lists are then numbered."""
    counts = np.diff(workshop.arrays["given_node_start"])
    workshop.run("signature", partial(signed, seed=seed), ranges_by(counts + 1))
    by_signature = np.lexsort(np.asarray(workshop.arrays["signature"]).T[::-1])
    renumber(workshop, "alike", by_signature)
    ranges = ranges_by(counts[by_signature] + 1)
    node_at: Int64s = by_signature[ring_of(workshop, len(counts), ranges, seed)]
    renumber(workshop, "ring", node_at)
    return node_at


def _with_successors(nodes: int, in_degree: int | None) -> Woven:
    table = np.full((nodes, phase_count(nodes)), -1, np.int32)
    table[:, :1] = ((np.arange(nodes, dtype=np.int32) + 1) % nodes)[:, None]
    places = ANY_NUMBER if in_degree is None else in_degree - 1
    return Woven(table, np.zeros_like(table), np.full(nodes, places, np.int32))


def _step(workshop: Workshop, woven: Woven, step: str, work: Work, ranges: list[Range], seed: int) -> None:
    """Fingers are proposed for every range, and accepted while there are places: the largest contributions first."""
    workshop.put(table=woven.table, places=woven.places)
    workshop.run(step, work, ranges)
    owner, target, phase, gain = (np.asarray(workshop.arrays[name]) for name in ("owner", "target", "phase", "gain"))
    order = np.lexsort((np.random.default_rng(seed).permutation(len(owner)), -gain))
    accept(owner, target, phase, gain, order, *woven)


def _find_components(workshop: Workshop, woven: Woven, step: str, topics: list[Range]) -> None:
    workshop.put(table=woven.table)
    workshop.run(step, components, topics)


def _proposed(arrays: Arrays, first: int, last: int, *, seed: int) -> Columns:
    """Fingers between publishers and subscribers."""
    table, found = arrays["table"], np.empty((last - first, 3), np.int32)
    node, topic = arrays["publisher_node"][first:last], arrays["publisher_topic"][first:last]
    lists = arrays["topic_start"], arrays["topic_node"], table, arrays["places"], all_phases(len(table))
    count = propose(node, topic, *lists, seed + first, found)
    owner, target, phase = (np.ascontiguousarray(column) for column in found[:count].T)
    return {"owner": owner, "target": target, "phase": phase, "gain": np.zeros(count, np.int32)}


def _link_publishers(workshop: Workshop, woven: Woven, publishers: Publishers, seed: int) -> None:
    """Link publishers in two steps: one whose proposal finds the place taken proposes another in the second."""
    node = np.asarray(workshop.arrays["number"])[publishers.nodes]
    workshop.put(publisher_node=node, publisher_topic=publishers.topics.astype(np.int32))
    counts = np.diff(workshop.arrays["topic_start"])[publishers.topics]
    for number in range(2):
        work = partial(_proposed, seed=seed + number)
        _step(workshop, woven, f"publishers-{number}", work, ranges_by(counts + 64), seed)


def _fill(woven: Woven, seed: int) -> None:
    nodes = len(woven.table)
    places = np.arange(nodes, dtype=np.int64)
    constraint = fingers(empty_bits(woven.table), places.astype(np.int32), all_phases(nodes), woven.places)
    fill_the_rest(Fingers(places, woven.table, constraint, woven.gains), np.random.default_rng(seed))


def _overlay_on(node_at: Int64s, table: Int32s) -> Overlay:
    """The overlay of a full table of places on the ring, by the nodes at these places."""
    nodes, phases = table.shape
    ring_ids = np.empty(nodes, np.int64)
    ring_ids[node_at] = np.arange(nodes)
    targets = node_at.astype(np.int32)[table[ring_ids]]
    sources = np.repeat(np.arange(nodes, dtype=np.int32), phases)
    return Overlay(nodes, sources, targets.ravel(), np.tile(np.arange(phases, dtype=np.int32), nodes), ring_ids, nodes)
