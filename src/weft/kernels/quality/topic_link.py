"""Links seen by topic: a link v-w connects (v, t) with (w, t) for every topic t that both subscribe to.

Written apart from the greedy's kernels, since it is what their overlays are measured with.
"""

import numpy as np

from weft.arrays import Int32s, Int64s
from weft.kernels.jit import jit
from weft.kernels.parallel import in_ranges


def shared_topic_counts(indptr: Int64s, topics: Int32s, sources: Int32s, targets: Int32s) -> Int64s:
    counts = np.empty(len(sources), np.int64)
    in_ranges(count_topics, len(sources), indptr, topics, sources, targets, counts)
    return counts


@jit
def count_topics(
    first: int, last: int, indptr: Int64s, topics: Int32s, sources: Int32s, targets: Int32s, counts: Int64s
) -> None:
    for link in range(first, last):
        counts[link] = walk(indptr, topics, sources[link], targets[link], topics[:0], topics[:0])


def shared_subscriptions(
    indptr: Int64s, topics: Int32s, sources: Int32s, targets: Int32s, offsets: Int64s
) -> tuple[Int32s, Int32s]:
    """The subscriptions at both ends of every link, topic by topic; those of a link from its offset to the next."""
    ones, others = np.empty(offsets[-1], np.int32), np.empty(offsets[-1], np.int32)
    in_ranges(list_subscriptions, len(sources), indptr, topics, sources, targets, offsets, ones, others)
    return ones, others


@jit
def list_subscriptions(
    first: int,
    last: int,
    indptr: Int64s,
    topics: Int32s,
    sources: Int32s,
    targets: Int32s,
    offsets: Int64s,
    ones: Int32s,
    others: Int32s,
) -> None:
    for link in range(first, last):
        start, end = offsets[link], offsets[link + 1]
        walk(indptr, topics, sources[link], targets[link], ones[start:end], others[start:end])


@jit
def walk(indptr: Int64s, topics: Int32s, v: int, w: int, ones: Int32s, others: Int32s) -> int:
    """How many topics v and w share; where there is room, the subscriptions of v and w to them."""
    i, j, count = indptr[v], indptr[w], 0
    while i < indptr[v + 1] and j < indptr[w + 1]:
        difference = topics[i] - topics[j]
        if difference == 0:
            if count < len(ones):
                ones[count], others[count] = i, j
            count += 1
        i += difference <= 0
        j += difference >= 0
    return count
