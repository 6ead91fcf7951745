"""BeaConvey's routing (Protocols 4 and 5) in bulk: the decisions of weft.protocol.convey over arrays.

Publications come in runs: those of one topic that a thread works on one after the other. The audience of the topic is
made once a run; a publication then costs O(messages) or less.

The subscribers are listed at their positions and again one turn later, so that the nearest subscriber of a node is the
next entry of the list: a message carries the index of that entry, and nobody searches but to place a pivot.

A range ends before a position. Its end in identifiers is kept too, since the distant range is half of the identifiers,
not of the nodes, and where the ring has gaps they differ.
"""

import numpy as np

from weft.arrays import Int32s, Int64s
from weft.kernels.jit import jit, leaf_jit
from weft.kernels.routing.audience import Audience, audience_of, dismiss, match, pass_on
from weft.kernels.routing.tally import (
    ARRIVAL_SUM,
    ARRIVALS,
    DELIVERIES,
    EXPECTED,
    PATH_SUM,
    REPEATED,
    Tally,
    deliver,
    end_publication,
)
from weft.kernels.routing.walk import Ring, bit_length, id_at, position_at, walk, wrapped

NO_PIVOT, PIVOT_IF_FINGER, PIVOT_ALWAYS = 0, 1, 2  # Po, Pie, Pal

# A message that has arrived at LOW, and has a subscriber left in its range.
LOW, HIGH, HIGH_ID, NEXT, PATH = range(5)  # NEXT indexes the first subscriber after LOW
# A next hop. ID is the identifier of TARGET, or the one before it that a pivot was wanted at.
TARGET, ID, FOLLOWING = range(3)  # FOLLOWING indexes the first subscriber after TARGET


@jit
def convey_runs(
    ring: Ring,
    pivot: int,
    most_pivots: int,
    indptr: Int64s,
    subscribers: Int32s,
    topics: Int32s,
    starts: Int64s,
    issuers: Int32s,
    totals: Int64s,
    load: Int64s,
    trace: Int32s,
) -> None:
    """Run r publishes on topics[r] from issuers[starts[r]:starts[r + 1]], and adds to totals[r] and to the load."""
    slots = np.full(len(ring.ids), -1, np.int32)
    hops = np.empty((most_pivots + 2, 3), np.int64)
    for run in range(len(topics)):
        own = subscribers[indptr[topics[run]] : indptr[topics[run] + 1]]
        audience = audience_of(ring, own, slots, most_pivots)
        tally = Tally(totals[run], load, trace)
        stack = np.empty((len(own) + 1, 5), np.int64)  # ranges are disjoint, so there are no more than subscribers
        for publication in range(starts[run], starts[run + 1]):
            publish(ring, pivot, audience, publication, issuers[publication], stack, hops, tally)
        dismiss(audience, own, tally)


@leaf_jit
def publish(
    ring: Ring,
    pivot: int,
    audience: Audience,
    publication: int,
    issuer: int,
    stack: Int64s,
    hops: Int64s,
    tally: Tally,
) -> None:
    round_trip = issuer + len(ring.ids)
    deliveries, paths = tally.total[DELIVERIES], tally.total[PATH_SUM]
    tally.total[EXPECTED] += len(audience.seen) - (audience.slots[issuer] >= 0)
    push(stack, 0, issuer, round_trip, id_at(ring, round_trip), after(audience, issuer), 0)
    top = 1
    while top > 0:
        top -= 1
        low, high, high_id, path = stack[top, LOW], stack[top, HIGH], stack[top, HIGH_ID], stack[top, PATH]
        count = matched_hops(ring, audience, low, high, stack[top, NEXT], hops)
        if pivot != NO_PIVOT and count > 0:
            count += pivot_hop(ring, pivot, audience, low, high, high_id, hops, count)
        for hop in range(count):
            target, following = hops[hop, TARGET], hops[hop, FOLLOWING]
            end, end_id = (hops[hop + 1, TARGET], hops[hop + 1, ID]) if hop + 1 < count else (high, high_id)
            arrival = send(ring, audience, low, hops, hop, end, path, tally)
            if target >= end:
                continue
            tally.total[ARRIVALS] += 1
            tally.total[ARRIVAL_SUM] += arrival
            slot = audience.slots[wrapped(ring, target)]
            if slot >= 0:
                tally.total[REPEATED] += audience.seen[slot] == publication
                audience.seen[slot] = publication
                deliver(tally, arrival)
            if audience.unrolled[following] < end:
                push(stack, top, target, end, end_id, following, arrival)
                top += 1
    end_publication(tally, deliveries, paths)


@leaf_jit
def push(stack: Int64s, top: int, low: int, high: int, high_id: int, following: int, path: int) -> None:
    stack[top, LOW] = low
    stack[top, HIGH] = high
    stack[top, HIGH_ID] = high_id
    stack[top, NEXT] = following
    stack[top, PATH] = path


@leaf_jit
def matched_hops(ring: Ring, audience: Audience, low: int, high: int, following: int, hops: Int64s) -> int:
    """Po: the nearest subscriber and the pivots that subscribe; how many of them lie in the range."""
    nearest = audience.unrolled[following]
    if nearest >= high:
        return 0
    write_hop(hops, 0, nearest, id_at(ring, nearest), following + 1)
    count = 1
    here = wrapped(ring, low)
    row = audience.slots[here]
    if row < 0:
        row = len(audience.seen)
        audience.bounds[row + 1] = match(ring.pivots, audience.slots, here, audience.matched, audience.bounds[row])
    for place in range(audience.bounds[row], audience.bounds[row + 1]):
        target = low + audience.matched[place]
        if target >= high:
            break
        if target > nearest:
            write_hop(hops, count, target, id_at(ring, target), index_at(ring, audience, target) + 1)
            count += 1
    return count


@leaf_jit
def pivot_hop(
    ring: Ring, pivot: int, audience: Audience, low: int, high: int, high_id: int, hops: Int64s, count: int
) -> int:
    """Pie and Pal: a next hop in the distant range, where there is none yet; 1 if one was added, else 0."""
    low_id = id_at(ring, low)
    middle_id = low_id + (high_id - low_id + 1) // 2
    middle = position_at(ring, middle_id)
    if hops[count - 1, TARGET] >= middle:
        return 0
    starts = ring.pivots.starts[wrapped(ring, low)]
    for place in range(starts[bit_length(middle - low) - 1], starts[-1]):
        target = low + ring.pivots.values[place]
        if target >= high:
            break
        if target >= middle:
            write_hop(hops, count, target, id_at(ring, target), after(audience, target))
            return 1
    if pivot == PIVOT_ALWAYS:
        write_hop(hops, count, middle, middle_id, after(audience, middle))
        return 1
    return 0


@leaf_jit
def write_hop(hops: Int64s, row: int, target: int, target_id: int, following: int) -> None:
    hops[row, TARGET] = target
    hops[row, ID] = target_id
    hops[row, FOLLOWING] = following


@leaf_jit
def send(ring: Ring, audience: Audience, low: int, hops: Int64s, hop: int, end: int, path: int, tally: Tally) -> int:
    """Takes a message to a next hop; its path there."""
    here, target = wrapped(ring, low), hops[hop, TARGET]
    slot = audience.slots[here]
    if hop == 0 and slot >= 0:
        return pass_on(audience, slot, here, path, tally)
    short = id_at(ring, target) - hops[hop, ID]
    arrival, position = walk(ring, audience.slots, here, target - low, short, path, tally)
    if target < end and position != wrapped(ring, target):
        # A pivot in a gap: the last node before it knows by its successor who comes first after it.
        arrival, _ = walk(ring, audience.slots, position, 1, 0, arrival, tally)
    return arrival


@leaf_jit
def after(audience: Audience, position: int) -> int:
    """The index of the first subscriber after an unrolled position."""
    return int(np.searchsorted(audience.unrolled, position, side="right"))


@leaf_jit
def index_at(ring: Ring, audience: Audience, position: int) -> int:
    """The index of the subscriber at an unrolled position."""
    nodes, slots = len(ring.ids), audience.slots
    return int(slots[position] if position < nodes else slots[position - nodes] + len(audience.seen))
