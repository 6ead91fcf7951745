"""Diameters of many small graphs at once: graph g has the vertices from starts[g] to starts[g + 1] of one adjacency.

Exact, by the bounds of Takes and Kosters (Determining the diameter of small world networks, CIKM 2011): a search from v
with eccentricity e at distance d from w shows max(d, e - d) <= ecc(w) <= e + d. Vertices whose upper bound does not
exceed the longest path found are settled. The next search starts, in turns, at the highest upper and at the lowest
lower bound; in small worlds a few searches settle all.

A graph in several components has the largest of their diameters.
"""

import numpy as np

from weft.arrays import Int32s, Int64s
from weft.kernels.jit import jit
from weft.kernels.parallel import in_ranges

UNSEEN = -1
UNBOUNDED = np.int32(2**30)


def diameters(starts: Int64s, indptr: Int64s, neighbours: Int32s, bounds: Int64s) -> Int32s:
    found = np.zeros(len(starts) - 1, np.int32)
    largest = int(np.diff(starts).max(initial=0))
    in_ranges(find_diameters, len(bounds) - 1, starts, indptr, neighbours, bounds, largest, found)
    return found


@jit
def find_diameters(
    first: int,
    last: int,
    starts: Int64s,
    indptr: Int64s,
    neighbours: Int32s,
    bounds: Int64s,
    largest: int,
    found: Int32s,
) -> None:
    for chunk in range(first, last):
        distance, queue = np.full(largest, UNSEEN, np.int32), np.empty(largest, np.int32)
        lower, upper = np.empty(largest, np.int32), np.empty(largest, np.int32)
        for graph in range(bounds[chunk], bounds[chunk + 1]):
            start, size = starts[graph], starts[graph + 1] - starts[graph]
            found[graph] = diameter(indptr, neighbours, start, distance, queue, lower[:size], upper[:size])


@jit
def diameter(
    indptr: Int64s, neighbours: Int32s, first: int, distance: Int32s, queue: Int32s, lower: Int32s, upper: Int32s
) -> int:
    lower[:] = 0
    upper[:] = UNBOUNDED
    longest = 0
    from_the_rim = True
    while True:
        v = next_vertex(lower, upper, longest, from_the_rim)
        if v == UNSEEN:
            return longest
        from_the_rim = not from_the_rim
        count = search(indptr, neighbours, first, v, distance, queue)
        eccentricity = distance[queue[count - 1]]
        longest = max(longest, eccentricity)
        for w in queue[:count]:
            lower[w] = max(lower[w], distance[w], eccentricity - distance[w])
            upper[w] = min(upper[w], eccentricity + distance[w])
            distance[w] = UNSEEN


@jit
def next_vertex(lower: Int32s, upper: Int32s, longest: int, from_the_rim: bool) -> int:
    best = UNSEEN
    for v in range(len(lower)):
        if upper[v] > longest and (
            best == UNSEEN or (upper[v] > upper[best] if from_the_rim else lower[v] < lower[best])
        ):
            best = v
    return best


@jit
def search(indptr: Int64s, neighbours: Int32s, first: int, v: int, distance: Int32s, queue: Int32s) -> int:
    """Breadth first from v: the vertices reached, nearest first, in queue[:count], counted from the graph's first."""
    distance[v], queue[0], count = 0, v, 1
    head = 0
    while head < count:
        here = queue[head]
        head += 1
        for k in range(indptr[first + here], indptr[first + here + 1]):
            there = neighbours[k] - first
            if distance[there] == UNSEEN:
                distance[there] = distance[here] + 1
                queue[count] = there
                count += 1
    return count
