"""Nodes that are alike: for each the few others with which it shares the most topics.

A node meets the other subscribers of its topics, and counts how often it meets each (Gustavson's sparse product, row by
row). Among the subscribers of a popular topic it would meet too many. So nodes are numbered in the order of their
MinHash signatures, by which nodes of like interests stand near each other in every list of subscribers; and in the
list of a popular topic a node meets those who stand next to it only. What two nodes share is then counted again, on all
their topics.
"""

import numpy as np

from weft.arrays import Bools, Int32s, Int64s, Words
from weft.kernels.greedy.candidate import first_above
from weft.kernels.greedy.overlap import overlap
from weft.kernels.jit import jit
from weft.kernels.random import GOLDEN, mix, stream

HASHES = 3  # of a signature
WHOLE = 256  # subscribers that are all met
WINDOW = 64  # that are met on either side in a longer list
NOBODY = -1


@jit
def sign(first: int, last: int, indptr: Int64s, topics: Int32s, seed: int, signature: Words) -> None:
    """signature[v, h]: the least of the hashes of the topics of node v."""
    for v in range(first, last):
        for h in range(signature.shape[1]):
            least, salt = np.uint64(0xFFFFFFFFFFFFFFFF), stream(seed, h)
            for topic in topics[indptr[v] : indptr[v + 1]]:
                least = min(least, mix(np.uint64(topic) * GOLDEN ^ salt))
            signature[v, h] = least


@jit
def meet(
    first: int,
    last: int,
    indptr: Int64s,
    topics: Int32s,
    start: Int64s,
    subscribers: Int32s,
    is_open: Bools,
    far_end: Int32s,
    seed: int,
    alike: Int32s,
    shared: Int32s,
) -> None:
    """alike[v - first]: the open nodes most like the open node v, and how many topics they share; NOBODY where few are.

    The other end of the fragment of a ring that v ends is left out.
    """
    nodes = len(is_open)
    counter, found = np.zeros(nodes, np.int32), np.empty(nodes + 1, np.int32)
    for v in range(first, last):
        alike[v - first, :] = NOBODY
        if is_open[v]:
            count = met(indptr, topics, start, subscribers, v, counter, found)
            keep_most(v, found[:count], counter, is_open, far_end, seed, alike[v - first], shared[v - first])
            for k in range(alike.shape[1]):
                w = alike[v - first, k]
                if w != NOBODY:
                    shared[v - first, k] = overlap(indptr, topics, v, w)


@jit
def met(
    indptr: Int64s, topics: Int32s, start: Int64s, subscribers: Int32s, v: int, counter: Int32s, found: Int32s
) -> int:
    count = 0
    for i in range(indptr[v], indptr[v + 1]):
        low, high = start[topics[i]], start[topics[i] + 1]
        if high - low > WHOLE:
            own = first_above(subscribers, low, high, v - 1)
            low, high = max(low, own - WINDOW), min(high, own + WINDOW + 1)
        for place in range(low, high):
            w = subscribers[place]
            found[count] = w
            count += counter[w] == 0
            counter[w] += 1
    return count


@jit
def keep_most(
    v: int,
    found: Int32s,
    counter: Int32s,
    is_open: Bools,
    far_end: Int32s,
    seed: int,
    alike: Int32s,
    shared: Int32s,
) -> None:
    """Keep the nodes met most often, the most first; ties by hash. The counters are 0 again after it."""
    kept = 0
    for w in found:
        often = counter[w]
        counter[w] = 0
        if w == v or not is_open[w] or far_end[v] == w:
            continue
        if kept == len(alike):
            if not comes_before(often, w, shared[kept - 1], alike[kept - 1], seed):
                continue
            kept -= 1
        place = kept
        while place > 0 and comes_before(often, w, shared[place - 1], alike[place - 1], seed):
            alike[place], shared[place] = alike[place - 1], shared[place - 1]
            place -= 1
        alike[place], shared[place] = w, often
        kept += 1


@jit
def comes_before(often: int, w: int, other_often: int, other: int, seed: int) -> bool:
    if often != other_often:
        return often > other_often
    return bool(stream(seed, w) < stream(seed, other))


@jit
def link_fragments(sources: Int32s, targets: Int32s, order: Int64s, room: Int32s, far_end: Int32s) -> Bools:
    """Which pairs are links of the ring: in the given order all that leave it in open fragments."""
    taken = np.zeros(len(sources), np.bool_)
    for pair in order:
        v, w = sources[pair], targets[pair]
        if room[v] > 0 and room[w] > 0 and far_end[v] != w:
            taken[pair] = True
            room[v] -= 1
            room[w] -= 1
            v_end, w_end = far_end[v], far_end[w]
            far_end[v_end], far_end[w_end] = w_end, v_end
    return taken
