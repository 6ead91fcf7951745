"""Holders of every filter: sessions, groups, and the routes that follow from them.

How many filters of one client match one name has a bound, since that is what a publication on it costs, and of shared
subscriptions how many copies it makes. The shape of a filter is where it has wildcards. Two filters of one shape that
match one name have the same levels elsewhere, so they are the same: no name matches more filters of a client than they
have shapes. Few clients use ten; with + or a word on each of sixteen levels there would be 65,536.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice

from weft.broker.effect import FilterHeld
from weft.broker.figure import Figures
from weft.broker.filter import FilterIndex
from weft.broker.outbox import Outbox
from weft.broker.parameters import Parameters
from weft.broker.route import STEPS, Holders, Lead, Routes
from weft.broker.session import Session
from weft.broker.subscription import Subscription
from weft.wire.mqtt.topic import is_shared, is_wild, split_shared
from weft.wire.weight import AT_NODE, OF_SESSION, weight_of

SHAPES = 1_000  # of filters of one session, each in as many groups as share it
AHEAD = 2_000  # names that are looked up before something is published on them; each takes a kilobyte


class Holding:
    """Sessions of this node that hold a filter."""

    __slots__ = ("members", "persistent")

    def __init__(self) -> None:
        self.members = 0
        self.persistent = 0  # of those

    def told(self, filter_: str) -> tuple[int, bool]:
        """What others must know: of a filter that is not shared, not how many hold it."""
        return self.members if is_shared(filter_) else min(self.members, 1), self.persistent > 0


class Subscriptions:
    def __init__(
        self,
        outbox: Outbox,
        figures: Figures,
        parameters: Parameters,
        put_aside: Callable[[Iterator[None]], None],
        lead: Callable[[bytes], Lead] = lambda _: None,
    ) -> None:
        self._outbox = outbox
        self._figures = figures
        self._linked = parameters.linked
        self.index: FilterIndex[Holders] = FilterIndex()
        ahead = AHEAD if parameters.linked else 0
        self.routes = Routes(self.index, parameters.packet_bytes, parameters.cached_names, lead, ahead, put_aside)
        self.held: dict[str, Holding] = {}  # in a network: filters as clients wrote them
        self.weight = 0  # in a network: of what the master is told of filters and sessions (wire/weight.py)

    def add(self, session: Session, subscription: Subscription) -> bool:
        """Whether the session did not have this filter before."""
        fresh = subscription.filter not in session.subscriptions
        self._recount(session)
        session.subscriptions[subscription.filter] = subscription
        group, pattern = _parted(subscription.filter)
        holders = self.index.get(pattern)
        if holders is None:
            holders = self.index.setdefault(pattern, Holders)
        if group is None:
            holders.sessions[session] = subscription
        else:
            holders.join(group, pattern, session, subscription)
        if fresh:
            _note_shape(session, subscription.filter)
        self.routes.forget(pattern)
        self._count(fresh, group is not None)
        if fresh:
            session.filter_bytes += len(subscription.filter.encode())
            self._hold(subscription.filter, 1, session.counted)
        return fresh

    def remove(self, session: Session, filter_: str) -> bool:
        """Whether the session had it."""
        self._recount(session)
        if session.subscriptions.pop(filter_, None) is None:
            return False
        group, pattern = _parted(filter_)
        holders = self.index.get(pattern)
        assert holders is not None
        if group is None:
            del holders.sessions[session]
        else:
            holders.leave(group, session)
        _forget_shape(session, filter_)
        if not holders.sessions and not holders.groups:
            self.index.remove(pattern)
        self.routes.forget(pattern)
        self._count(-1, group is not None)
        session.filter_bytes -= len(filter_.encode())
        self._hold(filter_, -1, -session.counted)
        return True

    def may_hold(self, session: Session, filter_: str) -> bool:
        """Whether a session may have one more filter, which would match names that others of it match."""
        shapes = session.shapes
        return shapes is None or len(shapes) < SHAPES or _shape(filter_) in shapes

    def have_room(self, session: Session, filter_: str) -> bool:
        """Whether a session may hold one more filter, by the bytes of all of them."""
        return session.filter_bytes + len(filter_.encode()) <= OF_SESSION and self.may_weigh(filter_)

    def may_weigh(self, text: str, besides: int = 0) -> bool:
        """Whether the master may be told of one more filter, which a kept session has too, or of one more session."""
        return not self._linked or self.weight + 2 * weight_of(text) <= AT_NODE + besides

    def weigh(self, text: str, change: int) -> None:
        """The master is told of more, or less."""
        self.weight += change * weight_of(text)

    def refresh(self, session: Session) -> None:
        """The session has a connection, or has none any more."""
        self._recount(session)
        for pattern in islice(session.subscriptions, STEPS + 1):
            self.routes.forget(_parted(pattern)[1])

    def _count(self, change: int, shared: bool) -> None:
        self._figures.subscriptions += change
        if shared:
            self._figures.shared_subscriptions += change

    def _recount(self, session: Session) -> None:
        """The session may have become persistent, or have ceased to be."""
        if session.counted is not session.persistent:
            session.counted = session.persistent
            for pattern in session.subscriptions:
                self._hold(pattern, 0, 1 if session.counted else -1)

    def _hold(self, filter_: str, members: int, persistent: int) -> None:
        """Tell the network what others must know of a filter: that it is held, and whether by who may be away."""
        if not self._linked:
            return
        holding = self.held.setdefault(filter_, Holding())
        before = holding.told(filter_)
        self.weigh(filter_, persistent + (not holding.members))
        holding.members += members
        holding.persistent += persistent
        if not holding.members:
            del self.held[filter_]
            self.weigh(filter_, -1)
        if holding.told(filter_) != before:
            self._outbox.add(FilterHeld(filter_, holding.members, holding.persistent > 0))


def _note_shape(session: Session, filter_: str) -> None:
    """Count a filter that a session has got; of few filters there is no need to."""
    if session.shapes is not None:
        session.shapes[_shape(filter_)] += 1
    elif len(session.subscriptions) >= SHAPES:
        session.shapes = Counter(map(_shape, session.subscriptions))


def _forget_shape(session: Session, filter_: str) -> None:
    if session.shapes is not None:
        shape = _shape(filter_)
        session.shapes[shape] -= 1
        if not session.shapes[shape]:
            del session.shapes[shape]


def _shape(filter_: str) -> str:
    """Where a filter has wildcards, and the group that it is shared in. All without wildcards have one shape."""
    group, pattern = _parted(filter_)
    shape = ""
    if is_wild(pattern):
        shape = "/".join(level if level in ("+", "#") else "" for level in pattern.split("/"))
    return shape if group is None else f"{group} {shape}"


def _parted(filter_: str) -> tuple[str | None, str]:
    """The group, None if not shared, and the filter that names are matched with."""
    parts = split_shared(filter_) if is_shared(filter_) else None
    return parts if parts is not None else (None, filter_)
