"""A round of Vitis' gossip for all nodes at once: views by Cyclon, routing tables by T-Man.

It does what `weft.protocol.vitis` does, node by node from the state of the round before. Nothing that was sent is
stored: a choice among peers follows from who chooses, when and what for, so that the receiver's side works out again
what the sender's side has chosen. Rows of nodes that are out of the network are empty.
"""

import numpy as np

from weft.arrays import Bools, Int32s, Int64s
from weft.kernels.jit import jit
from weft.kernels.vitis.sampling import keep_view, known_view
from weft.kernels.vitis.state import (
    LAST,
    NOBODY,
    Departed,
    Gossip,
    Incoming,
    Popularity,
    Setting,
    clear,
    drop,
    key,
    nothing_found,
    priority,
)
from weft.kernels.vitis.table import candidates, choose_table

EXCHANGE = 2  # purpose, as in weft.protocol.vitis.chance


@jit
def next_round(
    setting: Setting,
    when: int,
    there_before: Bools,
    there: Bools,
    before: Gossip,
    came: Incoming,
    popularity: Popularity,
    departed: Departed,
    now: Gossip,
) -> None:
    """What the nodes that are there hold in the round; those that were there before have answered."""
    found = nothing_found(len(there))
    rate = np.zeros(len(setting.rates))
    for v in range(len(there)):
        if there[v]:
            count = known_view(setting, when - 1, v, there_before, before, came, found)
            count = drop(found, count, v, departed.just)
            keep_view(setting, when, v, found, count, now)
            clear(found, count)
            count = candidates(setting, v, there_before, before, came, now, found)
            count = drop(found, count, v, departed.lately)
            choose_table(setting, when, v, found, count, rate, before, popularity, now)
            clear(found, count)
            choose_partners(setting, when, v, now)


@jit
def choose_partners(setting: Setting, when: int, v: int, now: Gossip) -> None:
    """Choose a node to shuffle with, which leaves the view, and one to exchange with."""
    view, size = now.sampled[v], now.sampled.shape[1]
    if np.all(view == NOBODY):
        known = min(size, now.table.shape[1])
        view[:known], now.sampled_age[v, :known] = now.table[v, :known], now.table_age[v, :known]
    oldest = NOBODY
    for i in range(size):
        if view[i] != NOBODY and (oldest == NOBODY or is_older(view, now.sampled_age[v], i, oldest)):
            oldest = i
    now.shuffled[v] = NOBODY if oldest == NOBODY else view[oldest]
    if oldest != NOBODY:
        view[oldest] = NOBODY
    partner = NOBODY
    if when % 8 == 0:
        partner = now.successor[v]
    elif when % 8 == 4:
        partner = now.predecessor[v]
    now.exchanged[v] = anybody(setting, when, v, now) if partner == NOBODY else partner


@jit
def is_older(view: Int32s, age: Int32s, one: int, other: int) -> bool:
    return bool(age[one] > age[other] or (age[one] == age[other] and view[one] < view[other]))


@jit
def anybody(setting: Setting, when: int, v: int, now: Gossip) -> int:
    """The node of lowest priority among all that the node knows of."""
    chooser = key(setting.seed, v, when, EXCHANGE)
    best, lowest = NOBODY, LAST
    for peers in (now.table[v], now.sampled[v]):
        for peer in peers:
            if peer != NOBODY and priority(chooser, peer) < lowest:
                best, lowest = peer, priority(chooser, peer)
    return best


@jit
def transposed(indptr: Int64s, indices: Int32s, there: Bools) -> tuple[Int64s, Int32s]:
    """The rows in which each index stands, for those that are there; negative indices stand for none."""
    nodes = len(there)
    starts = np.zeros(nodes + 1, np.int64)
    for index in indices:
        if index >= 0 and there[index]:
            starts[index + 1] += 1
    starts = np.cumsum(starts)
    rows = np.empty(starts[-1], np.int32)
    filled = starts[:-1].copy()
    for row in range(len(indptr) - 1):
        for place in range(indptr[row], indptr[row + 1]):
            index = indices[place]
            if index >= 0 and there[index]:
                rows[filled[index]] = row
                filled[index] += 1
    return starts, rows


@jit
def turnover(before: Int32s, now: Int32s) -> int:
    """How many peers came into the tables, or went."""
    mark = np.full(len(now), NOBODY, np.int32)
    changes = 0
    for v in range(len(now)):
        for peer in before[v]:
            if peer != NOBODY:
                mark[peer] = v
                changes += 1
        for peer in now[v]:
            if peer != NOBODY:
                changes += -1 if mark[peer] == v else 1
    return changes
