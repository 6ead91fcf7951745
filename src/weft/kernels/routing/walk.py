"""Greedy routing on the ring: always the finger that comes nearest to the target without passing it.

Nodes are named by their position, which is their rank in ring order. A full ring needs no translation then, and on a
ring with gaps greedy routing needs no identifiers: whether a finger passes the target is a matter of order alone.

The fingers of a node are a row of offsets (how many positions clockwise), `per_phase` columns for each phase of the
offset, in ascending order; a column without a finger of its own repeats the one before. Column 0 is the successor, 1.
The finger to take over a distance d is thus the last one in d's phase or, if that one passes, one just before it.
"""

from typing import NamedTuple

from numba.cpython.unsafe.numbers import leading_zeros

from weft.arrays import Int32s, Int64s
from weft.kernels.jit import leaf_jit
from weft.kernels.routing.tally import MESSAGES, OVERHEAD, RECEIVED, SENT, Tally, trace_message


class Ring(NamedTuple):
    fingers: Int32s  # [position, column], offsets
    per_phase: int
    ids: Int64s  # the identifier at every position
    size: int  # how many identifiers there are; as many as positions on a full ring


@leaf_jit
def bit_length(number: int) -> int:
    return int(64 - leading_zeros(number))  # type: ignore[call-arg]  # the stub asks for numba's own first argument


@leaf_jit
def finger_towards(ring: Ring, position: int, distance: int) -> int:
    """The offset of the finger to take over a distance of at least 1."""
    column = bit_length(distance) * ring.per_phase - 1
    while ring.fingers[position, column] > distance:
        column -= 1
    return int(ring.fingers[position, column])


@leaf_jit
def wrapped(ring: Ring, position: int) -> int:
    """The node at a position that may be counted past the end of the ring, once."""
    nodes = len(ring.fingers)
    return position - nodes if position >= nodes else position


@leaf_jit
def walk(ring: Ring, slots: Int32s, position: int, distance: int, path: int, tally: Tally) -> int:
    """Takes a message that has come `path` hops over a distance; its path at the end.

    slots is negative for nodes without interest.
    """
    row = tally.total[MESSAGES]
    hops = relays = 0
    while distance > 0:
        offset = finger_towards(ring, position, distance)
        source, position = position, wrapped(ring, position + offset)
        distance -= offset
        tally.load[source, SENT] += 1
        tally.load[position, RECEIVED] += 1
        trace_message(tally, row + hops, source, position, path + hops + 1)
        if slots[position] < 0:
            relays += 1
        hops += 1
    tally.total[MESSAGES] += hops
    tally.total[OVERHEAD] += relays
    return path + hops
