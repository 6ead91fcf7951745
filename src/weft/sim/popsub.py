"""PopSub at the paper's scale: one way for what is unpopular, simulated by kernels from publication to last delivery.

It decides as the brokers of weft.protocol.popsub do (docs/popsub.md says where gossip is simpler), and knows besides
what a broker can send in a second. It ends when as much is delivered as matches; other than that is an error, but for
Gossiping without sweeps, which ends when nobody has anything to say any more and counts what was lost.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from weft.arrays import Int64s
from weft.errors import DeliveryError
from weft.kernels.popsub import broker as ledger
from weft.kernels.popsub.batching import NEVER, Buffers
from weft.kernels.popsub.broker import Ledger, Load, Scene, Settings, Table
from weft.kernels.popsub.gossiping import LIST_HEAD, ROUNDS, Groups
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
    Way.ADAPTIVE: ledger.ADAPTIVE,
}
BATCHING = (Way.BATCH, Way.ADAPTIVE)
GOSSIPING = (Way.GOSSIP, Way.ADAPTIVE)


@dataclass(frozen=True)
class Outcome:
    """The metrics of section 5.2, and what they are made of."""

    deliveries: int
    popular_deliveries: int
    unpopular_deliveries: int
    forwards: int
    pure_forwards: int
    out_of_overlay: int
    gain_ratio: float  # mean gain of what issuers decided on: a publication (or batch) and a link
    message_gain_ratio: float  # mean gain of the messages that all brokers sent
    issuer_gain_ratio: float  # the same of the messages that issuers sent
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
    missed: int  # deliveries that gossip without sweeps never made
    duplicates: int  # that came to a broker again, by gossip; subscribers see none
    seconds: float  # simulated


def simulate(stage: Stage, way: Way, parameters: Parameters, capacity: Capacity, seed: int = 0) -> Outcome:
    """Brokers plan with the capacity of the parameters, and work with the other.

    The seed is that of gossip: the other ways use no chance.
    """
    scene = Scene(
        stage.tree,
        stage.traffic,
        _table(stage),
        _load(stage, capacity),
        _ledger(stage, way),
        _settings(way, parameters),
    )
    expected, issuers = stage.expected_deliveries, np.unique(stage.traffic.issuers)
    buffers, groups = _buffers(stage, way), _groups(stage, way, parameters, seed)
    milliseconds = simulate_events(scene, buffers, groups, issuers, expected)
    load = float(scene.load.worked.max() / stage.traffic.times[-1])
    outcome = _outcome(scene.ledger, load, milliseconds / 1000.0, expected)
    if outcome.missed and (parameters.sweep or way not in GOSSIPING or outcome.missed < 0):
        raise DeliveryError(f"{outcome.deliveries} deliveries where {expected} are due")
    return outcome


def _table(stage: Stage) -> Table:
    entries = len(stage.gains)
    return Table(
        gains=stage.gains,
        few_origins=stage.few_origins,
        order=stage.order,
        order_bounds=stage.order_bounds,
        ways=np.full(entries, ledger.TREE, np.uint8),
        routed=np.zeros(entries, np.int32),
        flags=np.zeros(entries, np.uint8),
        direct=np.zeros(len(stage.tree.peers), np.uint8),
        least_popular=np.full(stage.brokers, np.inf),
    )


def _load(stage: Stage, capacity: Capacity) -> Load:
    return Load(
        costs=capacity.costs(),
        additional=capacity.additional,
        busy=np.zeros(stage.brokers),
        worked=np.zeros(stage.brokers),
        waiting=np.zeros((stage.brokers, 2), np.int64),
        queued=np.zeros((stage.brokers, 2), np.int64),
    )


def _ledger(stage: Stage, way: Way) -> Ledger:
    return Ledger(
        totals=np.zeros(ledger.TOTALS, np.int64),
        seen=np.zeros(stage.traffic.reach.shape if way in GOSSIPING else (0, 0), np.uint8),
        gains=np.zeros(3),
        latencies=np.zeros((2, ledger.BINS), np.int64),
        directs=np.zeros(stage.brokers, np.int64),
    )


def _settings(way: Way, parameters: Parameters) -> Settings:
    return Settings(
        way=CODES[way],
        line=np.inf if way is Way.TREE else parameters.to_fill,
        tolerance=parameters.tolerance,
        interval=parameters.evaluation,
        timeout=parameters.batch_timeout,
        overload=parameters.capacity * parameters.congestion / 1000.0,
        round=parameters.round,
        fanout=parameters.fanout,
        digest=parameters.digest_rounds,
        sweep=parameters.sweep,
        keep=parameters.sweep_time,
        age=parameters.sweep_age,
    )


def _buffers(stage: Stage, way: Way) -> Buffers:
    """Room for every publication on every link of its issuer; memory is only taken as it is used."""
    degrees = np.diff(stage.tree.indptr)[stage.traffic.issuers]
    room = int(np.sum(degrees[stage.traffic.advertisements])) if way in BATCHING else 0
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


def _groups(stage: Stage, way: Way, parameters: Parameters, seed: int) -> Groups:
    """Every member may see every publication of its group, and ask for it; memory is only taken as it is used."""
    gossips = way in GOSSIPING
    members = stage.advertisements * stage.brokers if gossips else 0
    of_group = np.bincount(stage.traffic.advertisements, minlength=stage.advertisements)
    bounds = np.append(0, np.cumsum(np.repeat(of_group, stage.brokers))) if gossips else np.zeros(1, np.int64)
    publications = stage.traffic.reach.shape[0] if gossips else 0
    words = int(np.diff(stage.tree.indptr)[stage.traffic.issuers].max()) // 64 + 1
    return Groups(
        members=np.zeros(members, np.uint8),
        round_times=np.zeros(members),
        rounds=np.zeros(members, np.int64),
        views=np.zeros((members, parameters.view), np.int64),
        view_sizes=np.zeros(members, np.int64),
        log_bounds=bounds,
        log_sizes=np.zeros(members, np.int64),
        marks=np.zeros((members, ROUNDS), np.int32),
        logs=np.empty(bounds[-1], np.int64),
        links=np.zeros((publications, words), np.uint64),
        offers=np.zeros((len(stage.gains) if gossips else 0, parameters.view), np.int64),
        offer_sizes=np.zeros(len(stage.gains) if gossips else 0, np.int64),
        swept=np.zeros(stage.advertisements, np.int64),
        lists=np.empty(2 * (1 + LIST_HEAD) * (bounds[-1] + 1), np.int64),
        listed=np.zeros(1, np.int64),
        random=np.array([stream(seed, 0)], np.uint64),
        upkeep=np.zeros(1, np.int64),
        spoken=np.zeros(1),
    )


def _outcome(made: Ledger, load: float, seconds: float, expected: int) -> Outcome:
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
        gain_ratio=_ratio(made.gains[2], totals[ledger.DECIDED]),
        message_gain_ratio=_ratio(made.gains[0], totals[ledger.RECORDED]),
        issuer_gain_ratio=_ratio(made.gains[1], totals[ledger.RECORDED_AT_ISSUERS]),
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
        missed=expected - popular - unpopular,
        duplicates=int(totals[ledger.DUPLICATES]),
        seconds=seconds,
    )


def _ratio(part: Any, whole: Any) -> float:
    return float(part / whole) if whole else 0.0


def _percentile(histogram: Int64s, share: float) -> float:
    """The bin that the share of all falls in or below; 0 of nothing."""
    return float(np.searchsorted(np.cumsum(histogram), share * histogram.sum()))
