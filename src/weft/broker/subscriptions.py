"""Holders of every filter: sessions, groups, and the routes that follow from them."""

from weft.broker.effect import FilterAdded, FilterRemoved
from weft.broker.figure import Figures
from weft.broker.filter import FilterIndex
from weft.broker.outbox import Outbox
from weft.broker.parameters import Parameters
from weft.broker.route import Holders, Routes
from weft.broker.session import Session
from weft.broker.shared import Group
from weft.broker.subscription import Subscription
from weft.wire.mqtt.topic import is_shared, split_shared


class Subscriptions:
    def __init__(self, outbox: Outbox, figures: Figures, parameters: Parameters) -> None:
        self._outbox = outbox
        self._figures = figures
        self._linked = parameters.linked
        self.index: FilterIndex[Holders] = FilterIndex()
        self.routes = Routes(self.index, parameters.packet_bytes, parameters.cached_names)

    def add(self, session: Session, subscription: Subscription) -> bool:
        """Whether the session did not have this filter before."""
        fresh = subscription.filter not in session.subscriptions
        session.subscriptions[subscription.filter] = subscription
        group, pattern = _parted(subscription.filter)
        holders = self.index.get(pattern)
        if holders is None:
            holders = self.index.setdefault(pattern, Holders)
            self._tell(FilterAdded(pattern))
        if group is None:
            holders.sessions[session] = subscription
        else:
            holders.groups.setdefault(group, Group(group, pattern)).members[session] = subscription
        self.routes.forget(pattern)
        self._count(fresh, group is not None)
        return fresh

    def remove(self, session: Session, filter_: str) -> bool:
        """Whether the session had it."""
        if session.subscriptions.pop(filter_, None) is None:
            return False
        group, pattern = _parted(filter_)
        holders = self.index.get(pattern)
        assert holders is not None
        if group is None:
            del holders.sessions[session]
        else:
            self._leave(holders, group, session)
        if not holders.sessions and not holders.groups:
            self.index.remove(pattern)
            self._tell(FilterRemoved(pattern))
        self.routes.forget(pattern)
        self._count(-1, group is not None)
        return True

    def refresh(self, session: Session) -> None:
        """The session has a connection, or has none any more."""
        for pattern in session.subscriptions:
            self.routes.forget(_parted(pattern)[1])

    def _leave(self, holders: Holders, name: str, session: Session) -> None:
        group = holders.groups[name]
        del group.members[session]
        if not group.members:
            del holders.groups[name]

    def _count(self, change: int, shared: bool) -> None:
        self._figures.subscriptions += change
        if shared:
            self._figures.shared_subscriptions += change

    def _tell(self, effect: FilterAdded | FilterRemoved) -> None:
        if self._linked:
            self._outbox.add(effect)


def _parted(filter_: str) -> tuple[str | None, str]:
    """The group, None if not shared, and the filter that names are matched with."""
    parts = split_shared(filter_) if is_shared(filter_) else None
    return parts if parts is not None else (None, filter_)
