"""A node of Vitis (section 3.1; SPEC section 5 for what the paper leaves open).

Time goes in rounds, cut at the multiples of the period. What comes in during a round is put by and taken in at its end,
all at once; requests are answered meanwhile from what the node held when the round began. So the outcome of a round
does not depend on the order in which messages arrive, and `weft.sim.vitis`, which computes whole rounds on kernels,
has the same outcome. At the beginning of a round a node

1. takes in the shuffles of its peer sampling (`sampling`);
2. chooses its routing table from all it knows of that has given a sign of life lately (`table`, `utility`);
3. has as links the table, and the peers in whose tables it is: links are used in both directions;
4. elects a gateway for each of its topics from the proposals of its links (`gateway`);
5. forgets relay paths that were not refreshed (`relay`);
6. shuffles with the oldest of its view, exchanges all it knows with another peer (T-Man; every fourth round its
   successor or predecessor, which makes the ring, otherwise anybody), and sends a heartbeat over each of its links.

Who joins needs to know one node: the first shuffle and the first exchange are with that one. Who leaves tells its
links. Who fails gives no sign of life.

A notification goes from subscriber to subscriber in a cluster; from gateways up to the rendezvous node, whether the
relays on the way know of the path already or not; and from relays down all paths that lead to them. An issuer without
interest sends it up. New links and paths take some rounds to grow, so that old ones stay in use for a while.
"""

from collections.abc import Callable, Iterable, Sequence

from weft.protocol.router import (
    Deliver,
    Effect,
    Event,
    Joined,
    Left,
    Publication,
    Published,
    Received,
    Router,
    Send,
    Subscribed,
    Unsubscribed,
)
from weft.protocol.vitis.chance import EXCHANGE, first, key, small_world_targets
from weft.protocol.vitis.chance import ring_id as ring_id_of
from weft.protocol.vitis.descriptor import Descriptor, freshest
from weft.protocol.vitis.dissemination import Stories, Story
from weft.protocol.vitis.gateway import Proposal, elected
from weft.protocol.vitis.message import (
    Exchange,
    ExchangeAnswer,
    Heartbeat,
    Leave,
    Notification,
    Pull,
    Pulled,
    Shuffle,
    ShuffleAnswer,
    Way,
)
from weft.protocol.vitis.parameters import Parameters
from weft.protocol.vitis.relay import Relays
from weft.protocol.vitis.sampling import Sampling
from weft.protocol.vitis.table import Table, chosen_table, next_hop
from weft.protocol.vitis.utility import Utility


class Vitis(Router):
    def __init__(
        self,
        node: int,
        interest: Iterable[int],
        parameters: Parameters,
        *,
        rates: Sequence[float],  # publications on every topic in some time
        distance: Callable[[int], float],  # round trip to a peer, milliseconds
        rendezvous: Callable[[int], int],  # topic -> identifier
        seed: int,  # the same at all nodes
    ) -> None:
        self.node = node
        self.interest = set(interest)
        self.parameters = parameters
        self.rates, self.distance, self.rendezvous = rates, distance, rendezvous
        self.seed = seed
        self.ring_id = ring_id_of(seed, node)
        self.sampling = Sampling(node, seed, parameters)
        self.table = Table()
        self.links: dict[int, Descriptor] = {}
        self.lately: dict[int, Descriptor] = {}  # links, and those that were until lately
        self.proposals: dict[int, Proposal] = {}
        self.relays = Relays(parameters.expiry)
        self.stories = Stories(parameters.patience, parameters.memory)
        self._targets = small_world_targets(seed, node, parameters)
        self._utility = self._new_utility()
        self._round: int | None = None  # of the last tick, or the join; None while out of the network
        self._heartbeats: dict[int, Heartbeat] = {}
        self._exchanged: list[Descriptor] = []  # came in this round
        self._linked: dict[int, int] = {}  # peer -> the last round in which it was a link
        self._gone: dict[int, int] = {}  # who has left, and in which round

    def next_deadline(self) -> float | None:
        return None if self._round is None else (self._round + 1) * self.parameters.period

    def handle(self, event: Event, now: float) -> list[Effect]:
        match event:
            case Joined(contact):
                self._round = int(now // self.parameters.period)
                if isinstance(contact, Descriptor):
                    self.sampling.view[contact.node] = contact
            case Left():
                return self._leave()
            case Subscribed(topic):
                self.interest.add(topic)
                self._utility = self._new_utility()
            case Unsubscribed(topic):
                self.interest.discard(topic)
                self._utility = self._new_utility()
            case Published(publication):
                return self._publish(publication)
            case Received() if self._round is not None:
                return self._receive(event, self._round)
        return []

    def on_timer(self, now: float) -> list[Effect]:
        when = round(now / self.parameters.period)
        self._round = when
        self.sampling.update(when)
        self.table = self._new_table(when)
        self.links = self._new_links()
        self._remember_links(when)
        self.proposals = {topic: self._elected(topic) for topic in sorted(self.interest)}
        self._refresh_relays(when)
        if not self.sampling.view:
            self.sampling.view = dict(list(self.table.peers.items())[: self.parameters.view])
        effects = [*self._shuffle(when), *self._exchange(when), *self._beat(when), *self._pull_again(when)]
        self._heartbeats, self._exchanged = {}, []
        return effects

    def profile(self) -> Descriptor:
        return Descriptor(self.node, self.ring_id, tuple(sorted(self.interest)))

    def is_gateway(self, topic: int) -> bool:
        return topic in self.proposals and self.proposals[topic].gateway == self.node

    def next_hop(self, topic: int) -> int | None:
        """To the rendezvous node; None where it is this node."""
        return next_hop(self.node, self.ring_id, self.links, self.rendezvous(topic))

    def check_invariants(self) -> None:
        parameters = self.parameters
        assert len(self.table.peers) <= parameters.table, f"node {self.node} has too many peers in its table"
        assert len(self.sampling.view) <= parameters.view, f"node {self.node} has too large a view"
        assert self.node not in self.links.keys() | self.sampling.view.keys(), f"node {self.node} knows itself"
        assert self.table.peers.keys() <= self.links.keys(), f"node {self.node} does not use its table"
        for peer in self.table.peers.values():
            assert peer.age <= parameters.patience, f"node {self.node} holds on to node {peer.node}, which is silent"
        for topic, proposal in self.proposals.items():
            assert proposal.hops <= parameters.gateway_hops, f"gateway of topic {topic} is too far from {self.node}"
            assert (proposal.hops == 0) == (proposal.gateway == self.node)

    # The beginning of a round.

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
        return chosen_table(self.ring_id, candidates, self._targets, self._utility, self.parameters.table)

    def _new_links(self) -> dict[int, Descriptor]:
        choosers = {peer: heartbeat.profile for peer, heartbeat in self._heartbeats.items() if heartbeat.chosen}
        return choosers | self.table.peers

    def _remember_links(self, when: int) -> None:
        linked = self._linked | dict.fromkeys(self.links, when)
        self._linked = {peer: last for peer, last in linked.items() if when - last < self.parameters.expiry}
        known = self.lately | self.links
        self.lately = {peer: known[peer] for peer in self._linked}

    def _elected(self, topic: int) -> Proposal:
        heard = (
            heartbeat.proposals[topic]
            for peer, heartbeat in self._heartbeats.items()
            if peer in self.links and topic in heartbeat.proposals
        )
        own = Proposal(self.node, self.ring_id, 0)
        return elected(own, heard, self.rendezvous(topic), self.parameters.gateway_hops)

    def _refresh_relays(self, when: int) -> None:
        for peer, heartbeat in self._heartbeats.items():
            self.relays.refresh(peer, heartbeat.relayed, when)
        self.relays.expire(when)

    def _shuffle(self, when: int) -> list[Effect]:
        request = self.sampling.request(when, self.profile())
        return [] if request is None else [Send(request[0], Shuffle(request[1]))]

    def _exchange(self, when: int) -> list[Effect]:
        """With successor and predecessor in turn, which makes the ring, and with anybody in between."""
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
        for topic in sorted(self.relays.topics(when) | {topic for topic in self.proposals if self.is_gateway(topic)}):
            hop = self.next_hop(topic)
            if hop is not None:
                relayed[hop].append(topic)
        own, proposals = self.profile(), dict(self.proposals)
        return [
            Send(peer, Heartbeat(own, peer in self.table.peers, proposals, tuple(relayed[peer])))
            for peer in sorted(self.links)
        ]

    def _pull_again(self, when: int) -> list[Effect]:
        return [
            Send(peer, Pull(self.stories.known[found].topic, *found)) for peer, found in self.stories.next_pulls(when)
        ]

    # In the course of a round.

    def _receive(self, event: Received, when: int) -> list[Effect]:
        sender = event.sender
        match event.message:
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
            case Heartbeat() as heartbeat:
                self._heartbeats[sender] = heartbeat
            case Leave():
                self._forget(sender, when)
            case Notification() as notification:
                return self._notified(sender, notification, when)
            case Pull(_, issuer, number):
                return self._pulled_by(sender, (issuer, number))
            case Pulled(publication):
                return self._pulled(publication)
        return []

    def _leave(self) -> list[Effect]:
        self._round = None
        return [Send(peer, Leave()) for peer in sorted(self.links)]

    def _forget(self, peer: int, when: int) -> None:
        self._gone[peer] = when
        self._heartbeats.pop(peer, None)
        for peers in (self.links, self.lately, self._linked):
            peers.pop(peer, None)
        self.table.peers.pop(peer, None)
        self.sampling.forget(peer)
        self.relays.forget(peer)

    # Publications.

    def _publish(self, publication: Publication) -> list[Effect]:
        if self._round is None:
            return []
        found = publication.issuer, publication.number
        story = self.stories.begin(found, publication.topic, 0, self._round)
        story.publication = publication
        return self._notify(found, story, None, Way.CLUSTER)

    def _notified(self, sender: int, notification: Notification, when: int) -> list[Effect]:
        found = notification.issuer, notification.number
        known = self.stories.known.get(found)
        if known is None:
            story = self.stories.begin(found, notification.topic, notification.hops, when)
            pull = Send(sender, Pull(notification.topic, *found))
            return [pull, *self._notify(found, story, sender, notification.way)]
        known.notifiers.append(sender)
        up = self._rise(known, sender, notification.way) if notification.way is Way.UP else None
        return [] if up is None else [Send(up, Notification(known.topic, *found, known.hops + 1, Way.UP))]

    def _notify(self, found: tuple[int, int], story: Story, sender: int | None, way: Way) -> list[Effect]:
        topic = story.topic
        wants, children = topic in self.interest, self.relays.children(topic)
        ways = dict.fromkeys(
            (peer.node for peer in self.lately.values() if wants and topic in peer.interest), Way.CLUSTER
        )
        ways |= dict.fromkeys(children, Way.DOWN)
        if sender is not None:
            ways.pop(sender, None)
        rises = way is Way.UP or children or self.is_gateway(topic) or not wants
        up = self._rise(story, sender, way) if rises else None
        if up is not None:
            ways[up] = Way.UP
        return [Send(peer, Notification(topic, *found, story.hops + 1, ways[peer])) for peer in sorted(ways)]

    def _rise(self, story: Story, sender: int | None, way: Way) -> int | None:
        """The next hop to the rendezvous node, once; nobody if the notification comes from there."""
        if story.risen:
            return None
        story.risen = True
        up = self.next_hop(story.topic)
        return None if up == sender and way is Way.DOWN else up

    def _pulled_by(self, peer: int, found: tuple[int, int]) -> list[Effect]:
        story = self.stories.known.get(found)
        if story is None:
            return []
        if story.publication is None:
            story.waiting.add(peer)
            return []
        return [Send(peer, Pulled(story.publication, story.hops + 1))]

    def _pulled(self, publication: Publication) -> list[Effect]:
        story = self.stories.known.get((publication.issuer, publication.number))
        if story is None or story.publication is not None:
            return []
        story.publication = publication
        wants = publication.topic in self.interest and publication.issuer != self.node
        deliver: list[Effect] = [Deliver(publication, story.hops)] if wants else []
        waiting, story.waiting = sorted(story.waiting), set()
        return [*deliver, *(Send(peer, Pulled(publication, story.hops + 1)) for peer in waiting)]
