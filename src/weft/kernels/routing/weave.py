"""Publications over shared trees in bulk: the decisions of weft.protocol.weave over arrays, with all tables in place.

A tree is the same for all publications of its topic, and what one costs depends on the member alone where it starts.
The paths from a member are known from those of its parent: one link down, with b of the k subscribers below it, the
start is a hop nearer to these b and a hop farther from the others. So a run costs O(tree), and a publication no more
than the search for its way to the tree, which is none for members.

Who is not in the tree enters it by a shortest way over the overlay's links, used in both directions, and of the members
that are as near by the one with the least sum of paths to all subscribers.
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
    REPEATED,
    SENT,
    Tally,
    deliver_all,
    trace_message,
)

NONE = -1  # of a path that leads to no subscriber


class Reach(NamedTuple):
    """A tree, seen from each of its members."""

    members: Int32s  # positions, parents before children
    parents: Int32s  # places in members; -1 for the root
    degrees: Int32s
    path_sums: Int64s  # from this member to all subscribers
    path_maxima: Int32s
    starts: Int64s  # how many publications have started here
    reached: int  # subscribers in the tree


class Links(NamedTuple):
    """Links of the overlay, from both ends: the neighbours of position p are ends[indptr[p]:indptr[p + 1]]."""

    indptr: Int64s
    ends: Int32s


class Search(NamedTuple):
    """State of a search for ways to a tree; arrays with room for all positions."""

    queue: Int32s
    before: Int32s  # by position: from where it was reached
    seen: Int64s  # by position: in which search that was
    number: Int64s  # one number: of this search


@jit
def weave_runs(
    links: Links,
    indptr: Int64s,
    subscribers: Int32s,
    tree_indptr: Int64s,
    members: Int32s,
    parents: Int32s,
    topics: Int32s,
    starts: Int64s,
    issuers: Int32s,
    totals: Int64s,
    load: Int64s,
    trace: Int32s,
) -> None:
    """Every issuer has a way to the tree. The rest is as in convey_runs."""
    nodes = len(links.indptr) - 1
    slots, places = np.full(nodes, -1, np.int32), np.full(nodes, -1, np.int32)
    search = Search(
        np.empty(nodes, np.int32), np.empty(nodes, np.int32), np.zeros(nodes, np.int64), np.zeros(1, np.int64)
    )
    for run in range(len(topics)):
        own = subscribers[indptr[topics[run]] : indptr[topics[run] + 1]]
        tree = slice(tree_indptr[topics[run]], tree_indptr[topics[run] + 1])
        tally = Tally(totals[run], load, trace)
        mark(slots, own)
        mark(places, members[tree])
        reach = reach_of(members[tree], parents[tree], slots)
        for place in range(len(reach.members)):
            tally.total[REPEATED] += places[reach.members[place]] != place
        for issuer in issuers[starts[run] : starts[run + 1]]:
            tally.total[EXPECTED] += len(own) - (slots[issuer] >= 0)
            if len(own) > 0:
                publish(links, search, slots, places, reach, issuer, tally)
        load_tree(reach, starts[run + 1] - starts[run], tally)
        unmark(places, members[tree])
        unmark(slots, own)


@jit
def reach_of(members: Int32s, parents: Int32s, slots: Int32s) -> Reach:
    size = len(members)
    degrees, below = np.zeros(size, np.int32), np.zeros(size, np.int32)
    farthest, second = np.full(size, NONE, np.int32), np.full(size, NONE, np.int32)  # below, over different children
    path_sums, path_maxima = np.zeros(size, np.int64), np.zeros(size, np.int32)
    for place in range(size - 1, -1, -1):
        if slots[members[place]] >= 0:
            below[place] += 1
            take_path(farthest, second, place, 0)
        if place > 0:
            parent = parents[place]
            degrees[place] += 1
            degrees[parent] += 1
            below[parent] += below[place]
            path_sums[0] += below[place]
            take_path(farthest, second, parent, farthest[place] + 1 if farthest[place] != NONE else NONE)
    path_maxima[0] = farthest[0]
    for place in range(1, size):
        parent = parents[place]
        path_sums[place] = path_sums[parent] + below[0] - 2 * below[place]
        through = farthest[place] != NONE and farthest[place] + 1 == farthest[parent]
        beyond = second[parent] if through else farthest[parent]
        take_path(farthest, second, place, beyond + 1 if beyond != NONE else NONE)
        path_maxima[place] = farthest[place]
    return Reach(members, parents, degrees, path_sums, path_maxima, np.zeros(size, np.int64), below[:1].sum())


@leaf_jit
def take_path(farthest: Int32s, second: Int32s, place: int, path: int) -> None:
    second[place] = max(second[place], min(path, farthest[place]))
    farthest[place] = max(farthest[place], path)


@jit
def publish(
    links: Links, search: Search, slots: Int32s, places: Int32s, reach: Reach, issuer: int, tally: Tally
) -> None:
    total, hops = tally.total, 0
    if places[issuer] < 0:
        member = entrance(links, search, places, reach.path_sums, issuer)
        hops, issuer = come_in(search, slots, issuer, member, tally), member
    place = places[issuer]
    if len(tally.trace):
        trace_tree(reach, slots, place, hops, tally)
    delivered = reach.reached - (hops == 0 and slots[issuer] >= 0)
    reach.starts[place] += 1
    total[MESSAGES] += len(reach.members) - 1
    total[OVERHEAD] += len(reach.members) - reach.reached - (slots[issuer] < 0)
    if delivered > 0:
        paths = delivered * hops + reach.path_sums[place]
        deliver_all(tally, delivered, paths, hops + reach.path_maxima[place])


@jit
def entrance(links: Links, search: Search, places: Int32s, path_sums: Int64s, issuer: int) -> int:
    """The nearest member, of several the one with the least path sum, and of these the first; `before` leads back."""
    search.number[0] += 1
    search.seen[issuer] = search.number[0]
    search.queue[0] = issuer
    head, tail, found = 0, 1, -1
    while found < 0 and head < tail:
        level = tail
        for here in search.queue[head:level]:
            for there in links.ends[links.indptr[here] : links.indptr[here + 1]]:
                if search.seen[there] != search.number[0]:
                    search.seen[there] = search.number[0]
                    search.before[there] = here
                    search.queue[tail] = there
                    tail += 1
                    if places[there] >= 0 and (found < 0 or path_sums[places[there]] < path_sums[places[found]]):
                        found = there
        head = level
    return found


@leaf_jit
def come_in(search: Search, slots: Int32s, issuer: int, member: int, tally: Tally) -> int:
    """Sends a publication on its way from an issuer to a member; how many hops it is."""
    hops, here = 0, member
    while here != issuer:
        hops += 1
        here = search.before[here]
    here = member
    for hop in range(hops, 0, -1):
        source = search.before[here]
        tally.load[source, SENT] += 1
        tally.load[here, RECEIVED] += 1
        trace_message(tally, tally.total[MESSAGES] + hop - 1, source, here, hop)
        tally.total[OVERHEAD] += slots[here] < 0
        here = source
    tally.total[MESSAGES] += hops
    return hops


@jit
def trace_tree(reach: Reach, slots: Int32s, start: int, hops: int, tally: Tally) -> None:
    """Trace the messages from a member over the whole tree."""
    row = tally.total[MESSAGES]
    if hops > 0:
        tally.trace[row - 1, DELIVERED] = slots[reach.members[start]] >= 0
    distances = np.full(len(reach.members), -1, np.int32)
    place = start
    while place >= 0:
        distances[place] = distances.max() + 1
        place = reach.parents[place]
    for place in range(1, len(reach.members)):
        parent = reach.parents[place]
        rises = distances[place] >= 0
        if not rises:
            distances[place] = distances[parent] + 1
        source, target = (place, parent) if rises else (parent, place)
        trace_message(tally, row, reach.members[source], reach.members[target], hops + distances[target])
        if row < len(tally.trace):
            tally.trace[row, DELIVERED] = slots[reach.members[target]] >= 0
        row += 1


@leaf_jit
def load_tree(reach: Reach, publications: int, tally: Tally) -> None:
    for place in range(len(reach.members)):
        tally.load[reach.members[place], SENT] += publications * (reach.degrees[place] - 1) + reach.starts[place]
        tally.load[reach.members[place], RECEIVED] += publications - reach.starts[place]
