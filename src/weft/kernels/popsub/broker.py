"""Brokers as the simulation of PopSub sees them: a tree, what is published, what each has decided, and its queue.

What one publication (or batch, or gossip round) has a broker send is a job. The first message of a job, of n
publications, takes costs[n]; each additional one only has to be written, and takes a share of that. Jobs wait for each
other in the order of their arrival. Since the work of a job is known when it comes, so are the times at which its
messages leave: a job that has to wait is put on the agenda once, to end its waiting.

What a table says about a link and an advertisement is its entry link * advertisements + advertisement. Numbers of
brokers, links, entries and the like are int64 wherever functions take them, so that each is compiled once.
"""

from typing import NamedTuple

from weft.arrays import Bytes, Float32s, Floats, Int32s, Int64s
from weft.kernels.jit import inline_jit, leaf_jit
from weft.kernels.popsub.agenda import Agenda, event, schedule
from weft.kernels.popsub.tree import Tree, any_beyond, first_at_least

# The ways of an entry; ADAPTIVE is one of the first four, chosen for each.
TREE, DIRECT, BATCH, GOSSIP, ADAPTIVE = range(5)

# Kinds of events, with the item that each is about.
STARTED = 0  # a job that had to wait, by its publications
FORWARD, TO_GOSSIP, TO_TREE = 1, 2, 3  # a publication came over a link, plain or flagged
BATCHED = 4  # a batch came over a link
TIMED_OUT = 5  # an entry
ROUND = 6  # an advertisement
GOSSIPED = 7  # a gossip
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
    DECIDED_POPULAR,  # of DECIDED: by the tree, because popular
    MATCHED,  # publications that a broker has matched: those issued, and those that came to it
) = range(23)
TOTALS = 23

# Columns of ledger.gains.
BY_ALL, BY_ISSUERS, BY_DECISION, OF_POPULAR, OF_UNPOPULAR = range(5)

UNKNOWN, ASKED, ASKED_ISSUER, SEEN = range(4)  # SEEN and more: seen, so many gossips away from the issuer
DEEPEST = 200  # gossips that are told apart

# How a publication comes to a broker's clients.
UNDELIVERED, BY_TREE, BY_BATCH, BY_DIRECT, BY_GOSSIP = range(5)

SENT, RECEIVED = range(2)
MESSAGES, PURE, CARRIED = range(3)  # messages, those that are pure or come to no subscriber, publications in them

PER_BIN = 0.5  # milliseconds
BINS = 1 << 19


class Traffic(NamedTuple):
    times: Floats  # of publications
    advertisements: Int64s  # of publications
    urgent: Bytes  # of publications: 1 for those of high priority
    issuers: Int64s  # the broker of every advertisement
    bounds: Int64s  # of publications in cells
    places: Int32s  # of cells: positions of the brokers that want a publication, ascending
    counts: Int32s  # of cells: its matching subscriptions there
    audience_bounds: Int64s  # of advertisements: the same, had all its subscriptions matched
    audience: Int32s
    groups: Int64s  # the gossip group of every advertisement
    member_bounds: Int64s  # of groups in members
    members: Int32s  # positions of the brokers that may be in a group, ascending


class Table(NamedTuple):
    """What brokers know of their entries, which are those with subscriptions beyond: by advertisement and link."""

    bounds: Int64s  # of advertisements in entries
    links: Int32s  # of entries, ascending within an advertisement
    gains: Floats
    few_origins: Bytes  # 1 where brokers with subscriptions are no more than the mean hops to a subscription
    priority: Bytes  # 1 where the advertisement has a high priority: the tree is its only way
    order: Int64s  # entries, those of a broker together and in the order of Algorithm 1
    order_bounds: Int64s  # of brokers in order
    ways: Bytes
    routed: Int32s  # publications in this interval
    urgent: Int32s  # publications of high priority in this interval, which `routed` leaves out
    flags: Bytes  # 1: the subscribers beyond were asked to gossip
    direct: Bytes  # 1 while a publication is sent directly to all beyond
    least_popular: Floats  # of every broker: the least gain of its popular entries; infinite without
    forwards: Int64s  # [entry, MESSAGES to CARRIED]
    issued: Int64s  # [entry, popular or unpopular]: publications at their issuers


class Load(NamedTuple):
    costs: Floats  # milliseconds that a message of so many publications takes; beyond the last, in proportion
    additional: float  # share of that for each additional message of a job
    busy: Floats  # until when, of brokers
    worked: Floats  # milliseconds, of brokers
    waiting: Int64s  # [broker, jobs or publications]
    queued: Int64s  # [broker, jobs or lengths], of this interval
    targets: Bytes  # 1 for brokers that a publication is being sent to directly


class Ledger(NamedTuple):
    totals: Int64s
    delivered: Bytes  # of cells: UNDELIVERED to BY_GOSSIP
    gossiped: Bytes  # of publications: 1 where a group has it; empty where nobody gossips
    seen: Bytes  # UNKNOWN to SEEN, of every member of the group of a publication
    seen_bounds: Int64s  # of publications in seen
    gains: Floats  # recorded, in all
    costs: Floats  # of what is sent over links, each divided by its gain (section 4.1)
    latencies: Int64s  # [popular or unpopular, bin]: deliveries
    arrivals: Float32s  # of cells: milliseconds from issue to delivery; empty where nobody asks
    depths: Bytes  # of cells that gossip brought: gossips from the issuer; empty where nobody asks
    outside: Int64s  # [broker, SENT or RECEIVED]: messages with publications out of the overlay
    outside_of: Int64s  # [advertisement, MESSAGES to CARRIED]: the same
    directs: Int64s  # publications that took so many direct messages


class Settings(NamedTuple):
    way: int  # for what is unpopular
    capacity: float  # publications a second; infinite where all is popular
    phi: float  # share of it to be filled, of what high priorities leave
    tolerance: float
    interval: float  # between evaluations, milliseconds
    timeout: float  # of batches, milliseconds
    by_link: bool  # whether batches are of all advertisements on a link
    overload: float  # mean queue of an overloaded broker
    round: float  # of gossip, milliseconds
    fanout: int
    digest: int  # rounds
    history: int  # publications that a round pushes at most, and that a digest has; 0: all
    together: bool  # whether all brokers are one group, for all advertisements
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


@leaf_jit
def first_entry(scene: Scene, advertisement: int, broker: int) -> int:
    """The first entry of an advertisement at a broker, or at one after it; the others of the broker follow."""
    table = scene.table
    low, high = table.bounds[advertisement], table.bounds[advertisement + 1]
    return first_at_least(table.links, low, high, scene.tree.indptr[broker])


@leaf_jit
def last_entry(scene: Scene, advertisement: int, broker: int, first: int) -> int:
    """The end of the entries of an advertisement at a broker, which begin with the first."""
    stop, beyond = scene.table.bounds[advertisement + 1], scene.tree.indptr[broker + 1]
    while first < stop and scene.table.links[first] < beyond:
        first += 1
    return first


@leaf_jit
def is_wanted(scene: Scene, publication: int, link: int) -> bool:
    """Whether any subscription beyond a link matches a publication."""
    traffic = scene.traffic
    bounds = traffic.bounds
    return any_beyond(scene.tree, link, traffic.places, bounds[publication], bounds[publication + 1])


@leaf_jit
def cell_of(scene: Scene, publication: int, broker: int) -> int:
    """The cell of a publication and a broker that wants it, else -1."""
    traffic, place = scene.traffic, scene.tree.positions[broker]
    low, high = traffic.bounds[publication], traffic.bounds[publication + 1]
    cell = first_at_least(traffic.places, low, high, place)
    return cell if cell < high and traffic.places[cell] == place else -1


@leaf_jit
def is_audience(scene: Scene, advertisement: int, broker: int) -> bool:
    """Whether a broker has a subscription that intersects an advertisement."""
    traffic, place = scene.traffic, scene.tree.positions[broker]
    low, high = traffic.audience_bounds[advertisement], traffic.audience_bounds[advertisement + 1]
    found = first_at_least(traffic.audience, low, high, place)
    return bool(found < high and traffic.audience[found] == place)


@inline_jit
def count_routed(scene: Scene, publication: int, entry: int) -> None:
    if scene.traffic.urgent[publication]:
        scene.table.urgent[entry] += 1
    else:
        scene.table.routed[entry] += 1


@inline_jit
def count_outside(scene: Scene, advertisement: int, size: int, sender: int, receiver: int) -> None:
    scene.ledger.totals[OUT_OF_OVERLAY] += 1
    scene.ledger.outside[sender, SENT] += 1
    scene.ledger.outside[receiver, RECEIVED] += 1
    scene.ledger.outside_of[advertisement, MESSAGES] += 1
    scene.ledger.outside_of[advertisement, PURE] += not is_audience(scene, advertisement, receiver)
    scene.ledger.outside_of[advertisement, CARRIED] += size


@inline_jit
def record_gain(ledger: Ledger, gain: float, at_issuer: bool) -> None:
    ledger.totals[RECORDED] += 1
    ledger.gains[BY_ALL] += gain
    if at_issuer:
        ledger.totals[RECORDED_AT_ISSUERS] += 1
        ledger.gains[BY_ISSUERS] += gain


@inline_jit
def record_decision(ledger: Ledger, gain: float, is_popular: bool) -> None:
    ledger.totals[DECIDED] += 1
    ledger.gains[BY_DECISION] += gain
    if is_popular:
        ledger.totals[DECIDED_POPULAR] += 1
        ledger.gains[OF_POPULAR] += gain
    else:
        ledger.gains[OF_UNPOPULAR] += gain


@leaf_jit
def count_forward(
    scene: Scene, entry: int, size: int, gain: float, at_issuer: bool, matches_here: bool, is_popular: bool
) -> None:
    """Count a message of so many publications over a link, whose gain is that of all of them."""
    ledger, table = scene.ledger, scene.table
    ledger.totals[FORWARDS] += 1
    table.forwards[entry, MESSAGES] += 1
    table.forwards[entry, CARRIED] += size
    ledger.costs[0] += (1 + size) / gain
    record_gain(ledger, gain, at_issuer)
    if at_issuer:
        record_decision(ledger, gain, is_popular)
    if not (at_issuer or matches_here):
        ledger.totals[PURE_FORWARDS] += 1
        table.forwards[entry, PURE] += 1


@leaf_jit
def member_of(scene: Scene, group: int, broker: int) -> int:
    """The number of a broker among all that may be in groups; -1 where it is none of this group."""
    traffic, place = scene.traffic, scene.tree.positions[broker]
    low, high = traffic.member_bounds[group], traffic.member_bounds[group + 1]
    member = first_at_least(traffic.members, low, high, place)
    return member if member < high and traffic.members[member] == place else -1


@leaf_jit
def sight_of(scene: Scene, publication: int, member: int) -> int:
    """Where `seen` has a publication and a member of its group."""
    group = scene.traffic.groups[scene.traffic.advertisements[publication]]
    return int(scene.ledger.seen_bounds[publication] + member - scene.traffic.member_bounds[group])


@leaf_jit
def deliver(scene: Scene, publication: int, broker: int, how: int, depth: int, time: float) -> bool:
    """Deliver to all matching subscriptions of the broker; whether it had not seen the publication before."""
    ledger, traffic = scene.ledger, scene.traffic
    if len(ledger.gossiped) and ledger.gossiped[publication]:
        member = member_of(scene, traffic.groups[traffic.advertisements[publication]], broker)
        if member >= 0:
            sight = sight_of(scene, publication, member)
            if ledger.seen[sight] >= SEEN:
                ledger.totals[DUPLICATES] += 1
                return False
            ledger.seen[sight] = SEEN + min(depth, DEEPEST)
    cell = cell_of(scene, publication, broker)
    if cell < 0:
        return True
    if ledger.delivered[cell]:
        ledger.totals[DUPLICATES] += 1
        return False
    ledger.delivered[cell] = how
    column = POPULAR if how == BY_TREE else UNPOPULAR
    count, latency = traffic.counts[cell], time - traffic.times[publication]
    ledger.totals[column] += count
    ledger.latencies[column, min(int(latency / PER_BIN), BINS - 1)] += count
    if len(ledger.arrivals):
        ledger.arrivals[cell] = latency
        ledger.depths[cell] = min(depth, DEEPEST)
    return True
