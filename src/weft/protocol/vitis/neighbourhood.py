"""A node's part in the overlay: the peers it knows, its links, the gateways of its clusters, and whom it relays for.

Time goes in rounds. What comes in during a round is kept, and taken in at its end, all at once; requests are answered
meanwhile from what the node held when the round began. So the outcome of a round does not depend on the order in which
messages arrive, and `weft.sim.vitis`, which computes whole rounds on kernels, has the same outcome. At the beginning of
a round a node

1. takes in the shuffles of its peer sampling (`sampling`);
2. chooses its routing table from all it knows of that has given a sign of life lately (`table`, `utility`);
3. has as links the table, and the peers in whose tables it is: links are used in both directions;
4. elects a gateway for each of its topics from the proposals of its links (`gateway`);
5. forgets relay paths that were not refreshed (`relay`);
6. shuffles with the oldest of its view, exchanges all it knows with another peer (T-Man; every fourth round its
   successor or predecessor, which makes the ring, otherwise anybody), and sends a heartbeat over each of its links.

A node that joins needs to know one other, with which it shuffles and exchanges first. A node that leaves says so on
its links. A failed node gives no sign of life. New links and relay paths take some rounds to grow, so that old ones
stay in use for a while.
"""

from collections.abc import Callable, Iterable, Sequence

from weft.protocol.router import Effect, Gossip, Send
from weft.protocol.vitis.chance import EXCHANGE, first, key, small_world_units
from weft.protocol.vitis.chance import ring_id as ring_id_of
from weft.protocol.vitis.descriptor import Descriptor, freshest
from weft.protocol.vitis.gateway import Proposal, elected, inherited
from weft.protocol.vitis.message import Exchange, ExchangeAnswer, Heartbeat, Leave, RelayRequest, Shuffle, ShuffleAnswer
from weft.protocol.vitis.parameters import Parameters
from weft.protocol.vitis.popularity import Popularity
from weft.protocol.vitis.relay import Relays
from weft.protocol.vitis.sampling import Sampling
from weft.protocol.vitis.table import Table, chosen_table, next_hop
from weft.protocol.vitis.utility import Utility


class Neighbourhood:
    def __init__(
        self,
        node: int,
        interest: Iterable[int],
        parameters: Parameters,
        rates: Sequence[float],
        distance: Callable[[int], float],
        rendezvous: Callable[[int], int],
        seed: int,
    ) -> None:
        self.node = node
        self.interest = set(interest)
        self.parameters = parameters
        self.rates, self.distance, self.rendezvous = rates, distance, rendezvous
        self.seed = seed
        self.ring_id = ring_id_of(seed, node)
        self._units = small_world_units(seed, node, parameters)
        self._utility = self._new_utility()
        self._know_nobody()

    def _know_nobody(self) -> None:
        self.sampling = Sampling(self.node, self.seed, self.parameters)
        self.table = Table()
        self.links: dict[int, Descriptor] = {}
        self.lately: dict[int, Descriptor] = {}  # links, and those that were until lately
        self.proposals: dict[int, Proposal] = {}  # by topic
        self.popularity = Popularity(self.parameters.in_degree)
        self.relays = Relays(self.parameters.expiry)
        self._heartbeats: dict[int, Heartbeat] = {}  # came in this round
        self._requested: dict[int, set[int]] = {}  # peer -> topics that it has asked to relay in this round
        self._requesting: set[int] = set()  # topics for which the next hop has been asked in this round
        self._exchanged: list[Descriptor] = []  # came in this round
        self._linked: dict[int, int] = {}  # peer -> the last round in which it was a link
        self._gone: dict[int, int] = {}  # who has left, and in which round

    def profile(self) -> Descriptor:
        interest = tuple(sorted(self.interest))
        return Descriptor(self.node, self.ring_id, interest, is_full=self.popularity.is_full)

    def is_gateway(self, topic: int) -> bool:
        return topic in self.proposals and self.proposals[topic].is_gateway(self.parameters.gateway_step)

    def next_hop(self, topic: int) -> int | None:
        """The link towards the rendezvous node; None where this node is it."""
        return next_hop(self.node, self.ring_id, self.links, self.rendezvous(topic))

    def meet(self, contact: Descriptor) -> None:
        self.sampling.view[contact.node] = contact

    def subscribe(self, topic: int) -> None:
        self.interest.add(topic)
        self.proposals.setdefault(topic, self._own_proposal())
        self._utility = self._new_utility()

    def unsubscribe(self, topic: int) -> None:
        self.interest.discard(topic)
        self.proposals.pop(topic, None)
        self._utility = self._new_utility()

    def leave(self) -> list[Effect]:
        """Say goodbye and forget all peers: if the node came back, it would pass on old descriptors as new."""
        peers = sorted(self.links)
        self._know_nobody()
        return [Send(peer, Leave()) for peer in peers]

    def begin(self, when: int) -> list[Effect]:
        """A round."""
        self.sampling.update(when)
        self.table = self._new_table(when)
        self.popularity.chosen_by(peer for peer, heartbeat in self._heartbeats.items() if heartbeat.befriended)
        self.links = self._new_links()
        self._remember_links(when)
        self.proposals = {topic: self._elected(topic) for topic in sorted(self.interest)}
        self._refresh_relays(when)
        if not self.sampling.view:
            self.sampling.view = dict(list(self.table.peers.items())[: self.parameters.view])
        effects = [*self._shuffle(when), *self._exchange(when), *self._beat(when)]
        self._heartbeats, self._exchanged, self._requested = {}, [], {}
        return effects

    def receive(self, sender: int, message: Gossip, when: int) -> list[Effect]:
        """Handle a message within a round."""
        self._gone.pop(sender, None)  # it is back, unless this is its goodbye
        match message:
            case Shuffle(descriptors):
                self.sampling.receive(descriptors)
                return [Send(sender, ShuffleAnswer(self.sampling.answer(when, sender)))]
            case ShuffleAnswer(descriptors):
                self.sampling.receive(descriptors)
            case Exchange(descriptors):
                self._exchanged += descriptors
                return [Send(sender, ExchangeAnswer(self._all_known()))]
            case ExchangeAnswer(descriptors):
                self._exchanged += descriptors
            case Heartbeat():
                self._heartbeats[sender] = message
                return self._asked_to_relay(sender, message.relayed)
            case RelayRequest(topic):
                return self._asked_to_relay(sender, [topic])
            case Leave():
                self._forget(sender, when)
        return []

    def check_invariants(self) -> None:
        parameters = self.parameters
        assert len(self.table.peers) <= parameters.table, f"node {self.node} has too many peers in its table"
        assert len(self.sampling.view) <= parameters.view, f"node {self.node} has too large a view"
        assert self.node not in self.links.keys() | self.sampling.view.keys(), f"node {self.node} knows itself"
        assert self.table.peers.keys() <= self.links.keys(), f"node {self.node} does not use its table"
        assert parameters.in_degree is None or len(self.popularity.accepted) <= parameters.in_degree
        for peer in self.table.peers.values():
            assert peer.age <= parameters.patience, f"node {self.node} holds on to node {peer.node}, which is silent"
        for topic, proposal in self.proposals.items():
            assert proposal.hops <= parameters.gateway_hops, f"gateway of topic {topic} is too far from {self.node}"
            assert (proposal.hops == 0) == (proposal.gateway == self.node)

    def _new_utility(self) -> Utility:
        return Utility(self.interest, self.rates, self.distance, self.parameters)

    def _new_table(self, when: int) -> Table:
        self._gone = {peer: left for peer, left in self._gone.items() if when - left <= self.parameters.patience}
        heard = (heartbeat.profile for heartbeat in self._heartbeats.values())
        aged = (peer.older() for peer in (*self.table.peers.values(), *self._exchanged, *heard))
        candidates = {
            peer.node: peer
            for peer in freshest((*aged, *self.sampling.view.values())).values()
            if peer.age <= self.parameters.patience and peer.node != self.node and peer.node not in self._gone
        }
        return chosen_table(self.ring_id, candidates, self._units, self._worth, self.parameters.table)

    def _worth(self, peer: Descriptor) -> float:
        """The utility of a peer; none where it would not have the node."""
        heartbeat = self._heartbeats.get(peer.node)
        is_refused = heartbeat is not None and heartbeat.refused
        may_choose = not is_refused if peer.node in self.table.friends else not peer.is_full
        return self._utility(peer) if may_choose else 0.0

    def _new_links(self) -> dict[int, Descriptor]:
        choosers = {peer: heartbeat.profile for peer, heartbeat in self._heartbeats.items() if heartbeat.chosen}
        return choosers | self.table.peers

    def _remember_links(self, when: int) -> None:
        linked = self._linked | dict.fromkeys(self.links, when)
        self._linked = {peer: last for peer, last in linked.items() if when - last < self.parameters.expiry}
        known = self.lately | self.links
        self.lately = {peer: known[peer] for peer in self._linked}

    def _elected(self, topic: int) -> Proposal:
        heard = {
            peer: heartbeat.proposals[topic]
            for peer, heartbeat in self._heartbeats.items()
            if peer in self.links and topic in heartbeat.proposals
        }
        own = elected(self._own_proposal(), heard.values(), self.rendezvous(topic), self.parameters.gateway_hops)
        return own if self.parameters.gateway_step is None else inherited(self.node, own, heard)

    def _own_proposal(self) -> Proposal:
        return Proposal(self.node, self.ring_id, 0)

    def _refresh_relays(self, when: int) -> None:
        for peer, topics in self._requested.items():
            self.relays.refresh(peer, topics, when)
        self.relays.expire(when)

    def _asked_to_relay(self, peer: int, topics: Iterable[int]) -> list[Effect]:
        self._requested.setdefault(peer, set()).update(topics)
        new = [topic for topic in topics if topic not in self._requesting]
        self._requesting.update(new)
        return [Send(hop, RelayRequest(topic)) for topic in new if (hop := self.next_hop(topic)) is not None]

    def _shuffle(self, when: int) -> list[Effect]:
        request = self.sampling.request(when, self.profile())
        return [] if request is None else [Send(request[0], Shuffle(request[1]))]

    def _exchange(self, when: int) -> list[Effect]:
        """Exchange with successor and predecessor by turns, which makes the ring, and with random peers between."""
        table = self.table
        partner = table.successor if when % 8 == 0 else table.predecessor if when % 8 == 4 else None
        if partner is None:
            known = table.peers.keys() | self.sampling.view.keys()
            partner = next(iter(first(key(self.seed, self.node, when, EXCHANGE), known, 1)), None)
        return [] if partner is None else [Send(partner, Exchange(self._all_known()))]

    def _all_known(self) -> list[Descriptor]:
        return [self.profile(), *freshest((*self.table.peers.values(), *self.sampling.view.values())).values()]

    def _beat(self, when: int) -> list[Effect]:
        relayed: dict[int, list[int]] = {peer: [] for peer in self.links}
        self._requesting = self.relays.topics(when) | {topic for topic in self.proposals if self.is_gateway(topic)}
        for topic in sorted(self._requesting):
            hop = self.next_hop(topic)
            if hop is not None:
                relayed[hop].append(topic)
        own, proposals = self.profile(), dict(self.proposals)
        return [
            Send(
                peer,
                Heartbeat(
                    own,
                    peer in self.table.peers,
                    peer in self.table.friends,
                    peer in self.popularity.refused,
                    proposals,
                    tuple(relayed[peer]),
                ),
            )
            for peer in sorted(self.links)
        ]

    def _forget(self, peer: int, when: int) -> None:
        self._gone[peer] = when
        self._heartbeats.pop(peer, None)
        self._requested.pop(peer, None)
        for peers in (self.links, self.lately, self._linked):
            peers.pop(peer, None)
        self.table.peers.pop(peer, None)
        self.sampling.forget(peer)
        self.relays.forget(peer)
