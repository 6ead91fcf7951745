"""Lists of subscribers under other numbers of the nodes."""

from weft.arrays import Int32s, Int64s
from weft.kernels.jit import jit


@jit
def renumber_rows(start: Int64s, nodes: Int32s, number: Int32s, renumbered: Int32s) -> None:
    """Every row by the new numbers, ascending."""
    for row in range(len(start) - 1):
        new = renumbered[start[row] : start[row + 1]]
        old = nodes[start[row] : start[row + 1]]
        for k in range(len(new)):
            new[k] = number[old[k]]
        new.sort()
