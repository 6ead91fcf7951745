"""Trees grown from each issuer: shortest paths among the members of a topic's tree, to measure the shared ones by."""

import numpy as np

from weft.arrays import Int32s, Int64s
from weft.kernels.jit import jit
from weft.kernels.trees.party import NOBODY


@jit
def issuer_paths(
    neighbour_indptr: Int64s,
    neighbours: Int32s,
    tree_indptr: Int64s,
    members: Int32s,
    indptr: Int64s,
    subscribers: Int32s,
    topics: Int32s,
    issuers: Int32s,
) -> Int64s:
    """Sums of hops from each publication's issuer, which is a member, to all subscribers of its topic."""
    nodes = len(neighbour_indptr) - 1
    hops, inside, queue = np.full(nodes, NOBODY, np.int32), np.full(nodes, NOBODY, np.int32), np.empty(nodes, np.int32)
    sums = np.zeros(len(topics), np.int64)
    for k in range(len(topics)):
        own = members[tree_indptr[topics[k]] : tree_indptr[topics[k] + 1]]
        for member in own:
            inside[member], hops[member] = k, NOBODY
        queue[0], hops[issuers[k]], head, tail = issuers[k], 0, 0, 1
        while head < tail:
            here = queue[head]
            head += 1
            for there in neighbours[neighbour_indptr[here] : neighbour_indptr[here + 1]]:
                if inside[there] == k and hops[there] == NOBODY:
                    hops[there] = hops[here] + 1
                    queue[tail] = there
                    tail += 1
        for subscriber in subscribers[indptr[topics[k]] : indptr[topics[k] + 1]]:
            sums[k] += hops[subscriber]
    return sums
