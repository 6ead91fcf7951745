"""Receivers of what is published on a name, kept until a subscription or a connection changes them.

A route is the answer of the index of filters, made ready for use: sessions with all their matching subscriptions taken
together, groups of shared subscriptions, and for QoS 0 the connections that take a PUBLISH as the bytes it came in,
by the two families of versions whose bytes differ. Names with the same receivers have the same route object, so that
a run of publications on many names is one piece of bytes for all their receivers.

In a network a route also says where else publications on its names go (its lead).

Names whose route a change could touch are found by the changed filters (model/name_index.py), when a route is wanted
next, and only those are forgotten. A client may change a filter that matches all names, or a hundred thousand filters
at once: where it would take too many steps to find the names, all are forgotten. That takes no time, for what is
forgotten is put aside and taken apart a slice at a time (backlog.py).
"""

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from itertools import islice
from weakref import WeakValueDictionary

from weft.broker.connection import Connection
from weft.broker.filter import FilterIndex
from weft.broker.session import Session
from weft.broker.shared import Group
from weft.broker.subscription import Subscription, Target
from weft.model.name_index import NameIndex
from weft.wire.mqtt.packet import Version
from weft.wire.mqtt.topic import is_wild

Lead = Hashable | None  # where in a network publications on a name go; None is nowhere
SHORT = 1024  # bytes of a name that is remembered: clients choose names, and could fill the memory with long ones
FLAT = 16  # levels of one: each takes a third of a kilobyte
UNSURE = "unsure"  # to be found out, by the long way
STEPS = 2_000  # to find names that changes of filters could touch, until all are forgotten: half a millisecond
CHANGED = 1 << 16  # characters of filters that have changed, beyond which all routes are forgotten


class Holders:
    """What stands at a filter."""

    __slots__ = ("groups", "sessions")

    def __init__(self) -> None:
        self.sessions: dict[Session, Subscription] = {}
        self.groups: dict[str, Group] = {}

    def join(self, name: str, pattern: str, session: Session, subscription: Subscription) -> None:
        self.groups.setdefault(name, Group(name, pattern)).members[session] = subscription

    def leave(self, name: str, session: Session) -> None:
        group = self.groups[name]
        del group.members[session]
        if not group.members:
            del self.groups[name]


class Route:
    __slots__ = (
        "__weakref__",
        "groups",
        "is_plain",
        "is_sure",
        "lead",
        "other",
        "put3",
        "put5",
        "receivers",
        "sure",
        "targets",
    )

    def __init__(self, targets: list[Target], groups: list[Group], packet_bytes: int, lead: Lead = None) -> None:
        self.targets = targets
        self.groups = groups
        self.receivers: list[Connection] = []  # that take bytes as they come
        self.put3: list[Callable[[bytes], None]] = []  # of those, how to add to the burst, before MQTT 5
        self.put5: list[Callable[[bytes], None]] = []
        self.other: list[Target] = []  # connected, and in need of a PUBLISH of their own
        for target in targets:
            self._place(target, packet_bytes)
        self.lead = lead
        self.is_plain = not self.other and not groups and lead is not UNSURE
        # QoS 1: all are connected and take the publisher's bytes with an identifier of their own
        self.sure = [target.session for target in targets if target.qos]
        self.is_sure = lead is None and self.is_plain and 0 < len(self.sure) == len(self.receivers) == len(targets)

    def _place(self, target: Target, packet_bytes: int) -> None:
        connection = target.session.connection
        if connection is None:
            return
        if target.identifiers or target.own is not target or not connection.is_plain(packet_bytes):
            self.other.append(target)
            return
        self.receivers.append(connection)
        puts = self.put5 if connection.version is Version.V5 else self.put3
        puts.append(connection.burst.append)


class _Known:
    """Routes by name, and the names by the filters that match them."""

    def __init__(self) -> None:
        self.routes: dict[bytes, Route] = {}
        self._names: NameIndex[bytes] = NameIndex()

    def add(self, topic: bytes, name: str, route: Route) -> None:
        self.routes[topic] = route
        self._names[name] = topic

    def forget(self, pattern: str, steps: int) -> tuple[list[bytes] | None, int]:
        """Forget names that match a filter: which they were, and steps that are left; None if it takes more."""
        found, steps = self._names.find_within(pattern, steps) if self.routes else ([], steps)
        if found is None:
            return None, 0
        for name, topic in found:
            self._names.pop(name)
            del self.routes[topic]
        return [topic for _, topic in found], max(0, steps - len(found))

    def dismantle(self) -> Iterator[None]:
        while self.routes:
            self.routes.popitem()
            yield
        yield from self._names.dismantle()


class Routes:
    def __init__(
        self,
        index: FilterIndex[Holders],
        packet_bytes: int,
        most: int,
        lead: Callable[[bytes], Lead] = lambda _: None,
        ahead: int = 0,
        put_aside: Callable[[Iterator[None]], None] = lambda _: None,
    ) -> None:
        self._index = index
        self._put_aside = put_aside  # to take apart what is forgotten
        self._lead = lead
        self._packet_bytes = packet_bytes
        self._most = most  # names
        self._ahead = ahead  # names that wait to be looked up
        self._work = 0  # holders of filters that were gone through
        self._changed: list[str] = []  # filters, of which routes are to be forgotten
        self._size = 0  # characters of these
        self._shared: WeakValueDictionary[tuple[object, ...], Route] = WeakValueDictionary()
        self._published, self._arrived = _Known(), _Known()
        self._apart: deque[Iterator[None]] = deque()  # what was forgotten, and is not free yet
        self._forgotten: dict[tuple[bytes, bool], None] = {}  # names, and whether other nodes send them

    @property
    def by_name(self) -> dict[bytes, Route]:
        """The lanes look here themselves, each time anew."""
        if self._changed:
            self._forget_changed()
        return self._published.routes

    @property
    def arriving(self) -> dict[bytes, Route]:
        """Routes of what other nodes send, which goes nowhere else from here."""
        if self._changed:
            self._forget_changed()
        return self._arrived.routes

    def route(self, topic: bytes) -> Route:
        """The topic is a valid name."""
        route = self.by_name.get(topic)
        if route is None:
            if len(self._published.routes) >= self._most:
                self._forget_published()
            route = self._found(topic, self._published, self._lead_of(topic))
        return route

    def arrival(self, topic: bytes) -> Route:
        """The same for what another node sends."""
        route = self.arriving.get(topic)
        if route is None:
            if len(self._arrived.routes) >= self._most:
                self._forget_arrived()
            route = self._found(topic, self._arrived, None)
        return route

    def forget(self, pattern: str) -> None:
        """Forget the routes of names that match a filter, whose receivers have changed."""
        if len(self._changed) <= STEPS:
            self._changed.append(pattern)
            self._size += len(pattern)
        if self._size > CHANGED:
            self._forget_all()

    def forget_leads(self) -> None:
        """The network has changed."""
        self._note(self._published.routes, False)
        self._forget_published()

    def take_work(self) -> int:
        """Holders of filters that were gone through since the last time."""
        work, self._work = self._work, 0
        return work

    def _forget_changed(self) -> None:
        changed, self._changed, self._size = self._changed, [], 0
        if not self._forget_matching(changed):
            self._forget_all()

    def _forget_all(self) -> None:
        self._changed, self._size = [], 0
        self._note(self._published.routes, False)
        self._note(self._arrived.routes, True)
        self._forget_published()
        self._forget_arrived()

    def _forget_matching(self, patterns: list[str]) -> bool:
        """Forget what matches any of these filters, unless that takes too long. Whether it did not."""
        steps = STEPS - len(patterns)
        if steps < 0:
            return False
        for pattern in patterns:
            for known, arrives in ((self._published, False), (self._arrived, True)):
                found, steps = known.forget(pattern, steps)
                if found is None:
                    return False
                self._note(found, arrives)
            if not is_wild(pattern):
                self._note([pattern.encode()], True)
        return True

    def _forget_published(self) -> None:
        self._take_apart(self._published)
        self._published = _Known()

    def _forget_arrived(self) -> None:
        self._take_apart(self._arrived)
        self._arrived = _Known()

    def _take_apart(self, known: _Known) -> None:
        """Free what is forgotten later, but not slower than names are remembered anew: it would be more and more."""
        if known.routes:
            work = known.dismantle()
            self._apart.append(work)
            self._put_aside(work)

    def _go_on(self, steps: int) -> None:
        while self._apart and steps > 0:
            steps -= sum(1 for _ in islice(self._apart[0], steps))
            if steps > 0:
                self._apart.popleft()

    def look_up(self, most: int) -> None:
        """Look up names that were forgotten, before something is published on them: so many at most.

        What is published first on a name would else wait until its receivers are found, at every node on its way. The
        names are those that clients of this node have published on, and filters of its clients, which other nodes may.
        """
        if self._changed:
            self._forget_changed()
        for _ in range(min(most, len(self._forgotten))):
            (topic, arrives), _ = self._forgotten.popitem()
            if not arrives:
                self.route(topic)
            elif self._index.get(topic.decode()) is not None:
                self.arrival(topic)

    def _note(self, topics: Iterable[bytes], arrive: bool) -> None:
        """Names to look up; where there are more than are looked up soon, the first are as good as any."""
        for topic in topics:
            if len(self._forgotten) >= self._ahead:
                return
            if len(topic) <= SHORT:
                self._forgotten[topic, arrive] = None

    def _found(self, topic: bytes, known: _Known, lead: Lead) -> Route:
        name = topic.decode()
        route = self._built(self._index.match(name), lead)
        levels = topic.count(b"/") + 1
        if len(topic) <= SHORT and levels <= FLAT:
            known.add(topic, name, route)
            self._go_on(2 * (levels + 2))
        return route

    def _lead_of(self, topic: bytes) -> Lead:
        """What clients write to $SYS goes nowhere: no lane may pass it on."""
        return UNSURE if topic.startswith(b"$SYS/") else self._lead(topic)

    def _built(self, found: list[Holders], lead: Lead) -> Route:
        held: dict[Session, dict[int | str, Subscription]] = {}  # one of each kind: another of it would change nothing
        self._work += len(found)
        for holders in found:
            for session, subscription in holders.sessions.items():
                kinds = held.get(session)
                if kinds is None:
                    held[session] = {subscription.kind: subscription}
                elif subscription.kind not in kinds:
                    kinds[subscription.kind] = subscription
        there = sorted((session for session in held if not session.ended), key=lambda one: one.serial)
        targets = [Target(session, held[session].values()) for session in there]
        grouped = [holders.groups for holders in found if holders.groups]
        groups = [group for named in grouped for group in named.values() if not group.is_over()]
        key = (lead, *(target.key() for target in targets), *(id(group) for group in groups))
        route = self._shared.get(key)
        if route is None:
            route = self._shared[key] = Route(targets, groups, self._packet_bytes, lead)
        return route
