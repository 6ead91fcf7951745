"""Links that are there already, taken again as long as they contribute enough."""

import numpy as np

from weft.arrays import Bools, Int32s
from weft.kernels.greedy.connectivity import Connectivity, contribution, join
from weft.kernels.greedy.constraint import FINGERS, NOBODY, Constraint, has_place, owner, phase, use
from weft.kernels.jit import jit


@jit
def keep(
    tcc: Connectivity, constraint: Constraint, sources: Int32s, targets: Int32s, bound: Int32s, kept: Bools, least: int
) -> None:
    """Keep every link that contributes `least` or more and is permitted to the node that owns it.

    `bound` is what each contributed when it was last looked at; contributions never grow, so that those below are not
    looked at. Links that contribute the most come first.
    """
    highest = np.int32(0)
    for link in range(len(sources)):
        if not kept[link]:
            highest = max(highest, bound[link])
    for level in range(highest, least - 1, -1):
        for link in range(len(sources)):
            if kept[link] or bound[link] < level:
                continue
            v, w = sources[link], targets[link]
            bound[link] = contribution(tcc, v, w)
            if bound[link] >= level and may_own(constraint, v, w):
                kept[link] = True
                use(constraint, v, w)
                join(tcc, v, w)


@jit
def may_own(constraint: Constraint, v: int, w: int) -> bool:
    """Whether the node v may open the link v-w, whoever else may."""
    if constraint.kind == FINGERS:
        i = phase(constraint, v, w)
        return bool(((constraint.room[v] >> i) & 1) and has_place(constraint, w, i))
    return bool(owner(constraint, v, w, 1) != NOBODY)
