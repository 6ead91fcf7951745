"""A ring out of fragments: paths of links that do not close, single nodes among them."""

import numpy as np

from weft.arrays import Int32s
from weft.kernels.jit import jit

NO_NODE = -1


@jit
def ring_order(nodes: int, sources: Int32s, targets: Int32s, starts: Int32s) -> Int32s:
    """All nodes, fragment after fragment: each as a whole, from the end of it that comes first in `starts`."""
    neighbours = np.full((nodes, 2), NO_NODE, np.int32)
    degree = np.zeros(nodes, np.int32)
    for link in range(len(sources)):
        v, w = sources[link], targets[link]
        neighbours[v, degree[v]], neighbours[w, degree[w]] = w, v
        degree[v] += 1
        degree[w] += 1
    order = np.empty(nodes, np.int32)
    placed = np.zeros(nodes, np.bool_)
    count = 0
    for node in starts:
        if placed[node] or degree[node] == 2:
            continue
        before, here = NO_NODE, node
        while here != NO_NODE:
            order[count] = here
            placed[here] = True
            count += 1
            ahead = neighbours[here, 0] if neighbours[here, 0] != before else neighbours[here, 1]
            before, here = here, ahead
    return order
