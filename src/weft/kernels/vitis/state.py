"""What the nodes of a Vitis network hold in a round, as arrays, and what all its kernels ask.

Choices among peers take those of lowest priority, as in weft.protocol.vitis.chance.
"""

from typing import NamedTuple

import numpy as np

from weft.arrays import Bools, Floats, Int32s, Int64s
from weft.kernels.jit import jit
from weft.kernels.random import GOLDEN, mix, stream
from weft.kernels.vitis.relay import is_in

NOBODY = -1
LAST = np.uint64(0xFFFFFFFFFFFFFFFF)


class Setting(NamedTuple):
    """What does not change, but for the profiles: a node has another from the round on in which its interest changes.

    A profile is a set of topics; what a node knows of a peer is the profile that the peer had when it said so.
    """

    seed: int
    ring: int  # how many identifiers there are
    ring_ids: Int64s
    units: Floats  # [node, small-world link]: what their distances depend on
    indptr: Int64s  # profile -> its topics
    topics: Int32s
    profiles: Int32s  # [round, modulo the length; node]
    rates: Floats  # of topics
    interest_rate: Floats  # of profiles: the sum over their topics
    trips: Floats  # [host, host], milliseconds
    host: Int32s  # of nodes
    access: Floats  # milliseconds that a node adds to each round trip
    exponent: float
    is_sum: bool  # of similarity and closeness, not their product
    floor: float  # milliseconds
    coordinates: Floats  # [node, axis], by which nodes estimate round trips; nothing where they know them
    met: Int32s  # [node, peer]: the round from which on the node has had the peer for a link; 0: not yet
    worth: Floats  # [node, peer]: all utilities, or nothing where there are too many, or they change
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
    first_friend: Int32s  # its place in the table
    shuffled: Int32s  # the peer that a node shuffles with
    exchanged: Int32s


class Incoming(NamedTuple):
    """Senders of each kind of message to every node in the round before, as rows: pointers and senders."""

    shuffles: Int64s
    shuffler: Int32s
    exchanges: Int64s
    exchanger: Int32s
    heartbeats: Int64s
    beating: Int32s


class Popularity(NamedTuple):
    """Nodes that may not be chosen as friends."""

    full: Bools  # [round, modulo the length; node]
    refused: Int64s  # node * nodes + peer, ascending: the peer told the node so in the round before


class Found(NamedTuple):
    """Nodes that one node has heard of, in no order; there is room for all."""

    place: Int64s  # of every node among them; NOBODY where it is not
    node: Int32s
    age: Int32s
    group: Int32s  # of what a view is made of: see weft.kernels.vitis.sampling


class Departed(NamedTuple):
    """Nodes that have left, as keys node * nodes + leaver, ascending."""

    just: Int64s  # the node got the leaver's goodbye in the round before
    lately: Int64s  # it got it a few rounds ago, and nothing from the leaver since


class Proposals(NamedTuple):
    """What is proposed for every topic of every profile: see weft.protocol.vitis.gateway."""

    gateway: Int32s
    hops: Int32s
    height: Int32s
    heir: Int32s
    is_gateway: Bools


@jit
def nobody_knows_anybody(nodes: int, view: int, table: int) -> Gossip:
    return Gossip(
        np.full((nodes, view), NOBODY, np.int32),
        np.zeros((nodes, view), np.int32),
        np.full((nodes, table), NOBODY, np.int32),
        np.zeros((nodes, table), np.int32),
        np.full(nodes, NOBODY, np.int32),
        np.full(nodes, NOBODY, np.int32),
        np.zeros(nodes, np.int32),
        np.full(nodes, NOBODY, np.int32),
        np.full(nodes, NOBODY, np.int32),
    )


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
def nothing_found(nodes: int) -> Found:
    return Found(
        np.full(nodes, NOBODY, np.int64),
        np.empty(nodes, np.int32),
        np.empty(nodes, np.int32),
        np.empty(nodes, np.int32),
    )


@jit
def add(found: Found, count: int, node: int, age: int) -> int:
    """Takes a node in, or notes that it is fresher than known; returns how many there are."""
    at = found.place[node]
    if at != NOBODY:
        found.age[at] = min(found.age[at], age)
        return count
    found.place[node] = count
    found.node[count], found.age[count] = node, age
    return count + 1


@jit
def drop(found: Found, count: int, v: int, keys: Int64s) -> int:
    """Take out those that stand with v among these keys; returns how many are left."""
    if len(keys) == 0:
        return count
    nodes = len(found.place)
    at = 0
    while at < count:
        if not is_in(keys, np.int64(v) * nodes + found.node[at]):
            at += 1
            continue
        count -= 1
        found.place[found.node[at]] = NOBODY
        if at < count:
            found.node[at], found.age[at], found.group[at] = found.node[count], found.age[count], found.group[count]
            found.place[found.node[at]] = at
    return count


@jit
def profile_at(setting: Setting, when: int, node: int) -> int:
    """The profile that a node had in a round not long ago."""
    return int(setting.profiles[when % len(setting.profiles), node])


@jit
def is_strange(setting: Setting, when: int, v: int, w: int) -> bool:
    """Whether a node has to estimate the round trip to a peer, which it has never had for a link."""
    return bool(len(setting.met) > 0 and not 0 < setting.met[v, w] < when)


@jit
def meet(setting: Setting, when: int, starts: Int64s, peers: Int32s) -> None:
    """Note the links of a round."""
    for v in range(len(starts) - 1):
        for w in peers[starts[v] : starts[v + 1]]:
            if setting.met[v, w] == 0:
                setting.met[v, w] = when


@jit
def estimate(setting: Setting, v: int, w: int) -> float:
    """The round trip that coordinates let expect: the distance on the plane, and what both ends add."""
    one, other = setting.coordinates[v], setting.coordinates[w]
    return float(np.hypot(one[0] - other[0], one[1] - other[1]) + one[2] + other[2])


@jit
def clear(found: Found, count: int) -> None:
    found.place[found.node[:count]] = NOBODY
