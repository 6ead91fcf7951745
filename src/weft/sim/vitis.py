"""A Vitis network in rounds, on kernels: the tables, gateways and relay paths that `weft.protocol.vitis` comes to.

What nodes send in a round arrives in the same round, as it does in a world whose round trips are shorter than the
period. A publication spreads over the network as it stands in its round.
"""

from collections.abc import Sequence

import numpy as np

from weft.arrays import Bools, Floats, Int32s, Int64s
from weft.kernels.vitis.dissemination import Overlay, Reach, spread
from weft.kernels.vitis.gateway import elect, links_of, next_hops
from weft.kernels.vitis.neighbourhood import next_round, transposed, turnover
from weft.kernels.vitis.popularity import accept
from weft.kernels.vitis.relay import missing, refreshed, union
from weft.kernels.vitis.state import (
    NOBODY,
    Gossip,
    Incoming,
    Popularity,
    Proposals,
    Setting,
    nobody_knows_anybody,
)
from weft.kernels.vitis.table import all_utilities
from weft.model.instance import Instance
from weft.model.latency import Latency, PlacedLatency, require_latency_of
from weft.model.places import Places, one_place
from weft.protocol.rendezvous import rendezvous
from weft.protocol.vitis.chance import ring_id, small_world_units
from weft.protocol.vitis.parameters import RING, Parameters

MOST_PAIRED = 5000  # nodes whose utilities are worked out once, all pairs: 200 MB


class VitisNetwork:
    def __init__(
        self,
        instance: Instance,
        latency: Latency,
        parameters: Parameters,
        seed: int,
        rates: Floats | None = None,  # publications on every topic in some time; equal without
        places: Places | None = None,  # where the nodes are, to count what goes between; all in one without
    ) -> None:
        nodes = instance.nodes
        self.instance, self.parameters = instance, parameters
        self.places = one_place(nodes) if places is None else places.of(nodes)
        self.setting = _setting(instance, latency, parameters, seed, rates)
        self.identifiers = topic_identifiers(instance.topics, seed)
        self.round = 0
        self.there = np.zeros(nodes, np.bool_)
        self.gossip: Gossip = nobody_knows_anybody(nodes, parameters.view, parameters.table)
        self.link_starts = np.zeros(nodes + 1, np.int64)
        self.link_peers = np.empty(0, np.int32)
        self.proposals = self._no_proposals()
        self.upkeep = 0  # messages of the last round
        self.turnover = 0.0  # share of the tables' peers that came or went in the last round; both count as half
        depth = 0 if parameters.in_degree is None else parameters.patience + 1
        self._popularity = Popularity(np.zeros((depth, nodes), np.bool_), np.empty(0, np.int64))
        self._accepted = np.empty(0, np.int64)  # peer * nodes + chooser, ascending
        self._joining: list[int] = []
        self._failed = np.zeros(nodes, np.bool_)
        # Keys are node * nodes + peer, ascending.
        self.linked_lately = np.empty(0, np.int64)  # links, and those that were until lately
        self._linked_at = np.empty(0, np.int32)  # the round of each
        # Keys are (relay * topics + topic) * nodes + child, ascending.
        self.relay_children = np.empty(0, np.int64)  # who has asked for a relay path and is remembered
        self._asked_at = np.empty(0, np.int32)  # the round of each
        self._asked = np.empty(0, np.int64)  # in the last round
        self._new_requests = 0  # of them beside the heartbeats

    def join(self, node: int, contact: int | None) -> None:
        """Let a node join from the next round on; a contact is a node that is there."""
        self._joining.append(node)
        if contact is not None:
            self.gossip.sampled[node, 0], self.gossip.sampled_age[node, 0] = contact, 0

    def fail(self, nodes: Sequence[int] | Int64s) -> None:
        """Let nodes fail for good from the next round on."""
        self._failed[np.asarray(nodes, np.int64)] = True

    def step(self) -> None:
        before, there_before = self.gossip, self.there
        self.round += 1
        self.there = there_before.copy()
        self.there[self._joining] = True
        self.there &= ~self._failed
        self._joining = []
        came = self._incoming(before, there_before)
        now = nobody_knows_anybody(len(self.there), self.parameters.view, self.parameters.table)
        next_round(self.setting, self.round, there_before, self.there, before, came, self._popularity, now)
        self._accept(before)
        choosers = _turned(before.table, there_before)
        self.link_starts, self.link_peers = links_of(now.table, *choosers, self.there)
        self._remember_links()
        self._elect(came)
        self._ask_for_relays()
        peers = int(np.count_nonzero(now.table != NOBODY))
        self.turnover = turnover(before.table, now.table) / max(2 * peers, 1)
        self.gossip = now
        self.upkeep = self._messages(now)

    def publish(self, topic: int, issuer: int, between: Int64s | None = None) -> Reach:
        """Publish over the network as it stands; what goes from place to place is added to `between`."""
        counted = self.places.nothing_counted() if between is None else between
        return spread(self.setting, self.as_it_stands(), topic, issuer, counted)

    def as_it_stands(self) -> Overlay:
        """What publications of this round go by."""
        return Overlay(
            self.there,
            self.link_starts,
            self.link_peers,
            self.linked_lately,
            self.proposals.gateway,
            self.identifiers,
            self.relay_children,
            self.places.numbers,
        )

    def links(self, node: int) -> Int32s:
        return self.link_peers[self.link_starts[node] : self.link_starts[node + 1]]

    def _incoming(self, before: Gossip, there: Bools) -> Incoming:
        return Incoming(
            *_turned(before.shuffled, there),
            *_turned(before.exchanged, there),
            *transposed(self.link_starts, self.link_peers, there),
        )

    def _accept(self, before: Gossip) -> None:
        """Work out who may stay a friend of whom, and who is full."""
        bound, full = self.parameters.in_degree, self._popularity.full
        if bound is None:
            return
        is_friend = np.arange(before.table.shape[1]) >= before.first_friend[:, None]
        choosers = _turned(np.where(is_friend, before.table, NOBODY), self.there)
        self._accepted, refused = accept(*choosers, self._accepted, bound, full[self.round % len(full)])
        self._popularity = Popularity(full, np.sort(refused))

    def _elect(self, came: Incoming) -> None:
        before, self.proposals = self.proposals, self._no_proposals()
        elect(
            self.setting,
            self.identifiers,
            self.parameters.gateway_hops,
            self.there,
            self.link_starts,
            self.link_peers,
            came,
            before,
            self.proposals,
        )

    def _no_proposals(self) -> Proposals:
        count = self.instance.subscriptions
        return Proposals(np.full(count, NOBODY, np.int32), np.zeros(count, np.int32))

    def _remember_links(self) -> None:
        nodes = np.int64(len(self.there))
        keys = np.repeat(np.arange(nodes), np.diff(self.link_starts)) * nodes + self.link_peers
        self.linked_lately, self._linked_at = refreshed(
            self.linked_lately, self._linked_at, np.sort(keys), self.round, self.parameters.expiry
        )

    def _ask_for_relays(self) -> None:
        """Gateways and relays ask their next hops; these will remember it, and ask theirs at once if it is new."""
        nodes, topics = self.instance.nodes, self.instance.topics
        self.relay_children, self._asked_at = refreshed(
            self.relay_children, self._asked_at, self._asked, self.round, self.parameters.expiry
        )
        relaying = self.relay_children[self._asked_at == self.round] // nodes
        relaying = relaying[self.there[relaying // topics]]
        asking = union(self.gateway_pairs(), relaying)
        self._asked = requests = self._requests_of(asking)
        by_heartbeat = len(requests)
        while len(askers := missing(requests // nodes, asking)):
            asking = union(asking, askers)
            requests = self._requests_of(askers)
            self._asked = union(self._asked, requests)
        self._new_requests = len(self._asked) - by_heartbeat

    def _requests_of(self, askers: Int64s) -> Int64s:
        """Requests that arrive, ascending."""
        nodes, topics = self.instance.nodes, self.instance.topics
        node, topic = np.divmod(askers, topics)
        hop = next_hops(self.setting, self.identifiers, self.link_starts, self.link_peers, node, topic)
        heard = (hop != NOBODY) & self.there[hop]
        return np.sort((hop[heard] * topics + topic[heard]) * nodes + node[heard])

    def gateway_pairs(self) -> Int64s:
        """node * topics + topic of all gateways."""
        interest = self.instance.interest
        node = interest.row_of_each()
        own = self.proposals.gateway == node
        pairs: Int64s = node[own].astype(np.int64) * self.instance.topics + interest.indices[own]
        return pairs

    def _messages(self, now: Gossip) -> int:
        asked = [partners[partners != NOBODY] for partners in (now.shuffled, now.exchanged)]
        answers = [self.there[partners].sum() for partners in asked]
        return int(sum(map(len, asked)) + sum(answers)) + len(self.link_peers) + self._new_requests


def topic_identifiers(topics: int, seed: int) -> Int64s:
    return rendezvous(np.arange(topics, dtype=np.uint64), seed, RING).astype(np.int64)


def _turned(peers: Int32s, there: Bools) -> tuple[Int64s, Int32s]:
    """The nodes that have each node in their row of peers."""
    width = 1 if peers.ndim == 1 else peers.shape[1]
    return transposed(np.arange(len(peers) + 1) * width, peers.ravel(), there)


def _setting(instance: Instance, latency: Latency, parameters: Parameters, seed: int, rates: Floats | None) -> Setting:
    nodes, interest = range(instance.nodes), instance.interest
    require_latency_of(latency, instance.nodes)
    rates = np.ones(instance.topics) if rates is None else rates
    trips, host, access = host_arrays(latency)
    units = [small_world_units(seed, node, parameters) for node in nodes]
    setting = Setting(
        seed=seed,
        ring=RING,
        ring_ids=np.array([ring_id(seed, node) for node in nodes], np.int64),
        units=np.array(units, np.float64).reshape(instance.nodes, parameters.small_world),
        indptr=interest.indptr,
        topics=interest.indices,
        rates=rates,
        interest_rate=np.bincount(interest.row_of_each(), rates[interest.indices], instance.nodes).astype(np.float64),
        trips=trips,
        host=host,
        access=access,
        exponent=float(parameters.exponent),
        is_sum=parameters.utility == "sum",
        floor=parameters.floor,
        shuffle=parameters.shuffle,
        patience=parameters.patience,
        worth=np.empty((0, 0)),
    )
    return setting._replace(worth=all_utilities(setting)) if instance.nodes <= MOST_PAIRED else setting


def host_arrays(latency: Latency) -> tuple[Floats, Int32s, Floats]:
    """Round trips among hosts, the host of every node, and what every node adds."""
    if isinstance(latency, PlacedLatency):
        return _matrix(latency.hosts), latency.host.astype(np.int32), latency.access
    return _matrix(latency), np.arange(latency.nodes, dtype=np.int32), np.zeros(latency.nodes)


def _matrix(latency: Latency) -> Floats:
    every = np.arange(latency.nodes)
    return latency.round_trip(every[:, None], every)
