"""Links seen by topic: a link v-w connects (v, t) with (w, t) for every topic t that both subscribe to.

Written apart from the greedy's kernels, since it is what their overlays are measured with.
"""

import numba
import numpy as np

from weft.arrays import Int32s, Int64s
from weft.kernels.jit import jit, parallel_jit


@parallel_jit
def shared_topic_counts(indptr: Int64s, topics: Int32s, sources: Int32s, targets: Int32s) -> Int64s:
    counts = np.empty(len(sources), np.int64)
    for link in numba.prange(len(sources)):
        counts[link] = walk(indptr, topics, sources[link], targets[link], topics[:0], topics[:0])
    return counts


@parallel_jit
def shared_subscriptions(
    indptr: Int64s, topics: Int32s, sources: Int32s, targets: Int32s, offsets: Int64s
) -> tuple[Int32s, Int32s]:
    """The subscriptions at both ends of every link, topic by topic; those of a link from its offset to the next."""
    ones, others = np.empty(offsets[-1], np.int32), np.empty(offsets[-1], np.int32)
    for link in numba.prange(len(sources)):
        first, last = offsets[link], offsets[link + 1]
        walk(indptr, topics, sources[link], targets[link], ones[first:last], others[first:last])
    return ones, others


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
