"""Candidate links: the pairs of nodes that contribute, with their contributions, from an inverted index.

A row is a node v with a counter for every w > v. Each topic of v adds one to the counters of those of its subscribers
that are in another part (Gustavson's sparse product, row by row). All contributions of the row then cost one step for
every co-subscription: several times less than comparing the topics of its pairs one pair after the other.

For most of a greedy's run a topic is one large part and a rest. The index lists the subscribers outside the largest
part first, those inside after them, both in node order, so that no pair inside the largest part is ever visited.
"""

from typing import NamedTuple

import numpy as np

from weft.arrays import Int32s, Int64s
from weft.kernels.greedy.connectivity import Connectivity
from weft.kernels.greedy.constraint import NOBODY, Constraint, owner
from weft.kernels.jit import jit, leaf_jit
from weft.kernels.parallel import in_ranges
from weft.kernels.random import advance, stream, unit


class Index(NamedTuple):
    start: Int64s  # topic -> its subscribers
    middle: Int64s  # topic -> those of them in its largest part
    node: Int32s
    part: Int32s


class Pairs(NamedTuple):
    source: Int32s
    target: Int32s
    contribution: Int32s


@jit
def empty_pairs(size: int) -> Pairs:
    return Pairs(np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.int32))


@jit
def inverted(tcc: Connectivity, topics: int) -> Index:
    largest = np.full(topics, -1, np.int32)
    start, middle = np.zeros(topics + 1, np.int64), np.zeros(topics, np.int64)
    for i in range(len(tcc.topic)):
        topic, part = tcc.topic[i], tcc.part[i]
        start[topic + 1] += 1
        if largest[topic] < 0 or tcc.size[part] > tcc.size[largest[topic]]:
            largest[topic] = part
    for topic in range(topics):
        start[topic + 1] += start[topic]
        middle[topic] = start[topic + 1] - (tcc.size[largest[topic]] if largest[topic] >= 0 else 0)
    node, part_of = np.empty(len(tcc.topic), np.int32), np.empty(len(tcc.topic), np.int32)
    outside, inside = start[:-1].copy(), middle.copy()
    for v in range(len(tcc.indptr) - 1):
        for i in range(tcc.indptr[v], tcc.indptr[v + 1]):
            topic, part = tcc.topic[i], tcc.part[i]
            place = inside if part == largest[topic] else outside
            node[place[topic]], part_of[place[topic]] = v, part
            place[topic] += 1
    return Index(start, middle, node, part_of)


@jit
def first_above(nodes: Int32s, low: int, high: int, v: int) -> int:
    """The first place in nodes[low:high], which is ascending, of a node above v."""
    while low < high:
        half = (low + high) >> 1
        if nodes[half] > v:
            high = half
        else:
            low = half + 1
    return low


@jit
def row_steps(tcc: Connectivity, index: Index) -> Int64s:
    """What each row costs: its visits to subscribers, and a few steps for every topic."""
    steps = np.empty(len(tcc.indptr) - 1, np.int64)
    for v in range(len(steps)):
        steps[v] = 4 * (tcc.indptr[v + 1] - tcc.indptr[v])
        for i in range(tcc.indptr[v], tcc.indptr[v + 1]):
            topic = tcc.topic[i]
            start, middle, end = index.start[topic], index.middle[topic], index.start[topic + 1]
            steps[v] += middle - first_above(index.node, start, middle, v)
            if tcc.part[i] != index.part[middle]:
                steps[v] += end - first_above(index.node, middle, end, v)
    return steps


@leaf_jit
def row_contributions(tcc: Connectivity, index: Index, v: int, counter: Int32s, found: Int32s) -> int:
    """Finds the nodes w > v to which a link from v contributes, found[:count]; how much it does is in counter[w]."""
    node, part = index.node, index.part
    count = 0
    for i in range(tcc.indptr[v], tcc.indptr[v + 1]):
        topic, own = tcc.topic[i], tcc.part[i]
        start, middle, end = index.start[topic], index.middle[topic], index.start[topic + 1]
        for place in range(first_above(node, start, middle, v), middle):
            w, apart = node[place], part[place] != own
            found[count] = w
            count += apart & (counter[w] == 0)
            counter[w] += apart
        if own != part[middle]:
            for place in range(first_above(node, middle, end, v), end):
                w = node[place]
                found[count] = w
                count += counter[w] == 0
                counter[w] += 1
    return count


def histogram(tcc: Connectivity, index: Index, constraint: Constraint, bounds: Int64s, top: int) -> Int64s:
    """counts[chunk, c]: how many permitted pairs of the rows of a chunk contribute c, for c from 1 to top."""
    counts = np.zeros((len(bounds) - 1, top + 1), np.int64)
    in_ranges(count_pairs, len(counts), tcc, index, constraint, bounds, counts)
    return counts


@jit
def count_pairs(
    first: int, last: int, tcc: Connectivity, index: Index, constraint: Constraint, bounds: Int64s, counts: Int64s
) -> None:
    counter, found = np.zeros(len(tcc.indptr) - 1, np.int32), np.empty(len(tcc.indptr), np.int32)
    for chunk in range(first, last):
        count_rows(tcc, index, constraint, bounds[chunk], bounds[chunk + 1], counter, found, counts[chunk])


@leaf_jit
def count_rows(
    tcc: Connectivity,
    index: Index,
    constraint: Constraint,
    low: int,
    high: int,
    counter: Int32s,
    found: Int32s,
    counts: Int64s,
) -> None:
    for v in range(low, high):
        for k in range(row_contributions(tcc, index, v, counter, found)):
            w = found[k]
            if owner(constraint, v, w, 0) != NOBODY:
                counts[counter[w]] += 1
            counter[w] = 0


def fill_pairs(
    tcc: Connectivity,
    index: Index,
    constraint: Constraint,
    bounds: Int64s,
    counts: Int64s,
    least: int,
    wanted: Int64s,
    seed: int,
    chosen: Pairs,
) -> None:
    """Fills `chosen` with all permitted pairs that contribute more than `least`, and wanted[chunk] of those at `least`.

    The latter are drawn at random: with `left` to come and `lacking` still to take, the next one is taken with
    probability lacking / left (Knuth's algorithm S), so that every chunk fills its place exactly.
    """
    starts = np.append(0, np.cumsum(counts[:, least + 1 :].sum(axis=1) + wanted))
    equal = counts[:, least].copy()
    in_ranges(choose_pairs, len(counts), tcc, index, constraint, bounds, starts, least, equal, wanted, seed, chosen)


@jit
def choose_pairs(
    first: int,
    last: int,
    tcc: Connectivity,
    index: Index,
    constraint: Constraint,
    bounds: Int64s,
    starts: Int64s,
    least: int,
    equal: Int64s,
    wanted: Int64s,
    seed: int,
    chosen: Pairs,
) -> None:
    counter, found = np.zeros(len(tcc.indptr) - 1, np.int32), np.empty(len(tcc.indptr), np.int32)
    for chunk in range(first, last):
        rows, place, state = (bounds[chunk], bounds[chunk + 1]), starts[chunk], stream(seed, chunk)
        choose_rows(
            tcc, index, constraint, rows, least, equal[chunk], wanted[chunk], state, counter, found, chosen, place
        )


@leaf_jit
def choose_rows(
    tcc: Connectivity,
    index: Index,
    constraint: Constraint,
    rows: tuple[int, int],
    least: int,
    left: int,
    lacking: int,
    state: np.uint64,
    counter: Int32s,
    found: Int32s,
    chosen: Pairs,
    place: int,
) -> None:
    for v in range(rows[0], rows[1]):
        for k in range(row_contributions(tcc, index, v, counter, found)):
            w, value = found[k], counter[found[k]]
            counter[w] = 0
            if value < least or owner(constraint, v, w, 0) == NOBODY:
                continue
            if value == least:
                state = advance(state)
                take = unit(state) * left < lacking
                left -= 1
                lacking -= take
                if not take:
                    continue
            chosen.source[place], chosen.target[place], chosen.contribution[place] = v, w, value
            place += 1
