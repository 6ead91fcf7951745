"""What all publications of a topic have in common: its subscribers, and how each of them reaches the next.

Made once for a run of publications, in time O(subscribers and the messages between them). A message from a subscriber
to its nearest takes the same route whoever the issuer is: it is routed here, and only counted later.

Positions are unrolled: with its issuer at p, the ring of a publication is p..p+nodes, and no range ever wraps.
"""

from typing import NamedTuple

import numpy as np

from weft.arrays import Int32s, Int64s
from weft.kernels.jit import jit, leaf_jit
from weft.kernels.routing.tally import MESSAGES, OVERHEAD, RECEIVED, SENT, Tally, trace_message
from weft.kernels.routing.walk import Ring, finger_towards, wrapped


class Audience(NamedTuple):
    slots: Int32s  # position -> subscriber, as an index in ring order; -1 for all other nodes
    unrolled: Int64s  # the positions of the subscribers, twice around, and one beyond every range
    matched: Int32s  # a row a subscriber, and one to spare: the offsets of the fingers that subscribe, then 0
    routes: Int32s  # the positions between each subscriber and the next
    ends: Int64s  # those of subscriber s are ends[s]:ends[s + 1]
    uses: Int64s  # of each of these routes
    seen: Int64s  # by each subscriber: the last publication that it was given


@jit
def audience_of(ring: Ring, subscribers: Int32s, slots: Int32s) -> Audience:
    """`slots` is -1 throughout before, and again after `dismiss`."""
    nodes, count = len(ring.fingers), len(subscribers)
    unrolled = np.full(2 * count + 1, 3 * nodes, np.int64)
    for slot in range(count):
        unrolled[slot], unrolled[count + slot] = subscribers[slot], subscribers[slot] + nodes
    mark(slots, subscribers)
    matched = np.empty((count + 1, ring.fingers.shape[1] + 1), np.int32)
    for slot in range(count):
        match(ring, slots, subscribers[slot], matched[slot])
    routes, ends = routes_to_next(ring, subscribers)
    return Audience(slots, unrolled, matched, routes, ends, np.zeros(count, np.int64), np.full(count, -1, np.int64))


@jit
def routes_to_next(ring: Ring, subscribers: Int32s) -> tuple[Int32s, Int64s]:
    nodes, count = len(ring.fingers), len(subscribers)
    routes = np.empty(8 * count, np.int32)
    ends = np.zeros(count + 1, np.int64)
    length = 0
    for slot in range(count):
        position = int(subscribers[slot])
        distance = (int(subscribers[(slot + 1) % count]) - position) % nodes
        while distance > 0:
            offset = finger_towards(ring, position, distance)
            position = wrapped(ring, position + offset)
            distance -= offset
            if length == len(routes):
                routes = np.concatenate((routes, np.empty_like(routes)))
            routes[length] = position
            length += 1
        ends[slot + 1] = length
    return routes, ends


@leaf_jit
def mark(slots: Int32s, positions: Int32s) -> None:
    for slot in range(len(positions)):
        slots[positions[slot]] = slot


@leaf_jit
def unmark(slots: Int32s, positions: Int32s) -> None:
    for position in positions:
        slots[position] = -1


@leaf_jit
def match(ring: Ring, slots: Int32s, position: int, row: Int32s) -> None:
    """Writes a row of matched fingers."""
    count = previous = 0
    for column in range(ring.fingers.shape[1]):
        offset = ring.fingers[position, column]
        if offset > previous and slots[wrapped(ring, position + offset)] >= 0:
            row[count] = offset
            count += 1
        previous = offset
    row[count] = 0


@leaf_jit
def pass_on(audience: Audience, slot: int, position: int, path: int, tally: Tally) -> int:
    """Takes a message from a subscriber to the next; its path there. The nodes between are relays."""
    first, hops = audience.ends[slot], audience.ends[slot + 1] - audience.ends[slot]
    if len(tally.trace):
        for hop in range(hops):
            target = audience.routes[first + hop]
            trace_message(tally, tally.total[MESSAGES] + hop, position, target, path + hop + 1)
            position = target
    audience.uses[slot] += 1
    tally.total[MESSAGES] += hops
    tally.total[OVERHEAD] += hops - 1
    return int(path + hops)


@leaf_jit
def dismiss(audience: Audience, subscribers: Int32s, tally: Tally) -> None:
    """Loads the nodes with the messages that were passed on, and forgets the subscribers."""
    for slot in range(len(subscribers)):
        source, uses = subscribers[slot], audience.uses[slot]
        for hop in range(audience.ends[slot], audience.ends[slot + 1]):
            target = audience.routes[hop]
            tally.load[source, SENT] += uses
            tally.load[target, RECEIVED] += uses
            source = target
    unmark(audience.slots, subscribers)
