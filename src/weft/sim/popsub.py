"""PopSub at the paper's scale: one way for what is unpopular, simulated by kernels from publication to last delivery.

It decides as the brokers of weft.protocol.popsub do (docs/popsub.md says where gossip is simpler), and knows besides
what a broker can send in a second. It ends when as much is delivered as matches; other than that is an error, but for
Gossiping without sweeps, which ends when nobody has anything to say any more and counts what was lost.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from weft.arrays import Bytes, Float32s, Int64s
from weft.errors import DeliveryError
from weft.kernels.popsub import broker as ledger
from weft.kernels.popsub.agenda import Agenda, agenda_of, enlarged
from weft.kernels.popsub.batching import NEVER, Buffers
from weft.kernels.popsub.broker import Ledger, Load, Scene, Settings, Table
from weft.kernels.popsub.gossiping import LIST_HEAD, POST, Groups, gather_all
from weft.kernels.popsub.simulation import EVALUATION, NOW
from weft.kernels.popsub.simulation import simulate as simulate_events
from weft.kernels.random import stream
from weft.protocol.popsub.parameters import Parameters, Way
from weft.sim.capacity import Capacity
from weft.sim.stage import Stage

CODES = {
    Way.TREE: ledger.TREE,
    Way.DIRECT: ledger.DIRECT,
    Way.BATCH: ledger.BATCH,
    Way.GOSSIP: ledger.GOSSIP,
    Way.LPBCAST: ledger.GOSSIP,
    Way.ADAPTIVE: ledger.ADAPTIVE,
}
BATCHING = (Way.BATCH, Way.ADAPTIVE)
GOSSIPING = (Way.GOSSIP, Way.LPBCAST, Way.ADAPTIVE)


@dataclass(frozen=True)
class Outcome:
    """The metrics of section 5.2, and what they are made of."""

    deliveries: int
    expected_deliveries: int
    missed: int  # deliveries that gossip without sweeps never made
    popular_deliveries: int
    unpopular_deliveries: int
    forwards: int
    pure_forwards: int
    out_of_overlay: int
    gain_ratio: float  # mean gain of what issuers decided on: a publication (or batch) and a link
    message_gain_ratio: float  # mean gain of the messages that all brokers sent
    issuer_gain_ratio: float  # the same of the messages that issuers sent
    popular_gain: float  # mean gain of the publications that issuers sent by the tree because they were popular
    unpopular_gain: float  # the same of what they sent otherwise: a batch its publications', a direct message 1
    matchings: int  # publications that a broker matched: those issued there, and those that came
    cost: int  # section 3.3: matchings and messages, of publications, over links or out of the overlay
    cost_by_gain: float  # section 4.1: of the tree, where a message costs the less, the more it gains
    popular_latency: float  # 99th percentile, milliseconds; as are the next
    unpopular_latency: float
    unpopular_latency_90: float  # 90th percentile
    load: float  # of the busiest broker: its work as a share of the time in which everything was published
    queue: float  # mean length, in publications, that publications found which had to wait; 0 if none had to
    queued: int  # publications
    message_queue: float  # the same in messages, a batch being one
    queued_messages: int
    direct_forwards: float  # 99th percentile of the direct messages of a publication that took any
    gossip_false_positives: float  # share of the publications that came by gossip
    matches_per_gossip: float
    groups: int
    batches: int
    retrievals: int
    controls: int  # messages without publications, but for those that keep tables
    duplicates: int  # that came to a broker again, by gossip; subscribers see none
    seconds: float  # simulated


@dataclass(frozen=True, eq=False)
class Run:
    """A simulation that is over: its figures, and arrays with the rest, as the stage numbers cells and entries."""

    outcome: Outcome
    delivered: Bytes  # of cells: UNDELIVERED to BY_GOSSIP
    arrivals: Float32s  # of cells: milliseconds; empty unless asked for, as the next
    depths: Bytes  # of cells that gossip brought: gossips from the issuer
    outside: Int64s  # [broker, sent or received]: messages with publications out of the overlay
    outside_of: Int64s  # [advertisement, MESSAGES to CARRIED]: the same
    forwards: Int64s  # [entry, MESSAGES to CARRIED]
    issued: Int64s  # [entry, popular or unpopular]
    latencies: Int64s  # [popular or unpopular, bin of 0.5 ms]


def simulate(stage: Stage, way: Way, parameters: Parameters, capacity: Capacity, seed: int = 0) -> Outcome:
    """Brokers plan with the capacity of the parameters, and work with the other.

    The seed is that of gossip: the other ways use no chance.
    """
    return simulated(stage, way, parameters, capacity, seed).outcome


def simulated(
    stage: Stage, way: Way, parameters: Parameters, capacity: Capacity, seed: int = 0, *, arrivals: bool = False
) -> Run:
    if way is Way.LPBCAST:
        stage = _together(stage)
    scene = Scene(
        stage.tree,
        stage.traffic,
        _table(stage),
        _load(stage, capacity),
        _ledger(stage, way, arrivals),
        _settings(way, parameters),
    )
    expected, issuers = stage.expected_deliveries, np.unique(stage.traffic.issuers)
    buffers, groups = _buffers(stage, way, parameters), _groups(stage, way, parameters, seed)
    milliseconds = _run(scene, buffers, groups, issuers, expected)
    last = stage.traffic.times[-1] if len(stage.traffic.times) else 0.0
    load = float(scene.load.worked.max() / last) if last else 0.0
    if way is Way.LPBCAST:
        scene.ledger.totals[ledger.GROUPS] = 1
    outcome = _outcome(scene.ledger, load, milliseconds / 1000.0, expected)
    if outcome.missed and (parameters.sweep or way not in GOSSIPING or outcome.missed < 0):
        raise DeliveryError(f"{outcome.deliveries} deliveries where {expected} are due")
    made = scene.ledger
    return Run(
        outcome,
        made.delivered,
        made.arrivals,
        made.depths,
        made.outside,
        made.outside_of,
        scene.table.forwards,
        scene.table.issued,
        made.latencies,
    )


def _run(scene: Scene, buffers: Buffers, groups: Groups, issuers: Int64s, expected: int) -> float:
    """Go on until it is over, with more room whenever the kernel says that it needs some; the milliseconds."""
    clock = np.zeros(3)
    clock[EVALUATION] = scene.settings.interval
    agenda: Agenda = agenda_of(16 * (len(scene.tree.peers) + len(scene.tree.brokers)) + 1024)
    if scene.settings.together:
        gather_all(scene, groups, agenda)
    while not simulate_events(scene, buffers, groups, agenda, clock, issuers, expected):
        if len(groups.posts) and groups.free_size[0] < len(groups.posts) // 4:
            groups = _with_more_posts(groups)
        agenda = enlarged(agenda)
    return float(clock[NOW])


def _with_more_posts(groups: Groups) -> Groups:
    """Twice as many gossips may be on their way."""
    count = len(groups.posts)
    free = np.concatenate([groups.free[: groups.free_size[0]], np.arange(count, 2 * count)])
    posts = np.concatenate([groups.posts, np.zeros((count, POST), np.int64)])
    groups.free_size[0] = len(free)
    return groups._replace(posts=posts, free=np.append(free, np.zeros(2 * count - len(free), np.int64)))


def _together(stage: Stage) -> Stage:
    """The same with one group, of all brokers, for all advertisements."""
    everybody = np.arange(stage.brokers, dtype=np.int32)
    groups, bounds = np.zeros(stage.advertisements, np.int64), np.array([0, stage.brokers])
    return replace(stage, traffic=stage.traffic._replace(groups=groups, member_bounds=bounds, members=everybody))


def _table(stage: Stage) -> Table:
    entries = len(stage.gains)
    return Table(
        bounds=stage.bounds,
        links=stage.links,
        gains=stage.gains,
        few_origins=stage.few_origins,
        priority=stage.priority,
        order=stage.order,
        order_bounds=stage.order_bounds,
        ways=np.full(entries, ledger.TREE, np.uint8),
        routed=np.zeros(entries, np.int32),
        urgent=np.zeros(entries, np.int32),
        flags=np.zeros(entries, np.uint8),
        direct=np.zeros(entries, np.uint8),
        least_popular=np.full(stage.brokers, np.inf),
        forwards=np.zeros((entries, 3), np.int64),
        issued=np.zeros((entries, 2), np.int64),
    )


def _load(stage: Stage, capacity: Capacity) -> Load:
    return Load(
        costs=capacity.costs(),
        additional=capacity.additional,
        busy=np.zeros(stage.brokers),
        worked=np.zeros(stage.brokers),
        waiting=np.zeros((stage.brokers, 2), np.int64),
        queued=np.zeros((stage.brokers, 2), np.int64),
        targets=np.zeros(stage.brokers, np.uint8),
    )


def _ledger(stage: Stage, way: Way, arrivals: bool) -> Ledger:
    cells = len(stage.traffic.places)
    bounds = _per_publication(stage, way)
    return Ledger(
        totals=np.zeros(ledger.TOTALS, np.int64),
        delivered=np.zeros(cells, np.uint8),
        gossiped=np.zeros(len(bounds) - 1, np.uint8),
        seen=np.zeros(bounds[-1], np.uint8),
        seen_bounds=bounds,
        gains=np.zeros(5),
        costs=np.zeros(1),
        latencies=np.zeros((2, ledger.BINS), np.int64),
        arrivals=np.full(cells if arrivals else 0, np.nan, np.float32),
        depths=np.zeros(cells if arrivals else 0, np.uint8),
        outside=np.zeros((stage.brokers, 2), np.int64),
        outside_of=np.zeros((stage.advertisements, 3), np.int64),
        directs=np.zeros(stage.brokers, np.int64),
    )


def _per_publication(stage: Stage, way: Way) -> Int64s:
    """Bounds of as many places as the group of each publication has members; memory is only taken as it is used."""
    if way not in GOSSIPING:
        return np.zeros(1, np.int64)
    traffic = stage.traffic
    members = np.diff(traffic.member_bounds)[traffic.groups]
    return np.append(0, np.cumsum(members[traffic.advertisements], dtype=np.int64))


def _settings(way: Way, parameters: Parameters) -> Settings:
    return Settings(
        way=CODES[way],
        capacity=np.inf if way is Way.TREE else parameters.capacity,
        phi=parameters.phi,
        tolerance=parameters.tolerance,
        interval=parameters.evaluation,
        timeout=parameters.batch_timeout,
        by_link=parameters.batch_by == "link",
        overload=parameters.capacity * parameters.congestion / 1000.0,
        round=parameters.round,
        fanout=parameters.fanout,
        digest=parameters.digest_rounds,
        history=parameters.history or 0,
        together=way is Way.LPBCAST,
        sweep=parameters.sweep,
        keep=parameters.sweep_time,
        age=parameters.sweep_age,
    )


def _buffers(stage: Stage, way: Way, parameters: Parameters) -> Buffers:
    """Room for every publication on every link of its issuer; memory is only taken as it is used."""
    entries, links = len(stage.gains), len(stage.tree.peers)
    slots = links if parameters.batch_by == "link" else entries
    room = int(np.sum(_most_links(stage))) if way in BATCHING else 0
    return Buffers(
        publications=np.empty(room, np.int32),
        next=np.empty(room, np.int32),
        batches=np.empty(room, np.int32),
        used=np.zeros(2, np.int64),
        heads=np.zeros(slots, np.int32),
        tails=np.zeros(slots, np.int32),
        sizes=np.zeros(slots, np.int64),
        gains=np.zeros(slots),
        deadlines=np.full(slots, NEVER),
        waiting=np.zeros(entries, np.int32),
    )


def _most_links(stage: Stage) -> Int64s:
    """The links that a publication may take at its issuer: as it has links, and as there are brokers that want it."""
    degrees = np.diff(stage.tree.indptr)[stage.traffic.issuers]
    return np.asarray(np.minimum(degrees[stage.traffic.advertisements], np.diff(stage.traffic.bounds)))


def _groups(stage: Stage, way: Way, parameters: Parameters, seed: int) -> Groups:
    """Every member may see every publication of its group, and ask for it twice.

    Memory is only taken as it is used.
    """
    traffic, gossips = stage.traffic, way in GOSSIPING
    of_advertisement = np.bincount(traffic.advertisements, minlength=stage.advertisements)
    of_group = np.bincount(traffic.groups, of_advertisement, len(traffic.member_bounds) - 1).astype(np.int64)
    sizes = np.diff(traffic.member_bounds) if gossips else np.zeros(len(of_group), np.int64)
    members, entries = int(sizes.sum()), len(stage.gains) if gossips else 0
    bounds = np.append(0, np.cumsum(np.repeat(of_group, sizes)))
    publications = len(traffic.times) if gossips else 0
    words = int(np.diff(stage.tree.indptr)[traffic.issuers].max(initial=0)) // 64 + 1
    posts = 1024 if gossips else 0
    return Groups(
        members=np.zeros(members, np.uint8),
        groups=np.repeat(np.arange(len(sizes), dtype=np.int32), sizes),
        round_times=np.zeros(members),
        rounds=np.zeros(members, np.int64),
        views=np.zeros((members, parameters.view), np.int32),
        view_sizes=np.zeros(members, np.int64),
        log_bounds=bounds,
        log_sizes=np.zeros(members, np.int64),
        marks=np.zeros((members, parameters.digest_rounds + 1), np.int32),
        logs=np.empty(bounds[-1], np.int32),
        links=np.zeros((publications, words), np.uint64),
        offers=np.zeros((entries, parameters.view), np.int32),
        offer_sizes=np.zeros(entries, np.int64),
        issued_bounds=np.append(0, np.cumsum(of_advertisement)),
        issued=np.empty(publications, np.int32),
        issued_sizes=np.zeros(stage.advertisements, np.int64),
        swept=np.zeros(stage.advertisements, np.int64),
        lists=np.empty(2 * (1 + LIST_HEAD) * (bounds[-1] + 1), np.int32),
        listed=np.zeros(1, np.int64),
        posts=np.zeros((posts, POST), np.int64),
        free=np.arange(posts),
        free_size=np.array([posts]),
        random=np.array([stream(seed, 0)], np.uint64),
        upkeep=np.zeros(1, np.int64),
        spoken=np.zeros(1),
    )


def _outcome(made: Ledger, load: float, seconds: float, expected: int) -> Outcome:
    totals = made.totals
    popular, unpopular = int(totals[ledger.POPULAR]), int(totals[ledger.UNPOPULAR])
    received = totals[ledger.GOSSIPED_PUBLICATIONS]
    of_popular, decided = totals[ledger.DECIDED_POPULAR], totals[ledger.DECIDED]
    messages = totals[ledger.FORWARDS] + totals[ledger.OUT_OF_OVERLAY]
    return Outcome(
        deliveries=popular + unpopular,
        expected_deliveries=expected,
        missed=expected - popular - unpopular,
        popular_deliveries=popular,
        unpopular_deliveries=unpopular,
        forwards=int(totals[ledger.FORWARDS]),
        pure_forwards=int(totals[ledger.PURE_FORWARDS]),
        out_of_overlay=int(totals[ledger.OUT_OF_OVERLAY]),
        gain_ratio=_ratio(made.gains[ledger.BY_DECISION], decided),
        message_gain_ratio=_ratio(made.gains[ledger.BY_ALL], totals[ledger.RECORDED]),
        issuer_gain_ratio=_ratio(made.gains[ledger.BY_ISSUERS], totals[ledger.RECORDED_AT_ISSUERS]),
        popular_gain=_ratio(made.gains[ledger.OF_POPULAR], of_popular),
        unpopular_gain=_ratio(made.gains[ledger.OF_UNPOPULAR], decided - of_popular),
        matchings=int(totals[ledger.MATCHED]),
        cost=int(totals[ledger.MATCHED] + messages),
        cost_by_gain=float(made.costs[0]),
        popular_latency=ledger.PER_BIN * _percentile(made.latencies[0], 0.99),
        unpopular_latency=ledger.PER_BIN * _percentile(made.latencies[1], 0.99),
        unpopular_latency_90=ledger.PER_BIN * _percentile(made.latencies[1], 0.90),
        load=load,
        queue=_ratio(totals[ledger.QUEUE_LENGTHS], totals[ledger.QUEUED]),
        queued=int(totals[ledger.QUEUED]),
        message_queue=_ratio(totals[ledger.MESSAGE_QUEUE_LENGTHS], totals[ledger.QUEUED_MESSAGES]),
        queued_messages=int(totals[ledger.QUEUED_MESSAGES]),
        direct_forwards=_percentile(made.directs, 0.99),
        gossip_false_positives=_ratio(totals[ledger.FALSE_POSITIVES], received),
        matches_per_gossip=_ratio(totals[ledger.MATCHED_PUBLICATIONS], totals[ledger.GOSSIPS]),
        groups=int(totals[ledger.GROUPS]),
        batches=int(totals[ledger.BATCHES]),
        retrievals=int(totals[ledger.RETRIEVALS]),
        controls=int(totals[ledger.CONTROLS]),
        duplicates=int(totals[ledger.DUPLICATES]),
        seconds=seconds,
    )


def _ratio(part: Any, whole: Any) -> float:
    return float(part / whole) if whole else 0.0


def _percentile(histogram: Int64s, share: float) -> float:
    """The bin that the share of all falls in or below; 0 of nothing."""
    return float(np.searchsorted(np.cumsum(histogram), share * histogram.sum()))
