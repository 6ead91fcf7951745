"""Publications in bulk: the routing kernels over an instance and an overlay, every delivery checked.

`evaluate` is all of it in one call. To shard publications, make the `network_for` the router once for each executor,
take `evaluate_part` of each shard, add up the counts, and make an `Evaluation.from_counts` of the sum.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from time import perf_counter

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from weft.arrays import Int32s, Int64s
from weft.errors import DeliveryError, WeftError
from weft.kernels.parallel import thread_count
from weft.kernels.routing.tally import (
    ARRIVALS,
    DELIVERED,
    DELIVERIES,
    EXPECTED,
    HOPS,
    MEAN_SUM,
    MESSAGES,
    OVERHEAD,
    PATH_MAX,
    PATH_SUM,
    RECEIVED,
    REPEATED,
    SENT,
    SOURCE,
    TARGET,
)
from weft.model.forwarding import Distance, Ends, Pivots
from weft.model.instance import Instance
from weft.model.latency import Latency
from weft.model.overlay import Overlay
from weft.model.publication import Publications
from weft.model.table import Columns, Table
from weft.model.tree import Trees
from weft.sim.catalog import SYSTEMS, forwarding_for, require_options, routing, trees_for
from weft.sim.evaluation import TOPIC_COLUMNS, Counts, Evaluation, has_sizes, merged, with_bytes
from weft.sim.network import Network, network_with
from weft.sim.runs import Kernel, Runs, nothing_counted, runs_of
from weft.sim.system import Task, evaluated
from weft.sim.timed import with_times
from weft.workloads.publication import publications as drawn


@dataclass(frozen=True, eq=False)
class Trace(Table):
    """The messages of one publication."""

    sources: Int32s  # nodes
    targets: Int32s
    hops: Int32s  # from the issuer, this one included
    delivered: Int32s  # 1 where the message came to a subscriber that it was meant for

    @property
    def columns(self) -> Columns:
        return {"source": self.sources, "target": self.targets, "hops": self.hops, "delivered": self.delivered}


def evaluate(
    instance: Instance,
    overlay: Overlay | None,
    router: str,
    publications: Publications | int = 10_000,
    *,
    seed: int = 1,
    per_topic: bool = False,
    fan_out: int | None = None,
    latency: Latency | None = None,
    trees: Trees | None = None,
    links: Ends | None = None,
    distance: Distance | None = None,
    pivots: Pivots | None = None,
) -> Evaluation:
    """What it costs to publish over an overlay by a router; every delivery is checked.

    router        by its name in weft.sim.catalog, such as "pie" or "weave"
    publications  those to send, or how many to draw with the seed
    seed          draws publications and places rendezvous points; nothing else is left to chance
    per_topic     whether the result has the figures of every topic
    fan_out       of weave: the neighbours that a node has in a topic's tree at most; None: 64
    latency       round-trip times: trees are then as short as may be in time, and deliveries of any router are timed,
                  which the seconds do not count
    trees         those of `weave`, for a router that has trees; None: they are woven
    links         of routers on the ring: messages are sent over "own" fingers, or over fingers from "both" ends
    distance      of the same: "clockwise", or "absolute", the least of both directions, which needs links both
    pivots        of po, pal, pie: next hops are "own" fingers, or all "neighbours" by a finger from either end
    """
    forwarding = forwarding_for(router, links, distance, pivots)
    if isinstance(publications, int):
        publications = drawn(instance, publications, seed)
    require_options(router, fan_out, trees is not None)
    if router in SYSTEMS:
        require_known(publications, instance.nodes, instance.topics)
        task = Task(instance, overlay, publications, seed, latency)
        return evaluated(router, SYSTEMS[router], task, per_topic)[0]
    if overlay is None:
        raise WeftError(f"{router} publishes over an overlay: give one.")
    started = perf_counter()
    trees = trees_for(router, instance, overlay, fan_out=fan_out, latency=latency, given=trees)
    network = network_with(instance, overlay, trees, forwarding)
    counts = evaluate_part(network, router, publications, seed=seed, per_topic=per_topic or has_sizes(instance))
    result = Evaluation.from_counts(
        counts,
        router=router,
        overlay=network.overlay,
        seconds=perf_counter() - started,
        most_links=network.most_links,
        entries=None if trees is None else trees.entries,
        forwarding=forwarding if trees is None else None,
    )
    result = with_bytes(result, instance, per_topic)
    if latency is None:
        return result
    return with_times(result, instance, overlay, latency, publications, seed=seed, trees=trees)


def evaluate_part(
    network: Network, router: str, publications: Publications, *, seed: int = 0, per_topic: bool = False
) -> Counts:
    """Kernels let go of the GIL, so a chunk a thread keeps all cores busy."""
    row = routing(router)
    require_known(publications, network.nodes, network.topics)
    if row.has_trees and not network.has_ring and len(publications):
        _require_ways(network, publications)
    chunks = _chunks(network, publications, thread_count())
    count = partial(_counts, network, row.kernel, seed=seed, per_topic=per_topic)
    with ThreadPoolExecutor(len(chunks)) as pool:
        return merged(pool.map(count, chunks))


def trace(network: Network, router: str, topic: int, issuer: int, *, seed: int = 0) -> Trace:
    kernel = routing(router).kernel
    publication = Publications(np.array([topic], np.int32), np.array([issuer], np.int32))
    require_known(publication, network.nodes, network.topics)
    run = runs_of(publication.topics, network.position_of[publication.nodes])
    counted = nothing_counted(network, run)
    kernel(network, run, seed, counted)
    rows = np.empty((counted.totals[0, MESSAGES], 4), np.int32)
    kernel(network, run, seed, nothing_counted(network, run, rows))
    nodes = network.node_at
    return Trace(nodes[rows[:, SOURCE]], nodes[rows[:, TARGET]], rows[:, HOPS], rows[:, DELIVERED])


def require_known(publications: Publications, nodes: int, topics: int) -> None:
    for kind, ids, count in (("topic", publications.topics, topics), ("node", publications.nodes, nodes)):
        if len(ids) and (ids.min() < 0 or ids.max() >= count):
            raise WeftError(f"The publications name {kind}s that the instance does not have: it has {count}.")


def _require_ways(network: Network, publications: Publications) -> None:
    """A ring joins all nodes; without one the overlay may leave an issuer apart from the tree."""
    links, trees = network.links, network.woven
    adjacency = sparse.csr_array((np.ones(len(links.ends), np.int8), links.ends, links.indptr), (network.nodes,) * 2)
    _, part = csgraph.connected_components(adjacency, directed=False)
    has_tree = trees.sizes[publications.topics] > 0
    topics, nodes = publications.topics[has_tree], publications.nodes[has_tree]
    apart = np.flatnonzero(part[network.position_of[nodes]] != part[trees.members[trees.indptr[topics]]])
    if len(apart):
        raise WeftError(
            f"Node {nodes[apart[0]]} publishes on topic {topics[apart[0]]}, and no links of the overlay "
            f"{network.overlay} lead from it to the topic's tree: let others publish, or design an overlay with a ring."
        )


def _chunks(network: Network, publications: Publications, count: int) -> list[Runs]:
    """All publications, in chunks that cost about the same: a publication costs what its topic has subscribers."""
    order = np.argsort(publications.topics, kind="stable")
    topics, issuers = publications.topics[order], network.position_of[publications.nodes[order]]
    cost = np.cumsum(network.subscribers.counts[topics] + 1)
    bounds = np.searchsorted(cost, np.linspace(0, cost[-1], count + 1), side="right") if len(cost) else [0, 0]
    return [runs_of(topics[low:high], issuers[low:high]) for low, high in pairwise(bounds)]


def _counts(network: Network, kernel: Kernel, runs: Runs, seed: int, per_topic: bool) -> Counts:
    counted = nothing_counted(network, runs)
    kernel(network, runs, seed, counted)
    totals, load = counted.totals, counted.load
    _require_delivered(runs, totals)
    sums = totals.sum(axis=0)
    by_node = load[network.position_of]
    return Counts(
        publications=len(runs.issuers),
        expected_deliveries=int(sums[EXPECTED]),
        deliveries=int(sums[DELIVERIES]),
        messages=int(sums[MESSAGES]),
        routing_overhead=int(sums[OVERHEAD]),
        path_sum=int(sums[PATH_SUM]),
        maximum_path=int(totals[:, PATH_MAX].max(initial=0)),
        sent=by_node[:, SENT],
        received=by_node[:, RECEIVED],
        topics=_topic_rows(network, runs, totals) if per_topic else None,
        averages=sums[ARRIVALS : MEAN_SUM + 1],
    )


def _require_delivered(runs: Runs, totals: Int64s) -> None:
    wrong = np.flatnonzero((totals[:, DELIVERIES] != totals[:, EXPECTED]) | (totals[:, REPEATED] > 0))
    if len(wrong):
        run = wrong[0]
        raise DeliveryError(
            f"publications on topic {runs.topics[run]} came to {totals[run, DELIVERIES]} subscribers "
            f"({totals[run, REPEATED]} of them again), not to {totals[run, EXPECTED]}"
        )


def _topic_rows(network: Network, runs: Runs, totals: Int64s) -> Int64s:
    """Rows of TOPIC_COLUMNS, one a topic; a topic has one run."""
    topics = np.zeros((network.topics, len(TOPIC_COLUMNS)), np.int64)
    elsewhere = [REPEATED, *range(ARRIVALS, MEAN_SUM + 1)]
    topics[runs.topics] = np.column_stack([np.diff(runs.starts), np.delete(totals, elsewhere, axis=1)])
    return topics
