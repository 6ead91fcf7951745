"""Places for groups of clients: as few brokers a topic as may be, under capacities.

A group costs a broker the rates of those of its topics that nobody else has there.
"""

from typing import NamedTuple

from weft.arrays import Bools, Floats, Int32s, Int64s
from weft.kernels.jit import jit


class Groups(NamedTuple):
    indptr: Int64s  # the topics of group g are topics[indptr[g]:indptr[g + 1]]
    topics: Int32s
    sizes: Int64s  # clients
    present: Int32s  # the broker that each is at today


class Bounds(NamedTuple):
    allowed: Bools  # [present, broker]: whether clients may move there
    capacity: Int64s  # clients of every broker


class Placing(NamedTuple):
    """Written by the kernels."""

    held: Int32s  # [broker, topic]: how many groups with the topic are there
    load: Int64s  # clients of every broker
    place: Int32s  # the broker of every group


@jit
def leave(groups: Groups, placing: Placing) -> None:
    """Leave all groups where they are."""
    for group in range(len(groups.sizes)):
        put(groups, placing, group, placing.place[group], 1)


@jit
def place_in_turn(groups: Groups, bounds: Bounds, rates: Floats, order: Int64s, placing: Placing) -> None:
    """Place groups one after the other, where most of their topics are, the less the fuller a broker is (LDG).

    Where no allowed broker has room, a group stays where it is.
    """
    for group in order:
        best, best_score, best_room = groups.present[group], -1.0, -1.0
        for broker in range(len(bounds.capacity)):
            if not fits(groups, bounds, placing, group, broker):
                continue
            common = 0.0
            for topic in groups.topics[groups.indptr[group] : groups.indptr[group + 1]]:
                if placing.held[broker, topic]:
                    common += rates[topic]
            room = 1.0 - placing.load[broker] / bounds.capacity[broker]
            if common * room > best_score or (common * room == best_score and room > best_room):
                best, best_score, best_room = broker, common * room, room
        put(groups, placing, group, best, 1)


@jit
def improve(groups: Groups, bounds: Bounds, rates: Floats, move: float, placing: Placing) -> int:
    """Move every group to where it costs least, if that is less than here; back to where it was if that costs the same.

    `move` is the price of a client that is not where it is today. How many groups moved.
    """
    moved = 0
    for group in range(len(groups.sizes)):
        here = placing.place[group]
        put(groups, placing, group, here, -1)
        best = here
        least = price(groups, placing, rates, group, here) + fare(groups, move, group, here)
        for broker in range(len(bounds.capacity)):
            if broker == here or not fits(groups, bounds, placing, group, broker):
                continue
            cost = price(groups, placing, rates, group, broker) + fare(groups, move, group, broker)
            if cost < least or (cost == least and broker == groups.present[group]):
                best, least = broker, cost
        put(groups, placing, group, best, 1)
        moved += best != here
    return moved


@jit
def fits(groups: Groups, bounds: Bounds, placing: Placing, group: int, broker: int) -> bool:
    room = bounds.capacity[broker] - placing.load[broker]
    return bool(bounds.allowed[groups.present[group], broker] and groups.sizes[group] <= room)


@jit
def put(groups: Groups, placing: Placing, group: int, broker: int, change: int) -> None:
    """Put a group to a broker, or with a change of -1 take it away."""
    placing.place[group] = broker
    placing.load[broker] += change * groups.sizes[group]
    for topic in groups.topics[groups.indptr[group] : groups.indptr[group + 1]]:
        placing.held[broker, topic] += change


@jit
def price(groups: Groups, placing: Placing, rates: Floats, group: int, broker: int) -> float:
    cost = 0.0
    for topic in groups.topics[groups.indptr[group] : groups.indptr[group + 1]]:
        if not placing.held[broker, topic]:
            cost += rates[topic]
    return cost


@jit
def fare(groups: Groups, move: float, group: int, broker: int) -> float:
    return 0.0 if broker == groups.present[group] else move * groups.sizes[group]


@jit
def offer(
    groups: Groups, bounds: Bounds, rates: Floats, placing: Placing, broker: int, worse: Floats, target: Int32s
) -> None:
    """Write for every group at the broker where else it is cheapest, and by how much it is worse there for a client.

    Of groups that are elsewhere, or fit nowhere else, the target is -1.
    """
    for group in range(len(groups.sizes)):
        target[group] = -1
        if placing.place[group] != broker or not groups.sizes[group]:
            continue
        put(groups, placing, group, broker, -1)
        here = price(groups, placing, rates, group, broker)
        for other in range(len(bounds.capacity)):
            if other == broker or not fits(groups, bounds, placing, group, other):
                continue
            cost = (price(groups, placing, rates, group, other) - here) / groups.sizes[group]
            if target[group] < 0 or cost < worse[group]:
                worse[group], target[group] = cost, other
        put(groups, placing, group, broker, 1)


@jit
def evict(groups: Groups, bounds: Bounds, placing: Placing, order: Int64s, target: Int32s, enough: int) -> int:
    """Move groups in this order to their targets until so many clients have moved; how many have."""
    moved = 0
    for group in order:
        if moved >= enough:
            break
        if fits(groups, bounds, placing, group, target[group]):
            put(groups, placing, group, placing.place[group], -1)
            put(groups, placing, group, target[group], 1)
            moved += groups.sizes[group]
    return moved
