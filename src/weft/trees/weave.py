"""Weave's trees: for every topic one tree of the overlay's links that all its publications share.

The links are used in both directions. Topics are woven batch after batch, with prices by what nodes send for those
before (load.py). Within a batch they are independent of each other: in ranges on threads here, in tasks by
weft.pipeline.weave, always with the same result.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from weft.arrays import Floats, Int32s
from weft.errors import WeftError
from weft.kernels.parallel import thread_count
from weft.kernels.trees.ring_order import ranked_links
from weft.kernels.trees.weave import weave_topics
from weft.model.csr import Csr
from weft.model.instance import Instance
from weft.model.latency import Latency, require_latency_of
from weft.model.overlay import Overlay, neighbours_of
from weft.model.tree import Trees
from weft.trees.load import LOAD_WEIGHT, Agenda, Load, Range, agenda_of, sent_in
from weft.trees.ring_order import RingOrder, ring_order

FAN_OUT = 64  # docs/weave.md has what others cost


@dataclass(frozen=True, eq=False)
class Mesh:
    """The links of an overlay from both of their ends."""

    neighbours: Csr
    costs: Floats  # of every entry of neighbours; empty where every link costs 1
    hop: float  # what a link costs on average

    def ranked(self, order: RingOrder) -> "Mesh":
        """The same links between ranks."""
        links = self.neighbours
        starts, ends, costs = ranked_links(links.indptr, links.indices, self.costs, order.nodes, order.ranks)
        return Mesh(Csr(starts, ends, links.columns), costs, self.hop)


def mesh_of(overlay: Overlay, latency: Latency | None = None) -> Mesh:
    neighbours = neighbours_of(overlay)
    if latency is None:
        return Mesh(neighbours, np.empty(0), 1.0)
    require_latency_of(latency, overlay.nodes)
    there, back = (neighbours.row_of_each(), neighbours.indices), (neighbours.indices, neighbours.row_of_each())
    costs = (latency.round_trip(*there) + latency.round_trip(*back)) / 2
    return Mesh(neighbours, costs, float(costs.mean()) if len(costs) else 1.0)


@dataclass(frozen=True, eq=False)
class Strand:
    """The trees of some topics in a row."""

    sizes: Int32s  # by topic
    parts: Int32s  # by topic, those of its subscribers: 1 where there is a tree
    members: Int32s  # of all trees, as in Trees
    parents: Int32s
    senders: Int32s  # nodes that these trees make send,
    sent: Floats  # and how much


def weave(
    instance: Instance,
    overlay: Overlay,
    *,
    fan_out: int = FAN_OUT,
    load_weight: float = LOAD_WEIGHT,
    rates: Floats | None = None,
    latency: Latency | None = None,
) -> Trees:
    """Trees of all topics, with paths as short as may be: in time where there are latencies, else in hops.

    Rates are those of topics. Without, they are by the publishers that are known, or equal.
    """
    require_fan_out(fan_out)
    order = ring_order(overlay)
    mesh, agenda = mesh_of(overlay, latency).ranked(order), agenda_of(instance, load_weight, rates).ranked(order)
    with ThreadPoolExecutor(thread_count()) as pool:

        def strands(tasks: list[list[Range]], prices: Floats) -> list[Strand]:
            return list(pool.map(partial(strand, mesh, agenda, prices, fan_out), tasks))

        trees = _woven(agenda, order, instance.topics, strands)
    return trees.with_meta(**making(instance, overlay, fan_out, load_weight, rates, latency))


def _woven(
    agenda: Agenda, order: RingOrder, topics: int, strands: Callable[[list[list[Range]], Floats], list[Strand]]
) -> Trees:
    """Trees of all topics; `strands` does the tasks of a batch at the prices that the batches before left."""
    load, done = Load(agenda), []
    for batch in agenda.batches:
        woven_now = strands(agenda.tasks(batch), load.prices)
        for each in woven_now:
            load.add(each.senders, each.sent)
        done += woven_now
    return trees_of(agenda, order, topics, done)


def making(
    instance: Instance,
    overlay: Overlay,
    fan_out: int,
    load_weight: float,
    rates: Floats | None,
    latency: Latency | None,
) -> dict[str, Any]:
    """What trees are woven for and by: their meta."""
    return {
        "instance": instance.fingerprint,
        "overlay": overlay.fingerprint,
        "fan_out": fan_out,
        "load_weight": load_weight,
        "rates": "equal" if rates is None else "given",
        "latency": None if latency is None else latency.source,
    }


def figures(instance: Instance, trees: Trees) -> dict[str, Any]:
    """What trees come to, in a few numbers."""
    members = int(trees.sizes.sum())
    return {
        "trees": int(np.count_nonzero(trees.sizes)),
        "members": members,
        "relays": members - instance.subscriptions,
        "largest_tree": int(trees.sizes.max(initial=0)),
        "table_entries_a_node": float(trees.entries.mean()),
        "most_table_entries": int(trees.entries.max(initial=0)),
    }


def require_fan_out(fan_out: int) -> None:
    if fan_out < 2:
        raise WeftError(f"A fan-out of {fan_out} is too small for a tree: give 2 or more.")


def strand(mesh: Mesh, agenda: Agenda, prices: Floats, fan_out: int, ranges: list[Range]) -> Strand:
    """Trees of ranges of topics that follow each other.

    Kernels let go of the GIL, so a strand a thread keeps all cores busy. What nodes send is summed up range by range:
    however ranges are shared among tasks, sums are the same to the last bit.
    """
    first, last = ranges[0][0], ranges[-1][1]
    indptr = agenda.subscribers.indptr[first : last + 1]
    own = agenda.subscribers.indices[indptr[0] : indptr[-1]]
    known = agenda.publisher_indptr[first : last + 1]
    publishers = slice(known[0], known[-1])
    sizes, parts, members, parents = weave_topics(
        mesh.neighbours.indptr,
        mesh.neighbours.indices,
        mesh.costs,
        indptr - indptr[0],
        own,
        known - known[0],
        agenda.publishers.nodes[publishers],
        agenda.publishers.rates[publishers],
        prices,
        agenda.steps((first, last)),
        mesh.hop,
        fan_out,
    )
    starts = np.append(0, np.cumsum(sizes))
    sent = []
    for begin, end in ranges:
        trees = slice(starts[begin - first], starts[end - first])
        own_sizes = sizes[begin - first : end - first]
        sent.append(sent_in(agenda.rates[begin:end], own_sizes, members[trees], parents[trees]))
    senders, amounts = (np.concatenate(column) for column in zip(*sent, strict=True))
    return Strand(sizes, parts, members, parents, senders, amounts)


def require_whole(agenda: Agenda, parts: Int32s) -> None:
    """Refuse an overlay that leaves the subscribers of a topic in parts; these are by topic, as in the agenda."""
    parted = np.flatnonzero(parts > 1)
    if len(parted):
        raise WeftError(
            f"The overlay leaves the subscribers of topic {agenda.topics[parted[0]]} in {parts[parted[0]]} parts that "
            "no links join: design another."
        )


def trees_of(agenda: Agenda, order: RingOrder, topics: int, strands: list[Strand]) -> Trees:
    """Trees of all topics in the order of their numbers."""
    parts, sizes, members, parents = (
        np.concatenate([np.empty(0, np.int32), *(getattr(each, name) for each in strands)])
        for name in ("parts", "sizes", "members", "parents")
    )
    require_whole(agenda, parts)
    by_topic = np.argsort(np.repeat(agenda.topics, sizes), kind="stable")
    all_sizes = np.zeros(topics, np.int64)
    all_sizes[agenda.topics] = sizes
    indptr = np.append(0, np.cumsum(all_sizes))
    return Trees(agenda.subscribers.columns, indptr, order.nodes[members[by_topic]], parents[by_topic])
