"""Fingers in all phases that are empty, where no node has more fingers pointing at it than it has places.

Every finger of a phase above 0 takes one of the nodes in its phase, and a node can be taken as often as it has places:
a matching of fingers and places. Chord's fingers are such a matching, in which all fingers are there and each node is
taken once by every phase. So where nodes have a place for every phase, the largest matching has all fingers, and any
smaller one has an augmenting path (Berge 1957): a finger that finds all nodes of its phase taken goes to one of them,
whose place another finger gives up for a node of its own phase, and so on to a node with a free place. Each path adds
one finger and takes none away, so that the search ends with Property 1 kept by all and no bound exceeded.

A path moves fingers, and those that were chosen for what they contribute lose it. So a shortest path is looked for
among the fingers that contributed nothing, then among those that contributed at most 1, at most 2, 4 and so on.
"""

from typing import NamedTuple

import numpy as np

from weft.arrays import Bools, Int32s, Int64s
from weft.kernels.greedy.constraint import Constraint, has_place, use
from weft.kernels.jit import jit
from weft.kernels.random import advance, below, stream

NO_NODE = -1
NO_FINGER = -1
DRAWS = 16  # of a node of the phase, until one has a place; then all are looked at


class Search(NamedTuple):
    queue: Int32s  # the nodes reached
    owners: Int32s  # by node: whose finger may go there,
    phases: Int32s  # and which of its fingers
    seen: Bools
    pointing: Int64s  # by node: a finger of a phase above 0 that points at it,
    following: Int64s  # and by finger: the next one at the same node; finger i of node v is number v * phases + i


@jit
def fill_by_chance(fingers: Constraint, node_at: Int32s, order: Int32s, seed: int, table: Int32s) -> None:
    """Any node of the phase with a place, the phases of few nodes first; `order` is that in which nodes choose."""
    phases = table.shape[1]
    for i in range(phases):
        for v in order:
            if table[v, i] == NO_NODE:
                w = drawn(fingers, node_at, v, i, stream(seed, v * phases + i))
                if w != NO_NODE:
                    table[v, i] = w
                    use(fingers, v, w)


@jit
def drawn(fingers: Constraint, node_at: Int32s, v: int, i: int, state: np.uint64) -> int:
    """A node of phase i of v that has a place, or NO_NODE where none has."""
    first, width = (1 << i) + fingers.ring_ids[v], min(1 << i, len(node_at) - (1 << i))
    for _ in range(DRAWS):
        state = advance(state)
        w = node_at[(first + below(state, width)) % len(node_at)]
        if has_place(fingers, w, i):
            return int(w)
    start = int(below(state, width))
    for k in range(width):
        w = node_at[(first + (start + k) % width) % len(node_at)]
        if has_place(fingers, w, i):
            return int(w)
    return NO_NODE


@jit
def fill_by_moving(fingers: Constraint, node_at: Int32s, contribution: Int32s, table: Int32s) -> None:
    """Fills what is empty still; contribution[v, i] is what the finger contributed when it was chosen, or 0.

    Nodes must have had a place for every phase, or there may be no path.
    """
    if is_full(table):
        return
    nodes, phases = table.shape
    rows = np.empty((3, nodes), np.int32)
    search = Search(rows[0], rows[1], rows[2], np.zeros(nodes, np.bool_), *lists_of(table))
    for i in range(phases):
        for v in range(nodes):
            most = 0
            while table[v, i] == NO_NODE:
                last = path_to_place(fingers, contribution, node_at, most, v, i, search)
                if last != NO_NODE:
                    take_path(fingers, contribution, last, table, search)
                most = max(1, 2 * most)


@jit
def is_full(table: Int32s) -> bool:
    for v in range(table.shape[0]):
        for i in range(table.shape[1]):
            if table[v, i] == NO_NODE:
                return False
    return True


@jit
def lists_of(table: Int32s) -> tuple[Int64s, Int64s]:
    """Fingers by the nodes that they point at: for every node one of them, and for every finger another."""
    nodes, phases = table.shape
    pointing, following = np.full(nodes, NO_FINGER, np.int64), np.full(nodes * phases, NO_FINGER, np.int64)
    for v in range(nodes):
        for i in range(1, phases):
            if table[v, i] != NO_NODE:
                add(pointing, following, v * phases + i, table[v, i])
    return pointing, following


@jit
def add(pointing: Int64s, following: Int64s, finger: int, w: int) -> None:
    following[finger], pointing[w] = pointing[w], finger


@jit
def remove(pointing: Int64s, following: Int64s, finger: int, w: int) -> None:
    if pointing[w] == finger:
        pointing[w] = following[finger]
        return
    before = pointing[w]
    while following[before] != finger:
        before = following[before]
    following[before] = following[finger]


@jit
def path_to_place(
    fingers: Constraint, contribution: Int32s, node_at: Int32s, most: int, v: int, i: int, search: Search
) -> int:
    """The node with a place at which a shortest path from the empty phase i of v ends; NO_NODE where there is none.

    Fingers that contributed more than `most` do not move.
    """
    found, tail = reach(fingers, node_at, v, i, search, 0)
    head = 0
    while found == NO_NODE and head < tail:
        w = search.queue[head]
        head += 1
        distance = len(node_at)
        while found == NO_NODE and distance > 0:  # from the widest phases, which most likely have a place
            distance = next_distance(fingers, contribution, most, w, distance, search)
            if distance > 0:
                u = node_at[(fingers.ring_ids[w] - distance) % len(node_at)]
                found, tail = reach(fingers, node_at, u, fingers.phase_of[distance], search, tail)
    for k in range(tail):
        search.seen[search.queue[k]] = False
    return found


@jit
def next_distance(fingers: Constraint, contribution: Int32s, most: int, w: int, before: int, search: Search) -> int:
    """How far the next node is whose finger points at w and may move, from afar to near; 0 after the last."""
    nodes, phases = contribution.shape
    longest, finger = 0, search.pointing[w]
    while finger != NO_FINGER:
        u, j = finger // phases, finger % phases
        distance = (fingers.ring_ids[w] - fingers.ring_ids[u]) % nodes
        if longest < distance < before and contribution[u, j] <= most:
            longest = distance
        finger = search.following[finger]
    return longest


@jit
def reach(fingers: Constraint, node_at: Int32s, u: int, j: int, search: Search, tail: int) -> tuple[int, int]:
    """Puts the nodes of phase j of u in the queue, up to the first with a place; that one, and the queue's tail."""
    nodes = len(node_at)
    for distance in range(1 << j, min(2 << j, nodes)):
        w = node_at[(fingers.ring_ids[u] + distance) % nodes]
        if not search.seen[w]:
            search.seen[w] = True
            search.owners[w], search.phases[w] = u, j
            search.queue[tail] = w
            tail += 1
            if has_place(fingers, w, j):
                return int(w), tail
    return NO_NODE, tail


@jit
def take_path(fingers: Constraint, contribution: Int32s, last: int, table: Int32s, search: Search) -> None:
    """Moves the fingers of a path, from its end to the empty phase."""
    fingers.places[last] -= 1
    w = last
    while w != NO_NODE:
        u, j = search.owners[w], search.phases[w]
        contribution[u, j] = 0
        fingers.room[u] &= ~(1 << j)
        old, finger = table[u, j], u * table.shape[1] + j
        if old != NO_NODE:
            remove(search.pointing, search.following, finger, old)
        add(search.pointing, search.following, finger, w)
        table[u, j], w = w, old
