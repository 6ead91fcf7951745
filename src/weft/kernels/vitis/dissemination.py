"""How a publication spreads over a Vitis network as it stands: notifications, and the pulls that follow them.

Notifications are taken in the order in which they arrive. The first that comes to a node is passed on at once, and the
content is pulled from its sender, who has to have it: content comes one way after the later of the pull's arrival and
the sender's own content.
"""

from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np

from weft.arrays import Bools, Floats, Int32s, Int64s
from weft.kernels.jit import jit
from weft.kernels.vitis.gateway import next_hop
from weft.kernels.vitis.relay import is_in, union
from weft.kernels.vitis.state import NOBODY, Setting, distance

CLUSTER, UP, DOWN = 0, 1, 2  # ways of a notification, as in weft.protocol.vitis.message
PUBLICATIONS, EXPECTED, DELIVERIES, MESSAGES, RELAYS, PATHS, LONGEST = range(7)  # as weft.sim.evaluation has them
CONTENTS, NOTIFICATIONS = 0, 1  # kinds of messages that are counted between places


class Overlay(NamedTuple):
    """What notifications follow in a round."""

    there: Bools
    starts: Int64s  # links
    peers: Int32s
    lately: Int64s  # node * nodes + peer, ascending: links, and those that were until lately
    known: Int32s  # the profile of each of these peers, as the node knows it
    profile: Int32s  # of every node
    is_gateway: Bools  # of every topic of every profile
    identifiers: Int64s  # of topics
    children: Int64s  # (relay * topics + topic) * nodes + child, ascending
    place: Int32s  # of nodes: a number each


class Reach(NamedTuple):
    """What each node received of one publication."""

    hops: Int32s  # NOBODY where it did not come
    notified: Floats  # milliseconds from the publication until the first notification came
    time: Floats  # until the content came
    notifications: Int32s  # received
    source: Int32s  # who sent the content; NOBODY for the issuer, and where it did not come


@jit
def spread(setting: Setting, overlay: Overlay, topic: int, issuer: int, between: Int64s) -> Reach:
    """What a publication reaches; adds its contents and its notifications to `between`: [kind, place, place]."""
    nodes = len(overlay.there)
    reach = Reach(
        np.full(nodes, NOBODY, np.int32),
        np.full(nodes, np.inf),
        np.full(nodes, np.inf),
        np.zeros(nodes, np.int32),
        np.full(nodes, NOBODY, np.int32),
    )
    risen = np.zeros(nodes, np.bool_)
    agenda = [(0.0, 0, issuer, NOBODY, CLUSTER)]  # time of arrival, sequence, receiver, sender, way
    sequence = 1
    while len(agenda) > 0:
        now, _, v, sender, way = heappop(agenda)
        if not overlay.there[v]:
            continue
        is_first = reach.hops[v] == NOBODY
        if sender != NOBODY:
            reach.notifications[v] += 1
            between[NOTIFICATIONS, overlay.place[sender], overlay.place[v]] += 1
        if is_first:
            arrive(setting, reach, v, sender, now)
            if sender != NOBODY:
                between[CONTENTS, overlay.place[sender], overlay.place[v]] += 1
        own = subscription(setting, overlay.profile[v], topic)
        children = rows(overlay.children, v * len(overlay.identifiers) + topic, nodes)
        up = NOBODY
        if not risen[v] and (way == UP or (is_first and rises(overlay, own, len(children)))):
            risen[v] = True
            up = next_hop(setting, overlay.starts, overlay.peers, v, overlay.identifiers[topic])
            if up == sender and way == DOWN:
                up = NOBODY
        if up != NOBODY:
            heappush(agenda, (now + distance(setting, v, up) / 2, sequence, up, v, UP))
            sequence += 1
        if is_first:
            for w in audience(setting, overlay, v, own, children, topic):
                if w != sender and w != up:
                    kind = DOWN if is_in(children, w) else CLUSTER
                    heappush(agenda, (now + distance(setting, v, w) / 2, sequence, w, v, kind))
                    sequence += 1
    return reach


@jit
def arrive(setting: Setting, reach: Reach, v: int, sender: int, now: float) -> None:
    reach.hops[v], reach.notified[v], reach.time[v] = 0, now, 0.0
    if sender != NOBODY:
        reach.hops[v], reach.source[v] = reach.hops[sender] + 1, sender
        asked = max(now + distance(setting, v, sender) / 2, reach.time[sender])
        reach.time[v] = asked + distance(setting, sender, v) / 2


@jit
def rises(overlay: Overlay, own: int, children: int) -> bool:
    """Whether a node sends notifications up of itself: as a relay, as a gateway, or without interest of its own."""
    return bool(children > 0 or own == NOBODY or overlay.is_gateway[own])


@jit
def rows(keys: Int64s, row: int, columns: int) -> Int64s:
    """The columns that a row of sorted keys has."""
    first = np.int64(row) * columns
    return keys[np.searchsorted(keys, first) : np.searchsorted(keys, first + columns)] - first


@jit
def subscription(setting: Setting, profile: int, topic: int) -> int:
    """Where the topic stands in the profile, or NOBODY."""
    row = setting.topics[setting.indptr[profile] : setting.indptr[profile + 1]]
    at = np.searchsorted(row, topic)
    return setting.indptr[profile] + at if at < len(row) and row[at] == topic else NOBODY


@jit
def audience(setting: Setting, overlay: Overlay, v: int, own: int, children: Int64s, topic: int) -> Int64s:
    """Nodes that a node notifies, besides its next hop to the rendezvous node."""
    if own == NOBODY:
        return children
    first = np.int64(v) * len(overlay.there)
    low, high = np.searchsorted(overlay.lately, first), np.searchsorted(overlay.lately, first + len(overlay.there))
    found = np.empty(high - low, np.int64)
    count = 0
    for at in range(low, high):
        if subscription(setting, overlay.known[at], topic) != NOBODY:
            found[count] = overlay.lately[at] - first
            count += 1
    return union(found[:count], children)


@jit
def spread_all(
    setting: Setting,
    overlay: Overlay,
    subscribers_from: Int64s,
    subscribers: Int32s,
    topics: Int64s,
    issuers: Int64s,
    figures: Int64s,
    sent: Int64s,
    received: Int64s,
    times: Floats,
) -> int:
    """Notifications of all publications over one network.

    Adds to the figures of topics (publications, expected deliveries, deliveries, contents, relays, hops of deliveries,
    the most of these), to the contents that nodes sent and received, and writes the times of deliveries.
    """
    between = np.zeros((2, 1, 1), np.int64)
    count = 0
    for k in range(len(topics)):
        topic, issuer = topics[k], issuers[k]
        reach, row = spread(setting, overlay, topic, issuer, between), figures[topic]
        row[PUBLICATIONS] += 1
        for v in subscribers[subscribers_from[topic] : subscribers_from[topic + 1]]:
            if v != issuer and overlay.there[v]:
                row[EXPECTED] += 1
                if reach.hops[v] != NOBODY:
                    row[DELIVERIES] += 1
                    row[RELAYS] -= 1
                    row[PATHS] += reach.hops[v]
                    row[LONGEST] = max(row[LONGEST], reach.hops[v])
                    times[count] = reach.time[v]
                    count += 1
        for v in range(len(reach.hops)):
            if reach.source[v] != NOBODY:
                row[MESSAGES] += 1
                row[RELAYS] += 1
                sent[reach.source[v]] += 1
                received[v] += 1
    return int(between[NOTIFICATIONS, 0, 0])
