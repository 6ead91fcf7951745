"""A PopSub broker: events in, effects out. docs/popsub.md has the rules; each section of them has its module here.

A publication takes one way over each link of the broker that issues it, and every subscriber is behind exactly one of
these links. So nobody is served twice or left out as long as nothing changes; what happens when gossip begins or ends
is in `gossiping.py`. Links of the tree deliver in order.

A driver reports what did not arrive, and it is sent again; so messages may come late, twice, or not at all, and a
broker takes no harm from what it does not know (any more).
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from math import inf
from random import Random

from weft.errors import WeftError
from weft.model.content import Advertisement, Subscription, matches
from weft.protocol.popsub.batching import Buffers
from weft.protocol.popsub.clock import EvaluationClock
from weft.protocol.popsub.cover import Cover
from weft.protocol.popsub.gossiping import Gossiping
from weft.protocol.popsub.memory import Seen
from weft.protocol.popsub.message import (
    Advertise,
    Advertised,
    Batch,
    Direct,
    Forward,
    Gossip,
    Join,
    Linked,
    Notify,
    Publication,
    Queued,
    Retrieve,
    Retrieved,
    Subscribe,
    Subscribed,
    Sweep,
    Switch,
    Unadvertise,
    Unadvertised,
    Unlinked,
    Unsubscribe,
    Unsubscribed,
)
from weft.protocol.popsub.parameters import Parameters, Way
from weft.protocol.popsub.popularity import Popularity
from weft.protocol.popsub.propagation import Propagation
from weft.protocol.popsub.reorder import Reorder
from weft.protocol.popsub.table import Entry, RoutingTable
from weft.protocol.router import Effect, Event, Packet, Published, Received, Router, Send, Undelivered

ON_TREE = (Forward, Batch, Advertise, Unadvertise, Subscribe, Unsubscribe, Sweep)
Matched = tuple[list[int], dict[int, list[int]]]  # own subscriptions; uncovered subscriptions by link


class Broker(Router):
    def __init__(self, node: int, links: Iterable[int], way: Way, parameters: Parameters, seed: int = 0) -> None:
        self.node = node
        self.way = way
        self.parameters = parameters
        self.table = RoutingTable()
        self.cover = Cover()
        self.popularity = Popularity(way, parameters)
        self.buffers = Buffers(parameters.batch_timeout)
        self.seen = Seen(parameters.memory)
        self.gossiping = Gossiping(node, parameters, self.table, self.seen, Random(f"{seed} {node}"))
        self.propagation = Propagation(links, self.table, self.cover, self.gossiping)
        self.reorder = None if parameters.reorder is None else Reorder(parameters.reorder)
        self._queues: list[int] = []  # lengths reported since the last evaluation
        self.clock = EvaluationClock(inf if way is Way.TREE else parameters.evaluation)

    def handle(self, event: Event, now: float) -> list[Effect]:
        self.clock.start(now)
        effects = self._evaluate(now)
        match event:
            case Published(Publication() as publication):
                effects += self._publish(publication, now)
            case Received(sender, message):
                effects += self._receive(sender, message, now)
            case Queued(length):
                self._queues.append(length)
            case Advertised(advertisement):
                effects += self.propagation.advertise(advertisement, None)
            case Unadvertised(number):
                effects += self._withdraw(number, now)
            case Subscribed(subscription):
                effects += self.propagation.subscribe(subscription, None, self.node, 0)
            case Unsubscribed(number):
                effects += self.propagation.unsubscribe(number, None, now)
            case Linked(peer):
                effects += self.propagation.linked(peer)
            case Unlinked(peer):
                effects += self._unlink(peer, now)
            case Undelivered(peer, message):
                effects += self._undelivered(peer, message, now)
        return effects

    def next_deadline(self) -> float | None:
        held = inf if self.reorder is None else self.reorder.next_deadline()
        deadline = min(self.clock.deadline, self.buffers.next_deadline(), self.gossiping.next_deadline(), held)
        return deadline if deadline < inf else None

    def on_timer(self, now: float) -> list[Effect]:
        effects = self._evaluate(now)
        for link, advertisement in self.buffers.due(now):
            effects += self._send_batch(link, advertisement)
        effects += self.gossiping.on_timer(now)
        if self.reorder is not None:
            effects += self.reorder.due(now)
        return effects

    def check_invariants(self) -> None:
        self.table.check_invariants()
        self.cover.check_invariants()
        self.gossiping.check_invariants()

    def serves(self, publications: Iterable[Publication]) -> bool:
        """Whether an own subscription matches any of them."""
        return any(own for own, _ in self._match(list(publications)))

    # Publications.

    def _publish(self, publication: Publication, now: float) -> list[Effect]:
        source = self.table.sources.get(publication.topic)
        if source is None or source.link is not None or not matches(source.advertisement.filter, publication.said):
            raise WeftError(
                f"Publication {publication.number} is not what advertisement {publication.topic} at broker "
                f"{self.node} announced: advertise it first."
            )
        ((own, by_link),) = self._match([publication])
        effects = self._arrive(publication, own, 0, True, now)
        self.gossiping.latest[publication.topic] = publication.number
        for link in sorted(by_link):
            entry = self.table.entries[link, publication.topic]
            entry.routed += 1
            effects += self._issue(publication, link, entry, by_link[link], now)
        return effects

    def _issue(
        self, publication: Publication, link: int, entry: Entry, tops: list[int], now: float
    ) -> Sequence[Effect]:
        if entry.way is not Way.GOSSIP and entry.gossips:
            return [Send(link, self.gossiping.switch_back(publication, entry, now))]
        match entry.way:
            case Way.DIRECT:
                return self._directly(publication, tops)
            case Way.BATCH:
                key, least_gain = (link, publication.topic), self.popularity.least_gain
                full = self.buffers.add(key, publication, entry.gain, least_gain, now)
                return self._send_batch(*key) if full else []
            case Way.GOSSIP if entry.gossips:
                self.gossiping.issue(publication, now)
                return []
            case Way.GOSSIP:
                return [Send(link, self.gossiping.switch_over(publication, entry, now))]
        return [Send(link, Forward(publication, 1))]

    def _directly(self, publication: Publication, tops: list[int]) -> list[Effect]:
        """Send to each broker with a match among these subscriptions and those that they cover."""
        numbers = (number for top in tops for number in self.cover.all_matching(top, publication.said))
        origins = sorted({self.table.routes[number].origin for number in numbers})
        return [Send(origin, Direct(publication)) for origin in origins]

    def _send_batch(self, link: int, advertisement: int) -> list[Effect]:
        publications = self.buffers.take((link, advertisement))
        return [Send(link, Batch(publications, 1))] if publications else []

    def _forward(self, sender: int, message: Forward, now: float) -> list[Effect]:
        publication = message.publication
        assert isinstance(publication, Publication)
        ((own, by_link),) = self._match([publication])
        effects = self._arrive(publication, own, message.hops, True, now)
        links: Iterable[int] = by_link
        if message.switch is not Switch.NONE:
            links = self.table.links_of(publication.topic)
            effects += self.gossiping.switched(message, now)
        onward = Forward(publication, message.hops + 1, message.switch, message.view, message.digest)
        return effects + [self._pass_on(link, publication.topic, 1, onward) for link in sorted(set(links) - {sender})]

    def _forward_batch(self, sender: int, batch: Batch, now: float) -> list[Effect]:
        effects: list[Effect] = []
        parts: defaultdict[int, list[Publication]] = defaultdict(list)
        for publication, (own, by_link) in zip(batch.publications, self._match(batch.publications), strict=True):
            effects += self._arrive(publication, own, batch.hops, False, now)
            for link in by_link:
                parts[link].append(publication)
        parts.pop(sender, None)
        for link in sorted(parts):
            part = Batch(tuple(parts[link]), batch.hops + 1)
            effects.append(self._pass_on(link, part.publications[0].topic, len(part.publications), part))
        return effects

    def _pass_on(self, link: int, advertisement: int, count: int, message: Packet) -> Send:
        entry = self.table.entries.get((link, advertisement))
        if entry:  # else it was taken back while the publication was under way
            entry.routed += count
        return Send(link, message)

    def _match(self, publications: Sequence[Publication]) -> list[Matched]:
        return [self._by_link(numbers) for numbers in self.cover.match([said.said for said in publications])]

    def _by_link(self, numbers: list[int]) -> Matched:
        own = []
        by_link: dict[int, list[int]] = {}
        for number in numbers:
            link = self.table.routes[number].link
            if link is None:
                own.append(number)
            else:
                by_link.setdefault(link, []).append(number)
        return own, by_link

    def _arrive(self, publication: Publication, own: list[int], hops: int, popular: bool, now: float) -> list[Effect]:
        """Deliver a publication that none of the subscribers has yet."""
        if not own or not self.seen.is_new(publication.topic, publication.number, now):
            return []
        return self._notify(publication, own, hops, popular, now)

    def _notify(self, publication: Publication, own: list[int], hops: int, popular: bool, now: float) -> list[Effect]:
        if not own:
            return []
        notice = Notify(publication, hops, tuple(sorted(own)), popular)
        return [notice] if self.reorder is None else [*self.reorder.arrange(notice, now)]

    def _take(self, publications: Sequence[Publication], now: float) -> list[Effect]:
        """Deliver publications that came from outside the overlay and were not seen before."""
        effects: list[Effect] = []
        for publication, (own, _) in zip(publications, self._match(publications), strict=True):
            effects += self._notify(publication, own, 1, False, now)
        return effects

    # All other messages, and what clients say besides.

    def _receive(self, sender: int, message: Packet, now: float) -> list[Effect]:
        if isinstance(message, ON_TREE) and sender not in self.propagation.links:
            return []  # sent before the link went
        match message:
            case Forward():
                return self._forward(sender, message, now)
            case Batch():
                return self._forward_batch(sender, message, now)
            case Direct(publication):
                return self._arrive(publication, self._match([publication])[0][0], 1, False, now)
            case Gossip():
                new, effects = self.gossiping.heard(sender, message, now)
                return self._take(new, now) + effects
            case Retrieved(publications):
                return self._take(self.gossiping.retrieved(publications, now), now)
            case Retrieve(advertisement, numbers):
                return self.gossiping.answer(sender, advertisement, numbers)
            case Sweep():
                onward = [Send(link, message) for link in self.table.links_of(message.advertisement) if link != sender]
                return [*onward, *self.gossiping.ask(message.issuer, message.advertisement, message.digest, now)]
            case Join():
                return self.gossiping.invited(message, now)
            case Advertise(advertisement):
                return self.propagation.advertise(advertisement, sender)
            case Unadvertise(number):
                return self.propagation.unadvertise(number, sender)
            case Subscribe(subscription, origin, hops):
                return self.propagation.subscribe(subscription, sender, origin, hops)
            case Unsubscribe(number):
                return self.propagation.unsubscribe(number, sender, now)
        return []

    def _withdraw(self, number: int, now: float) -> list[Effect]:
        """What was said under the advertisement goes first."""
        source = self.table.sources.get(number)
        if source is None or source.link is not None:
            return []
        effects: list[Effect] = []
        for key in self.buffers.of(number):
            effects += self._send_batch(*key)
        return effects + self.gossiping.sweep(number, now) + self.propagation.unadvertise(number, None)

    def _unlink(self, peer: int, now: float) -> list[Effect]:
        """What waited for the link goes directly, while it is known to whom."""
        effects: list[Effect] = []
        for key in self.buffers.over(peer):
            for publication in self.buffers.take(key):
                ((_, by_link),) = self._match([publication])
                effects += self._directly(publication, by_link.get(peer, []))
        return effects + self.propagation.unlinked(peer, now)

    def _undelivered(self, peer: int, message: Packet, now: float) -> list[Effect]:
        """Send again what matters still, and of the tables what is true now. Gossip mends itself."""
        match message:
            case Forward() | Batch() | Sweep():
                return [Send(peer, message)] if peer in self.propagation.links else []
            case Direct() | Retrieved():
                return [Send(peer, message)] if self.table.origins[peer] else []
            case Retrieve(advertisement, numbers):
                return self.gossiping.ask(peer, advertisement, numbers, now)
            case Join(advertisement):
                return self.gossiping.invite(peer, advertisement)
            case Advertise(Advertisement(number)) | Unadvertise(number):
                return self.propagation.advertisement_again(peer, number)
            case Subscribe(Subscription(number)) | Unsubscribe(number):
                return self.propagation.subscription_again(peer, number)
        return []

    def _evaluate(self, now: float) -> list[Effect]:
        elapsed = self.clock.elapsed(now)
        if not elapsed:
            return []
        queue = sum(self._queues) / len(self._queues) if self._queues else 0.0
        self._queues.clear()
        self.popularity.evaluate(self.table.entries, queue, elapsed)
        self.gossiping.forget(now)
        return [
            effect
            for (link, advertisement), entry in sorted(self.table.entries.items(), key=lambda item: item[0])
            if entry.way is not Way.BATCH
            for effect in self._send_batch(link, advertisement)
        ]
