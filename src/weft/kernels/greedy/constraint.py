"""Which links may still be opened, and by whom.

ANY      no constraint (GM)
DEGREE   no node has more links than its room (GPM)
CIRCLE   degree at most two and no cycle, so that the links are fragments of a ring (GSwicoS). A fragment is known at
         its ends: `far_end` of one is the other. Inner nodes have no room.
FINGERS  one finger in every phase of the node that owns it (GSwicoL, GrSwico). The other end gives up nothing, or where
         the in-degree is bounded, one place. Phase 0 has one candidate, the successor, and each node is the successor
         of one: that finger has a place of its own, which `places` does not count.

No link that is forbidden ever becomes permitted again. The lazy greedy relies on it.
"""

from typing import NamedTuple

import numpy as np

from weft.arrays import Bools, Int32s
from weft.kernels.jit import inline_jit

ANY, CIRCLE, FINGERS, DEGREE = 0, 1, 2, 3
NOBODY = -1
NONE = np.empty(0, np.int32)


class Constraint(NamedTuple):
    kind: int
    room: Int32s = NONE  # CIRCLE, DEGREE: how many more links a node may have; FINGERS: a bit for each empty phase
    far_end: Int32s = NONE  # CIRCLE
    ring_ids: Int32s = NONE  # FINGERS
    phase_of: Int32s = NONE  # FINGERS: the phase of every distance
    places: Int32s = NONE  # FINGERS: how many more fingers of phases above 0 may point at a node; none: any number


def any_link() -> Constraint:
    return Constraint(ANY)


def degree_at_most(most: int, nodes: int) -> Constraint:
    return Constraint(DEGREE, room=np.full(nodes, most, np.int32))


def circle(nodes: int) -> Constraint:
    return Constraint(CIRCLE, room=np.full(nodes, 2, np.int32), far_end=np.arange(nodes, dtype=np.int32))


def fingers(empty_phases: Int32s, ring_ids: Int32s, phase_of: Int32s, places: Int32s = NONE) -> Constraint:
    return Constraint(FINGERS, room=empty_phases, ring_ids=ring_ids, phase_of=phase_of, places=places)


def open_nodes(constraint: Constraint, nodes: int) -> Bools:
    """The nodes that may get another link."""
    return constraint.room > 0 if constraint.kind in (CIRCLE, DEGREE) else np.ones(nodes, np.bool_)


@inline_jit
def owner(constraint: Constraint, v: int, w: int, coin: int) -> int:
    """Node that may open the link v-w, or nobody; where both may, who has fewer places, and else the coin decides.

    A place can be taken by any phase, so that a node with few of them had better use up its phases.
    """
    if constraint.kind == CIRCLE:
        free = constraint.room[v] > 0 and constraint.room[w] > 0 and constraint.far_end[v] != w
        return v if free else NOBODY
    if constraint.kind == FINGERS:
        v_phase, w_phase = phase(constraint, v, w), phase(constraint, w, v)
        v_may = (constraint.room[v] >> v_phase) & has_place(constraint, w, v_phase)
        w_may = (constraint.room[w] >> w_phase) & has_place(constraint, v, w_phase)
        if v_may and w_may and len(constraint.places) > 0 and constraint.places[v] != constraint.places[w]:
            return v if constraint.places[v] < constraint.places[w] else w
        if v_may and w_may:
            return v if coin else w
        return v if v_may else (w if w_may else NOBODY)
    if constraint.kind == DEGREE:
        return v if constraint.room[v] > 0 and constraint.room[w] > 0 else NOBODY
    return v


@inline_jit
def phase(constraint: Constraint, v: int, w: int) -> int:
    """The phase of w at v."""
    distance = constraint.ring_ids[w] - constraint.ring_ids[v]
    return int(constraint.phase_of[distance if distance >= 0 else distance + len(constraint.phase_of)])


@inline_jit
def has_place(constraint: Constraint, w: int, i: int) -> int:
    """1 where w may be pointed at by a finger of phase i, else 0."""
    return 1 if i == 0 or len(constraint.places) == 0 or constraint.places[w] > 0 else 0


@inline_jit
def use(constraint: Constraint, v: int, w: int) -> None:
    """The node v opens a link to w."""
    if constraint.kind == CIRCLE:
        constraint.room[v] -= 1
        constraint.room[w] -= 1
        v_end, w_end = constraint.far_end[v], constraint.far_end[w]
        constraint.far_end[v_end], constraint.far_end[w_end] = w_end, v_end
    elif constraint.kind == FINGERS:
        i = phase(constraint, v, w)
        constraint.room[v] &= ~(1 << i)
        if i > 0 and len(constraint.places) > 0:
            constraint.places[w] -= 1
    elif constraint.kind == DEGREE:
        constraint.room[v] -= 1
        constraint.room[w] -= 1
