"""PopSub at the paper's scale: a broker tree, a workload, and one way for what is unpopular, simulated by kernels.

`stage_of` does what all ways have in common: it finds where each publication goes, and what each link is worth. Then
`simulate` runs one way. Every delivery is accounted for: all that match are made, and none twice.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from weft.errors import WeftError
from weft.kernels import broker as ledger
from weft.kernels.batching import NEVER, Buffers
from weft.kernels.broker import Ledger, Load, Scene, Settings, Table, Traffic, Tree
from weft.kernels.lpbcast import LIST_HEAD, MARKS, Groups
from weft.kernels.popsub import simulate as simulate_events
from weft.kernels.random import stream
from weft.kernels.reach import reach_of, worth_of
from weft.model.csr import Int32s, Int64s
from weft.overlays.broker_tree import BrokerTree
from weft.sim.capacity import Capacity
from weft.workloads.popsub import ContentWorkload

WAYS = {
    "tree": ledger.TREE,
    "direct": ledger.DIRECT,
    "batch": ledger.BATCH,
    "gossip": ledger.GOSSIP,
    "adaptive": ledger.ADAPTIVE,
}
LINKS = 64  # of an issuer: a bit each

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Policy:
    """Times are in milliseconds."""

    way: str  # of WAYS, for what is unpopular
    phi: float = 0.05  # share of the capacity for popular publications, above 0
    evaluation: float = 2_000.0
    tolerance: float = 0.1  # of the capacity to fill, within which popularity stays as it is
    batch_timeout: float = 3_000.0
    round: float = 10_000.0  # of lpbcast, as are the next two
    fanout: int = 2
    view: int = 10
    digest_rounds: int = 5
    sweep_rounds: int = 6
    overload: float = 0.1  # seconds of work waiting, above which `adaptive` gossips

    def __post_init__(self) -> None:
        if self.way not in WAYS:
            raise WeftError(f"There is no way {self.way!r}: choose from {', '.join(WAYS)}.")
        if self.phi <= 0:
            raise WeftError(f"phi {self.phi} is out of range: give a share above 0.")


@dataclass(frozen=True, eq=False)
class Stage:
    """What a simulation starts from, whatever the way."""

    tree: Tree
    traffic: Traffic
    gains: Floats  # of entries: link * advertisements + advertisement
    origins: Int32s
    hops: Floats
    order: Int64s
    order_bounds: Int64s

    @property
    def brokers(self) -> int:
        return len(self.tree.parents)

    @property
    def advertisements(self) -> int:
        return len(self.traffic.issuers)

    @property
    def expected_deliveries(self) -> int:
        reach = self.traffic.reach
        return int(np.sum(reach, where=reach > 0, dtype=np.int64))


@dataclass(frozen=True)
class Outcome:
    """The metrics of section 5.2, and what they are made of."""

    deliveries: int
    popular_deliveries: int
    unpopular_deliveries: int
    forwards: int
    pure_forwards: int
    out_of_overlay: int
    gain_ratio: float  # mean gain of the messages that brokers sent, over all brokers
    issuer_gain_ratio: float  # the same over issuers only
    popular_latency: float  # 99th percentile, milliseconds; as are the next
    unpopular_latency: float
    unpopular_latency_90: float  # 90th percentile
    queue: float  # mean length that jobs found which had to wait; 0 if none had to
    queued: int
    direct_forwards: float  # 99th percentile of the direct messages of a publication that took any
    gossip_false_positives: float  # share of the publications that came by gossip
    matches_per_gossip: float
    groups: int
    batches: int
    retrievals: int
    duplicates: int  # that came to a broker again, by gossip; subscribers see none
    seconds: float  # simulated


def stage_of(tree: BrokerTree, workload: ContentWorkload) -> Stage:
    links = _links(tree, workload.publishers)
    reach = np.empty((workload.publications, tree.brokers), np.int16)
    bounds, issuers = workload.subscription_bounds, workload.publishers
    reach_of(
        workload.advertisements,
        np.ascontiguousarray(workload.values[:, 1]),
        bounds,
        workload.subscribers,
        workload.ranges,
        issuers,
        links.parents,
        reach,
    )
    traffic = Traffic(workload.times, workload.advertisements, issuers, reach, _audience(workload, links.parents))
    counts, hops, origins = (np.zeros((len(links.peers), len(issuers)), np.int32) for _ in range(3))
    worth_of(bounds, workload.subscribers, issuers, links.parents, links.link_to, counts, hops, origins)
    mean_hops = hops / np.maximum(counts, 1)
    gains = counts / np.where(counts, mean_hops, 1)
    order, order_bounds = _order(links, gains, counts > 0)
    return Stage(links, traffic, gains.ravel(), origins.ravel(), mean_hops.ravel(), order, order_bounds)


def _links(tree: BrokerTree, issuers: Int64s) -> Tree:
    ends = np.array(list(tree.links()), np.int64)
    sources, targets = np.concatenate([ends, ends[:, ::-1]]).T
    in_order = np.lexsort((targets, sources))
    sources, targets = sources[in_order], targets[in_order]
    indptr = np.searchsorted(sources, np.arange(tree.brokers + 1))
    if np.diff(indptr)[issuers].max() > LINKS:
        raise WeftError(f"A broker with publishers has more than {LINKS} links: ask for fewer nearest hosts.")
    parents, link_to, first_link = (np.full((tree.brokers, tree.brokers), -1, np.int64) for _ in range(3))
    for issuer in np.unique(issuers):
        parents[issuer] = tree.rooted_at(issuer)
        children = np.flatnonzero(parents[issuer] >= 0)
        before = parents[issuer, children]
        keys = sources * tree.brokers + targets
        link_to[issuer, children] = np.searchsorted(keys, before * tree.brokers + children)
        first_link[issuer] = _first_links(parents[issuer], link_to[issuer], issuer)
    return Tree(indptr, targets, parents, link_to, first_link, tree.delays)


def _first_links(parents: Int64s, link_to: Int64s, issuer: int) -> Int64s:
    """Pointers are doubled until they all stop below the issuer."""
    below = np.where(parents == issuer, np.arange(len(parents)), parents)
    below[issuer] = issuer
    while not np.array_equal(below[below], below):
        below = below[below]
    return np.asarray(link_to[below])


def _audience(workload: ContentWorkload, parents: Int64s) -> npt.NDArray[np.int16]:
    """Of every advertisement: as if a publication matched all its subscriptions."""
    everything = np.array([[0, 0]] * len(workload.ranges), np.int32).reshape(-1, 2)
    count = len(workload.publishers)
    audience = np.empty((count, len(parents)), np.int16)
    advertisements, values = np.arange(count), np.zeros(count, np.int32)
    bounds, issuers = workload.subscription_bounds, workload.publishers
    reach_of(advertisements, values, bounds, workload.subscribers, everything, issuers, parents, audience)
    return audience


def _order(tree: Tree, gains: Floats, has_subscriptions: npt.NDArray[np.bool_]) -> tuple[Int64s, Int64s]:
    """Entries by broker, falling gain, advertisement and link."""
    link, advertisement = np.nonzero(has_subscriptions)
    sources = np.searchsorted(tree.indptr, link, side="right") - 1
    in_order = np.lexsort((link, advertisement, -gains[link, advertisement], sources))
    entries = (link * gains.shape[1] + advertisement)[in_order]
    return entries, np.searchsorted(sources[in_order], np.arange(len(tree.indptr)))


def simulate(stage: Stage, policy: Policy, capacity: Capacity, seed: int = 0) -> Outcome:
    """The seed is that of gossip; the other ways draw no lots."""
    scene = Scene(
        stage.tree,
        stage.traffic,
        _table(stage),
        _load(stage, capacity),
        _ledger(stage, policy),
        _settings(policy, capacity),
    )
    expected = stage.expected_deliveries
    milliseconds = simulate_events(
        scene,
        _buffers(stage, policy),
        _groups(stage, policy, seed),
        np.unique(stage.traffic.issuers),
        expected,
    )
    outcome = _outcome(scene.ledger, milliseconds / 1000.0)
    if outcome.deliveries != expected:
        raise DeliveryError(f"{outcome.deliveries} deliveries where {expected} are due")
    return outcome


class DeliveryError(Exception):
    """A defect of the simulation, which no input should provoke."""


def _table(stage: Stage) -> Table:
    entries = len(stage.gains)
    return Table(
        gains=stage.gains,
        origins=stage.origins,
        hops=stage.hops,
        order=stage.order,
        order_bounds=stage.order_bounds,
        ways=np.full(entries, ledger.TREE, np.uint8),
        routed=np.zeros(entries, np.int32),
        flags=np.zeros(entries, np.uint8),
        least_popular=np.full(stage.brokers, np.inf),
        evaluated=np.zeros(stage.brokers, np.uint8),
    )


def _load(stage: Stage, capacity: Capacity) -> Load:
    return Load(
        pace=1000.0 / capacity.publications_per_second,
        units=capacity.units(),
        busy=np.zeros(stage.brokers),
        waiting=np.zeros(stage.brokers, np.int64),
        queued=np.zeros((stage.brokers, 2), np.int64),
    )


def _ledger(stage: Stage, policy: Policy) -> Ledger:
    gossips = WAYS[policy.way] >= ledger.GOSSIP
    return Ledger(
        totals=np.zeros(ledger.TOTALS, np.int64),
        seen=np.zeros(stage.traffic.reach.shape if gossips else (0, 0), np.uint8),
        gains=np.zeros(2),
        latencies=np.zeros((2, ledger.BINS), np.int64),
        directs=np.zeros(stage.brokers, np.int64),
    )


def _settings(policy: Policy, capacity: Capacity) -> Settings:
    return Settings(
        way=WAYS[policy.way],
        line=capacity.publications_per_second * policy.phi if policy.way != "tree" else np.inf,
        tolerance=policy.tolerance,
        interval=policy.evaluation,
        timeout=policy.batch_timeout,
        overload=policy.overload * capacity.publications_per_second,
        round=policy.round,
        fanout=policy.fanout,
        digest=policy.digest_rounds,
        sweep=policy.sweep_rounds,
    )


def _buffers(stage: Stage, policy: Policy) -> Buffers:
    """Room for every publication on every link of its issuer; memory is only taken as it is used."""
    batches = policy.way in ("batch", "adaptive")
    degrees = np.diff(stage.tree.indptr)[stage.traffic.issuers]
    room = int(np.sum(degrees[stage.traffic.advertisements])) if batches else 0
    entries = len(stage.gains)
    return Buffers(
        publications=np.empty(room, np.int64),
        next=np.empty(room, np.int64),
        batches=np.empty(room, np.int64),
        used=np.zeros(2, np.int64),
        heads=np.zeros(entries, np.int64),
        tails=np.zeros(entries, np.int64),
        sizes=np.zeros(entries, np.int64),
        deadlines=np.full(entries, NEVER),
    )


def _groups(stage: Stage, policy: Policy, seed: int) -> Groups:
    """Every member may see every publication of its group, and ask for it; memory is only taken as it is used."""
    gossips = WAYS[policy.way] >= ledger.GOSSIP
    members = stage.advertisements * stage.brokers if gossips else 0
    of_group = np.bincount(stage.traffic.advertisements, minlength=stage.advertisements)
    bounds = np.append(0, np.cumsum(np.repeat(of_group, stage.brokers))) if gossips else np.zeros(1, np.int64)
    publications = stage.traffic.reach.shape[0] if gossips else 0
    return Groups(
        members=np.zeros(members, np.uint8),
        round_times=np.zeros(members),
        rounds=np.zeros(members, np.int64),
        views=np.zeros((members, policy.view), np.int64),
        view_sizes=np.zeros(members, np.int64),
        log_bounds=bounds,
        log_sizes=np.zeros(members, np.int64),
        marks=np.zeros((members, MARKS), np.int64),
        logs=np.empty(bounds[-1], np.int64),
        links=np.zeros(publications, np.uint64),
        lists=np.empty((1 + LIST_HEAD) * (bounds[-1] + 1), np.int64),
        listed=np.zeros(1, np.int64),
        random=np.array([stream(seed, 0)], np.uint64),
        chatter=np.zeros(1, np.int64),
    )


def _outcome(made: Ledger, seconds: float) -> Outcome:
    totals = made.totals
    popular, unpopular = int(totals[ledger.POPULAR]), int(totals[ledger.UNPOPULAR])
    received = totals[ledger.GOSSIPED_PUBLICATIONS]
    return Outcome(
        deliveries=popular + unpopular,
        popular_deliveries=popular,
        unpopular_deliveries=unpopular,
        forwards=int(totals[ledger.FORWARDS]),
        pure_forwards=int(totals[ledger.PURE_FORWARDS]),
        out_of_overlay=int(totals[ledger.OUT_OF_OVERLAY]),
        gain_ratio=_ratio(made.gains[1], totals[ledger.RECORDED]),
        issuer_gain_ratio=_ratio(made.gains[0], totals[ledger.DECIDED]),
        popular_latency=ledger.PER_BIN * _percentile(made.latencies[0], 0.99),
        unpopular_latency=ledger.PER_BIN * _percentile(made.latencies[1], 0.99),
        unpopular_latency_90=ledger.PER_BIN * _percentile(made.latencies[1], 0.90),
        queue=_ratio(totals[ledger.QUEUE_LENGTHS], totals[ledger.QUEUED]),
        queued=int(totals[ledger.QUEUED]),
        direct_forwards=_percentile(made.directs, 0.99),
        gossip_false_positives=_ratio(totals[ledger.FALSE_POSITIVES], received),
        matches_per_gossip=_ratio(totals[ledger.MATCHED_PUBLICATIONS], totals[ledger.GOSSIPS]),
        groups=int(totals[ledger.GROUPS]),
        batches=int(totals[ledger.BATCHES]),
        retrievals=int(totals[ledger.RETRIEVALS]),
        duplicates=int(totals[ledger.DUPLICATES]),
        seconds=seconds,
    )


def _ratio(part: Any, whole: Any) -> float:
    return float(part / whole) if whole else 0.0


def _percentile(histogram: Int64s, share: float) -> float:
    """The bin that the share of all falls in or below; 0 of nothing."""
    return float(np.searchsorted(np.cumsum(histogram), share * histogram.sum()))
