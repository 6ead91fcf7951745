"""Links from the nodes of a partition to the bulk, in the greedy of DCBC.

The bulk has a topic-connected overlay, so in each topic it is one part, whoever of it subscribes. For the connectivity
of the partition it is therefore one node, the last, with all its topics; and the link from v to a node b of the bulk
contributes the topics of b among those in which v is apart from the bulk.

Only the best of the bulk matters for every v. It is counted when it may be the best of all: what was the best of v some
time ago bounds what it is now, since contributions never grow. To count costs a step for each subscriber in the bulk of
the topics of v that are left, and less where many subscribe (`POPULAR`). With all pairs kept up to date, as in
`eager.py`, every shared topic would be paid twice, in far more memory.
"""

from typing import NamedTuple

import numpy as np

from weft.arrays import Int16s, Int32s, Int64s
from weft.kernels.greedy.connectivity import Connectivity
from weft.kernels.jit import inline_jit, jit
from weft.kernels.random import advance, below

POPULAR = 16  # one of so many nodes: to add up a row for all nodes is then faster than to visit the subscribers
NO_ROW, NO_SUBSCRIPTION, STALE = -1, -1, 0


class Bulk(NamedTuple):
    indptr: Int64s  # node -> its topics
    topic: Int32s
    start: Int64s  # topic -> its subscribers
    node: Int32s
    row: Int32s  # topic -> its row in `subscribes`, or NO_ROW
    subscribes: Int16s  # popular topic, node -> 0 or 1


class Reach(NamedTuple):
    """What a link from every node of the partition to the bulk contributes at most."""

    most: Int32s  # no less than that
    ties: Int32s  # how many nodes of the bulk contribute so much; STALE where `most` may be too high
    choice: Int32s  # one of these nodes, by chance
    apart: Int32s  # topics that it shares with the bulk and in which it is apart from it
    counter: Int16s  # of every node of the bulk, to count with
    subscription: Int32s  # topic -> that of the bulk, as one node


def bulk_of(indptr: Int64s, topics: Int32s, start: Int64s, nodes: Int32s) -> Bulk:
    size = len(indptr) - 1
    popular = np.flatnonzero(np.diff(start) > size // POPULAR)
    row = np.full(len(start) - 1, NO_ROW, np.int32)
    row[popular] = np.arange(len(popular))
    subscribes = np.zeros((len(popular), size), np.int16)
    for topic in popular:
        subscribes[row[topic], nodes[start[topic] : start[topic + 1]]] = 1
    return Bulk(indptr, topics, start, nodes, row, subscribes)


NO_BULK = bulk_of(np.zeros(1, np.int64), np.empty(0, np.int32), np.zeros(1, np.int64), np.empty(0, np.int32))


@jit
def unknown_reach(tcc: Connectivity, bulk: Bulk, nodes: int) -> Reach:
    subscription, apart = np.full(len(bulk.start) - 1, NO_SUBSCRIPTION, np.int32), np.zeros(nodes, np.int32)
    if len(bulk.node):
        for i in range(tcc.indptr[nodes], tcc.indptr[nodes + 1]):
            subscription[tcc.topic[i]] = i
        for v in range(nodes):
            for i in range(tcc.indptr[v], tcc.indptr[v + 1]):
                apart[v] += subscription[tcc.topic[i]] != NO_SUBSCRIPTION
    counter = np.zeros(len(bulk.indptr) - 1, np.int16)
    return Reach(apart.copy(), np.full(nodes, STALE, np.int32), np.empty(nodes, np.int32), apart, counter, subscription)


@inline_jit
def lose_topic(reach: Reach, v: int) -> None:
    """The node v is not apart any more in one of its topics."""
    reach.apart[v] -= 1
    reach.most[v] = min(reach.most[v], reach.apart[v])
    reach.ties[v] = STALE


@jit
def best_to_bulk(tcc: Connectivity, bulk: Bulk, reach: Reach, least: int, state: np.uint64) -> tuple[int, np.uint64]:
    """The most that any link to the bulk contributes, if that is `least` or more; else any number below `least`."""
    while True:
        best, stale = reach.most.max() if len(bulk.node) else 0, False
        if best < least:
            return best, state
        for v in range(len(reach.most)):
            if reach.most[v] == best and reach.ties[v] == STALE:
                state = count_row(tcc, bulk, reach, v, state)
                stale = True
        if not stale:
            return best, state


@jit
def count_row(tcc: Connectivity, bulk: Bulk, reach: Reach, v: int, state: np.uint64) -> np.uint64:
    counter, node = reach.counter, bulk.node
    counter[:] = 0
    for i in range(tcc.indptr[v], tcc.indptr[v + 1]):
        topic = tcc.topic[i]
        of_bulk = reach.subscription[topic]
        if of_bulk != NO_SUBSCRIPTION and tcc.part[i] != tcc.part[of_bulk]:
            if bulk.row[topic] != NO_ROW:
                counter += bulk.subscribes[bulk.row[topic]]
            else:
                for b in node[bulk.start[topic] : bulk.start[topic + 1]]:
                    counter[b] += 1
    most = counter.max()
    best = np.flatnonzero(counter == most)
    state = advance(state)
    reach.most[v], reach.ties[v], reach.choice[v] = most, len(best), best[below(state, len(best))]
    return state


@jit
def ties_of(reach: Reach, best: int) -> int:
    """How many links to the bulk contribute the most, which is `best`."""
    ties = 0
    for v in range(len(reach.most)):
        if reach.most[v] == best:
            ties += reach.ties[v]
    return ties


@jit
def node_of_tie(reach: Reach, best: int, number: int) -> int:
    """The node of the partition that the tie of this number is from."""
    v = -1
    while number >= 0:
        v += 1
        if reach.most[v] == best:
            number -= reach.ties[v]
    return v


@jit
def walk_to_bulk(tcc: Connectivity, bulk: Bulk, reach: Reach, v: int, ones: Int32s, others: Int32s) -> int:
    """How many topics v shares with its choice; the subscriptions of v to them, and the bulk's."""
    b, count = reach.choice[v], 0
    i, k = tcc.indptr[v], bulk.indptr[b]
    while i < tcc.indptr[v + 1] and k < bulk.indptr[b + 1]:
        difference = tcc.topic[i] - bulk.topic[k]
        if difference == 0:
            ones[count], others[count] = i, reach.subscription[tcc.topic[i]]
            count += 1
        i += difference <= 0
        k += difference >= 0
    return count
