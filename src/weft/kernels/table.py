"""Routing tables, one node at a time: see weft.protocol.vitis.table and utility."""

import numpy as np

from weft.kernels.jit import jit
from weft.kernels.vitis import (
    NOBODY,
    Bools,
    Floats,
    Gossip,
    Incoming,
    Int32s,
    Int64s,
    Setting,
    add,
    apart,
    clockwise,
    distance,
)


@jit
def candidates(
    setting: Setting,
    v: int,
    there: Bools,
    before: Gossip,
    came: Incoming,
    now: Gossip,
    place: Int64s,
    found: Int32s,
    age: Int32s,
) -> int:
    """All that have given a sign of life lately."""
    count = add_fresh(setting, v, before.table[v], before.table_age[v], 1, place, found, age, 0)
    count = add_fresh(setting, v, now.sampled[v], now.sampled_age[v], 0, place, found, age, count)
    for s in came.beating[came.heartbeats[v] : came.heartbeats[v + 1]]:
        count = add(s, 1, place, found, age, count)
    partner = before.exchanged[v]
    if partner != NOBODY and there[partner]:
        count = add_exchanged(setting, v, partner, before, place, found, age, count)
    for s in came.exchanger[came.exchanges[v] : came.exchanges[v + 1]]:
        count = add_exchanged(setting, v, s, before, place, found, age, count)
    return count


@jit
def add_exchanged(
    setting: Setting, v: int, peer: int, before: Gossip, place: Int64s, found: Int32s, age: Int32s, count: int
) -> int:
    """The peer and all that it knew."""
    count = add(peer, 1, place, found, age, count)
    count = add_fresh(setting, v, before.table[peer], before.table_age[peer], 1, place, found, age, count)
    return add_fresh(setting, v, before.sampled[peer], before.sampled_age[peer], 1, place, found, age, count)


@jit
def add_fresh(
    setting: Setting,
    v: int,
    peers: Int32s,
    ages: Int32s,
    since: int,
    place: Int64s,
    found: Int32s,
    age: Int32s,
    count: int,
) -> int:
    for i in range(len(peers)):
        if peers[i] != NOBODY and peers[i] != v and ages[i] + since <= setting.patience:
            count = add(peers[i], ages[i] + since, place, found, age, count)
    return count


@jit
def utilities(setting: Setting, v: int, found: Int32s, rate: Floats, worth: Floats) -> None:
    """Formula (1), for every node that was found; `rate` is all zeros, here and after."""
    for i in range(setting.indptr[v], setting.indptr[v + 1]):
        rate[setting.topics[i]] = setting.rates[setting.topics[i]]
    for at in range(len(found)):
        w = found[at]
        common = 0.0
        for i in range(setting.indptr[w], setting.indptr[w + 1]):
            common += rate[setting.topics[i]]
        similarity = common / (setting.interest_rate[v] + setting.interest_rate[w] - common) if common > 0.0 else 0.0
        closeness = 1.0
        if setting.exponent > 0.0:
            closeness = (1.0 / max(distance(setting, v, w), setting.floor)) ** setting.exponent
        worth[at] = similarity + closeness if setting.is_sum else similarity * closeness
    for i in range(setting.indptr[v], setting.indptr[v + 1]):
        rate[setting.topics[i]] = 0.0


@jit
def choose_table(setting: Setting, v: int, found: Int32s, age: Int32s, rate: Floats, now: Gossip) -> None:
    """Successor, predecessor, small-world links, and friends by utility; ties go to the lower node."""
    now.table[v] = NOBODY
    now.successor[v] = now.predecessor[v] = NOBODY
    if len(found) == 0:
        return
    ring, own, ids = setting.ring, setting.ring_ids[v], setting.ring_ids
    taken = np.zeros(len(found), np.bool_)
    after, back = 0, 0
    for at in range(1, len(found)):
        if clockwise(ring, own, ids[found[at]]) < clockwise(ring, own, ids[found[after]]):
            after = at
        if clockwise(ring, ids[found[at]], own) < clockwise(ring, ids[found[back]], own):
            back = at
    now.successor[v], now.predecessor[v] = found[after], found[back]
    count = put(v, after, found, age, taken, now, 0)
    count = put(v, back, found, age, taken, now, count)
    for target in setting.targets[v]:
        best = NOBODY
        for at in range(len(found)):
            if not taken[at] and (
                best == NOBODY or apart(ring, ids[found[at]], target) < apart(ring, ids[found[best]], target)
            ):
                best = at
        if best != NOBODY:
            count = put(v, best, found, age, taken, now, count)
    worth = np.empty(len(found))
    utilities(setting, v, found, rate, worth)
    while count < now.table.shape[1]:
        best = NOBODY
        for at in range(len(found)):
            if (
                not taken[at]
                and worth[at] > 0.0
                and (
                    best == NOBODY or worth[at] > worth[best] or (worth[at] == worth[best] and found[at] < found[best])
                )
            ):
                best = at
        if best == NOBODY:
            return
        count = put(v, best, found, age, taken, now, count)


@jit
def put(v: int, at: int, found: Int32s, age: Int32s, taken: Bools, now: Gossip, count: int) -> int:
    """Into the table, if it is not there yet; returns how many are."""
    if taken[at]:
        return count
    taken[at] = True
    now.table[v, count], now.table_age[v, count] = found[at], age[at]
    return count + 1
