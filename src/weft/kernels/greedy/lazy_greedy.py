"""The lazy greedy over a set of candidate links.

A contribution never grows as links are added: the number of TCCs that links save is a sum of graphic matroid ranks, one
a topic, and so submodular. Candidates lie in buckets by what they contributed when last seen. The highest bucket is
emptied in random order: a link that still contributes as much as its bucket says has the highest contribution of all,
and is taken; any other goes down to the bucket where it belongs now. Every bucket is complete when it is emptied, so
that each tie is broken uniformly.

Candidates may have weights of their own, by which their contributions are multiplied. What a link is worth never grows
then either; the buckets are of worths that differ by a few per cent at most.
"""

import numpy as np

from weft.arrays import Floats, Int32s
from weft.kernels.greedy.candidate import Pairs, empty_pairs
from weft.kernels.greedy.connectivity import Connectivity, contribution, join
from weft.kernels.greedy.constraint import NOBODY, Constraint, owner, use
from weft.kernels.jit import jit
from weft.kernels.order import descending
from weft.kernels.random import advance, below, stream

END = -1
STEP = 0.02  # between buckets of weighed contributions, in natural logarithms


@jit
def drained(
    tcc: Connectivity,
    constraint: Constraint,
    candidates: Pairs,
    least: int,
    preference: Int32s,
    weight: Floats,
    seed: int,
) -> Pairs:
    """The links taken, in their order, each with its owner as source; none contributes less than `least`.

    Among equal contributions the candidate of higher preference comes first; without any (an empty array), all are
    alike. Candidates that fall below `least` are forgotten. Weights are logarithms, the lowest of which is 0; with
    weights `least` has to be 1.
    """
    size = len(candidates.contribution)
    buckets, highest = np.empty(size, np.int32), 0
    for pair in range(size):
        buckets[pair] = bucket_of(candidates.contribution[pair], weight, pair)
        highest = max(highest, buckets[pair])
    head = np.full(highest + 1, END, np.int32)  # of every bucket, a chain of candidates
    next_in_bucket = np.empty(size, np.int32)
    for pair in range(size):
        put(head, next_in_bucket, buckets[pair], pair)
    bucket = np.empty(size, np.int32)
    chosen, taken = empty_pairs(size), 0
    state = stream(seed, 0)
    for value in range(len(head) - 1, least - 1, -1):
        count = listed(head, next_in_bucket, value, bucket)
        state = shuffled(bucket[:count], state)
        if len(preference):
            sort_by_preference(bucket[:count], preference)
        for pair in bucket[:count]:
            v, w = candidates.source[pair], candidates.target[pair]
            state = advance(state)
            opener = owner(constraint, v, w, int(below(state, 2)))
            if opener == NOBODY:
                continue
            now = contribution(tcc, v, w)
            if now < least:
                continue
            level = bucket_of(now, weight, pair)
            if level == value:
                other = v + w - opener
                use(constraint, opener, other)
                join(tcc, v, w)
                chosen.source[taken], chosen.target[taken], chosen.contribution[taken] = opener, other, now
                taken += 1
            else:
                put(head, next_in_bucket, level, pair)
    return Pairs(chosen.source[:taken].copy(), chosen.target[:taken].copy(), chosen.contribution[:taken].copy())


@jit
def bucket_of(now: int, weight: Floats, pair: int) -> int:
    """The candidate's bucket, at least 1 where it contributes."""
    if len(weight) == 0:
        return now
    return 1 + int((np.log(now) + weight[pair]) / STEP)


@jit
def put(head: Int32s, next_in_bucket: Int32s, value: int, pair: int) -> None:
    next_in_bucket[pair] = head[value]
    head[value] = pair


@jit
def listed(head: Int32s, next_in_bucket: Int32s, value: int, bucket: Int32s) -> int:
    count = 0
    pair = head[value]
    while pair != END:
        bucket[count] = pair
        count += 1
        pair = next_in_bucket[pair]
    return count


@jit
def shuffled(items: Int32s, state: np.uint64) -> np.uint64:
    """Shuffles in place, and returns the state of the stream after it."""
    for last in range(len(items) - 1, 0, -1):
        state = advance(state)
        other = below(state, last + 1)
        items[last], items[other] = items[other], items[last]
    return state


@jit
def sort_by_preference(items: Int32s, preference: Int32s) -> None:
    """Sorts in place; ties stay in random order."""
    before, keys = items.copy(), np.empty(len(items), np.int32)
    for place in range(len(items)):
        keys[place] = preference[items[place]]
    order = descending(keys)
    for place in range(len(items)):
        items[place] = before[order[place]]
