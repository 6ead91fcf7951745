"""How advertisements and subscriptions spread over the links of a broker, and are taken back (section 3.2).

Advertisements flood the tree, subscriptions follow them. Whatever came by a link is taken back by that link only: what
a broker does not know, has heard before, or hears of from elsewhere changes nothing.

Links come and go. With a link goes what came by it, as if all of it had been taken back; a new one is told of every
advertisement, and the subscriptions follow from the other end. The links of all brokers must be a forest at any time,
so that nothing comes by two of them: a link is taken away, its loss is heard of everywhere (which takes `diameter`),
and only then is another put in its place.
"""

from collections.abc import Iterable

from weft.model.content import Advertisement, Subscription
from weft.protocol.popsub.cover import Cover
from weft.protocol.popsub.gossiping import Gossiping
from weft.protocol.popsub.message import Advertise, Subscribe, Unadvertise, Unsubscribe
from weft.protocol.popsub.table import Route, RoutingTable
from weft.protocol.router import Effect, Send


class Propagation:
    def __init__(self, links: Iterable[int], table: RoutingTable, cover: Cover, gossiping: Gossiping) -> None:
        self.links = set(links)
        self.table = table
        self.cover = cover
        self.gossiping = gossiping

    def advertise(self, advertisement: Advertisement, link: int | None) -> list[Effect]:
        if advertisement.number in self.table.sources:
            return []
        following = self.table.advertise(advertisement, link)
        flood = self._flood(Advertise(advertisement), link)
        return flood + [self._onward(route, link) for route in following if link is not None]

    def unadvertise(self, number: int, link: int | None) -> list[Effect]:
        source = self.table.sources.get(number)
        if source is None or source.link != link:
            return []
        stray = self.table.unadvertise(number)
        for route in stray:
            self.cover.remove(route.subscription.number)
        self.gossiping.unadvertised(number)
        flood = self._flood(Unadvertise(number), link)
        return flood + [effect for route in stray for effect in self._take_back(route)]

    def subscribe(self, subscription: Subscription, link: int | None, origin: int, hops: int) -> list[Effect]:
        if subscription.number in self.table.routes:
            return []
        route = self.table.subscribe(subscription, link, origin, hops)
        if route is None:
            return []
        self.cover.add(subscription.number, subscription.filter, link)
        onward: list[Effect] = [self._onward(route, peer) for peer in sorted(self.table.links(route))]
        return onward + self.gossiping.subscribed(route)

    def unsubscribe(self, number: int, link: int | None, now: float) -> list[Effect]:
        route = self.table.routes.get(number)
        if route is None or route.link != link:
            return []
        self.table.unsubscribe(number)
        self.cover.remove(number)
        return self._take_back(route) + self.gossiping.unsubscribed(route, now)

    def linked(self, peer: int) -> list[Effect]:
        if peer in self.links:
            return []
        self.links.add(peer)
        return [Send(peer, Advertise(source.advertisement)) for _, source in sorted(self.table.sources.items())]

    def unlinked(self, peer: int, now: float) -> list[Effect]:
        if peer not in self.links:
            return []
        self.links.remove(peer)
        effects: list[Effect] = []
        for number in sorted(number for number, source in self.table.sources.items() if source.link == peer):
            effects += self.unadvertise(number, peer)
        for number in sorted(number for number, route in self.table.routes.items() if route.link == peer):
            effects += self.unsubscribe(number, peer, now)
        return effects

    def advertisement_again(self, peer: int, number: int) -> list[Effect]:
        """Tell a peer that may have missed the last word on an advertisement how things are."""
        source = self.table.sources.get(number)
        if peer not in self.links or (source is not None and source.link == peer):
            return []
        return [Send(peer, Unadvertise(number) if source is None else Advertise(source.advertisement))]

    def subscription_again(self, peer: int, number: int) -> list[Effect]:
        route = self.table.routes.get(number)
        if peer not in self.links or (route is not None and route.link == peer):
            return []
        is_wanted = route is not None and peer in self.table.links(route)
        return [self._onward(route, peer) if route and is_wanted else Send(peer, Unsubscribe(number))]

    def _flood(self, message: Advertise | Unadvertise, link: int | None) -> list[Effect]:
        return [Send(peer, message) for peer in sorted(self.links) if peer != link]

    def _onward(self, route: Route, link: int) -> Send:
        route.sent.add(link)
        return Send(link, Subscribe(route.subscription, route.origin, route.hops + 1))

    def _take_back(self, route: Route) -> list[Effect]:
        """Take it back wherever it went: it may have crossed an unadvertisement, and fit a newer advertisement."""
        return [Send(link, Unsubscribe(route.subscription.number)) for link in sorted(route.sent & self.links)]
