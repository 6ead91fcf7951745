"""A tree of the links among given members: short paths between any two subscribers, and little to send for the busy.

A publication on a shared tree travels from any subscriber to all others, so a tree is as good as the sum of the paths
between all pairs of its subscribers is low (a minimum routing cost tree, which is NP-hard). A link with b of the k
subscribers below it is on b (k - b) of these paths, so that

    paths = sum over links of  cost of the link  x  b (k - b).

Where publishers are known that are not among the subscribers, what they publish comes in at members next to them. They
count as much as if all subscribers published twice: with p of the k shares of theirs coming in below the link,

    paths = sum over links of  cost of the link  x  (b (k - b) + p (k - b) + (k - p) b).

A member sends a publication on to each of its children. That has a price, which grows with all that its node sends
already, on this topic and on others. A child whose path is one hop longer adds h = k - 1 to the sum, or 2 k - 1 with
known publishers, so that with a price in hops

    cost = paths + h x sum over members and their children of  the price of the child at the member.

Prices count for every child alike, the paths for those with many below them more: so members with nothing below them
are hung elsewhere first. (Prices on the links themselves, as costs of paths, were tried first: then a busy member
loses its large branches too, and paths get longer for the same load.)

1. Shortest ways from a root to all others make a tree whose cost is at most twice the least, for the best root (Wong,
   SIAM J. Computing 1980). The roots tried are the middle of a longest path, the best connected members, the one where
   known publishers bring in most, and the median of the best tree so far.
2. Members move: one that is cheaper to hang, with all below it, from another neighbour is hung there. A move changes b
   on the way between its old and its new parent only. Nobody takes more than `fan_out` neighbours, and a member with
   more gives away those it can, at the least cost: members whose only link is to it must stay.

Ways are by a queue (Bellman, Ford, Moore): with links of equal cost and no prices that is a breadth-first search. A hop
costs what the link costs and the price at the nearer end, which is right for members with nothing below them.
"""

from typing import NamedTuple

import numpy as np

from weft.arrays import Floats, Int32s, Int64s
from weft.kernels.jit import jit, leaf_jit
from weft.kernels.order import descending
from weft.kernels.trees.party import NOBODY, Party

CONNECTED = 8  # roots tried that are the best connected
MEDIANS = 2  # roots tried that are medians
ROUNDS = 3  # of moves; later ones find little


class Graph(NamedTuple):
    """The links among members, who are named by their index."""

    starts: Int32s  # those of member m are starts[m]:starts[m + 1]
    ends: Int32s
    costs: Floats
    shares: Floats  # by member: how much known publishers bring in there; k together, or none
    prices: Floats  # by member: that of its first child, in the unit of costs,
    step: float  # and how much higher it is for every further child


class Tree(NamedTuple):
    parents: Int32s  # NOBODY for the root
    costs: Floats  # of the link to the parent
    below: Int32s  # how many subscribers it leads to, the member's own included,
    brought: Floats  # and how much comes in there from known publishers
    degrees: Int32s
    order: Int32s  # parents before children


@jit
def graph_among(
    indptr: Int64s,
    neighbours: Int32s,
    costs: Floats,
    prices: Floats,
    step: float,
    hop: float,
    shares: Floats,
    party: Party,
    count: int,
) -> Graph:
    """`costs` are those of the entries of neighbours, a hop's on average; empty where every link costs 1.

    Prices are by node. Like the step they are in hops.
    """
    room = 0
    for node in party.members[:count]:
        room += indptr[node + 1] - indptr[node]
    starts, ends, own_costs = np.zeros(count + 1, np.int32), np.empty(room, np.int32), np.ones(room, np.float64)
    free = 0
    for slot in range(count):
        node = party.members[slot]
        for k in range(indptr[node], indptr[node + 1]):
            other = party.slots[neighbours[k]]
            if other != NOBODY:
                ends[free] = other
                if len(costs):
                    own_costs[free] = costs[k]
                free += 1
        starts[slot + 1] = free
    return Graph(starts, ends, own_costs, shares, prices[party.members[:count]] * hop, step * hop)


@jit
def short_tree(graph: Graph, subscribers: int, fan_out: int) -> Tree:
    """A tree of all members, who are connected; the first of them are the subscribers."""
    count = len(graph.starts) - 1
    distances, best, trial = np.empty(count, np.float64), empty_tree(count), empty_tree(count)
    most = 0
    for member in range(count):
        trial.degrees[member] = graph.starts[member + 1] - graph.starts[member]
        most = member if graph.shares[member] > graph.shares[most] else most
    connected = descending(trial.degrees)[:CONNECTED]
    if graph.shares[most] > 0:
        connected[-1] = most
    find_ways(graph, connected[0], trial, distances)
    find_ways(graph, int(np.argmax(distances)), trial, distances)
    cost = grow(graph, middle(trial, distances), subscribers, best, distances)
    for attempt in range(len(connected) + MEDIANS):
        root = connected[attempt] if attempt < len(connected) else median(best, subscribers)
        tried = grow(graph, root, subscribers, trial, distances)
        if tried < cost:
            cost = tried
            best, trial = trial, best
    for _ in range(ROUNDS):
        if not move_members(graph, best, subscribers, fan_out):
            break
    arrange(best)
    return best


@jit
def cost_of(graph: Graph, tree: Tree, subscribers: int) -> float:
    cost, hop = 0.0, subscribers - 1 + tree.brought[tree.order[0]]
    for member in tree.order:
        children = tree.degrees[member] - 1  # of the root one too few: it sends to as many as others of its degree
        cost += hop * children * (graph.prices[member] + graph.step * (children - 1) / 2)
    for member in tree.order[1:]:
        cost += link_cost(tree, member, tree.below[member], tree.brought[member], subscribers)
    return cost


@jit
def empty_tree(count: int) -> Tree:
    rows = np.empty((4, count), np.int32)
    return Tree(rows[0], np.empty(count, np.float64), rows[1], np.empty(count, np.float64), rows[2], rows[3])


@jit
def grow(graph: Graph, root: int, subscribers: int, tree: Tree, distances: Floats) -> float:
    """Makes it the tree of shortest paths from a root; its cost."""
    find_ways(graph, root, tree, distances)
    arrange(tree)
    tree.below[:subscribers] = 1
    tree.below[subscribers:] = 0
    tree.brought[:] = graph.shares
    for member in tree.order[:0:-1]:
        tree.below[tree.parents[member]] += tree.below[member]
        tree.brought[tree.parents[member]] += tree.brought[member]
    return cost_of(graph, tree, subscribers)


@jit
def find_ways(graph: Graph, root: int, tree: Tree, distances: Floats) -> None:
    waiting, queue = np.zeros(len(distances), np.bool_), tree.order  # a ring of as many places as there are members
    distances[:] = np.inf
    distances[root], tree.parents[root], tree.costs[root] = 0.0, NOBODY, 0.0
    queue[0], head, tail, length = root, 0, 0, 1  # the tail is the place of the last one
    while length > 0:
        here = queue[head]
        head = head + 1 if head + 1 < len(queue) else 0
        length -= 1
        waiting[here] = False
        so_far = distances[here] + graph.prices[here]
        for k in range(graph.starts[here], graph.starts[here + 1]):
            there, distance = graph.ends[k], so_far + graph.costs[k]
            if distance < distances[there]:
                distances[there], tree.parents[there], tree.costs[there] = distance, here, graph.costs[k]
                if not waiting[there]:
                    waiting[there] = True
                    tail = tail + 1 if tail + 1 < len(queue) else 0
                    queue[tail] = there
                    length += 1


@jit
def arrange(tree: Tree) -> None:
    """Degrees and order, from the parents."""
    count = len(tree.parents)
    ends = np.zeros(count + 1, np.int32)  # of the children of each member, in a list of all children
    for parent in tree.parents:
        ends[parent + 1] += 1  # those of nobody, the root alone, come first
    for member in range(count):
        tree.degrees[member] = ends[member + 1]
        ends[member + 1] += ends[member]
    children = np.empty(count, np.int32)
    for member in range(count - 1, -1, -1):
        ends[tree.parents[member] + 1] -= 1
        children[ends[tree.parents[member] + 1]] = member
    tree.order[0] = children[0]
    tail = 1
    for head in range(count):
        member = tree.order[head]
        for child in children[ends[member + 1] : ends[member + 1] + tree.degrees[member]]:
            tree.order[tail] = child
            tail += 1
    for member in tree.order[1:]:
        tree.degrees[member] += 1


@jit
def middle(tree: Tree, distances: Floats) -> int:
    """The middle of the longest path from the root."""
    member = np.argmax(distances)
    length = distances[member]
    while distances[member] > length / 2:
        member = tree.parents[member]
    return int(member)


@jit
def median(tree: Tree, subscribers: int) -> int:
    """The member with the least sum of paths to all subscribers: at most half of them lie beyond any of its links."""
    found = tree.order[0]
    for member in tree.order[1:]:
        if tree.parents[member] == found and 2 * tree.below[member] > subscribers:
            found = member
    return int(found)


@leaf_jit
def link_cost(tree: Tree, member: int, below: int, brought: float, subscribers: int) -> float:
    """Cost of the link to its parent, if it led to so many subscribers and to where so much is brought in."""
    return float(tree.costs[member] * paths_over(below, brought, subscribers, tree.brought[tree.order[0]]))


@leaf_jit
def paths_over(below: int, brought: float, subscribers: int, all_brought: float) -> float:
    beyond = np.float64(subscribers - below)
    return (below + brought) * beyond + (all_brought - brought) * below


@jit
def move_members(graph: Graph, tree: Tree, subscribers: int, fan_out: int) -> bool:
    """Moves members to better parents, the last in order first; whether any was moved."""
    above, relief = np.full(len(tree.order), NOBODY, np.int32), np.empty(len(tree.order), np.float64)
    moved = False
    for member in tree.order[:0:-1]:
        crowded = tree.degrees[tree.parents[member]] > fan_out
        if graph.starts[member + 1] - graph.starts[member] == 1:
            continue
        mark_above(tree, member, subscribers, above, relief)
        gain, link = -np.inf if crowded else 0.0, NOBODY
        for k in range(graph.starts[member], graph.starts[member + 1]):
            parent = graph.ends[k]
            if parent != tree.parents[member] and tree.degrees[parent] < fan_out:
                found = gain_of(graph, tree, member, k, subscribers, above, relief)
                if found > gain:
                    gain, link = found, k
        if link != NOBODY:
            attach(tree, member, graph.ends[link], graph.costs[link])
            moved = True
    return moved


@leaf_jit
def mark_above(tree: Tree, member: int, subscribers: int, above: Int32s, relief: Floats) -> None:
    """relief[a] is what the links between a member's parent and its ancestor a would cost less without the member."""
    ancestor, sum_ = tree.parents[member], 0.0
    while ancestor != NOBODY:
        above[ancestor], relief[ancestor] = member, sum_
        below, brought = tree.below[ancestor], tree.brought[ancestor]
        sum_ += link_cost(tree, ancestor, below, brought, subscribers)
        sum_ -= link_cost(tree, ancestor, below - tree.below[member], brought - tree.brought[member], subscribers)
        ancestor = tree.parents[ancestor]


@leaf_jit
def gain_of(graph: Graph, tree: Tree, member: int, k: int, subscribers: int, above: Int32s, relief: Floats) -> float:
    """What the tree would cost less with the member hung from the end of link k; -inf where that one is below it."""
    below, brought = tree.below[member], tree.brought[member]
    all_brought = tree.brought[tree.order[0]]
    gain = (tree.costs[member] - graph.costs[k]) * paths_over(below, brought, subscribers, all_brought)
    here, parent = graph.ends[k], tree.parents[member]
    hop = subscribers - 1 + all_brought
    gain += hop * (graph.prices[parent] + graph.step * (tree.degrees[parent] - 2))
    gain -= hop * (graph.prices[here] + graph.step * (tree.degrees[here] - 1))
    while above[here] != member:
        if here == member:
            return -np.inf
        gain += link_cost(tree, here, tree.below[here], tree.brought[here], subscribers)
        gain -= link_cost(tree, here, tree.below[here] + below, tree.brought[here] + brought, subscribers)
        here = tree.parents[here]
    return float(gain + relief[here])


@leaf_jit
def attach(tree: Tree, member: int, parent: int, cost: float) -> None:
    tree.degrees[tree.parents[member]] -= 1
    tree.degrees[parent] += 1
    add_above(tree, tree.parents[member], -tree.below[member], -tree.brought[member])
    add_above(tree, parent, tree.below[member], tree.brought[member])
    tree.parents[member], tree.costs[member] = parent, cost


@leaf_jit
def add_above(tree: Tree, member: int, subscribers: int, brought: float) -> None:
    while member != NOBODY:
        tree.below[member] += subscribers
        tree.brought[member] += brought
        member = tree.parents[member]
