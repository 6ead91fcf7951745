"""A Vitis network in rounds, on kernels: the tables, gateways and relay paths that `weft.protocol.vitis` comes to.

What nodes send in a round arrives in the same round, as it does in a world whose round trips are shorter than the
period. A publication spreads over the network as it stands in its round. What happens to nodes and subscriptions
happens between two rounds.

Nodes know the round trips to all others, as in the paper's simulation, or measure them: those of all peers that they
have ever been linked with, while they estimate others by coordinates.
"""

from collections.abc import Sequence

import numpy as np

from weft.arrays import Bools, Floats, Int32s, Int64s
from weft.errors import WeftError
from weft.kernels.vitis.dissemination import Overlay, Reach, spread
from weft.kernels.vitis.gateway import elect, links_of, next_hops
from weft.kernels.vitis.neighbourhood import next_round, transposed, turnover
from weft.kernels.vitis.popularity import accept
from weft.kernels.vitis.relay import missing, refreshed, union
from weft.kernels.vitis.state import (
    NOBODY,
    Departed,
    Gossip,
    Incoming,
    Popularity,
    Proposals,
    Setting,
    distance,
    estimate,
    is_strange,
    meet,
    nobody_knows_anybody,
)
from weft.kernels.vitis.table import all_utilities
from weft.model.csr import Csr
from weft.model.instance import Instance
from weft.model.latency import Latency, PlacedLatency, require_latency_of
from weft.model.places import Places, one_place
from weft.protocol.rendezvous import rendezvous
from weft.protocol.vitis.chance import ring_id, small_world_units
from weft.protocol.vitis.parameters import RING, Parameters
from weft.sim.coordinates import Coordinates

MOST_PAIRED = 5000  # nodes whose utilities are worked out once, all pairs: 200 MB
NO_KEYS = np.empty(0, np.int64)


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
        self.coordinates = Coordinates(self.setting.coordinates) if parameters.measured else None
        self.identifiers = topic_identifiers(instance.topics, seed)
        self.round = 0
        self.there = np.zeros(nodes, np.bool_)
        self.gossip: Gossip = nobody_knows_anybody(nodes, parameters.view, parameters.table)
        self.link_starts = np.zeros(nodes + 1, np.int64)
        self.link_peers = np.empty(0, np.int32)
        self.proposals = self._no_proposals()
        self._estimates = self.setting.coordinates  # as they were in this round
        self.upkeep = 0  # messages of the last round
        self.turnover = 0.0  # share of the tables' peers that came or went in the last round; both count as half
        depth = 0 if parameters.in_degree is None else parameters.patience + 1
        self._popularity = Popularity(np.zeros((depth, nodes), np.bool_), NO_KEYS)
        self._accepted = NO_KEYS  # peer * nodes + chooser, ascending
        self._joining: list[int] = []
        self._going: dict[int, bool] = {}  # nodes that are to go, and whether they say goodbye
        self.interest, self.subscribers = instance.interest, instance.subscribers  # as they are in this round
        self._is_changed = False
        self._wishes: dict[int, set[int]] = {}  # topics that nodes want from the next round on, where that changes
        # Keys are node * nodes + peer, ascending.
        self.linked_lately = NO_KEYS  # links, and those that were until lately
        self._linked_at = np.empty(0, np.int32)  # the round of each
        self._linked_profile = np.empty(0, np.int32)  # of each the peer's, as the node knows it
        self._said_goodbye = NO_KEYS  # nodes, and peers that left them a few rounds ago
        self._said_at = np.empty(0, np.int32)  # the round of each
        # Keys are (relay * topics + topic) * nodes + child, ascending.
        self.relay_children = NO_KEYS  # who has asked for a relay path and is remembered
        self._asked_at = np.empty(0, np.int32)  # the round of each
        self._asked = NO_KEYS  # in the last round
        self._new_requests = 0  # of them beside the heartbeats

    @property
    def profile(self) -> Int32s:
        """The profile of every node in this round."""
        row: Int32s = self.setting.profiles[self.round % len(self.setting.profiles)]
        return row

    def join(self, node: int, contact: int | None) -> None:
        """Let a node join, or come back, from the next round on; a contact is a node that is there."""
        if node in self._going:
            raise WeftError(f"Node {node} goes in this round: let it come back in a later one.")
        self._joining.append(node)
        if contact is not None:
            self.gossip.sampled[node, 0], self.gossip.sampled_age[node, 0] = contact, 0

    def fail(self, nodes: Sequence[int] | Int64s) -> None:
        """Let nodes fail from the next round on, without a word."""
        self._going |= dict.fromkeys(np.asarray(nodes, np.int64).tolist(), False)

    def leave(self, node: int) -> None:
        """Let a node say goodbye on its links, and be gone from the next round on."""
        self._going[node] = True

    def subscribe(self, node: int, topic: int) -> None:
        """Let a node want a topic from the next round on."""
        self._wanted(node).add(topic)

    def unsubscribe(self, node: int, topic: int) -> None:
        self._wanted(node).discard(topic)

    def _wanted(self, node: int) -> set[int]:
        return self._wishes.setdefault(node, set(self.interest[node].tolist()))

    def step(self) -> None:
        before, there_before = self.gossip, self.there
        self.round += 1
        self._change_profiles()
        leavers, departed = self._depart()
        self.there = there_before.copy()
        self.there[list(self._going)] = False
        self.there[self._joining] = True
        self._joining, self._going = [], {}
        came = self._incoming(before, there_before, leavers)
        departed = self._heard_again(departed, before, there_before, came)
        now = nobody_knows_anybody(len(self.there), self.parameters.view, self.parameters.table)
        self._estimates = self.setting.coordinates.copy()
        next_round(self.setting, self.round, there_before, self.there, before, came, self._popularity, departed, now)
        chosen = _without_rows(before.table, leavers)
        self._accept(before, chosen, self.there & there_before)
        self.link_starts, self.link_peers = links_of(now.table, *_turned(chosen, there_before), self.there)
        self._remember_links(now)
        self._elect(came)
        self._ask_for_relays()
        peers = int(np.count_nonzero(now.table != NOBODY))
        self.turnover = turnover(before.table, now.table) / max(2 * peers, 1)
        self.gossip = now
        self.upkeep = self._messages(now) + len(departed.just)
        if self.coordinates is not None:
            self.coordinates.measure(self.setting, now.exchanged, self.there)
            meet(self.setting, self.round, self.link_starts, self.link_peers)

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
            self._linked_profile,
            self.profile,
            self.proposals.is_gateway,
            self.identifiers,
            self.relay_children,
            self.places.numbers,
        )

    def links(self, node: int) -> Int32s:
        return self.link_peers[self.link_starts[node] : self.link_starts[node + 1]]

    def believed(self, node: int, peer: int) -> float:
        """The round trip that a node went by in this round, milliseconds: known, measured or estimated."""
        if is_strange(self.setting, self.round, node, peer):
            return estimate(self.setting._replace(coordinates=self._estimates), node, peer)
        return distance(self.setting, node, peer)

    def pairs(self) -> tuple[Int64s, Int64s]:
        """Subscriptions of the nodes that are there: the node of each, and where it stands in the profiles."""
        there = np.flatnonzero(self.there)
        profiles = self.profile[there]
        low, counts = self.setting.indptr[profiles], np.diff(self.setting.indptr)[profiles]
        starts = np.cumsum(counts) - counts
        return np.repeat(there, counts), np.repeat(low - starts, counts) + np.arange(int(counts.sum()))

    def _change_profiles(self) -> None:
        """Give new profiles to the nodes whose interest changes with this round."""
        setting, depth = self.setting, len(self.setting.profiles)
        setting.profiles[self.round % depth] = setting.profiles[(self.round - 1) % depth]
        if not self._wishes:
            return
        nodes = np.array(sorted(self._wishes), np.int64)
        rows = [np.array(sorted(self._wishes[node]), np.int32) for node in nodes.tolist()]
        setting.profiles[self.round % depth, nodes] = len(setting.interest_rate) + np.arange(len(rows))
        ends = setting.indptr[-1] + np.cumsum([len(row) for row in rows])
        self.setting = setting._replace(
            indptr=np.concatenate([setting.indptr, ends.astype(np.int64)]),
            topics=np.concatenate([setting.topics, *rows]),
            interest_rate=np.concatenate([setting.interest_rate, [_rate_of(setting.rates, row) for row in rows]]),
            worth=np.empty((0, 0)),
        )
        old, none = self.proposals, self._no_proposals()
        self.proposals = Proposals(*(np.append(was, new[len(was) :]) for was, new in zip(old, none, strict=True)))
        self._wishes, self._is_changed = {}, True
        self.interest = Csr(self.setting.indptr, self.setting.topics, self.instance.topics).take(self.profile)
        self.subscribers = self.interest.transpose()

    def _depart(self) -> tuple[Int64s, Departed]:
        """Forget all that nodes which go hold, and what the peers of those that say goodbye hold of them."""
        nodes, topics = np.int64(len(self.there)), np.int64(self.instance.topics)
        gone = np.array(sorted(self._going), np.int64)
        leavers = np.array(sorted(node for node, is_told in self._going.items() if is_told), np.int64)
        told = [self.links(leaver).astype(np.int64) * nodes + leaver for leaver in leavers.tolist()]
        just = np.sort(np.concatenate([NO_KEYS, *told]))
        just = just[self.there[just // nodes]]  # who is out hears nothing
        kept = self.round - 1 - self._said_at < self.parameters.patience
        self._said_goodbye, self._said_at = self._said_goodbye[kept], self._said_at[kept]
        if len(gone):
            self._keep_links(~np.isin(self.linked_lately // nodes, gone) & ~np.isin(self.linked_lately, just))
            relay, child = self.relay_children // (nodes * topics), self.relay_children % nodes
            kept = ~np.isin(relay, gone) & ~np.isin(relay * nodes + child, just)
            self.relay_children, self._asked_at = self.relay_children[kept], self._asked_at[kept]
            relay, child = self._asked // (nodes * topics), self._asked % nodes
            self._asked = self._asked[~np.isin(child, leavers) & ~np.isin(relay, gone)]
            self._accepted = self._accepted[~np.isin(self._accepted // nodes, gone)]
            kept = ~np.isin(self._said_goodbye // nodes, gone)
            self._said_goodbye, self._said_at = self._said_goodbye[kept], self._said_at[kept]
        self._said_goodbye, self._said_at = refreshed(
            self._said_goodbye, self._said_at, just, self.round - 1, self.parameters.patience + 1
        )
        return leavers, Departed(just, self._said_goodbye)

    def _heard_again(self, departed: Departed, before: Gossip, there: Bools, came: Incoming) -> Departed:
        """Nodes that left and have sent something since: they are back."""
        if len(departed.lately) == 0:
            return departed
        nodes = np.int64(len(self.there))
        heard = [
            np.repeat(np.arange(nodes), np.diff(starts)) * nodes + senders
            for starts, senders in ((came.shuffles, came.shuffler), (came.exchanges, came.exchanger))
        ]
        heard.append(np.repeat(np.arange(nodes), np.diff(came.heartbeats)) * nodes + came.beating)
        for partner in (before.shuffled, before.exchanged):
            asked = np.flatnonzero((partner != NOBODY) & there[partner])
            heard.append(asked * nodes + partner[asked])
        back = np.isin(self._said_goodbye, np.concatenate(heard)) & ~np.isin(self._said_goodbye, departed.just)
        self._said_goodbye, self._said_at = self._said_goodbye[~back], self._said_at[~back]
        return departed._replace(lately=self._said_goodbye)

    def _incoming(self, before: Gossip, there: Bools, leavers: Int64s) -> Incoming:
        """What came in the round before; who says goodbye takes its heartbeats back."""
        beating = self.link_peers
        if len(leavers):
            sender = np.repeat(np.arange(len(there)), np.diff(self.link_starts))
            beating = np.where(np.isin(sender, leavers), NOBODY, beating).astype(np.int32)
        return Incoming(
            *_turned(before.shuffled, there),
            *_turned(before.exchanged, there),
            *transposed(self.link_starts, beating, there),
        )

    def _accept(self, before: Gossip, chosen: Int32s, stayed: Bools) -> None:
        """Work out who may stay a friend of whom, and who is full; who was out has heard from nobody."""
        bound, full = self.parameters.in_degree, self._popularity.full
        if bound is None:
            return
        is_friend = np.arange(chosen.shape[1]) >= before.first_friend[:, None]
        choosers = _turned(np.where(is_friend, chosen, NOBODY), stayed)
        self._accepted, refused = accept(*choosers, self._accepted, bound, full[self.round % len(full)])
        self._popularity = Popularity(full, np.sort(refused))

    def _elect(self, came: Incoming) -> None:
        before, self.proposals = self.proposals, self._no_proposals()
        elect(
            self.setting,
            self.identifiers,
            self.parameters.gateway_hops,
            self.parameters.gateway_step or 0,
            self.round,
            self.there,
            self.link_starts,
            self.link_peers,
            came,
            before,
            self.proposals,
        )

    def _no_proposals(self) -> Proposals:
        count = len(self.setting.topics)
        nobody = (np.full(count, NOBODY, np.int32) for _ in range(2))
        nothing = (np.zeros(count, np.int32) for _ in range(2))
        return Proposals(next(nobody), next(nothing), next(nothing), next(nobody), np.zeros(count, np.bool_))

    def _remember_links(self, now: Gossip) -> None:
        """Note the links of this round, and the profiles of the peers as their nodes know them."""
        nodes = np.int64(len(self.there))
        keys = np.sort(np.repeat(np.arange(nodes), np.diff(self.link_starts)) * nodes + self.link_peers)
        before, known = self.linked_lately, self._linked_profile
        self.linked_lately, self._linked_at = refreshed(
            before, self._linked_at, keys, self.round, self.parameters.expiry
        )
        self._linked_profile = (self.linked_lately % nodes).astype(np.int32)
        if self._is_changed:
            is_old = self._linked_at < self.round
            self._linked_profile[is_old] = known[np.searchsorted(before, self.linked_lately[is_old])]
            self._linked_profile[~is_old] = self._profiles_heard(now, keys)

    def _profiles_heard(self, now: Gossip, keys: Int64s) -> Int32s:
        """The profiles that nodes know of these links: as old as in their tables, else from the last heartbeat."""
        nodes, depth = np.int64(len(self.there)), len(self.setting.profiles)
        owner, place = np.nonzero(now.table != NOBODY)
        in_table = owner * nodes + now.table[owner, place]
        age = np.ones(len(keys), np.int64)
        age[np.searchsorted(keys, in_table)] = now.table_age[owner, place]
        heard: Int32s = self.setting.profiles[(self.round - age) % depth, keys % nodes]
        return heard

    def _keep_links(self, kept: Bools) -> None:
        self.linked_lately, self._linked_at = self.linked_lately[kept], self._linked_at[kept]
        self._linked_profile = self._linked_profile[kept]

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
        node, at = self.pairs()
        is_gateway = self.proposals.is_gateway[at]
        pairs: Int64s = node[is_gateway] * self.instance.topics + self.setting.topics[at[is_gateway]]
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


def _without_rows(peers: Int32s, rows: Int64s) -> Int32s:
    if len(rows) == 0:
        return peers
    kept = peers.copy()
    kept[rows] = NOBODY
    return kept


def _rate_of(rates: Floats, topics: Int32s) -> float:
    """The sum of their rates, in the order of the topics, as nodes add them up."""
    return float(np.bincount(np.zeros(len(topics), np.int64), rates[topics], 1)[0])


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
        profiles=np.tile(np.arange(instance.nodes, dtype=np.int32), (parameters.patience + 2, 1)),
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
        coordinates=np.zeros((instance.nodes if parameters.measured else 0, 3)),
        met=np.zeros((instance.nodes if parameters.measured else 0,) * 2, np.int32),
        worth=np.empty((0, 0)),
    )
    is_paired = instance.nodes <= MOST_PAIRED and not parameters.measured
    return setting._replace(worth=all_utilities(setting)) if is_paired else setting


def host_arrays(latency: Latency) -> tuple[Floats, Int32s, Floats]:
    """Round trips among hosts, the host of every node, and what every node adds."""
    if isinstance(latency, PlacedLatency):
        return _matrix(latency.hosts), latency.host.astype(np.int32), latency.access
    return _matrix(latency), np.arange(latency.nodes, dtype=np.int32), np.zeros(latency.nodes)


def _matrix(latency: Latency) -> Floats:
    every = np.arange(latency.nodes)
    return latency.round_trip(every[:, None], every)
