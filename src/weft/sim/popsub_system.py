"""PopSub as a system among systems: the same publications over an overlay that is a tree, topics as classes.

Every node is a broker, and those that publish on a topic advertise it. Publications are spread over a minute, as the
paper's runs are, and phi is chosen by utilisation and gains. Messages are those that carry publications: a batch or a
gossip is one, and its bytes are those of all that it carries.
"""

from functools import partial

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from weft.arrays import Bools, Int64s
from weft.errors import WeftError
from weft.kernels.popsub.broker import BY_DIRECT, BY_GOSSIP, CARRIED, MESSAGES, RECEIVED, SENT
from weft.model.overlay import Overlay
from weft.overlays.broker_tree import NO_PARENT, BrokerTree
from weft.protocol.popsub.codec import encode
from weft.protocol.popsub.message import Retrieve
from weft.protocol.popsub.parameters import Way
from weft.sim.evaluation import TOPIC_COLUMNS, Counts
from weft.sim.named_tree import NamedTree
from weft.sim.popsub import Run
from weft.sim.popsub_case import Plan, Prepared, by_ways
from weft.sim.stage import Stage, stage_of
from weft.sim.system import Measured, System, Task
from weft.sim.topic_exchange import exchange_by

OVERLAYS = ("tree", "star")
WAYS = {f"popsub-{way.value}": way for way in (Way.TREE, Way.DIRECT, Way.BATCH, Way.GOSSIP, Way.ADAPTIVE)}
WORDS = {
    Way.TREE: "content-based routing over a tree of brokers",
    Way.DIRECT: "the same, unpopular publications directly (PopSub)",
    Way.BATCH: "the same, unpopular publications in batches (PopSub)",
    Way.GOSSIP: "the same, unpopular publications by gossip (PopSub)",
    Way.ADAPTIVE: "the same, unpopular publications by what suits each",
}
SECONDS = 60.0
CONTROL_BYTES = len(encode(Retrieve(0, (0,))))  # of a message without publications


def popsub_systems() -> dict[str, System]:
    return {name: System(WORDS[way], partial(_measure, way), OVERLAYS) for name, way in WAYS.items()}


def _measure(way: Way, task: Task) -> Measured:
    instance, said, overlay = task.instance, task.publications, task.overlay
    assert overlay is not None
    tree = _tree_of(overlay, task)
    keys = np.unique(said.nodes.astype(np.int64) * instance.topics + said.topics)
    advertisers = keys // instance.topics, keys % instance.topics
    named = exchange_by(instance, np.arange(instance.nodes), advertisers, said, SECONDS)
    prepared = Prepared(NamedTree(tree, tuple(map(str, range(instance.nodes)))), named, stage_of(tree, named.exchange))
    (result,) = by_ways(prepared, [way], Plan(), task.seed, arrivals=True)
    run, stage, topics = result.run, prepared.stage, advertisers[1]
    others, hops = _deliveries(tree, stage, run)
    counts = _counts(instance.topics, topics, stage, run, others, hops)
    extra = _extra_bytes(task, topics, stage, run)
    return Measured(
        counts,
        overlay,
        _peers(way, stage),
        _known(stage, topics, instance.topics),
        controls=run.outcome.controls,
        control_bytes=run.outcome.controls * CONTROL_BYTES + extra,
        times=None if task.latency is None else run.arrivals[others].astype(np.float64),
    )


def _tree_of(overlay: Overlay, task: Task) -> BrokerTree:
    count = overlay.nodes
    ends = np.sort(np.stack([overlay.sources, overlay.targets], axis=1).astype(np.int64), axis=1)
    ends = np.unique(ends, axis=0)
    graph = sparse.csr_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(count, count))
    parts, _ = csgraph.connected_components(graph, directed=False)
    if parts > 1 or len(ends) != count - 1:
        raise WeftError(
            f"PopSub's brokers are a tree, and the overlay {overlay.meta.get('algorithm', '')} is none: "
            f"design {' or '.join(OVERLAYS)}."
        )
    order, parents = csgraph.breadth_first_order(graph, 0, directed=False, return_predecessors=True)
    assert len(order) == count
    nodes = np.arange(count)
    delays = (
        np.ones((count, count)) if task.latency is None else task.latency.round_trip(nodes[:, np.newaxis], nodes) / 2
    )
    np.fill_diagonal(delays, 0.0)
    return BrokerTree(np.maximum(parents, NO_PARENT).astype(np.int32), delays)


def _deliveries(tree: BrokerTree, stage: Stage, run: Run) -> tuple[Int64s, Int64s]:
    """The cells of brokers other than the issuer, and how many hops each delivery took."""
    traffic = stage.traffic
    publications = np.repeat(np.arange(len(traffic.times)), np.diff(traffic.bounds))
    issuers = traffic.issuers[traffic.advertisements[publications]]
    brokers = stage.tree.brokers[traffic.places]
    others = np.flatnonzero(brokers != issuers)
    hops = np.zeros(len(others), np.int64)
    links = np.array(list(tree.links())).reshape(-1, 2)
    graph = sparse.csr_array((np.ones(len(links)), (links[:, 0], links[:, 1])), shape=(tree.brokers, tree.brokers))
    by_issuer = np.argsort(issuers[others], kind="stable")
    bounds = np.searchsorted(issuers[others][by_issuer], np.arange(tree.brokers + 1))
    for issuer in np.flatnonzero(np.diff(bounds)).tolist():
        here = by_issuer[bounds[issuer] : bounds[issuer + 1]]
        away = csgraph.dijkstra(graph, directed=False, indices=np.array([issuer]), unweighted=True)[0]
        hops[here] = away[brokers[others[here]]]
    hops[run.delivered[others] == BY_DIRECT] = 1
    gossiped = run.delivered[others] == BY_GOSSIP
    hops[gossiped] = run.depths[others[gossiped]]
    return others, hops


def _counts(topic_count: int, topics: Int64s, stage: Stage, run: Run, others: Int64s, hops: Int64s) -> Counts:
    traffic, tree = stage.traffic, stage.tree
    entry_topics = topics[np.repeat(np.arange(stage.advertisements), np.diff(stage.bounds))]
    said_on = topics[traffic.advertisements]
    topic_of = said_on[np.repeat(np.arange(len(traffic.times)), np.diff(traffic.bounds))[others]]
    messages, relays = run.forwards[:, MESSAGES], np.where(_is_relay(stage), run.forwards[:, MESSAGES], 0)
    outside = [np.bincount(topics, run.outside_of[:, column], topic_count) for column in range(2)]
    table = np.zeros((topic_count, len(TOPIC_COLUMNS)), np.int64)
    table[:, 0] = np.bincount(said_on, minlength=topic_count)
    table[:, 1] = table[:, 2] = np.bincount(topic_of, minlength=topic_count)
    table[:, 3] = np.bincount(entry_topics, messages, topic_count) + outside[0]
    table[:, 4] = np.bincount(entry_topics, relays, topic_count) + outside[1]
    table[:, 5] = np.bincount(topic_of, hops, topic_count)
    np.maximum.at(table[:, 6], topic_of, hops)
    sources = np.repeat(np.arange(stage.brokers), np.diff(tree.indptr))[stage.links]
    sent = np.bincount(sources, messages, stage.brokers).astype(np.int64) + run.outside[:, SENT]
    received = np.bincount(tree.peers[stage.links], messages, stage.brokers).astype(np.int64) + run.outside[:, RECEIVED]
    sums = dict(zip(TOPIC_COLUMNS[:-1], table[:, :-1].sum(axis=0).tolist(), strict=True))
    return Counts(**sums, maximum_path=int(table[:, -1].max(initial=0)), sent=sent, received=received, topics=table)


def _is_relay(stage: Stage) -> Bools:
    """Whether what goes over an entry comes to a broker without a subscription to its advertisement."""
    traffic, tree = stage.traffic, stage.tree
    of = np.repeat(np.arange(stage.advertisements), np.diff(traffic.audience_bounds))
    known = of * np.int64(stage.brokers) + traffic.audience
    entries = np.repeat(np.arange(stage.advertisements), np.diff(stage.bounds))
    return ~np.isin(entries * np.int64(stage.brokers) + tree.positions[tree.peers[stage.links]], known)


def _extra_bytes(task: Task, topics: Int64s, stage: Stage, run: Run) -> int:
    """Bytes of what messages carry beyond one publication each, where sizes are known."""
    publishers = task.instance.known_publishers
    sizes = None if publishers is None else publishers.topic_sizes(task.instance.topics)
    if sizes is None:
        return 0
    entries = np.repeat(np.arange(stage.advertisements), np.diff(stage.bounds))
    carried = np.bincount(entries, run.forwards[:, CARRIED] - run.forwards[:, MESSAGES], stage.advertisements)
    carried += run.outside_of[:, CARRIED] - run.outside_of[:, MESSAGES]
    return round(float((carried * sizes[topics]).sum()))


def _peers(way: Way, stage: Stage) -> Int64s:
    """Neighbours, and whom issuers send to directly, or a view of each group."""
    degrees = np.diff(stage.tree.indptr)
    if way in (Way.TREE, Way.BATCH):
        return degrees
    audience = np.bincount(stage.traffic.issuers, np.diff(stage.traffic.audience_bounds), stage.brokers)
    return np.minimum(degrees + audience, stage.brokers - 1).astype(np.int64)


def _known(stage: Stage, topics: Int64s, topic_count: int) -> Int64s:
    """Rows of the routing tables: all advertisements, and the subscriptions that came by a link or are its own."""
    advertisement = np.repeat(np.arange(stage.advertisements), np.diff(stage.bounds))
    keys, first = np.unique(stage.links * np.int64(topic_count) + topics[advertisement], return_index=True)
    sources = np.repeat(np.arange(stage.brokers), np.diff(stage.tree.indptr))[keys // topic_count]
    routes = np.bincount(sources, stage.beyond[first], stage.brokers)
    own = np.bincount(stage.tree.brokers[stage.traffic.audience], minlength=stage.brokers)
    return (stage.advertisements + routes + own).astype(np.int64)
