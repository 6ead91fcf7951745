"""Greedy set cover, group by group: in each, nodes that together subscribe to all wanted topics of the group.

The next node is the one with the most topics that are not covered yet (getStarSet in Algorithm 3 of the DC paper; a
logarithmic approximation of the fewest nodes). Such counts never grow, so nodes lie in buckets by what they were when
last seen, as candidate links do in `greedy.py`. Ties are broken in a fixed order.
"""

import numpy as np

from weft.arrays import Bools, Int32s, Int64s
from weft.kernels.greedy.lazy_greedy import END, put
from weft.kernels.jit import jit

NO_GROUP = -1


@jit
def covers(indptr: Int64s, topics: Int32s, nodes: Int64s, starts: Int64s, wanted: Bools) -> Bools:
    """Which nodes are chosen; group g has the nodes from starts[g] to starts[g + 1] of `nodes`."""
    chosen = np.zeros(len(indptr) - 1, np.bool_)
    covered_in = np.full(len(wanted), NO_GROUP, np.int32)  # topic -> the last group in which it is covered
    next_in_bucket = np.empty(len(indptr) - 1, np.int32)
    largest = 0
    for v in nodes:
        largest = max(largest, indptr[v + 1] - indptr[v])
    head = np.empty(largest + 1, np.int32)
    for group in range(len(starts) - 1):
        cover(
            indptr,
            topics,
            nodes[starts[group] : starts[group + 1]],
            group,
            wanted,
            covered_in,
            head,
            next_in_bucket,
            chosen,
        )
    return chosen


@jit
def cover(
    indptr: Int64s,
    topics: Int32s,
    nodes: Int64s,
    group: int,
    wanted: Bools,
    covered_in: Int32s,
    head: Int32s,
    next_in_bucket: Int32s,
    chosen: Bools,
) -> None:
    head[:] = END
    for v in nodes:
        put(head, next_in_bucket, uncovered(indptr, topics, v, group, wanted, covered_in), v)
    for value in range(len(head) - 1, 0, -1):
        v = head[value]
        while v != END:
            after = next_in_bucket[v]
            now = uncovered(indptr, topics, v, group, wanted, covered_in)
            if now == value:
                chosen[v] = True
                covered_in[topics[indptr[v] : indptr[v + 1]]] = group
            else:
                put(head, next_in_bucket, now, v)
            v = after


@jit
def uncovered(indptr: Int64s, topics: Int32s, v: int, group: int, wanted: Bools, covered_in: Int32s) -> int:
    count = 0
    for i in range(indptr[v], indptr[v + 1]):
        count += wanted[topics[i]] & (covered_in[topics[i]] != group)
    return count


@jit
def shared(indptr: Int64s, topics: Int32s, group: Int32s, topic_count: int) -> Bools:
    """Which topics have subscribers in more than one group."""
    first_group = np.full(topic_count, NO_GROUP, np.int32)
    found = np.zeros(topic_count, np.bool_)
    for v in range(len(indptr) - 1):
        for topic in topics[indptr[v] : indptr[v + 1]]:
            if first_group[topic] == NO_GROUP:
                first_group[topic] = group[v]
            elif first_group[topic] != group[v]:
                found[topic] = True
    return found
