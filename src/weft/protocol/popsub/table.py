"""The routing tables of a broker: SRT, PRT, and the gain table, which is a function of the other two (section 4.1).

A link is named by the peer at its other end; None is the broker's own clients. A subscription heads for every
advertisement that it intersects, unless both came by the same link: then they meet elsewhere. It is kept as long as it
heads for any, or is an own one. The gain of (link, advertisement) is over the subscriptions that came by the link and
head for the advertisement: n / mean hops, which is n² / sum of hops.
"""

from collections import Counter
from collections.abc import ItemsView, Iterable
from dataclasses import dataclass, field

from weft.model.content import Advertisement, Subscription, intersects
from weft.protocol.popsub.parameters import Way

Key = tuple[int, int]  # link, advertisement


@dataclass
class Entry:
    """A row of the gain table, with what the issuing broker has planned for the publications on the link."""

    origins: Counter[int] = field(default_factory=Counter)  # subscriptions by the broker that they started at
    count: int = 0
    hops: int = 0  # in all
    routed: int = 0  # publications since the last evaluation
    rate: float = 0.0  # publications/s in the interval before it
    way: Way = Way.TREE  # popular
    gossips: bool = False  # the subscribers behind the link were asked to switch to gossip
    priority: bool = False  # of the advertisement: it is not for popularity to decide

    @property
    def gain(self) -> float:
        return self.count**2 / self.hops

    def count_in(self, route: "Route") -> None:
        self.count += 1
        self.hops += route.hops
        self.origins[route.origin] += 1

    def count_out(self, route: "Route") -> None:
        self.count -= 1
        self.hops -= route.hops
        self.origins[route.origin] -= 1
        self.origins += Counter()  # drops what is zero


@dataclass
class Route:
    subscription: Subscription
    link: int | None
    origin: int
    hops: int
    heads_for: set[int] = field(default_factory=set)  # advertisements
    sent: set[int] = field(default_factory=set)  # links that it went over, even where what it headed for is gone


@dataclass(frozen=True)
class Source:
    advertisement: Advertisement
    link: int | None


class RoutingTable:
    def __init__(self) -> None:
        self.sources: dict[int, Source] = {}  # the SRT, by advertisement
        self.routes: dict[int, Route] = {}  # the PRT, by subscription
        self.entries: dict[Key, Entry] = {}  # the gain table; no entry is 0/0
        self.origins: Counter[int] = Counter()  # of the routes
        self._entries_of: dict[int, dict[int, Entry]] = {}  # the same as entries, by advertisement and link
        self._own: Counter[int] = Counter()  # own subscriptions that head for each advertisement

    def advertise(self, advertisement: Advertisement, link: int | None) -> list[Route]:
        """The routes that are to follow it over its link, which they did not take before."""
        source = self.sources[advertisement.number] = Source(advertisement, link)
        following = []
        for route in self.routes.values():
            if self._meet(route, source):
                if link is not None and link not in self.links(route):
                    following.append(route)
                self._head(route, advertisement.number)
        return following

    def unadvertise(self, number: int) -> list[Route]:
        """The routes that lead nowhere any more, and are dropped."""
        bound = [route for route in self.routes.values() if number in route.heads_for]
        for route in bound:
            self._turn(route, number)
        del self.sources[number]
        self._own.pop(number, None)
        stray = [route for route in bound if route.link is not None and not route.heads_for]
        for route in stray:
            del self.routes[route.subscription.number]
            self.origins[route.origin] -= 1
        return stray

    def subscribe(self, subscription: Subscription, link: int | None, origin: int, hops: int) -> Route | None:
        """None where it heads for nothing that was advertised here: its sender has not heard of that yet."""
        route = Route(subscription, link, origin, hops)
        bound = [number for number, source in self.sources.items() if self._meet(route, source)]
        if link is not None and not bound:
            return None
        self.routes[subscription.number] = route
        self.origins[origin] += 1
        for number in bound:
            self._head(route, number)
        return route

    def unsubscribe(self, number: int) -> Route:
        route = self.routes.pop(number)
        self.origins[route.origin] -= 1
        for advertisement in route.heads_for:
            self._count_out(route, advertisement)
        return route

    def links(self, route: Route) -> set[int]:
        """Links that the subscription is forwarded over."""
        over = (self.sources[number].link for number in route.heads_for)
        return {link for link in over if link is not None}

    def links_of(self, advertisement: int) -> list[int]:
        """Links that the advertisement's subscriptions came by."""
        return sorted(self._entries_of.get(advertisement, ()))

    def own_interest(self, advertisement: int) -> bool:
        return self._own[advertisement] > 0

    def entries_of(self, advertisement: int) -> ItemsView[int, Entry]:
        """Links with their entries."""
        return self._entries_of.get(advertisement, {}).items()

    def check_invariants(self) -> None:
        for route in self.routes.values():
            meets = {number for number, source in self.sources.items() if self._meet(route, source)}
            assert route.heads_for == meets, f"{route} should head for {meets}"
            assert route.link is None or meets, f"{route} leads nowhere"
        assert self._summary(self.entries.items()) == self._summary(self._recounted().items())
        by_key = {(link, number): entry for number, row in self._entries_of.items() for link, entry in row.items()}
        assert by_key == self.entries
        own = (number for route in self.routes.values() if route.link is None for number in route.heads_for)
        assert +self._own == Counter(own)
        assert +self.origins == Counter(route.origin for route in self.routes.values())

    def _meet(self, route: Route, source: Source) -> bool:
        return route.link != source.link and intersects(route.subscription.filter, source.advertisement.filter)

    def _head(self, route: Route, advertisement: int) -> None:
        route.heads_for.add(advertisement)
        if route.link is None:
            self._own[advertisement] += 1
            return
        priority = self.sources[advertisement].advertisement.priority
        entry = self.entries.setdefault((route.link, advertisement), Entry(priority=priority))
        self._entries_of.setdefault(advertisement, {})[route.link] = entry
        entry.count_in(route)

    def _turn(self, route: Route, advertisement: int) -> None:
        route.heads_for.remove(advertisement)
        self._count_out(route, advertisement)

    def _count_out(self, route: Route, advertisement: int) -> None:
        if route.link is None:
            self._own[advertisement] -= 1
            return
        entry = self.entries[route.link, advertisement]
        entry.count_out(route)
        if not entry.count:
            del self.entries[route.link, advertisement], self._entries_of[advertisement][route.link]
            if not self._entries_of[advertisement]:
                del self._entries_of[advertisement]

    def _recounted(self) -> dict[Key, Entry]:
        entries: dict[Key, Entry] = {}
        for route in self.routes.values():
            for advertisement in route.heads_for if route.link is not None else ():
                assert route.link is not None
                entries.setdefault((route.link, advertisement), Entry()).count_in(route)
        return entries

    @staticmethod
    def _summary(entries: Iterable[tuple[Key, Entry]]) -> dict[Key, tuple[int, int, dict[int, int]]]:
        """Counters are equal where they differ by zeros; dictionaries are not."""
        return {key: (entry.count, entry.hops, dict(entry.origins)) for key, entry in entries}
