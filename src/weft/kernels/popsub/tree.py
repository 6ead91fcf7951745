"""A broker tree over arrays, and which link leads where, without a table of all pairs.

Brokers have positions: their places in a walk over the tree from broker 0, depth first, peers in ascending order. What
lies beyond a link away from broker 0 is then a run of positions, and what lies beyond one towards it is all others: a
run as well, where the last position is followed by the first. So a few brokers, as ascending positions, tell by one
binary search whether any of them is beyond a link.

A broker's links are numbered together, `indptr[b]` to `indptr[b + 1]`, by ascending peer.
"""

from typing import NamedTuple

import numpy as np

from weft.arrays import Floats, Int32s, Int64s
from weft.kernels.jit import jit, leaf_jit

NO_LINK = -1


class Tree(NamedTuple):
    indptr: Int64s
    peers: Int64s  # that links lead to
    back: Int64s  # the same links from the other end
    up: Int64s  # the link of every broker towards broker 0; NO_LINK for itself
    positions: Int64s  # of brokers
    brokers: Int64s  # of positions
    starts: Int64s  # of what lies beyond each link: its first position, and how many
    sizes: Int64s
    delays: Floats  # [b, c], milliseconds between any two


@jit
def walk(indptr: Int64s, peers: Int64s, up: Int64s, positions: Int64s, below: Int64s) -> int:
    """Fill in positions, links up, and how many brokers are below each, itself included; how many were reached."""
    parents = up.copy()
    next_link = indptr[:-1].copy()
    broker, count = 0, 1
    positions[0] = 0
    up[0] = parents[0] = NO_LINK
    while broker >= 0:
        link = next_link[broker]
        if link == indptr[broker + 1]:
            below[broker] = count - positions[broker]
            broker = parents[broker]
            continue
        next_link[broker] += 1
        peer = peers[link]
        if peer == parents[broker]:
            up[broker] = link
            continue
        if positions[peer] >= 0:
            return -1  # again: it is no tree
        parents[peer] = broker
        positions[peer] = count
        count += 1
        broker = peer
    return count


@leaf_jit
def link_toward(tree: Tree, broker: int, target: int) -> int:
    """The link of a broker that leads to another one."""
    place = tree.positions[target]
    up, first = tree.up[broker], tree.indptr[broker]
    if up != NO_LINK and (place - tree.starts[up]) % len(tree.positions) < tree.sizes[up]:
        return int(up)
    low, high = 0, tree.indptr[broker + 1] - first - (up != NO_LINK)  # of the links down, whose starts ascend
    while high - low > 1:
        middle = (low + high) >> 1
        link = first + middle + (up != NO_LINK and first + middle >= up)
        if tree.starts[link] <= place:
            low = middle
        else:
            high = middle
    return int(first + low + (up != NO_LINK and first + low >= up))


@leaf_jit
def delay_along(tree: Tree, source: int, target: int) -> float:
    """The time from a broker to another, along the tree."""
    delay = 0.0
    while target != source:
        before = tree.peers[link_toward(tree, target, source)]
        delay += tree.delays[before, target]
        target = before
    return delay


@leaf_jit
def first_at_least(values: Int32s, low: int, high: int, least: int) -> int:
    """The first of ascending values, from low up to high, that is no less; high if there is none."""
    while low < high:
        middle = (low + high) >> 1
        if values[middle] < least:
            low = middle + 1
        else:
            high = middle
    return low


@leaf_jit
def any_beyond(tree: Tree, link: int, positions: Int32s, low: int, high: int) -> bool:
    """Whether any of the ascending positions, from low up to high, is beyond a link."""
    if low == high:
        return False
    start, size, all_ = tree.starts[link], tree.sizes[link], len(tree.positions)
    place = first_at_least(positions, low, high, start)
    if place < high and positions[place] < start + size:
        return True
    return bool(start + size > all_ and positions[low] < start + size - all_)


@jit
def worth_of(
    tree: Tree, issuer: int, audience: Int32s, counts: Int32s, sums: Int64s
) -> tuple[Int64s, Int64s, Int64s, Int64s]:
    """The links with subscriptions beyond, ascending; those, their hops and their brokers.

    `audience` are positions of brokers with so many subscriptions each; `sums` [link, column] is zero before and after.
    """
    used = 0
    for row in range(len(audience)):
        broker, distance = tree.brokers[audience[row]], 0
        while broker != issuer:
            distance += 1
            link = tree.back[link_toward(tree, broker, issuer)]
            used += sums[link, 0] == 0
            sums[link, 0] += counts[row]
            sums[link, 1] += counts[row] * distance
            sums[link, 2] += 1
            broker = tree.peers[tree.back[link]]
    links = np.empty(used, np.int64)
    beyond, hops, origins = np.empty(used, np.int64), np.empty(used, np.int64), np.empty(used, np.int64)
    place = 0
    for link in range(len(sums)):
        if sums[link, 0] > 0:
            links[place], beyond[place] = link, sums[link, 0]
            hops[place], origins[place] = sums[link, 1], sums[link, 2]
            place += 1
            sums[link, 0] = sums[link, 1] = sums[link, 2] = 0
    return links, beyond, hops, origins


@jit
def cells_of(offsets: Int64s, found: Int32s, places: Int32s) -> tuple[Int64s, Int32s, Int32s]:
    """Positions of the brokers that want each publication, ascending, and how many subscriptions each of them has.

    `found` are matching subscriptions, by ascending position of their brokers; `places` are those positions.
    """
    bounds = np.zeros(len(offsets), np.int64)
    positions, counts = np.empty(len(found), np.int32), np.empty(len(found), np.int32)
    cell = 0
    for publication in range(len(offsets) - 1):
        first = cell
        for row in range(offsets[publication], offsets[publication + 1]):
            place = places[found[row]]
            if cell > first and positions[cell - 1] == place:
                counts[cell - 1] += 1
            else:
                positions[cell], counts[cell] = place, 1
                cell += 1
        bounds[publication + 1] = cell
    return bounds, positions[:cell], counts[:cell]
