"""The trees of many topics: weft.kernels.trees.party chooses their members, weft.kernels.trees.tree their form."""

import numpy as np

from weft.arrays import Floats, Int32s, Int64s
from weft.kernels.jit import jit
from weft.kernels.trees.party import NOBODY, disperse, empty_party, gather
from weft.kernels.trees.tree import graph_among, short_tree


@jit
def weave_topics(
    neighbour_indptr: Int64s,
    neighbours: Int32s,
    costs: Floats,
    indptr: Int64s,
    subscribers: Int32s,
    fan_out: int,
) -> tuple[Int32s, Int32s, Int32s, Int32s]:
    """The neighbours of a node are those at either end of a link with it, and the costs theirs (none: all are 1).

    For every topic the size of its tree, and the number of parts of its subscribers, 1 where there is a tree; for the
    members of all trees, parents first, their nodes, and the places of their parents.
    """
    topics = len(indptr) - 1
    sizes, parts = np.zeros(topics, np.int32), np.zeros(topics, np.int32)
    members, parents = np.empty(len(subscribers), np.int32), np.empty(len(subscribers), np.int32)
    party, free = empty_party(len(neighbour_indptr) - 1), 0
    for topic in range(topics):
        own = subscribers[indptr[topic] : indptr[topic + 1]]
        count, parts[topic] = gather(neighbour_indptr, neighbours, party, own)
        if parts[topic] == 1:
            while free + count > len(members):
                members, parents = np.concatenate((members, members)), np.concatenate((parents, parents))
            tree = short_tree(graph_among(neighbour_indptr, neighbours, costs, party, count), len(own), fan_out)
            places = np.empty(count, np.int32)
            for place in range(count):
                member = tree.order[place]
                places[member] = place
                members[free + place] = party.members[member]
                parents[free + place] = NOBODY if place == 0 else places[tree.parents[member]]
            sizes[topic] = count
            free += count
        disperse(party, count)
    return sizes, parts, members[:free].copy(), parents[:free].copy()
