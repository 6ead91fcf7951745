"""Publications in bulk: the routing kernels over an instance and an overlay, every delivery checked.

`evaluate` is all of it in one call. To shard publications, make the `network_of` once for each executor, take
`evaluate_part` of each shard, add up the counts, and make an `Evaluation.from_counts` of the sum.
"""

from dataclasses import dataclass
from time import perf_counter

import numpy as np

from weft.errors import WeftError
from weft.kernels.convey import NO_PIVOT, PIVOT_ALWAYS, PIVOT_IF_FINGER, convey_runs
from weft.kernels.scribe import FROM_ROOT, TO_ROOT, scribe_runs
from weft.kernels.tally import (
    DELIVERED,
    DELIVERIES,
    EXPECTED,
    HOPS,
    MESSAGES,
    OVERHEAD,
    PATH_MAX,
    PATH_SUM,
    RECEIVED,
    REPEATED,
    SENT,
    SOURCE,
    TARGET,
    TOTALS,
)
from weft.kernels.thread import thread_count
from weft.model.csr import Int32s, Int64s
from weft.model.instance import Instance
from weft.model.overlay import Overlay
from weft.model.publication import Publications
from weft.protocol.catalog import require_router
from weft.protocol.rendezvous import rendezvous
from weft.sim.evaluation import TOPIC_COLUMNS, Counts, Evaluation
from weft.sim.network import Network, network_of

PIVOTS = {"po": NO_PIVOT, "pie": PIVOT_IF_FINGER, "pal": PIVOT_ALWAYS}
DIRECTIONS = {"scribe": TO_ROOT, "iscribe": FROM_ROOT}


class DeliveryError(Exception):
    """A publication missed a subscriber or came to one twice: a defect of a router, which no input should provoke."""


@dataclass(frozen=True, eq=False)
class Trace:
    """The messages of one publication."""

    sources: Int32s  # nodes
    targets: Int32s
    hops: Int32s  # from the issuer, this one included
    delivered: Int32s  # 1 where the message came to a subscriber that it was meant for


@dataclass(frozen=True, eq=False)
class Runs:
    """Publications ordered by topic: run r is starts[r]:starts[r + 1] of them, and chunk c is chunks[c]:chunks[c + 1]
    of the runs."""

    topics: Int32s
    starts: Int64s
    issuers: Int32s  # positions
    chunks: Int64s


def evaluate(
    instance: Instance,
    overlay: Overlay,
    router: str,
    publications: Publications,
    *,
    seed: int = 0,
    per_topic: bool = False,
) -> Evaluation:
    """The seed places the rendezvous points; the other routers draw no lots."""
    started = perf_counter()
    network = network_of(instance, overlay)
    counts = evaluate_part(network, router, publications, seed=seed, per_topic=per_topic)
    return Evaluation.from_counts(counts, router=router, overlay=network.overlay, seconds=perf_counter() - started)


def evaluate_part(
    network: Network, router: str, publications: Publications, *, seed: int = 0, per_topic: bool = False
) -> Counts:
    require_router(router)
    _require_known(network, publications)
    runs = _runs(network, publications, thread_count())
    totals, load = _route(network, router, runs, seed, np.empty((0, 4), np.int32))
    _require_delivered(network, runs, totals)
    return _counts(network, runs, totals, load, per_topic)


def trace(network: Network, router: str, topic: int, issuer: int, *, seed: int = 0) -> Trace:
    require_router(router)
    publication = Publications(np.array([topic], np.int32), np.array([issuer], np.int32))
    _require_known(network, publication)
    runs = _runs(network, publication, 1)
    totals, _ = _route(network, router, runs, seed, np.empty((0, 4), np.int32))
    rows = np.empty((totals[0, MESSAGES], 4), np.int32)
    _route(network, router, runs, seed, rows)
    nodes = network.node_at
    return Trace(nodes[rows[:, SOURCE]], nodes[rows[:, TARGET]], rows[:, HOPS], rows[:, DELIVERED])


def _require_known(network: Network, publications: Publications) -> None:
    for kind, ids, count in (
        ("topic", publications.topics, network.topics),
        ("node", publications.nodes, network.nodes),
    ):
        if len(ids) and (ids.min() < 0 or ids.max() >= count):
            raise WeftError(f"the publications name {kind}s that the instance does not have: it has {count}.")


def _runs(network: Network, publications: Publications, chunk_count: int) -> Runs:
    """A publication costs about as much as its topic has subscribers; chunks cost about the same."""
    order = np.argsort(publications.topics, kind="stable")
    topics = publications.topics[order]
    cost = np.cumsum(network.subscribers.counts[topics] + 1)
    shares = np.linspace(0, cost[-1] if len(cost) else 0, chunk_count + 1)
    bounds = np.searchsorted(cost, shares[1:-1])
    bounds = np.concatenate([[0], bounds, [len(topics)]])
    starts = np.unique(np.concatenate([bounds, np.flatnonzero(np.diff(topics)) + 1])).astype(np.int64)
    chunks = np.searchsorted(starts, bounds).astype(np.int64)
    return Runs(topics[starts[:-1]], starts, network.position_of[publications.nodes[order]], chunks)


def _route(network: Network, router: str, runs: Runs, seed: int, rows: Int32s) -> tuple[Int64s, Int64s]:
    """Totals of every run, and the load of every position."""
    totals = np.zeros((len(runs.topics), TOTALS), np.int64)
    loads = np.zeros((len(runs.chunks) - 1, network.nodes, 2), np.int64)
    if router in PIVOTS:
        convey_runs(
            network.fingers,
            network.per_phase,
            network.ids,
            network.ring_size,
            PIVOTS[router],
            network.subscribers.indptr,
            network.subscribers.indices,
            runs.topics,
            runs.starts,
            runs.issuers,
            runs.chunks,
            totals,
            loads,
            rows,
        )
    else:
        scribe_runs(
            network.fingers,
            network.per_phase,
            DIRECTIONS[router],
            _rendezvous_positions(network, runs.topics, seed),
            network.subscribers.indptr,
            network.subscribers.indices,
            runs.topics,
            runs.starts,
            runs.issuers,
            runs.chunks,
            totals,
            loads,
            rows,
        )
    return totals, loads.sum(axis=0)


def _rendezvous_positions(network: Network, topics: Int32s, seed: int) -> Int32s:
    ids = rendezvous(topics.astype(np.uint64), seed, network.ring_size).astype(np.int64)
    return ((np.searchsorted(network.ids, ids, side="right") - 1) % network.nodes).astype(np.int32)


def _require_delivered(network: Network, runs: Runs, totals: Int64s) -> None:
    wrong = np.flatnonzero((totals[:, DELIVERIES] != totals[:, EXPECTED]) | (totals[:, REPEATED] > 0))
    if len(wrong):
        run = wrong[0]
        raise DeliveryError(
            f"publications on topic {runs.topics[run]} came to {totals[run, DELIVERIES]} subscribers "
            f"({totals[run, REPEATED]} of them again), not to {totals[run, EXPECTED]}"
        )


def _counts(network: Network, runs: Runs, totals: Int64s, load: Int64s, per_topic: bool) -> Counts:
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
    )


def _topic_rows(network: Network, runs: Runs, totals: Int64s) -> Int64s:
    sums = np.column_stack([np.diff(runs.starts), totals[:, [EXPECTED, DELIVERIES, MESSAGES, OVERHEAD, PATH_SUM]]])
    topics = np.zeros((network.topics, len(TOPIC_COLUMNS)), np.int64)
    np.add.at(topics[:, :-1], runs.topics, sums)
    np.maximum.at(topics[:, -1], runs.topics, totals[:, PATH_MAX])
    return topics
