"""The greedy of GM among few nodes, with the contributions of all pairs kept up to date (Algorithm 1 of DC).

When a link is taken, every pair whose contribution it reduces is updated at once: for each topic, the pairs between the
two parts that the link joins. Every co-subscription is thus paid once. The contributions are a matrix of all pairs of
nodes. As long as it fits the cache, that is many times faster than the lazy greedy, which compares interests again and
again; when it does not, it is slower.

Only the pairs of high contribution, from a floor on, lie in buckets: one after the other in an array of pairs, in which
every pair knows its place. A pair goes down by changing places with the first of its bucket, which the bucket then
begins behind. When no pair is left above the floor, it is lowered. By then most of the others contribute little.

Beside the nodes there may be a bulk (DCBC), to which links are found as `bulk.py` says.
"""

import numpy as np

from weft.arrays import Int16s, Int32s, Int64s
from weft.kernels.greedy.bulk import (
    Bulk,
    Reach,
    best_to_bulk,
    lose_topic,
    node_of_tie,
    ties_of,
    unknown_reach,
    walk_to_bulk,
)
from weft.kernels.greedy.candidate import Index, Pairs, empty_pairs, first_above
from weft.kernels.greedy.connectivity import Connectivity, unite
from weft.kernels.jit import inline_jit, jit
from weft.kernels.quality.topic_link import walk
from weft.kernels.random import advance, below, stream

MOST_PAIRS = 2**22  # a matrix of 8 MB
MOST_TOPICS = 32_767  # of a node: contributions have 16 bits


@jit
def eager_links(tcc: Connectivity, index: Index, nodes: int, bulk: Bulk, seed: int) -> Pairs:
    """Links until none contributes, in the order of choice; each tie is broken uniformly.

    The nodes of the bulk are numbered from `nodes` on. In `tcc` and `index` the bulk, if there is any, is one node.
    """
    value = contributions(tcc, index, nodes)
    place = np.empty(len(value), np.int32)
    node_of = np.empty(len(tcc.topic), np.int32)
    for node in range(len(tcc.indptr) - 1):
        node_of[tcc.indptr[node] : tcc.indptr[node + 1]] = node
    reach = unknown_reach(tcc, bulk, nodes)
    one, other = np.empty(len(tcc.topic), np.int32), np.empty(len(tcc.topic), np.int32)  # ends of a link, by topic
    chosen, taken = empty_pairs(len(tcc.topic)), 0
    state = stream(seed, 0)
    while True:
        floor, first, pair = buckets(value, place)
        if not len(pair) and not reach.most.any():
            return Pairs(chosen.source[:taken].copy(), chosen.target[:taken].copy(), chosen.contribution[:taken].copy())
        while True:
            inside = value[pair[-1]] if len(pair) else 0
            across, state = best_to_bulk(tcc, bulk, reach, max(inside, floor), state)
            best = max(inside, across)
            if best < floor:
                break
            pairs = len(pair) - first[best] if inside == best else 0
            state = advance(state)
            tie = int(below(state, pairs + (ties_of(reach, best) if across == best else 0)))
            if tie < pairs:
                v, w = pair[first[best] + tie] // nodes, pair[first[best] + tie] % nodes
                count = walk(tcc.indptr, tcc.topic, v, w, one, other)
            else:
                v = node_of_tie(reach, best, tie - pairs)
                w = nodes + reach.choice[v]
                count = walk_to_bulk(tcc, bulk, reach, v, one, other)
            chosen.source[taken], chosen.target[taken], chosen.contribution[taken] = v, w, best
            taken += 1
            for k in range(count):
                i, j = one[k], other[k]
                if tcc.part[i] != tcc.part[j]:
                    lower_pairs(value, floor, first, pair, place, node_of, tcc.after, reach, i, j, nodes)
                    unite(tcc, tcc.part[i], tcc.part[j])


@jit
def contributions(tcc: Connectivity, index: Index, nodes: int) -> Int16s:
    """Contributions of all pairs, that of v < w at v * nodes + w."""
    value = np.empty(nodes * nodes, np.int16)
    row = np.empty(nodes + 1, np.int16)  # and one for the bulk
    for v in range(nodes):
        row[:] = 0
        for i in range(tcc.indptr[v], tcc.indptr[v + 1]):
            topic, own = tcc.topic[i], tcc.part[i]
            start, middle, end = index.start[topic], index.middle[topic], index.start[topic + 1]
            for place in range(first_above(index.node, start, middle, v), middle):
                row[index.node[place]] += index.part[place] != own
            if own != index.part[middle]:
                for place in range(first_above(index.node, middle, end, v), end):
                    row[index.node[place]] += 1
        for w in range(nodes):
            value[v * nodes + w] = row[w]
    return value


@jit
def buckets(value: Int16s, place: Int32s) -> tuple[int, Int64s, Int32s]:
    """The floor, where each contribution begins, and the pairs from the floor on; none where no pair contributes."""
    highest = 0
    for contribution in value:
        highest = max(highest, contribution)
    floor = max(1, highest - highest // 4)
    first = np.zeros(highest + 2, np.int64)
    for contribution in value:
        if contribution >= floor:
            first[contribution + 1] += 1
    for contribution in range(highest + 1):
        first[contribution + 1] += first[contribution]
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
    reach: Reach,
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
            if v == nodes or w == nodes:
                lose_topic(reach, min(v, w))
            else:
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
