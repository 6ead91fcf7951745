"""Greedy routing on the ring: always the finger that comes nearest to the target without passing it.

Nodes are named by their position, which is their rank in ring order. A full ring needs no translation then, and on a
ring with gaps greedy routing needs no identifiers: whether a finger passes the target is a matter of order alone.

The fingers of a node are a row of offsets (how many positions clockwise), `per_phase` columns for each phase of the
offset, in ascending order; a column without a finger of its own repeats the one before. Column 0 is the successor, 1.
The finger to take over a distance d is thus the last one in d's phase or, if that one passes, one just before it.

Arrays are passed one by one, not as tuples: numba would count references to each of them at every call.
"""

from numba.cpython.unsafe.numbers import leading_zeros

from weft.kernels.jit import jit
from weft.kernels.tally import MESSAGES, OVERHEAD, RECEIVED, SENT, Int32s, Int64s, trace_hop


@jit
def bit_length(number: int) -> int:
    return int(64 - leading_zeros(number))  # type: ignore[call-arg]  # the stub asks for numba's own first argument


@jit
def finger_towards(fingers: Int32s, per_phase: int, position: int, distance: int) -> int:
    """The offset of the finger to take over a distance of at least 1."""
    column = bit_length(distance) * per_phase - 1
    while fingers[position, column] > distance:
        column -= 1
    return int(fingers[position, column])


@jit
def walk(
    fingers: Int32s,
    per_phase: int,
    position: int,
    distance: int,
    path: int,
    slots: Int32s,
    total: Int64s,
    load: Int64s,
    trace: Int32s,
) -> int:
    """Takes a message that has come `path` hops over a distance; its path at the end.

    slots is negative for the nodes without interest.
    """
    nodes = len(fingers)
    row = total[MESSAGES]
    hops = relays = 0
    while distance > 0:
        offset = finger_towards(fingers, per_phase, position, distance)
        distance -= offset
        source, position = position, position + offset
        if position >= nodes:
            position -= nodes
        load[source, SENT] += 1
        load[position, RECEIVED] += 1
        if slots[position] < 0:
            relays += 1
        if row + hops < len(trace):
            trace_hop(trace, row + hops, source, position, path + hops + 1)
        hops += 1
    total[MESSAGES] += hops
    total[OVERHEAD] += relays
    return path + hops
