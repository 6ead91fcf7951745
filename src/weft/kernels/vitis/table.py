"""Routing tables, one node at a time: see weft.protocol.vitis.table and utility."""

import numpy as np

from weft.arrays import Bools, Floats, Int32s
from weft.kernels.jit import jit
from weft.kernels.vitis.relay import is_in
from weft.kernels.vitis.state import (
    NOBODY,
    Found,
    Gossip,
    Incoming,
    Popularity,
    Setting,
    add,
    apart,
    clockwise,
    distance,
    estimate,
    is_strange,
    profile_at,
)


@jit
def candidates(
    setting: Setting, v: int, there: Bools, before: Gossip, came: Incoming, now: Gossip, found: Found
) -> int:
    """Candidates: all that have given a sign of life lately."""
    count = add_fresh(setting, found, 0, v, before.table[v], before.table_age[v], 1)
    count = add_fresh(setting, found, count, v, now.sampled[v], now.sampled_age[v], 0)
    for s in came.beating[came.heartbeats[v] : came.heartbeats[v + 1]]:
        count = add(found, count, s, 1)
    partner = before.exchanged[v]
    if partner != NOBODY and there[partner]:
        count = add_exchanged(setting, found, count, v, partner, before)
    for s in came.exchanger[came.exchanges[v] : came.exchanges[v + 1]]:
        count = add_exchanged(setting, found, count, v, s, before)
    return count


@jit
def add_exchanged(setting: Setting, found: Found, count: int, v: int, peer: int, before: Gossip) -> int:
    """Add the peer and all that it knew."""
    count = add(found, count, peer, 1)
    count = add_fresh(setting, found, count, v, before.table[peer], before.table_age[peer], 1)
    return add_fresh(setting, found, count, v, before.sampled[peer], before.sampled_age[peer], 1)


@jit
def add_fresh(setting: Setting, found: Found, count: int, v: int, peers: Int32s, ages: Int32s, since: int) -> int:
    for i in range(len(peers)):
        if peers[i] != NOBODY and peers[i] != v and ages[i] + since <= setting.patience:
            count = add(found, count, peers[i], ages[i] + since)
    return count


@jit
def utilities(setting: Setting, when: int, v: int, own: int, peers: Int32s, profiles: Int32s, rate: Floats) -> Floats:
    """Utility by formula (1), for every peer; `own` is the node's profile, `rate` is all zeros, here and after."""
    worth = np.empty(len(peers))
    if len(setting.worth) > 0:
        for at in range(len(peers)):
            worth[at] = setting.worth[v, peers[at]]
        return worth
    for i in range(setting.indptr[own], setting.indptr[own + 1]):
        rate[setting.topics[i]] = setting.rates[setting.topics[i]]
    for at in range(len(peers)):
        w, p = peers[at], profiles[at]
        common = 0.0
        for i in range(setting.indptr[p], setting.indptr[p + 1]):
            common += rate[setting.topics[i]]
        similarity = common / (setting.interest_rate[own] + setting.interest_rate[p] - common) if common > 0.0 else 0.0
        closeness = 1.0
        if setting.exponent > 0.0:
            far = estimate(setting, v, w) if is_strange(setting, when, v, w) else distance(setting, v, w)
            closeness = (1.0 / max(far, setting.floor)) ** setting.exponent
        worth[at] = similarity + closeness if setting.is_sum else similarity * closeness
    for i in range(setting.indptr[own], setting.indptr[own + 1]):
        rate[setting.topics[i]] = 0.0
    return worth


@jit
def all_utilities(setting: Setting) -> Floats:
    """What every node is worth to every other by its first profile, if it knows all round trips."""
    nodes = len(setting.ring_ids)
    peers, rate = np.arange(nodes).astype(np.int32), np.zeros(len(setting.rates))
    worth = np.empty((nodes, nodes))
    for v in range(nodes):
        worth[v] = utilities(setting, 0, v, v, peers, peers, rate)
    return worth


@jit
def leave_alone(v: int, when: int, found: Found, worth: Floats, before: Gossip, popularity: Popularity) -> None:
    """Makes friends worthless that would not have the node."""
    nodes, depth = len(before.table), len(popularity.full)
    friends = before.table[v, before.first_friend[v] :]
    for at in range(len(worth)):
        peer = found.node[at]
        is_friend = False
        for friend in friends:
            is_friend |= friend == peer
        if is_friend:
            if is_in(popularity.refused, np.int64(v) * nodes + peer):
                worth[at] = 0.0
        elif popularity.full[(when - found.age[at]) % depth, peer]:
            worth[at] = 0.0


@jit
def choose_table(
    setting: Setting,
    when: int,
    v: int,
    found: Found,
    count: int,
    rate: Floats,
    before: Gossip,
    popularity: Popularity,
    now: Gossip,
) -> None:
    """Successor, predecessor, small-world links, and friends by utility; ties go to the lower node."""
    now.table[v] = NOBODY
    now.successor[v] = now.predecessor[v] = NOBODY
    now.first_friend[v] = 0
    if count == 0:
        return
    peers = found.node[:count]
    taken = np.zeros(count, np.bool_)
    after, back = ring_neighbours(setting, v, peers)
    now.successor[v], now.predecessor[v] = peers[after], peers[back]
    size = put(v, after, found, taken, now, 0)
    size = put(v, back, found, taken, now, size)
    span = ring_span(setting, v, now)
    for unit in setting.units[v]:
        target = small_world_target(setting, v, unit, span)
        size = put(v, nearest(setting, peers, target, taken), found, taken, now, size)
    now.first_friend[v] = size
    profiles = np.empty(count, np.int32)
    for at in range(count):
        profiles[at] = profile_at(setting, when - found.age[at], peers[at])
    worth = utilities(setting, when, v, profile_at(setting, when, v), peers, profiles, rate)
    if len(popularity.full) > 0:
        leave_alone(v, when, found, worth, before, popularity)
    best = 0
    while size < now.table.shape[1] and best != NOBODY:
        best = worthiest(peers, worth, taken)
        size = put(v, best, found, taken, now, size)


@jit
def ring_neighbours(setting: Setting, v: int, peers: Int32s) -> tuple[int, int]:
    """The places of successor and predecessor."""
    ring, own, ids = setting.ring, setting.ring_ids[v], setting.ring_ids
    after, back = 0, 0
    for at in range(1, len(peers)):
        if clockwise(ring, own, ids[peers[at]]) < clockwise(ring, own, ids[peers[after]]):
            after = at
        if clockwise(ring, ids[peers[at]], own) < clockwise(ring, ids[peers[back]], own):
            back = at
    return after, back


@jit
def ring_span(setting: Setting, v: int, now: Gossip) -> int:
    """The distance from predecessor to successor."""
    ring, own, ids = setting.ring, setting.ring_ids[v], setting.ring_ids
    return clockwise(ring, own, ids[now.successor[v]]) + clockwise(ring, ids[now.predecessor[v]], own)


@jit
def small_world_target(setting: Setting, v: int, unit: float, span: int) -> int:
    distance = setting.ring / 2 * (max(span, 1) / setting.ring) ** (1.0 - unit)
    return int((setting.ring_ids[v] + np.int64(distance)) % setting.ring)


@jit
def nearest(setting: Setting, peers: Int32s, target: int, taken: Bools) -> int:
    """The place of the peer nearest to an identifier; NOBODY where all are taken."""
    ring, ids = setting.ring, setting.ring_ids
    best = NOBODY
    for at in range(len(peers)):
        if not taken[at] and (
            best == NOBODY or apart(ring, ids[peers[at]], target) < apart(ring, ids[peers[best]], target)
        ):
            best = at
    return best


@jit
def worthiest(peers: Int32s, worth: Floats, taken: Bools) -> int:
    """The place of the peer of highest utility; NOBODY where all are taken or worth nothing."""
    best = NOBODY
    for at in range(len(peers)):
        if taken[at] or worth[at] <= 0.0:
            continue
        if best == NOBODY or worth[at] > worth[best] or (worth[at] == worth[best] and peers[at] < peers[best]):
            best = at
    return best


@jit
def put(v: int, at: int, found: Found, taken: Bools, now: Gossip, size: int) -> int:
    """Add a node to the table, if it is somebody and not there yet; returns how many are there."""
    if at == NOBODY or taken[at]:
        return size
    taken[at] = True
    now.table[v, size], now.table_age[v, size] = found.node[at], found.age[at]
    return size + 1
