"""Links, gateways and relay paths of Vitis, for all nodes at once: see weft.protocol.vitis.

Links are rows: pointers and peers. The proposals of a node stand beside its topics.
"""

import numpy as np

from weft.arrays import Bools, Int32s, Int64s
from weft.kernels.jit import jit
from weft.kernels.vitis.state import NOBODY, Incoming, Proposals, Setting, apart, profile_at


@jit
def links_of(table: Int32s, choosers: Int64s, chooser: Int32s, there: Bools) -> tuple[Int64s, Int32s]:
    """Links of every node that is there: its table, and those in whose tables it was in the round before."""
    nodes = len(there)
    starts = np.zeros(nodes + 1, np.int64)
    peers = np.empty(table.size + len(chooser), np.int32)
    mark = np.full(nodes, NOBODY, np.int32)
    count = 0
    for v in range(nodes):
        if there[v]:
            for w in table[v]:
                if w != NOBODY:
                    mark[w] = v
                    peers[count] = w
                    count += 1
            for w in chooser[choosers[v] : choosers[v + 1]]:
                if mark[w] != v:
                    mark[w] = v
                    peers[count] = w
                    count += 1
        starts[v + 1] = count
    return starts, peers[:count].copy()


@jit
def elect(
    setting: Setting,
    identifiers: Int64s,
    most_hops: int,
    step: int,
    when: int,
    there: Bools,
    starts: Int64s,
    peers: Int32s,
    came: Incoming,
    before: Proposals,
    now: Proposals,
) -> None:
    """The proposals of a round, where there are none yet, from those of the round before that came over links.

    `step` is 0 where the first gateways have no others behind them.
    """
    mark = np.full(len(there), NOBODY, np.int32)
    own = np.full(len(identifiers), NOBODY, np.int64)  # where the topics of the node's profile stand
    for v in range(len(there)):
        if there[v]:
            profile = profile_at(setting, when, v)
            low, high = setting.indptr[profile], setting.indptr[profile + 1]
            for i in range(low, high):
                now.gateway[i] = v
                own[setting.topics[i]] = i
            for w in peers[starts[v] : starts[v + 1]]:
                mark[w] = v
            heard = came.beating[came.heartbeats[v] : came.heartbeats[v + 1]]
            for w in heard:
                if mark[w] == v:
                    adopt(setting, identifiers, most_hops, own, profile_at(setting, when - 1, w), before, now)
            if step > 0:
                for w in heard:
                    if mark[w] == v:
                        inherit(setting, own, v, profile_at(setting, when - 1, w), w, before, now)
            for i in range(low, high):
                is_first = now.gateway[i] == v
                is_on_path = is_first or now.is_gateway[i]
                now.is_gateway[i] = is_first or (step > 0 and is_on_path and now.hops[i] % step == 0)
                if not is_on_path:
                    now.heir[i] = NOBODY
                own[setting.topics[i]] = NOBODY


@jit
def adopt(
    setting: Setting, identifiers: Int64s, most_hops: int, own: Int64s, profile: int, before: Proposals, now: Proposals
) -> None:
    """The proposals of a neighbour, where they are better than those of the node whose topics stand there."""
    for j in range(setting.indptr[profile], setting.indptr[profile + 1]):
        i = own[setting.topics[j]]
        if i == NOBODY:
            continue
        proposed, far = before.gateway[j], before.hops[j] + 1
        if proposed != NOBODY and far <= most_hops:
            if proposed == now.gateway[i]:
                now.hops[i] = min(now.hops[i], far)
            elif is_nearer(setting, identifiers[setting.topics[j]], proposed, now.gateway[i]):
                now.gateway[i], now.hops[i] = proposed, far


@jit
def inherit(setting: Setting, own: Int64s, v: int, profile: int, w: int, before: Proposals, now: Proposals) -> None:
    """Take w, a hop further from the gateway, for v's heir if it leads farthest; be w's heir, a hop nearer.

    `is_gateway` says for now whether v is on the path of heirs.
    """
    for j in range(setting.indptr[profile], setting.indptr[profile + 1]):
        i = own[setting.topics[j]]
        if i == NOBODY or before.gateway[j] != now.gateway[i]:
            continue
        if before.hops[j] == now.hops[i] + 1:
            height = before.height[j] + 1
            if height > now.height[i] or (height == now.height[i] and w < now.heir[i]):
                now.height[i], now.heir[i] = height, w
        elif before.hops[j] == now.hops[i] - 1 and before.heir[j] == v:
            now.is_gateway[i] = True


@jit
def is_nearer(setting: Setting, identifier: int, one: int, other: int) -> bool:
    one_apart = apart(setting.ring, setting.ring_ids[one], identifier)
    other_apart = apart(setting.ring, setting.ring_ids[other], identifier)
    return bool(one_apart < other_apart or (one_apart == other_apart and one < other))


@jit
def next_hop(setting: Setting, starts: Int64s, peers: Int32s, v: int, identifier: int) -> int:
    """The linked peer nearest to an identifier; NOBODY where v itself is nearer than all of them."""
    best, least = v, apart(setting.ring, setting.ring_ids[v], identifier)
    for w in peers[starts[v] : starts[v + 1]]:
        far = apart(setting.ring, setting.ring_ids[w], identifier)
        if far < least or (far == least and w < best):
            best, least = w, far
    return NOBODY if best == v else best


@jit
def next_hops(
    setting: Setting, identifiers: Int64s, starts: Int64s, peers: Int32s, nodes: Int64s, topics: Int64s
) -> Int64s:
    hops = np.empty(len(nodes), np.int64)
    for i in range(len(nodes)):
        hops[i] = next_hop(setting, starts, peers, nodes[i], identifiers[topics[i]])
    return hops
