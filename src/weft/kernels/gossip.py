"""A round of Vitis' gossip for all nodes at once: views by Cyclon, routing tables by T-Man.

It does what `weft.protocol.vitis` does, node by node from the state of the round before. Nothing that was sent is
stored: a choice among peers follows from who chooses, when and what for, so that the receiver's side works out again
what the sender's side has chosen. Rows of nodes that are out of the network are empty.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from weft.kernels.jit import jit
from weft.kernels.random import GOLDEN, mix, stream

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Words = npt.NDArray[np.uint64]

NOBODY = -1
SHUFFLE, KEEP, EXCHANGE, ANSWER = 0, 1, 2, 3  # purposes, as in weft.protocol.vitis.chance
UNSENT, CAME, SENT = 0, 1, 2
LAST = np.uint64(0xFFFFFFFFFFFFFFFF)


class Setting(NamedTuple):
    """What does not change."""

    seed: int
    ring: int  # how many identifiers there are
    ring_ids: Int64s
    targets: Int64s  # [node, small-world link], identifiers
    indptr: Int64s  # node -> its topics
    topics: Int32s
    rates: Floats  # of topics
    interest_rate: Floats  # of nodes: the sum over their topics
    trips: Floats  # [host, host], milliseconds
    host: Int32s  # of nodes
    access: Floats  # milliseconds that a node adds to each round trip
    exponent: float
    is_sum: bool  # of similarity and closeness, not their product
    floor: float  # milliseconds
    shuffle: int
    patience: int


class Gossip(NamedTuple):
    """What the nodes hold in a round; NOBODY where a place is empty."""

    sampled: Int32s  # [node, place], the view; numba does not like the name
    sampled_age: Int32s
    table: Int32s
    table_age: Int32s
    successor: Int32s
    predecessor: Int32s
    shuffled: Int32s  # the peer that a node shuffles with
    exchanged: Int32s


class Incoming(NamedTuple):
    """Who has sent what to a node in the round before, as rows: pointers and senders."""

    shuffles: Int64s
    shuffler: Int32s
    exchanges: Int64s
    exchanger: Int32s
    heartbeats: Int64s
    beating: Int32s


@jit
def nobody_knows_anybody(nodes: int, view: int, table: int) -> Gossip:
    return Gossip(
        np.full((nodes, view), NOBODY, np.int32),
        np.zeros((nodes, view), np.int32),
        np.full((nodes, table), NOBODY, np.int32),
        np.zeros((nodes, table), np.int32),
        np.full(nodes, NOBODY, np.int32),
        np.full(nodes, NOBODY, np.int32),
        np.full(nodes, NOBODY, np.int32),
        np.full(nodes, NOBODY, np.int32),
    )


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
def key(seed: int, node: int, when: int, purpose: int) -> np.uint64:
    return mix(mix(stream(seed, node) ^ np.uint64(when) * GOLDEN) ^ np.uint64(purpose) * GOLDEN)


@jit
def priority(chooser: np.uint64, peer: int) -> np.uint64:
    return mix(chooser ^ np.uint64(peer) * GOLDEN)


@jit
def choose(peers: Int32s, chooser: np.uint64, most: int, but: int, marks: Bools) -> None:
    """Marks the places of the peers of lowest priority, but for one peer."""
    ranks = np.empty(len(peers), np.uint64)
    for place in range(len(peers)):
        marks[place] = False
        out = peers[place] == NOBODY or peers[place] == but
        ranks[place] = LAST if out else priority(chooser, peers[place])
    for _ in range(most):
        best = np.argmin(ranks)
        if ranks[best] == LAST:
            return
        marks[best] = True
        ranks[best] = LAST


@jit
def distance(setting: Setting, v: int, w: int) -> float:
    """The round trip, milliseconds."""
    return float(setting.trips[setting.host[v], setting.host[w]] + setting.access[v] + setting.access[w])


@jit
def clockwise(ring: int, one: int, other: int) -> int:
    return other - one if other >= one else other - one + ring


@jit
def apart(ring: int, one: int, other: int) -> int:
    """The distance of two identifiers, the shorter way round."""
    forth = clockwise(ring, one, other)
    return min(forth, ring - forth)


@jit
def next_round(
    setting: Setting, when: int, there_before: Bools, there: Bools, before: Gossip, came: Incoming, now: Gossip
) -> None:
    """What the nodes that are there hold in the round; those that were there before have answered."""
    nodes = len(there)
    place = np.full(nodes, NOBODY, np.int64)  # of every node among those at hand
    found, age = np.empty(nodes, np.int32), np.empty(nodes, np.int32)
    group = np.empty(nodes, np.int32)
    rate = np.zeros(len(setting.rates))
    for v in range(nodes):
        if there[v]:
            count = known_view(setting, when - 1, v, there_before, before, came, place, found, age, group)
            keep_view(setting, when, v, found[:count], age, group, now)
            place[found[:count]] = NOBODY
            count = candidates(setting, v, there_before, before, came, now, place, found, age)
            place[found[:count]] = NOBODY
            choose_table(setting, v, found[:count], age, rate, now)
            choose_partners(setting, when, v, now)


@jit
def add(node: int, its_age: int, place: Int64s, found: Int32s, age: Int32s, count: int) -> int:
    """Takes a node in, or notes that it is fresher than known; returns how many there are."""
    at = place[node]
    if at != NOBODY:
        age[at] = min(age[at], its_age)
        return count
    place[node] = count
    found[count], age[count] = node, its_age
    return count + 1


@jit
def known_view(
    setting: Setting,
    last: int,
    v: int,
    there: Bools,
    before: Gossip,
    came: Incoming,
    place: Int64s,
    found: Int32s,
    age: Int32s,
    group: Int32s,
) -> int:
    """All that the view can be made of, in groups; `last` is the round before."""
    view, view_age, seed = before.sampled, before.sampled_age, setting.seed
    marks = np.empty(view.shape[1], np.bool_)
    sent = np.zeros(view.shape[1], np.bool_)
    choose(view[v], key(seed, v, last, SHUFFLE), setting.shuffle - 1, NOBODY, marks)
    sent |= marks
    for s in came.shuffler[came.shuffles[v] : came.shuffles[v + 1]]:
        choose(view[v], key(seed, v, last, ANSWER + s), setting.shuffle, s, marks)
        sent |= marks
    count = 0
    for i in range(view.shape[1]):
        if view[v, i] != NOBODY:
            count = add(view[v, i], view_age[v, i] + 1, place, found, age, count)
            group[count - 1] = SENT if sent[i] else UNSENT
    for s in came.shuffler[came.shuffles[v] : came.shuffles[v + 1]]:
        choose(view[s], key(seed, s, last, SHUFFLE), setting.shuffle - 1, NOBODY, marks)
        count = add_came(s, 1, place, found, age, group, count)
        count = add_marked(v, view[s], view_age[s], marks, place, found, age, group, count)
    partner = before.shuffled[v]
    if partner != NOBODY and there[partner]:
        choose(view[partner], key(seed, partner, last, ANSWER + v), setting.shuffle, v, marks)
        count = add_marked(v, view[partner], view_age[partner], marks, place, found, age, group, count)
    return count


@jit
def add_marked(
    v: int,
    peers: Int32s,
    ages: Int32s,
    marks: Bools,
    place: Int64s,
    found: Int32s,
    age: Int32s,
    group: Int32s,
    count: int,
) -> int:
    for i in range(len(peers)):
        if marks[i] and peers[i] != v:
            count = add_came(peers[i], ages[i] + 1, place, found, age, group, count)
    return count


@jit
def add_came(node: int, its_age: int, place: Int64s, found: Int32s, age: Int32s, group: Int32s, count: int) -> int:
    after = add(node, its_age, place, found, age, count)
    at = place[node]
    group[at] = CAME if after > count else min(group[at], CAME)
    return after


@jit
def keep_view(setting: Setting, when: int, v: int, found: Int32s, age: Int32s, group: Int32s, now: Gossip) -> None:
    chooser = key(setting.seed, v, when, KEEP)
    ranks = np.empty(len(found), np.uint64)
    for at in range(len(found)):  # two bits are enough to sort by group first
        ranks[at] = (np.uint64(group[at]) << np.uint64(62)) | (priority(chooser, found[at]) >> np.uint64(2))
    size = now.sampled.shape[1]
    now.sampled[v] = NOBODY
    if len(found) <= size:
        now.sampled[v, : len(found)] = found
        now.sampled_age[v, : len(found)] = age[: len(found)]
        return
    order = np.argsort(ranks)
    for i in range(size):
        now.sampled[v, i], now.sampled_age[v, i] = found[order[i]], age[order[i]]


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


@jit
def choose_partners(setting: Setting, when: int, v: int, now: Gossip) -> None:
    """To shuffle with, which leaves the view, and to exchange with."""
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
    """Of lowest priority among all that the node knows of."""
    chooser = key(setting.seed, v, when, EXCHANGE)
    best, lowest = NOBODY, LAST
    for peers in (now.table[v], now.sampled[v]):
        for peer in peers:
            if peer != NOBODY and priority(chooser, peer) < lowest:
                best, lowest = peer, priority(chooser, peer)
    return best
