"""Brokers as the simulation of PopSub sees them: a tree, what is published, what each has decided, and its queue.

What one publication (or batch, or gossip round) has a broker send is a job. The first message of a job, of n
publications, takes costs[n]; each additional one only has to be written, and takes a share of that. Jobs wait for each
other in the order of their arrival. Since the work of a job is known when it comes, so are the times at which its
messages leave: a job that has to wait is put on the agenda once, to end its waiting.

What a table says about a link and an advertisement is its entry link * advertisements + advertisement. Numbers of
brokers, links, entries and the like are int64 wherever functions take them, so that each is compiled once.
"""

from typing import NamedTuple

from weft.arrays import Bytes, Floats, Int16s, Int32s, Int64s
from weft.kernels.jit import inline_jit, leaf_jit
from weft.kernels.popsub.agenda import Agenda, event, schedule

# The ways of an entry; ADAPTIVE is one of the first four, chosen for each.
TREE, DIRECT, BATCH, GOSSIP, ADAPTIVE = range(5)

# Kinds of events, with the item that each is about.
STARTED = 0  # a job that had to wait, by its publications
FORWARD, TO_GOSSIP, TO_TREE = 1, 2, 3  # a publication came over a link, plain or flagged
BATCHED = 4  # a batch came over a link
TIMED_OUT = 5  # an entry
ROUND = 6  # an advertisement
GOSSIPED = 7  # a member and a round
RETRIEVE, RETRIEVED = 8, 9  # a list
SWEEP = 10  # an advertisement
JOINED = 11  # a member that announces itself

# Columns of totals.
(
    POPULAR,  # deliveries, by Forward or of the issuer's own clients
    UNPOPULAR,  # deliveries
    FORWARDS,
    PURE_FORWARDS,
    OUT_OF_OVERLAY,
    CONTROLS,
    RECORDED,  # messages whose gain any broker recorded
    RECORDED_AT_ISSUERS,  # of these
    DECIDED,  # publications (batches) and links that an issuer recorded the gain of
    QUEUED,  # publications that had to wait
    QUEUE_LENGTHS,  # in publications, that they found, themselves included
    QUEUED_MESSAGES,  # jobs that had to wait
    MESSAGE_QUEUE_LENGTHS,  # in jobs
    GOSSIPS,  # received, with publications
    GOSSIPED_PUBLICATIONS,  # received for the first time, by gossip or retrieval
    FALSE_POSITIVES,  # of these
    MATCHED_PUBLICATIONS,  # received for the first time by gossip, with a match
    RETRIEVALS,  # messages
    GROUPS,
    BATCHES,
    DUPLICATES,  # publications that came again
) = range(21)
TOTALS = 21

UNKNOWN, ASKED, ASKED_ISSUER, SEEN = range(4)

PER_BIN = 0.5  # milliseconds
BINS = 1 << 19


class Tree(NamedTuple):
    indptr: Int64s  # the links of broker b are indptr[b] to indptr[b + 1]
    peers: Int64s  # that links lead to
    parents: Int64s  # [s, b]: the broker before b on the way from s
    link_to: Int64s  # [s, b]: the link over which publications of s come to b
    first_link: Int64s  # [s, b]: the link of s that leads to b
    delays: Floats  # [b, c], milliseconds


class Traffic(NamedTuple):
    times: Floats  # of publications
    advertisements: Int64s  # of publications
    issuers: Int64s  # the broker of every advertisement
    reach: Int16s  # [publication, broker], see weft.kernels.popsub.reach
    audience: Int16s  # [advertisement, broker]: the same, had all its subscriptions matched


class Table(NamedTuple):
    """What brokers know of their entries."""

    gains: Floats
    few_origins: Bytes  # 1 where brokers with subscriptions are no more than the mean hops to a subscription
    order: Int64s  # entries with subscriptions beyond, those of a broker together and in the order of Algorithm 1
    order_bounds: Int64s  # of brokers in order
    ways: Bytes
    routed: Int32s  # publications in this interval
    flags: Bytes  # 1: the subscribers beyond were asked to gossip
    direct: Bytes  # of links: 1 while a publication is sent directly to all beyond
    least_popular: Floats  # of every broker: the least gain of its popular entries; infinite without


class Load(NamedTuple):
    costs: Floats  # milliseconds that a message of so many publications takes; beyond the last, in proportion
    additional: float  # share of that for each additional message of a job
    busy: Floats  # until when, of brokers
    worked: Floats  # milliseconds, of brokers
    waiting: Int64s  # [broker, jobs or publications]
    queued: Int64s  # [broker, jobs or lengths], of this interval


class Ledger(NamedTuple):
    totals: Int64s
    seen: Bytes  # [publication, broker]: UNKNOWN to SEEN; empty where nobody gossips
    gains: Floats  # recorded, in all: [0] by all brokers, [1] by issuers, [2] by issuers once a publication and link
    latencies: Int64s  # [popular or unpopular, bin]: deliveries
    directs: Int64s  # publications that took so many direct messages


class Settings(NamedTuple):
    way: int  # for what is unpopular
    line: float  # publications a second to be filled: capacity times phi
    tolerance: float
    interval: float  # between evaluations, milliseconds
    timeout: float  # of batches, milliseconds
    overload: float  # mean queue of an overloaded broker
    round: float  # of gossip, milliseconds
    fanout: int
    digest: int  # rounds
    sweep: bool  # whether issuers ask who lacks what gossip had its time for
    keep: float  # how long an issuer keeps what it gossips, milliseconds
    age: float  # of what it then sweeps, or forgets


class Scene(NamedTuple):
    tree: Tree
    traffic: Traffic
    table: Table
    load: Load
    ledger: Ledger
    settings: Settings


@leaf_jit
def cost_of(load: Load, size: int) -> float:
    largest = len(load.costs) - 1
    if size <= largest:
        return float(load.costs[size])
    return float(load.costs[largest] * size / largest)


@leaf_jit
def sent_at(load: Load, start: float, end: float, size: int) -> float:
    """When a message of so many publications leaves, in a job that began at `start` and whose last left at `end`."""
    return end + cost_of(load, size) * (1.0 if end == start else load.additional)


@inline_jit
def job_start(scene: Scene, broker: int, now: float) -> float:
    return max(now, float(scene.load.busy[broker]))


@leaf_jit
def end_job(scene: Scene, agenda: Agenda, broker: int, size: int, now: float, start: float, end: float) -> None:
    """End a job of so many publications; its last message leaves at `end`. A job without messages has not been one."""
    load, totals = scene.load, scene.ledger.totals
    if end == start:
        return
    load.busy[broker] = end
    load.worked[broker] += end - start
    if start > now:
        schedule(agenda, start, event(STARTED, broker, size))
        totals[QUEUED] += size
        totals[QUEUE_LENGTHS] += size * load.waiting[broker, 1] + size * (size + 1) // 2
        load.waiting[broker, 0] += 1
        load.waiting[broker, 1] += size
        totals[QUEUED_MESSAGES] += 1
        totals[MESSAGE_QUEUE_LENGTHS] += load.waiting[broker, 0]
        load.queued[broker, 0] += 1
        load.queued[broker, 1] += load.waiting[broker, 0]


@inline_jit
def record_gain(ledger: Ledger, gain: float, at_issuer: bool) -> None:
    ledger.totals[RECORDED] += 1
    ledger.gains[0] += gain
    if at_issuer:
        ledger.totals[RECORDED_AT_ISSUERS] += 1
        ledger.gains[1] += gain


@inline_jit
def record_decision(ledger: Ledger, gain: float) -> None:
    """Record the gain of a publication (or batch) that an issuer sends over a link, or to the brokers beyond it."""
    ledger.totals[DECIDED] += 1
    ledger.gains[2] += gain


@inline_jit
def count_forward(ledger: Ledger, gain: float, at_issuer: bool, matches_here: bool) -> None:
    ledger.totals[FORWARDS] += 1
    record_gain(ledger, gain, at_issuer)
    if at_issuer:
        record_decision(ledger, gain)
    if not (at_issuer or matches_here):
        ledger.totals[PURE_FORWARDS] += 1


@leaf_jit
def deliver(scene: Scene, publication: int, broker: int, column: int, time: float) -> bool:
    """Deliver to all matching subscriptions of the broker; whether it had not seen the publication before."""
    ledger, traffic = scene.ledger, scene.traffic
    if len(ledger.seen):
        if ledger.seen[publication, broker] == SEEN:
            ledger.totals[DUPLICATES] += 1
            return False
        ledger.seen[publication, broker] = SEEN
    count = traffic.reach[publication, broker]
    if count > 0:
        latency = time - traffic.times[publication]
        ledger.totals[column] += count
        ledger.latencies[column, min(int(latency / PER_BIN), BINS - 1)] += count
    return True
