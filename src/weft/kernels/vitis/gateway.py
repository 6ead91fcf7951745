"""Links, gateways and relay paths of Vitis, for all nodes at once: see weft.protocol.vitis.

Links are rows: pointers and peers. The proposals of a node stand beside its topics.
"""

import numpy as np

from weft.arrays import Bools, Int32s, Int64s
from weft.kernels.jit import jit
from weft.kernels.vitis.state import NOBODY, Incoming, Proposals, Setting, apart


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
    there: Bools,
    starts: Int64s,
    peers: Int32s,
    came: Incoming,
    before: Proposals,
    now: Proposals,
) -> None:
    """The proposals of a round, where there are none yet, from those of the round before that came over links."""
    mark = np.full(len(there), NOBODY, np.int32)
    own = np.full(len(identifiers), NOBODY, np.int64)  # the node's subscription to every topic
    for v in range(len(there)):
        if there[v]:
            for i in range(setting.indptr[v], setting.indptr[v + 1]):
                now.gateway[i] = v
                own[setting.topics[i]] = i
            for w in peers[starts[v] : starts[v + 1]]:
                mark[w] = v
            for w in came.beating[came.heartbeats[v] : came.heartbeats[v + 1]]:
                if mark[w] == v:
                    adopt(setting, identifiers, most_hops, own, w, before, now)
            for i in range(setting.indptr[v], setting.indptr[v + 1]):
                own[setting.topics[i]] = NOBODY


@jit
def adopt(
    setting: Setting, identifiers: Int64s, most_hops: int, own: Int64s, w: int, before: Proposals, now: Proposals
) -> None:
    """The proposals of w, where they are better than those of the node with these subscriptions."""
    for j in range(setting.indptr[w], setting.indptr[w + 1]):
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
