"""BeaConvey's routing (Protocols 4 and 5) in bulk: the decisions of weft.protocol.convey over arrays.

Publications come in runs: those of one topic that a thread works on one after the other. What depends on the topic
alone is set up once a run, in O(subscribers); a publication then costs O(messages).

Positions are unrolled: with its issuer at p, the ring of a publication is p..p+nodes, and no range ever wraps.
The subscribers of the topic are listed at q and again at q + nodes, so that the nearest subscriber of a node is the
next entry of the list: a message carries the index of that entry, and nobody searches but to place a pivot.

A range ends before a position. Its end in identifiers is kept too, since the distant range is half of the identifiers,
not of the nodes, and where the ring has gaps they differ.
"""

import numpy as np

from weft.kernels.jit import jit
from weft.kernels.tally import EXPECTED, REPEATED, Int32s, Int64s, deliver, mark, unmark
from weft.kernels.walk import bit_length, walk

NO_PIVOT, PIVOT_IF_FINGER, PIVOT_ALWAYS = 0, 1, 2  # Po, Pie, Pal

# A message that has arrived at LOW, and has a subscriber left in its range.
LOW, HIGH, HIGH_ID, NEXT, PATH = range(5)  # NEXT indexes the first subscriber after LOW
# A next hop. ID is the identifier of TARGET, or the one before it that a pivot was wanted at.
TARGET, ID, FOLLOWING = range(3)  # FOLLOWING indexes the first subscriber after TARGET


@jit
def convey_runs(
    fingers: Int32s,
    per_phase: int,
    ids: Int64s,
    ring_size: int,
    pivot: int,
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
    slots = np.full(len(fingers), -1, np.int32)
    hops = np.empty((fingers.shape[1] + 2, 3), np.int64)
    for run in range(len(topics)):
        own = subscribers[indptr[topics[run]] : indptr[topics[run] + 1]]
        mark(slots, own)
        unrolled = unrolled_positions(own, len(fingers))
        seen = np.full(len(own), -1, np.int64)  # by each subscriber, the last publication that it was given
        stack = np.empty((len(own) + 1, 5), np.int64)  # ranges are disjoint, so there are no more than subscribers
        for publication in range(starts[run], starts[run + 1]):
            publish(
                fingers,
                per_phase,
                ids,
                ring_size,
                pivot,
                slots,
                unrolled,
                seen,
                stack,
                hops,
                publication,
                issuers[publication],
                totals[run],
                load,
                trace,
            )
        unmark(slots, own)


@jit
def unrolled_positions(own: Int32s, nodes: int) -> Int64s:
    """The subscribers, twice around, and a sentinel beyond every range."""
    unrolled = np.full(2 * len(own) + 1, 3 * nodes, np.int64)
    for slot in range(len(own)):
        unrolled[slot] = own[slot]
        unrolled[slot + len(own)] = own[slot] + nodes
    return unrolled


@jit
def publish(
    fingers: Int32s,
    per_phase: int,
    ids: Int64s,
    ring_size: int,
    pivot: int,
    slots: Int32s,
    unrolled: Int64s,
    seen: Int64s,
    stack: Int64s,
    hops: Int64s,
    publication: int,
    issuer: int,
    total: Int64s,
    load: Int64s,
    trace: Int32s,
) -> None:
    nodes = len(fingers)
    total[EXPECTED] += len(seen) - (slots[issuer] >= 0)
    push(stack, 0, issuer, issuer + nodes, id_at(ids, ring_size, issuer + nodes), after(unrolled, issuer), 0)
    top = 1
    while top > 0:
        top -= 1
        low, high, high_id, path = stack[top, LOW], stack[top, HIGH], stack[top, HIGH_ID], stack[top, PATH]
        here = low - nodes if low >= nodes else low
        count = matched_hops(
            fingers, per_phase, ids, ring_size, slots, unrolled, here, low, high, stack[top, NEXT], hops
        )
        if pivot != NO_PIVOT and count > 0:
            count += pivot_hop(
                fingers, per_phase, ids, ring_size, pivot, unrolled, here, low, high, high_id, hops, count
            )
        for hop in range(count):
            target, following = hops[hop, TARGET], hops[hop, FOLLOWING]
            end, end_id = (hops[hop + 1, TARGET], hops[hop + 1, ID]) if hop + 1 < count else (high, high_id)
            if hops[hop, ID] == id_at(ids, ring_size, target):
                arrival = walk(fingers, per_phase, here, target - low, path, slots, total, load, trace)
            else:
                # A pivot in a gap: the last node before it knows by its successor who comes first after it.
                before = (target - 1) % nodes
                arrival = walk(fingers, per_phase, here, target - 1 - low, path, slots, total, load, trace)
                if target == end:
                    continue
                arrival = walk(fingers, per_phase, before, 1, arrival, slots, total, load, trace)
            slot = slots[target - nodes if target >= nodes else target]
            if slot >= 0:
                total[REPEATED] += seen[slot] == publication
                seen[slot] = publication
                deliver(total, arrival, trace)
            if unrolled[following] < end:
                push(stack, top, target, end, end_id, following, arrival)
                top += 1


@jit
def push(stack: Int64s, top: int, low: int, high: int, high_id: int, following: int, path: int) -> None:
    stack[top, LOW] = low
    stack[top, HIGH] = high
    stack[top, HIGH_ID] = high_id
    stack[top, NEXT] = following
    stack[top, PATH] = path


@jit
def matched_hops(
    fingers: Int32s,
    per_phase: int,
    ids: Int64s,
    ring_size: int,
    slots: Int32s,
    unrolled: Int64s,
    here: int,
    low: int,
    high: int,
    following: int,
    hops: Int64s,
) -> int:
    """Po: the nearest subscriber and the fingers that subscribe; how many of them lie in the range."""
    nearest = unrolled[following]
    if nearest >= high:
        return 0
    nodes, subscribers = len(fingers), len(unrolled) // 2
    write_hop(hops, 0, nearest, id_at(ids, ring_size, nearest), following + 1)
    count = 1
    reach = nearest - low
    for column in range((bit_length(reach) - 1) * per_phase, fingers.shape[1]):
        offset = fingers[here, column]
        if low + offset >= high:
            break
        if offset <= reach:
            continue
        reach = offset
        slot = slots[here + offset - nodes if here + offset >= nodes else here + offset]
        if slot >= 0:
            target = low + offset
            index = slot if target < nodes else slot + subscribers
            write_hop(hops, count, target, id_at(ids, ring_size, target), index + 1)
            count += 1
    return count


@jit
def pivot_hop(
    fingers: Int32s,
    per_phase: int,
    ids: Int64s,
    ring_size: int,
    pivot: int,
    unrolled: Int64s,
    here: int,
    low: int,
    high: int,
    high_id: int,
    hops: Int64s,
    count: int,
) -> int:
    """Pie and Pal: a next hop in the distant range, where there is none yet; 1 if one was added, else 0."""
    low_id = id_at(ids, ring_size, low)
    middle_id = low_id + (high_id - low_id + 1) // 2
    middle = position_at(ids, ring_size, middle_id)
    if hops[count - 1, TARGET] >= middle:
        return 0
    for column in range((bit_length(middle - low) - 1) * per_phase, fingers.shape[1]):
        target = low + fingers[here, column]
        if target >= high:
            break
        if target >= middle:
            write_hop(hops, count, target, id_at(ids, ring_size, target), after(unrolled, target))
            return 1
    if pivot == PIVOT_ALWAYS:
        write_hop(hops, count, middle, middle_id, after(unrolled, middle))
        return 1
    return 0


@jit
def write_hop(hops: Int64s, row: int, target: int, target_id: int, following: int) -> None:
    hops[row, TARGET] = target
    hops[row, ID] = target_id
    hops[row, FOLLOWING] = following


@jit
def after(unrolled: Int64s, position: int) -> int:
    """The index of the first subscriber after a position."""
    return int(np.searchsorted(unrolled, position, side="right"))


@jit
def id_at(ids: Int64s, ring_size: int, position: int) -> int:
    """The identifier of the node at an unrolled position."""
    if len(ids) == ring_size:
        return position
    return int(ids[position] if position < len(ids) else ids[position - len(ids)] + ring_size)


@jit
def position_at(ids: Int64s, ring_size: int, ring_id: int) -> int:
    """The first position that holds an unrolled identifier or a later one."""
    if len(ids) == ring_size:
        return ring_id
    if ring_id < ring_size:
        return int(np.searchsorted(ids, ring_id))
    return len(ids) + int(np.searchsorted(ids, ring_id - ring_size))
