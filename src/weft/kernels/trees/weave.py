"""The trees of many topics: party.py says who is in them, and tree.py what form they have."""

import numpy as np

from weft.arrays import Floats, Int32s, Int64s
from weft.kernels.jit import jit
from weft.kernels.trees.party import NOBODY, Party, disperse, empty_party, gather
from weft.kernels.trees.tree import graph_among, short_tree


@jit
def weave_topics(
    neighbour_indptr: Int64s,
    neighbours: Int32s,
    costs: Floats,
    indptr: Int64s,
    subscribers: Int32s,
    publisher_indptr: Int64s,
    publishers: Int32s,
    rates: Floats,
    prices: Floats,
    steps: Floats,
    hop: float,
    fan_out: int,
) -> tuple[Int32s, Int32s, Int32s, Int32s]:
    """The neighbours of a node are those at either end of a link with it, and the costs theirs (none: all are 1).

    Known publishers of a topic, and their rates, are those from publisher_indptr on. The price of a child is that of
    its parent's node, and the topic's step more for every child that this has already; prices and steps are in hops, of
    which one costs `hop` on average.
    For every topic the size of its tree, and the number of parts of its subscribers, 1 where there is a tree; for the
    members of all trees, parents first, their nodes, and the places of their parents.
    """
    topics = len(indptr) - 1
    sizes, parts = np.zeros(topics, np.int32), np.zeros(topics, np.int32)
    members, parents = np.empty(len(subscribers), np.int32), np.empty(len(subscribers), np.int32)
    party, free = empty_party(len(neighbour_indptr) - 1), 0
    for topic in range(topics):
        own = subscribers[indptr[topic] : indptr[topic + 1]]
        count, parts[topic] = gather(neighbour_indptr, neighbours, prices, party, own)
        if parts[topic] == 1:
            while free + count > len(members):
                members, parents = np.concatenate((members, members)), np.concatenate((parents, parents))
            known = slice(publisher_indptr[topic], publisher_indptr[topic + 1])
            shares = shares_among(neighbour_indptr, neighbours, party, count, len(own), publishers[known], rates[known])
            graph = graph_among(neighbour_indptr, neighbours, costs, prices, steps[topic], hop, shares, party, count)
            tree = short_tree(graph, len(own), fan_out)
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


@jit
def shares_among(
    indptr: Int64s, neighbours: Int32s, party: Party, count: int, subscribers: int, publishers: Int32s, rates: Floats
) -> Floats:
    """How much known publishers bring in at every member: in proportion to their rates, as many shares as subscribers.

    A publisher in the tree brings it in itself, another one at its neighbours in the tree, at each as much.
    """
    shares = np.zeros(count, np.float64)
    for k in range(len(publishers)):
        node = publishers[k]
        if party.slots[node] != NOBODY:
            shares[party.slots[node]] += rates[k]
            continue
        inside = 0
        for other in neighbours[indptr[node] : indptr[node + 1]]:
            inside += party.slots[other] != NOBODY
        for other in neighbours[indptr[node] : indptr[node + 1]]:
            if party.slots[other] != NOBODY:
                shares[party.slots[other]] += rates[k] / inside
    total = shares.sum()
    return shares * (subscribers / total) if total > 0 else shares
