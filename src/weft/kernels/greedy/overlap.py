"""Overlap: how many topics two nodes share, whatever the links."""

import numpy as np

from weft.arrays import Int32s, Int64s
from weft.kernels.greedy.constraint import Constraint, has_place, phase
from weft.kernels.jit import jit
from weft.kernels.parallel import in_ranges
from weft.kernels.random import advance, below, stream

NO_NODE = -1


def overlaps(indptr: Int64s, topics: Int32s, sources: Int32s, targets: Int32s) -> Int32s:
    """Topics that source and target of each pair share."""
    shared = np.empty(len(sources), np.int32)
    in_ranges(count_shared, len(sources), indptr, topics, sources, targets, shared)
    return shared


@jit
def count_shared(
    first: int, last: int, indptr: Int64s, topics: Int32s, sources: Int32s, targets: Int32s, shared: Int32s
) -> None:
    for pair in range(first, last):
        shared[pair] = overlap(indptr, topics, sources[pair], targets[pair])


@jit
def overlap(indptr: Int64s, topics: Int32s, v: int, w: int) -> int:
    i, i_end, j, j_end, shared = indptr[v], indptr[v + 1], indptr[w], indptr[w + 1], 0
    while i < i_end and j < j_end:
        if topics[i] == topics[j]:
            shared += 1
            i += 1
            j += 1
        elif topics[i] < topics[j]:
            i += 1
        else:
            j += 1
    return shared


def closest_fingers(
    indptr: Int64s,
    topics: Int32s,
    start: Int64s,
    subscribers: Int32s,
    fingers: Constraint,
    bounds: Int64s,
    seed: int,
    table: Int32s,
) -> None:
    """Fills the empty phases of every node in table[node, phase] with the node of largest overlap, if any overlaps."""
    in_ranges(fill_closest, len(bounds) - 1, indptr, topics, start, subscribers, fingers, bounds, seed, table)


@jit
def fill_closest(
    first: int,
    last: int,
    indptr: Int64s,
    topics: Int32s,
    start: Int64s,
    subscribers: Int32s,
    fingers: Constraint,
    bounds: Int64s,
    seed: int,
    table: Int32s,
) -> None:
    for chunk in range(first, last):
        counter, found = np.zeros(len(table), np.int32), np.empty(len(table) + 1, np.int32)
        for v in range(bounds[chunk], bounds[chunk + 1]):
            if fingers.room[v]:
                count = row_overlaps(indptr, topics, start, subscribers, v, counter, found)
                choose(fingers, v, found[:count], counter, stream(seed, v), table[v])


@jit
def row_overlaps(
    indptr: Int64s, topics: Int32s, start: Int64s, subscribers: Int32s, v: int, counter: Int32s, found: Int32s
) -> int:
    """Finds the nodes that share a topic with v (itself too), found[:count]; how many they share is in counter[w]."""
    count = 0
    for i in range(indptr[v], indptr[v + 1]):
        for place in range(start[topics[i]], start[topics[i] + 1]):
            w = subscribers[place]
            found[count] = w
            count += counter[w] == 0
            counter[w] += 1
    return count


@jit
def choose(fingers: Constraint, v: int, found: Int32s, counter: Int32s, state: np.uint64, row: Int32s) -> None:
    """The largest counter of every empty phase, ties at random; the counters are 0 again after it."""
    most, ties = np.zeros(len(row), np.int32), np.zeros(len(row), np.int32)
    for w in found:
        common = counter[w]
        counter[w] = 0
        i = phase(fingers, v, w)
        if w == v or not (fingers.room[v] >> i) & has_place(fingers, w, i) or common < most[i]:
            continue
        ties[i] = 1 if common > most[i] else ties[i] + 1
        most[i] = common
        state = advance(state)
        if below(state, ties[i]) == 0:
            row[i] = w
