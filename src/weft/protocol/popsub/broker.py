"""A PopSub broker: events in, effects out. docs/popsub.md has the rules; each section of them has its module here.

A publication takes one way over each link of the broker that issues it, and every subscriber is behind exactly one of
these links. So nobody is served twice or left out as long as nothing changes; what happens when gossip begins or ends
is in `gossiping.py`. Links of the tree deliver in order.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from math import inf
from random import Random

from weft.errors import WeftError
from weft.model.content import Advertisement, Subscription, matches
from weft.protocol.popsub.batching import Buffers
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
    Unsubscribe,
    Unsubscribed,
)
from weft.protocol.popsub.parameters import Parameters, Way
from weft.protocol.popsub.popularity import Popularity
from weft.protocol.popsub.reorder import Reorder
from weft.protocol.popsub.table import Entry, Route, RoutingTable
from weft.protocol.router import Effect, Event, Packet, Published, Received, Router, Send

Matched = tuple[list[int], dict[int, list[int]]]  # own subscriptions; uncovered subscriptions by link


class Broker(Router):
    def __init__(self, node: int, links: Iterable[int], way: Way, parameters: Parameters, seed: int = 0) -> None:
        self.node = node
        self.links = sorted(links)
        self.way = way
        self.parameters = parameters
        self.table = RoutingTable()
        self.cover = Cover()
        self.popularity = Popularity(way, parameters)
        self.buffers = Buffers(parameters.batch_timeout)
        self.seen = Seen(parameters.memory)
        self.gossiping = Gossiping(node, parameters, self.table, self.seen, Random(f"{seed} {node}"))
        self.reorder = None if parameters.reorder is None else Reorder(parameters.reorder)
        self._queues: list[int] = []  # lengths reported since the last evaluation
        self._next_evaluation = inf if way is Way.TREE else parameters.evaluation

    def handle(self, event: Event, now: float) -> list[Effect]:
        effects = self._evaluate(now)
        match event:
            case Published(Publication() as publication):
                effects += self._publish(publication, now)
            case Received(sender, message):
                effects += self._receive(sender, message, now)
            case Queued(length):
                self._queues.append(length)
            case Advertised(advertisement):
                effects += self._advertise(advertisement, None)
            case Unadvertised(number):
                effects += self._withdraw(number, now)
            case Subscribed(subscription):
                effects += self._subscribe(subscription, None, self.node, 0)
            case Unsubscribed(number):
                effects += self._unsubscribe(number, now)
        return effects

    def next_deadline(self) -> float | None:
        held = inf if self.reorder is None else self.reorder.next_deadline()
        deadline = min(self._next_evaluation, self.buffers.next_deadline(), self.gossiping.next_deadline(), held)
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
                return [Send(origin, Direct(publication)) for origin in self._origins(publication, tops)]
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

    def _origins(self, publication: Publication, tops: list[int]) -> list[int]:
        numbers = (number for top in tops for number in self.cover.all_matching(top, publication.said))
        return sorted({self.table.routes[number].origin for number in numbers})

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
        self.table.entries[link, advertisement].routed += count
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
                self.gossiping.invited(message, now)
            case Advertise(advertisement):
                return self._advertise(advertisement, sender)
            case Unadvertise(number):
                return self._unadvertise(number, sender)
            case Subscribe(subscription, origin, hops):
                return self._subscribe(subscription, sender, origin, hops)
            case Unsubscribe(number):
                return self._unsubscribe(number, now)
        return []

    def _advertise(self, advertisement: Advertisement, link: int | None) -> list[Effect]:
        if advertisement.number in self.table.sources:
            return []
        following = self.table.advertise(advertisement, link)
        flood: list[Effect] = [Send(peer, Advertise(advertisement)) for peer in self.links if peer != link]
        return flood + [self._onward(route, link) for route in following if link is not None]

    def _withdraw(self, number: int, now: float) -> list[Effect]:
        """What was said under the advertisement goes first."""
        effects: list[Effect] = []
        for key in self.buffers.of(number):
            effects += self._send_batch(*key)
        return effects + self.gossiping.sweep(number, now) + self._unadvertise(number, None)

    def _unadvertise(self, number: int, link: int | None) -> list[Effect]:
        stray = self.table.unadvertise(number)
        for route in stray:
            self.cover.remove(route.subscription.number)
        self.gossiping.unadvertised(number)
        flood: list[Effect] = [Send(peer, Unadvertise(number)) for peer in self.links if peer != link]
        return flood + [effect for route in stray for effect in self._take_back(route)]

    def _subscribe(self, subscription: Subscription, link: int | None, origin: int, hops: int) -> list[Effect]:
        if subscription.number in self.table.routes:
            return []
        route = self.table.subscribe(subscription, link, origin, hops)
        if route is None:
            return []
        self.cover.add(subscription.number, subscription.filter, link)
        onward: list[Effect] = [self._onward(route, peer) for peer in sorted(self.table.links(route))]
        return onward + self.gossiping.subscribed(route)

    def _unsubscribe(self, number: int, now: float) -> list[Effect]:
        if number not in self.table.routes:
            return []
        route = self.table.unsubscribe(number)
        self.cover.remove(number)
        return self._take_back(route) + self.gossiping.unsubscribed(route, now)

    def _onward(self, route: Route, link: int) -> Send:
        route.sent.add(link)
        return Send(link, Subscribe(route.subscription, route.origin, route.hops + 1))

    def _take_back(self, route: Route) -> list[Effect]:
        """Wherever it went: it may have crossed an unadvertisement, and be welcome to a newer advertisement."""
        return [Send(link, Unsubscribe(route.subscription.number)) for link in sorted(route.sent)]

    def _evaluate(self, now: float) -> list[Effect]:
        if now < self._next_evaluation:
            return []
        self._next_evaluation += self.parameters.evaluation
        queue = sum(self._queues) / len(self._queues) if self._queues else 0.0
        self._queues.clear()
        self.popularity.evaluate(self.table.entries, queue)
        self.gossiping.forget(now)
        return [
            effect
            for (link, advertisement), entry in sorted(self.table.entries.items(), key=lambda item: item[0])
            if entry.way is not Way.BATCH
            for effect in self._send_batch(link, advertisement)
        ]
