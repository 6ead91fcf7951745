"""The greedy of GM among few pairs of nodes, with the contributions of all pairs kept up to date (Algorithm 1 of DC).

When a link is taken, every pair that it robs of a contribution loses it at once: for each topic, the pairs between the
two parts that the link joins. Every co-subscription is thus paid once. The contributions are a matrix of all pairs of
nodes. As long as it fits the cache, that is many times faster than the lazy greedy, which compares interests again and
again; when it does not, it is slower.

Only the pairs of high contribution, from a floor on, lie in buckets: one after the other in an array of pairs, in which
every pair knows its place. A pair goes down by changing places with the first of its bucket, which the bucket then
begins behind. When no pair is left above the floor, it is lowered. By then most of the others contribute little.

The matrix has a row for every node that has to be linked with a later one. Nodes that are connected among themselves
and come last need none, however many they are.
"""

import numpy as np
import numpy.typing as npt

from weft.kernels.candidate import Index, Pairs, empty_pairs, row_contributions
from weft.kernels.connectivity import Connectivity, Int32s, Int64s, unite
from weft.kernels.jit import inline_jit, jit
from weft.kernels.random import advance, below, stream

MOST_PAIRS = 2**22  # a matrix of 8 MB
MOST_TOPICS = 32_767  # of a node: contributions have 16 bits

Int16s = npt.NDArray[np.int16]


@jit
def eager_links(tcc: Connectivity, index: Index, rows: int, seed: int) -> Pairs:
    """Links until no pair contributes, in the order of choice; each tie is broken uniformly.

    Among the nodes from `rows` on no pair contributes.
    """
    nodes = len(tcc.indptr) - 1
    value = contributions(tcc, index, rows)
    place = np.empty(len(value), np.int32)
    node_of = np.repeat(np.arange(nodes), np.diff(tcc.indptr)).astype(np.int32)
    chosen, taken = empty_pairs(len(tcc.topic)), 0
    state = stream(seed, 0)
    while True:
        floor, first, pair = buckets(value, place)
        if not len(pair):
            return Pairs(chosen.source[:taken].copy(), chosen.target[:taken].copy(), chosen.contribution[:taken].copy())
        while value[pair[-1]] >= floor:
            best = value[pair[-1]]
            state = advance(state)
            link = pair[first[best] + below(state, len(pair) - first[best])]
            v, w = link // nodes, link % nodes
            chosen.source[taken], chosen.target[taken], chosen.contribution[taken] = v, w, best
            taken += 1
            i, j = tcc.indptr[v], tcc.indptr[w]
            while i < tcc.indptr[v + 1] and j < tcc.indptr[w + 1]:
                difference = tcc.topic[i] - tcc.topic[j]
                if difference == 0 and tcc.part[i] != tcc.part[j]:
                    lower_pairs(value, floor, first, pair, place, node_of, tcc.after, i, j, nodes)
                    unite(tcc, tcc.part[i], tcc.part[j])
                i += difference <= 0
                j += difference >= 0


@jit
def contributions(tcc: Connectivity, index: Index, rows: int) -> Int16s:
    """Of the pair v < w at v * nodes + w."""
    nodes = len(tcc.indptr) - 1
    value = np.zeros(rows * nodes, np.int16)
    counter, found = np.zeros(nodes, np.int32), np.empty(nodes + 1, np.int32)
    for v in range(rows):
        for w in found[: row_contributions(tcc, index, v, counter, found)]:
            value[v * nodes + w] = counter[w]
            counter[w] = 0
    return value


@jit
def buckets(value: Int16s, place: Int32s) -> tuple[int, Int64s, Int32s]:
    """The floor, where each contribution begins, and the pairs from the floor on; none where no pair contributes."""
    count = np.zeros(MOST_TOPICS + 2, np.int64)
    for contribution in value:
        count[contribution + 1] += 1
    highest = np.flatnonzero(count)[-1] - 1 if len(value) else 0
    floor = max(1, highest - highest // 4)
    count[: floor + 1] = 0
    first = np.cumsum(count[: highest + 2])
    free = first.copy()
    pair = np.empty(first[-1], np.int32)
    for link in range(len(value)):
        if value[link] >= floor:
            at = free[value[link]]
            free[value[link]] += 1
            pair[at], place[link] = link, at
    return floor, first, pair


@inline_jit
def lower_pairs(
    value: Int16s,
    floor: int,
    first: Int64s,
    pair: Int32s,
    place: Int32s,
    node_of: Int32s,
    after: Int32s,
    i: int,
    j: int,
    nodes: int,
) -> None:
    """All pairs between the part of subscription i and that of j lose one."""
    one = i
    while True:
        v, other = node_of[one], j
        while True:
            w = node_of[other]
            link = v * nodes + w if v < w else w * nodes + v
            contribution = value[link]
            value[link] = contribution - 1
            if contribution >= floor:
                begin, here = first[contribution], place[link]
                ahead = pair[begin]
                pair[begin], pair[here] = link, ahead
                place[link], place[ahead] = begin, here
                first[contribution] = begin + 1
            other = after[other]
            if other == j:
                break
        one = after[one]
        if one == i:
            break
