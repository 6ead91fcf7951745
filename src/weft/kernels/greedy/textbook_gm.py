"""GM and greedyConnect as the DC paper prints them (Algorithms 1 and 2), compiled, to compare with.

Every pair of nodes is in the bucket of its contribution from the start. When a link is taken, every pair whose
contribution it reduces goes down one bucket at once: for each topic, all pairs between the two parts that it joins.

The buckets lie one after the other in one array of pairs, in which every pair knows its place. A pair goes down by
changing places with the first of its bucket, which the bucket then begins behind: constant time, as in the paper.

Nodes of one group have an overlay already that connects every topic among them: a pair of theirs is no candidate. GM is
the case of every node being a group by itself.
"""

import numpy as np

from weft.arrays import Int16s, Int32s, Int64s
from weft.kernels.jit import jit


@jit
def textbook_gm(start: Int64s, subscribers: Int32s, nodes: int, group: Int32s) -> Int32s:
    """The links, each as v * nodes + w; topic t has the subscribers from start[t] to start[t + 1]. nodes < 46,341."""
    topics = len(start) - 1
    part = np.full((topics, nodes), -1, np.int32)  # the node that names the part of a subscriber
    after = np.full((topics, nodes), -1, np.int32)  # the next member of the part, in a circle
    value = np.zeros(nodes * nodes, np.int16)
    for topic in range(topics):
        for i in range(start[topic], start[topic + 1]):
            v = subscribers[i]
            part[topic, v] = after[topic, v] = v
        for i in range(start[topic], start[topic + 1]):
            v = subscribers[i]
            for j in range(i + 1, start[topic + 1]):
                w = subscribers[j]
                if group[v] != group[w]:
                    value[v * nodes + w] += 1
                elif part[topic, v] != part[topic, w]:
                    unite(part[topic], after[topic], v, w)
    pair, place, first = sorted_pairs(value, nodes)
    links = np.empty(len(subscribers), np.int32)
    count = 0
    while len(pair) and value[pair[-1]] > 0:
        link = pair[-1]
        links[count] = link
        count += 1
        v, w = link // nodes, link % nodes
        for topic in range(topics):
            if part[topic, v] >= 0 and part[topic, w] >= 0 and part[topic, v] != part[topic, w]:
                lower(value, pair, place, first, after[topic], v, w, nodes)
                unite(part[topic], after[topic], v, w)
    return links[:count].copy()


@jit
def sorted_pairs(value: Int16s, nodes: int) -> tuple[Int32s, Int32s, Int64s]:
    """Pairs by value, the place of every pair among them, and where each value begins."""
    first = np.zeros(int(value.max()) + 2, np.int64)
    for v in range(nodes):
        for w in range(v + 1, nodes):
            first[value[v * nodes + w] + 1] += 1
    first = np.cumsum(first)
    free = first.copy()
    pair, place = np.empty(nodes * (nodes - 1) // 2, np.int32), np.empty(nodes * nodes, np.int32)
    for v in range(nodes):
        for w in range(v + 1, nodes):
            at = free[value[v * nodes + w]]
            free[value[v * nodes + w]] += 1
            pair[at], place[v * nodes + w] = v * nodes + w, at
    return pair, place, first


@jit
def lower(value: Int16s, pair: Int32s, place: Int32s, first: Int64s, after: Int32s, v: int, w: int, nodes: int) -> None:
    """All pairs between the part of v and that of w lose one."""
    one = v
    while True:
        other = w
        while True:
            moved = min(one, other) * nodes + max(one, other)
            begin = first[value[moved]]
            here, swapped = place[moved], pair[begin]
            pair[begin], pair[here] = moved, swapped
            place[moved], place[swapped] = begin, here
            first[value[moved]] += 1
            value[moved] -= 1
            other = after[other]
            if other == w:
                break
        one = after[one]
        if one == v:
            break


@jit
def unite(part: Int32s, after: Int32s, v: int, w: int) -> None:
    name, member = part[v], w
    while part[member] != name:
        part[member] = name
        member = after[member]
    after[v], after[w] = after[w], after[v]
