"""Links of nodes that are named by their ranks on the ring."""

import numpy as np

from weft.arrays import Floats, Int32s, Int64s
from weft.kernels.jit import jit


@jit
def ranked_links(
    indptr: Int64s, neighbours: Int32s, costs: Floats, nodes: Int32s, ranks: Int32s
) -> tuple[Int64s, Int32s, Floats]:
    """The same links, those of rank 0 first; of each node in the order that they had, so that ties fall alike.

    `nodes` are by rank and `ranks` by node. Costs are those of the links, or none.
    """
    starts, ends, own_costs = np.zeros(len(indptr), np.int64), np.empty(len(neighbours), np.int32), np.empty(len(costs))
    free = 0
    for rank in range(len(nodes)):
        for k in range(indptr[nodes[rank]], indptr[nodes[rank] + 1]):
            ends[free] = ranks[neighbours[k]]
            if len(costs):
                own_costs[free] = costs[k]
            free += 1
        starts[rank + 1] = free
    return starts, ends, own_costs
