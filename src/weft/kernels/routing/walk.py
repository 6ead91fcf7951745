"""Greedy routing on the ring: always the link that comes nearest to the target.

Nodes are named by their position, which is their rank in ring order, and a link by its offset: how many positions
clockwise it leads. By the clockwise distance no link is taken that passes the target, which is a matter of order alone.
By the absolute distance it is that one or the first beyond the target, and identifiers say which of them is nearer.

The offsets of a node are in ascending order, and `starts` has where those of each phase begin. So the last offset that
does not pass is found among those of one phase, which are few, even if many nodes have a finger to this one.

A target may be an identifier that nobody has. It is then the first node after it, and how many identifiers before that
node it lies; a route to it ends at the node that is nearest, the first after it or the last before it.
"""

from typing import NamedTuple

import numpy as np
from numba.cpython.unsafe.numbers import leading_zeros

from weft.arrays import Int32s, Int64s
from weft.kernels.jit import leaf_jit
from weft.kernels.routing.tally import MESSAGES, OVERHEAD, RECEIVED, SENT, Tally, trace_message


class Offsets(NamedTuple):
    values: Int32s  # of all nodes; 1, the successor's, is in every row
    starts: Int32s  # [position, phase]: where the offsets of this phase begin in values; one phase more than there are


class Ring(NamedTuple):
    links: Offsets  # that messages are sent over
    pivots: Offsets  # of the possible next hops of a division
    absolute: bool  # which distance
    ids: Int64s  # the identifier at every position
    size: int  # how many identifiers there are; as many as positions on a full ring


@leaf_jit
def bit_length(number: int) -> int:
    return int(64 - leading_zeros(number))  # type: ignore[call-arg]  # the stub asks for numba's own first argument


@leaf_jit
def last_within(offsets: Offsets, position: int, distance: int) -> int:
    """The place in values of the last offset that does not pass a distance of at least 1."""
    phase = bit_length(distance)
    low, high = offsets.starts[position, phase - 1], offsets.starts[position, phase]
    while low < high:
        middle = (low + high) // 2
        if offsets.values[middle] <= distance:
            low = middle + 1
        else:
            high = middle
    return int(low - 1)


@leaf_jit
def offset_towards(ring: Ring, position: int, distance: int, short: int) -> int:
    """The offset of the link to take, and 0 where this node is the nearest already.

    The target lies `short` identifiers before the node at this distance: 0 where it is this node, and 1..nodes else.
    """
    reach = distance - (short > 0)
    values, starts = ring.links.values, ring.links.starts
    place = starts[position, 0] - 1
    offset = 0
    if reach > 0:
        place = last_within(ring.links, position, reach)
        offset = int(values[place])
    if not ring.absolute or offset == distance:
        return offset
    beyond = int(values[place + 1]) if place + 1 < starts[position, -1] else len(ring.ids)
    target = id_at(ring, position + distance) - short
    if target - id_at(ring, position + offset) <= id_at(ring, position + beyond) - target:
        return offset
    return beyond % len(ring.ids)


@leaf_jit
def left_after(ring: Ring, distance: int, short: int, offset: int) -> int:
    """The distance that is left after a link: once around, less that, where it has led past the target."""
    left = distance - offset
    return left + len(ring.ids) if left < 0 or (left == 0 and short > 0) else left


@leaf_jit
def wrapped(ring: Ring, position: int) -> int:
    """The node at a position that may be counted past the end of the ring, once."""
    nodes = len(ring.ids)
    return position - nodes if position >= nodes else position


@leaf_jit
def id_at(ring: Ring, position: int) -> int:
    """The unrolled identifier of the node at an unrolled position."""
    nodes = len(ring.ids)
    if nodes == ring.size:
        return position
    return int(ring.ids[position] if position < nodes else ring.ids[position - nodes] + ring.size)


@leaf_jit
def position_at(ring: Ring, ring_id: int) -> int:
    """The first unrolled position that holds an unrolled identifier or a later one."""
    nodes = len(ring.ids)
    if nodes == ring.size:
        return ring_id
    if ring_id < ring.size:
        return int(np.searchsorted(ring.ids, ring_id))
    return nodes + int(np.searchsorted(ring.ids, ring_id - ring.size))


@leaf_jit
def walk(
    ring: Ring, slots: Int32s, position: int, distance: int, short: int, path: int, tally: Tally
) -> tuple[int, int]:
    """Takes a message that has come `path` hops as near to a target as it goes; its path and position at the end.

    slots is negative for nodes without interest.
    """
    row = tally.total[MESSAGES]
    hops = relays = 0
    while True:
        offset = offset_towards(ring, position, distance, short)
        if offset == 0:
            break
        source, position = position, wrapped(ring, position + offset)
        distance = left_after(ring, distance, short, offset)
        tally.load[source, SENT] += 1
        tally.load[position, RECEIVED] += 1
        trace_message(tally, row + hops, source, position, path + hops + 1)
        if slots[position] < 0:
            relays += 1
        hops += 1
    tally.total[MESSAGES] += hops
    tally.total[OVERHEAD] += relays
    return path + hops, position
