"""Topic-connected components (TCCs), while links are added.

The elements are the subscriptions, that is the (node, topic) pairs, numbered in node order. A link v-w joins, for every
topic that both subscribe to, the part of (v, t) with the part of (w, t); its contribution is the number of topics for
which these are two parts (BeaConvey, equation 5).

Every subscription carries the name of its part, and a union renames the smaller part, whose members stand in a circle.
A greedy asks for contributions far more often than it adds a link, so the question costs two reads a topic and no walk;
the renames cost O(n log n) in all.
"""

from typing import NamedTuple

import numpy as np

from weft.arrays import Bools, Int32s, Int64s
from weft.kernels.jit import jit


class Connectivity(NamedTuple):
    indptr: Int64s  # node -> its subscriptions
    topic: Int32s  # of every subscription, ascending within a node
    part: Int32s  # the subscription that names the part
    after: Int32s  # the next member of the part, in a circle
    size: Int32s  # of the part that the subscription names


@jit
def unlinked(indptr: Int64s, topics: Int32s) -> Connectivity:
    """The connectivity without links: every subscription is a part of its own."""
    alone, size = np.empty(len(topics), np.int32), np.full(len(topics), 1, np.int32)
    for i in range(len(topics)):
        alone[i] = i
    return Connectivity(indptr, topics, alone.copy(), alone, size)


@jit
def connected_groups(indptr: Int64s, topics: Int32s, group: Int32s, nodes: Int64s, topic_count: int) -> Connectivity:
    """Every topic is one part within each group; `nodes` are all nodes, group after group."""
    tcc = unlinked(indptr, topics)
    first = np.full(topic_count, -1, np.int64)  # subscription to the topic in the group that is at hand
    group_of_first = np.full(topic_count, -1, np.int64)
    for v in nodes:
        for i in range(indptr[v], indptr[v + 1]):
            topic = topics[i]
            if group_of_first[topic] == group[v]:
                unite(tcc, tcc.part[first[topic]], tcc.part[i])
            else:
                first[topic], group_of_first[topic] = i, group[v]
    return tcc


@jit
def connected_subscribers(indptr: Int64s, topics: Int32s, apart: Bools, topic_count: int) -> Connectivity:
    """Every topic is one part, but for the subscriptions that are apart, each of which is a part of its own."""
    tcc = unlinked(indptr, topics)
    first = np.full(topic_count, -1, np.int64)
    for i in range(len(topics)):
        if not apart[i]:
            if first[topics[i]] < 0:
                first[topics[i]] = i
            unite(tcc, tcc.part[first[topics[i]]], tcc.part[i])
    return tcc


@jit
def contribution(tcc: Connectivity, v: int, w: int) -> int:
    """How many TCCs fewer there are with the link v-w."""
    topic, part = tcc.topic, tcc.part
    i, i_end = tcc.indptr[v], tcc.indptr[v + 1]
    j, j_end = tcc.indptr[w], tcc.indptr[w + 1]
    found = 0
    while i < i_end and j < j_end:
        if topic[i] == topic[j]:
            if part[i] != part[j]:
                found += 1
            i += 1
            j += 1
        elif topic[i] < topic[j]:
            i += 1
        else:
            j += 1
    return found


@jit
def join(tcc: Connectivity, v: int, w: int) -> None:
    i, i_end = tcc.indptr[v], tcc.indptr[v + 1]
    j, j_end = tcc.indptr[w], tcc.indptr[w + 1]
    while i < i_end and j < j_end:
        if tcc.topic[i] == tcc.topic[j]:
            unite(tcc, tcc.part[i], tcc.part[j])
            i += 1
            j += 1
        elif tcc.topic[i] < tcc.topic[j]:
            i += 1
        else:
            j += 1


@jit
def unite(tcc: Connectivity, one: int, other: int) -> None:
    if one == other:
        return
    if tcc.size[one] < tcc.size[other]:
        one, other = other, one
    member = other
    while tcc.part[member] != one:
        tcc.part[member] = one
        member = tcc.after[member]
    tcc.after[one], tcc.after[other] = tcc.after[other], tcc.after[one]
    tcc.size[one] += tcc.size[other]


@jit
def join_all(tcc: Connectivity, sources: Int32s, targets: Int32s) -> None:
    for link in range(len(sources)):
        join(tcc, sources[link], targets[link])


@jit
def unfinished(tcc: Connectivity, open_nodes: Bools, topics: int) -> Connectivity:
    """Only the subscriptions that a link between two open nodes may still join to another part."""
    first_part = np.full(topics, -1, np.int32)
    divided = np.zeros(topics, np.bool_)
    for v in range(len(open_nodes)):
        if open_nodes[v]:
            for i in range(tcc.indptr[v], tcc.indptr[v + 1]):
                topic, part = tcc.topic[i], tcc.part[i]
                if first_part[topic] < 0:
                    first_part[topic] = part
                elif first_part[topic] != part:
                    divided[topic] = True
    indptr = np.zeros(len(tcc.indptr), np.int64)
    kept = np.empty(len(tcc.topic), np.int32)
    count = 0
    for node in range(len(open_nodes)):
        if open_nodes[node]:
            for i in range(tcc.indptr[node], tcc.indptr[node + 1]):
                if divided[tcc.topic[i]]:
                    kept[count] = i
                    count += 1
        indptr[node + 1] = count
    return renumbered(tcc, indptr, kept[:count])


@jit
def renumbered(tcc: Connectivity, indptr: Int64s, kept: Int32s) -> Connectivity:
    """The same parts among fewer subscriptions."""
    name = np.full(len(tcc.topic), -1, np.int32)  # of every part: the first member that is kept
    part, after, size = np.empty(len(kept), np.int32), np.empty(len(kept), np.int32), np.full(len(kept), 0, np.int32)
    for i in range(len(kept)):
        old = tcc.part[kept[i]]
        if name[old] < 0:
            name[old] = i
            after[i] = i
        first = name[old]
        part[i] = first
        after[i], after[first] = after[first], i
        size[first] += 1
    return Connectivity(indptr, tcc.topic[kept], part, after, size)
