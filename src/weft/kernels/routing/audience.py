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
from weft.kernels.routing.walk import Offsets, Ring, left_after, offset_towards, wrapped


class Audience(NamedTuple):
    slots: Int32s  # position -> subscriber, as an index in ring order; -1 for all other nodes
    unrolled: Int64s  # the positions of the subscribers, twice around, and one beyond every range
    matched: Int32s  # the offsets of the pivots that subscribe, those of subscriber s in bounds[s]:bounds[s + 1];
    bounds: Int64s  # last those of one node that does not subscribe
    routes: Int32s  # the positions between each subscriber and the next
    ends: Int64s  # those of subscriber s are ends[s]:ends[s + 1]
    relays: Int64s  # how many of them do not subscribe
    uses: Int64s  # of each of these routes
    seen: Int64s  # by each subscriber: the last publication that it was given


@jit
def audience_of(ring: Ring, subscribers: Int32s, slots: Int32s, most_pivots: int) -> Audience:
    """`slots` is -1 throughout before, and again after `dismiss`. `most_pivots` is the length of the longest row."""
    nodes, count = len(ring.ids), len(subscribers)
    unrolled = np.full(2 * count + 1, 3 * nodes, np.int64)
    for slot in range(count):
        unrolled[slot], unrolled[count + slot] = subscribers[slot], subscribers[slot] + nodes
    mark(slots, subscribers)
    bounds = np.zeros(count + 2, np.int64)
    room = most_pivots
    for subscriber in subscribers:
        room += ring.pivots.starts[subscriber, -1] - ring.pivots.starts[subscriber, 0]
    matched = np.empty(room, np.int32)
    for slot in range(count):
        bounds[slot + 1] = match(ring.pivots, slots, subscribers[slot], matched, bounds[slot])
    routes, ends, relays = routes_to_next(ring, slots, subscribers)
    uses, seen = np.zeros(count, np.int64), np.full(count, -1, np.int64)
    return Audience(slots, unrolled, matched, bounds, routes, ends, relays, uses, seen)


@jit
def routes_to_next(ring: Ring, slots: Int32s, subscribers: Int32s) -> tuple[Int32s, Int64s, Int64s]:
    nodes, count = len(ring.ids), len(subscribers)
    routes = np.empty(8 * count, np.int32)
    ends, relays = np.zeros(count + 1, np.int64), np.zeros(count, np.int64)
    length = 0
    for slot in range(count):
        position = int(subscribers[slot])
        distance = (int(subscribers[(slot + 1) % count]) - position) % nodes
        while distance > 0:
            offset = offset_towards(ring, position, distance, 0)
            position = wrapped(ring, position + offset)
            distance = left_after(ring, distance, 0, offset)
            if length == len(routes):
                routes = np.concatenate((routes, np.empty_like(routes)))
            routes[length] = position
            relays[slot] += slots[position] < 0
            length += 1
        ends[slot + 1] = length
    return routes, ends, relays


@leaf_jit
def mark(slots: Int32s, positions: Int32s) -> None:
    for slot in range(len(positions)):
        slots[positions[slot]] = slot


@leaf_jit
def unmark(slots: Int32s, positions: Int32s) -> None:
    for position in positions:
        slots[position] = -1


@leaf_jit
def match(pivots: Offsets, slots: Int32s, position: int, matched: Int32s, end: int) -> int:
    """Writes the pivots of a node that subscribe, from `end` on; where they end."""
    for place in range(pivots.starts[position, 0], pivots.starts[position, -1]):
        target = position + pivots.values[place]
        if slots[target if target < len(slots) else target - len(slots)] >= 0:
            matched[end] = pivots.values[place]
            end += 1
    return end


@leaf_jit
def pass_on(audience: Audience, slot: int, position: int, path: int, tally: Tally) -> int:
    """Takes a message from a subscriber to the next; its path there."""
    first, hops = audience.ends[slot], audience.ends[slot + 1] - audience.ends[slot]
    if len(tally.trace):
        for hop in range(hops):
            target = audience.routes[first + hop]
            trace_message(tally, tally.total[MESSAGES] + hop, position, target, path + hop + 1)
            position = target
    audience.uses[slot] += 1
    tally.total[MESSAGES] += hops
    tally.total[OVERHEAD] += audience.relays[slot]
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
