"""Rendezvous routing in bulk: the decisions of weft.protocol.scribe over arrays.

The tree of a topic is the same for all its publications, so it is grown once a run, in O(tree), and a publication
costs no more than its way to the root; what happens below is known then.

A union of greedy routes is a tree in both directions. Towards one target, the next hop depends on the node alone.
From one source, a route that comes through x takes at each node before x the finger nearest to its target; that one
is not beyond x, so it is the nearest to x too. The first part of the route is the route to x: x has one parent.
"""

import numpy as np

from weft.kernels.jit import jit
from weft.kernels.tally import (
    DELIVERED,
    DELIVERIES,
    EXPECTED,
    MESSAGES,
    OVERHEAD,
    PATH_MAX,
    PATH_SUM,
    RECEIVED,
    REPEATED,
    SENT,
    Int32s,
    Int64s,
    mark,
    trace_hop,
    unmark,
)
from weft.kernels.walk import finger_towards, walk

TO_ROOT, FROM_ROOT = 0, 1  # the direction of the routes that make the tree: Scribe, iScribe
REACHED, RELAYS, DEPTH_SUM, DEEPEST, SECOND = range(5)  # columns of a tree's figures


@jit
def scribe_runs(
    fingers: Int32s,
    per_phase: int,
    direction: int,
    roots: Int32s,
    indptr: Int64s,
    subscribers: Int32s,
    topics: Int32s,
    starts: Int64s,
    issuers: Int32s,
    totals: Int64s,
    load: Int64s,
    trace: Int32s,
) -> None:
    """Run r publishes on topics[r], over a tree from roots[r]; the rest is as in convey_runs."""
    nodes = len(fingers)
    slots = np.full(nodes, -1, np.int32)
    depths = np.full(nodes, -1, np.int32)  # of the tree at hand; -1 outside
    parents = np.empty(nodes, np.int32)
    members = np.empty(nodes, np.int32)  # parents before children
    for run in range(len(topics)):
        own = subscribers[indptr[topics[run]] : indptr[topics[run] + 1]]
        mark(slots, own)
        depths[roots[run]] = 0
        members[0] = roots[run]
        if direction == TO_ROOT:
            size = grow_to_root(fingers, per_phase, own, depths, parents, members)
        else:
            size = grow_from_root(fingers, per_phase, own, depths, parents, members, totals[run])
        publish_all(
            fingers,
            per_phase,
            own,
            slots,
            depths,
            parents,
            members[:size],
            issuers[starts[run] : starts[run + 1]],
            totals[run],
            load,
            trace,
        )
        unmark(depths, members[:size])
        unmark(slots, own)


@jit
def grow_to_root(fingers: Int32s, per_phase: int, own: Int32s, depths: Int32s, parents: Int32s, members: Int32s) -> int:
    """The union of the routes from the subscribers to members[0]; how many nodes it has."""
    nodes, root, size = len(fingers), int(members[0]), 1
    for subscriber in own:
        at, end = int(subscriber), size
        while depths[at] < 0:
            members[end] = at
            end += 1
            parents[at] = (at + finger_towards(fingers, per_phase, at, (root - at) % nodes)) % nodes
            at = int(parents[at])
        members[size:end] = members[size:end][::-1].copy()
        for member in members[size:end]:
            depths[member] = depths[parents[member]] + 1
        size = end
    return size


@jit
def grow_from_root(
    fingers: Int32s,
    per_phase: int,
    own: Int32s,
    depths: Int32s,
    parents: Int32s,
    members: Int32s,
    total: Int64s,
) -> int:
    """The union of the routes from members[0] to the subscribers; how many nodes it has."""
    nodes, root, size = len(fingers), int(members[0]), 1
    for target in own:
        at, subscriber = root, int(target)
        while at != subscriber:
            parent = at
            at = (at + finger_towards(fingers, per_phase, at, (subscriber - at) % nodes)) % nodes
            if depths[at] < 0:
                depths[at] = depths[parent] + 1
                parents[at] = parent
                members[size] = at
                size += 1
            elif parents[at] != parent:
                total[REPEATED] += 1
    return size


@jit
def publish_all(
    fingers: Int32s,
    per_phase: int,
    own: Int32s,
    slots: Int32s,
    depths: Int32s,
    parents: Int32s,
    members: Int32s,
    issuers: Int32s,
    total: Int64s,
    load: Int64s,
    trace: Int32s,
) -> None:
    figures = tree_figures(slots, depths, members)
    root = members[0]
    for issuer in issuers:
        rise = walk(fingers, per_phase, issuer, (root - issuer) % len(fingers), 0, slots, total, load, trace)
        if len(trace):
            write_tree(slots, depths, parents, members, issuer, rise, total, trace)
        total[MESSAGES] += len(members) - 1
        total[OVERHEAD] += figures[RELAYS]
        subscribes = slots[issuer] >= 0
        total[EXPECTED] += len(own) - subscribes
        others = figures[REACHED] - subscribes
        if others > 0:
            depth = depths[issuer] if subscribes else 0
            deepest = figures[SECOND] if subscribes and depth == figures[DEEPEST] else figures[DEEPEST]
            total[DELIVERIES] += others
            total[PATH_SUM] += others * rise + figures[DEPTH_SUM] - depth
            total[PATH_MAX] = max(total[PATH_MAX], rise + deepest)
    for member in members[1:]:
        load[member, RECEIVED] += len(issuers)
        load[parents[member], SENT] += len(issuers)


@jit
def tree_figures(slots: Int32s, depths: Int32s, members: Int32s) -> Int64s:
    """Of the subscribers in the tree: how many, their depths in all, the greatest and the next; and the relays."""
    figures = np.zeros(5, np.int64)
    for member in members:
        depth = np.int64(depths[member])
        if slots[member] < 0:
            figures[RELAYS] += depth > 0  # the root receives nothing from the tree
            continue
        figures[REACHED] += 1
        figures[DEPTH_SUM] += depth
        figures[SECOND] = max(figures[SECOND], min(depth, figures[DEEPEST]))
        figures[DEEPEST] = max(figures[DEEPEST], depth)
    return figures


@jit
def write_tree(
    slots: Int32s,
    depths: Int32s,
    parents: Int32s,
    members: Int32s,
    issuer: int,
    rise: int,
    total: Int64s,
    trace: Int32s,
) -> None:
    row = total[MESSAGES]
    if row > 0 and slots[members[0]] >= 0:
        trace[row - 1, DELIVERED] = 1
    for member in members[1:]:
        trace_hop(trace, row, parents[member], member, rise + depths[member])
        trace[row, DELIVERED] = slots[member] >= 0 and member != issuer
        row += 1
