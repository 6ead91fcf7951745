"""Places for groups of clients: as few brokers a topic as may be, under capacities.

`held[b, t]` counts the groups with topic t at broker b. A group costs a broker the rates of those of its topics that
nobody else has there.
"""

from weft.arrays import Bools, Floats, Int32s, Int64s
from weft.kernels.jit import jit


@jit
def leave(indptr: Int64s, topics: Int32s, sizes: Int64s, held: Int32s, load: Int64s, place: Int32s) -> None:
    """Leave all groups where they are."""
    for group in range(len(sizes)):
        put(group, place[group], 1, indptr, topics, sizes, held, load, place)


@jit
def place_in_turn(
    order: Int64s,
    indptr: Int64s,
    topics: Int32s,
    sizes: Int64s,
    present: Int32s,
    allowed: Bools,
    capacity: Int64s,
    rates: Floats,
    held: Int32s,
    load: Int64s,
    place: Int32s,
) -> None:
    """Place groups one after the other, where most of their topics are, the less the fuller a broker is (LDG).

    Where no allowed broker has room, a group stays where it is.
    """
    for group in order:
        best, best_score, best_room = present[group], -1.0, -1.0
        for broker in range(len(capacity)):
            if not allowed[present[group], broker] or load[broker] + sizes[group] > capacity[broker]:
                continue
            common = 0.0
            for entry in range(indptr[group], indptr[group + 1]):
                if held[broker, topics[entry]]:
                    common += rates[topics[entry]]
            room = 1.0 - load[broker] / capacity[broker]
            if common * room > best_score or (common * room == best_score and room > best_room):
                best, best_score, best_room = broker, common * room, room
        put(group, best, 1, indptr, topics, sizes, held, load, place)


@jit
def improve(
    indptr: Int64s,
    topics: Int32s,
    sizes: Int64s,
    present: Int32s,
    allowed: Bools,
    capacity: Int64s,
    rates: Floats,
    held: Int32s,
    load: Int64s,
    place: Int32s,
) -> int:
    """Move every group to where it costs least, if that is less than here; back to where it was if that costs the same.

    How many moved.
    """
    moved = 0
    for group in range(len(sizes)):
        here = place[group]
        put(group, here, -1, indptr, topics, sizes, held, load, place)
        best = here
        least = price(group, here, indptr, topics, rates, held)
        for broker in range(len(capacity)):
            if broker == here or not allowed[present[group], broker] or load[broker] + sizes[group] > capacity[broker]:
                continue
            cost = price(group, broker, indptr, topics, rates, held)
            if cost < least or (cost == least and broker == present[group]):
                best, least = broker, cost
        put(group, best, 1, indptr, topics, sizes, held, load, place)
        moved += best != here
    return moved


@jit
def put(
    group: int,
    broker: int,
    change: int,
    indptr: Int64s,
    topics: Int32s,
    sizes: Int64s,
    held: Int32s,
    load: Int64s,
    place: Int32s,
) -> None:
    """Put a group to a broker, or with a change of -1 take it away."""
    place[group] = broker
    load[broker] += change * sizes[group]
    for entry in range(indptr[group], indptr[group + 1]):
        held[broker, topics[entry]] += change


@jit
def price(group: int, broker: int, indptr: Int64s, topics: Int32s, rates: Floats, held: Int32s) -> float:
    cost = 0.0
    for entry in range(indptr[group], indptr[group + 1]):
        if not held[broker, topics[entry]]:
            cost += rates[topics[entry]]
    return cost
