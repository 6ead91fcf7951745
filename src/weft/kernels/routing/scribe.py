"""Rendezvous routing in bulk: the decisions of weft.protocol.scribe over arrays.

The tree of a topic is the same for all its publications, so it is grown once a run, in O(tree), and a publication
costs no more than its path to the root; what happens below is known then.

Towards one target, the next hop depends on the node alone, so that the union of greedy routes is a tree. From one
source, a route by the clockwise distance that comes through x takes at each node before x the link nearest to its
target; that one is not beyond x, so it is the nearest to x too. The first part of the route is the route to x: x has
one parent. By the absolute distance routes may part and meet again, and of several nodes before x its parent is the one
from which the root is nearest on these routes, and of these the first on the ring.
"""

from typing import NamedTuple

import numpy as np

from weft.arrays import Int32s, Int64s
from weft.kernels.jit import jit, leaf_jit
from weft.kernels.routing.audience import mark, unmark
from weft.kernels.routing.tally import (
    DELIVERED,
    EXPECTED,
    MESSAGES,
    OVERHEAD,
    RECEIVED,
    SENT,
    Tally,
    deliver_all,
    trace_message,
)
from weft.kernels.routing.walk import Ring, left_after, offset_towards, walk, wrapped

TO_ROOT, FROM_ROOT = 0, 1  # the direction of the routes that make the tree: Scribe, iScribe
SIZE, REACHED, RELAYS, DEPTH_SUM, DEEPEST, SECOND = range(6)  # figures of a tree


class Tree(NamedTuple):
    slots: Int32s  # position -> negative for the nodes that do not subscribe
    members: Int32s  # positions, parents before children, the root first
    parents: Int32s  # position -> position
    depths: Int32s  # position -> hops from the root; -1 outside the tree
    figures: Int64s  # how many nodes, subscribers, relays; of the subscribers, all depths and the two greatest


@jit
def scribe_runs(
    ring: Ring,
    direction: int,
    indptr: Int64s,
    subscribers: Int32s,
    topics: Int32s,
    roots: Int32s,
    firsts: Int32s,
    shorts: Int64s,
    starts: Int64s,
    issuers: Int32s,
    totals: Int64s,
    load: Int64s,
    trace: Int32s,
) -> None:
    """Run r publishes on topics[r], over a tree from roots[r]; the rest is as in convey_runs.

    Routes to the root go to the identifier of the topic, shorts[r] identifiers before the node at firsts[r].
    """
    nodes = len(ring.ids)
    slots = np.full(nodes, -1, np.int32)
    depths = np.full(nodes, -1, np.int32)
    tree = Tree(slots, np.empty(nodes, np.int32), np.empty(nodes, np.int32), depths, np.zeros(6, np.int64))
    for run in range(len(topics)):
        own = subscribers[indptr[topics[run]] : indptr[topics[run] + 1]]
        tally = Tally(totals[run], load, trace)
        mark(slots, own)
        plant(tree, roots[run])
        if direction == TO_ROOT:
            grow_to_root(ring, tree, own, firsts[run], shorts[run])
        else:
            grow_from_root(ring, tree, own)
        measure(tree)
        for issuer in issuers[starts[run] : starts[run + 1]]:
            tally.total[EXPECTED] += len(own) - (slots[issuer] >= 0)
            publish(ring, tree, issuer, firsts[run], shorts[run], tally)
        load_tree(tree, starts[run + 1] - starts[run], tally)
        unmark(depths, tree.members[: tree.figures[SIZE]])
        unmark(slots, own)


@jit
def children_of_all(
    ring: Ring,
    direction: int,
    indptr: Int64s,
    subscribers: Int32s,
    topics: Int32s,
    roots: Int32s,
    firsts: Int32s,
    shorts: Int64s,
) -> Int64s:
    """How many children the node at every position has in the trees of these topics together."""
    nodes = len(ring.ids)
    children = np.zeros(nodes, np.int64)
    slots = np.full(nodes, -1, np.int32)
    depths = np.full(nodes, -1, np.int32)
    tree = Tree(slots, np.empty(nodes, np.int32), np.empty(nodes, np.int32), depths, np.zeros(6, np.int64))
    for run in range(len(topics)):
        plant(tree, roots[run])
        own = subscribers[indptr[topics[run]] : indptr[topics[run] + 1]]
        if direction == TO_ROOT:
            grow_to_root(ring, tree, own, firsts[run], shorts[run])
        else:
            grow_from_root(ring, tree, own)
        for member in tree.members[1 : tree.figures[SIZE]]:
            children[tree.parents[member]] += 1
        unmark(depths, tree.members[: tree.figures[SIZE]])
    return children


@leaf_jit
def plant(tree: Tree, root: int) -> None:
    tree.figures[:] = 0
    tree.figures[SIZE] = 1
    tree.members[0] = root
    tree.depths[root] = 0


@leaf_jit
def grow_to_root(ring: Ring, tree: Tree, subscribers: Int32s, first: int, short: int) -> None:
    size = 1
    for subscriber in subscribers:
        position, end = int(subscriber), size
        while tree.depths[position] < 0:
            tree.members[end] = position
            end += 1
            offset = offset_towards(ring, position, distance_to(ring, position, first, short), short)
            tree.parents[position] = wrapped(ring, position + offset)
            position = int(tree.parents[position])
        reverse(tree.members, size, end)
        for member in tree.members[size:end]:
            tree.depths[member] = tree.depths[tree.parents[member]] + 1
        size = end
    tree.figures[SIZE] = size


@leaf_jit
def distance_to(ring: Ring, position: int, first: int, short: int) -> int:
    """The distance to the target `short` identifiers before the node at `first`: 0 where it is here."""
    nodes = len(ring.ids)
    distance = (first - position) % nodes
    return nodes if distance == 0 and short > 0 else distance


@leaf_jit
def reverse(values: Int32s, low: int, high: int) -> None:
    while low + 1 < high:
        high -= 1
        values[low], values[high] = values[high], values[low]
        low += 1


@leaf_jit
def grow_from_root(ring: Ring, tree: Tree, subscribers: Int32s) -> None:
    nodes, root, size = len(ring.ids), int(tree.members[0]), 1
    for subscriber in subscribers:
        position, distance, hops = root, (int(subscriber) - root) % nodes, 0
        while distance > 0:
            parent, offset = position, offset_towards(ring, position, distance, 0)
            position = wrapped(ring, position + offset)
            distance = left_after(ring, distance, 0, offset)
            hops += 1
            if tree.depths[position] < 0:
                tree.members[size] = position
                size += 1
            elif tree.depths[position] < hops or (tree.depths[position] == hops and tree.parents[position] <= parent):
                continue
            tree.depths[position] = hops
            tree.parents[position] = parent
    tree.figures[SIZE] = size
    if ring.absolute:
        measure_depths(tree)


@leaf_jit
def measure_depths(tree: Tree) -> None:
    """The depths in the tree, which are less than the hops of a route whose nodes found shorter ones."""
    for member in tree.members[1 : tree.figures[SIZE]]:
        depth, position = 0, member
        while position != tree.members[0]:
            position = tree.parents[position]
            depth += 1
        tree.depths[member] = depth


@leaf_jit
def measure(tree: Tree) -> None:
    figures = tree.figures
    for member in tree.members[: figures[SIZE]]:
        depth = int(tree.depths[member])
        if tree.slots[member] < 0:
            figures[RELAYS] += depth > 0  # the root receives nothing from the tree
        else:
            figures[REACHED] += 1
            figures[DEPTH_SUM] += depth
            figures[SECOND] = max(figures[SECOND], min(depth, figures[DEEPEST]))
            figures[DEEPEST] = max(figures[DEEPEST], depth)


@leaf_jit
def publish(ring: Ring, tree: Tree, issuer: int, first: int, short: int, tally: Tally) -> None:
    figures, total = tree.figures, tally.total
    rise, _ = walk(ring, tree.slots, issuer, distance_to(ring, issuer, first, short), short, 0, tally)
    if len(tally.trace):
        trace_tree(tree, issuer, rise, tally)
    total[MESSAGES] += figures[SIZE] - 1
    total[OVERHEAD] += figures[RELAYS]
    others, depths, deepest = figures[REACHED], figures[DEPTH_SUM], figures[DEEPEST]
    if tree.slots[issuer] >= 0:
        others -= 1
        depths -= tree.depths[issuer]
        if tree.depths[issuer] == deepest:
            deepest = figures[SECOND]
    if others > 0:
        deliver_all(tally, others, others * rise + depths, rise + deepest)


@leaf_jit
def trace_tree(tree: Tree, issuer: int, rise: int, tally: Tally) -> None:
    row = tally.total[MESSAGES]
    if rise > 0 and tree.slots[tree.members[0]] >= 0:
        tally.trace[row - 1, DELIVERED] = 1
    for member in tree.members[1 : tree.figures[SIZE]]:
        trace_message(tally, row, tree.parents[member], member, rise + tree.depths[member])
        tally.trace[row, DELIVERED] = tree.slots[member] >= 0 and member != issuer
        row += 1


@leaf_jit
def load_tree(tree: Tree, publications: int, tally: Tally) -> None:
    for member in tree.members[1 : tree.figures[SIZE]]:
        tally.load[member, RECEIVED] += publications
        tally.load[tree.parents[member], SENT] += publications
