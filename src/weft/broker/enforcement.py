"""Rights that are taken away end what they had allowed.

A subscription that may not be any more ends, and what waits in its session goes with it, as far as the client may not
read it by another filter. It does not matter whether the client is there; one that is is dismissed, for DISCONNECT is
the standard's only way to tell it. Wills are looked at when they are due (will.py).
"""

from collections.abc import Iterable

from weft.access.guard import Guard
from weft.access.name import parted
from weft.broker.distribution import Distribution
from weft.broker.figure import Figures
from weft.broker.outbox import Outbox
from weft.broker.parting import Parting
from weft.broker.publication import Delivery
from weft.broker.record import Done
from weft.broker.session import Session
from weft.broker.subscribing import Subscribing
from weft.wire.mqtt.reason import Reason

ENOUGH = 2**62  # messages and bytes: what waited fits


class Enforcement:
    def __init__(
        self,
        outbox: Outbox,
        subscribing: Subscribing,
        distribution: Distribution,
        parting: Parting,
        figures: Figures,
        guard: Guard,
    ) -> None:
        self._outbox = outbox
        self._subscribing = subscribing
        self._distribution = distribution
        self._parting = parting
        self._figures = figures
        self._guard = guard

    def enforce(self, sessions: Iterable[Session], now: float, changed: frozenset[str] = frozenset()) -> None:
        """End what may not be, and dismiss who has lost something, or whose user has changed."""
        if self._guard.is_open:
            return
        lost = [(session, self._loss_of(session, now, changed)) for session in list(sessions)]
        for session, reason in lost:
            if reason and session.connection is not None:
                self._parting.dismiss(session.connection, Reason.NOT_AUTHORIZED, reason, now)

    def _loss_of(self, session: Session, now: float, changed: frozenset[str]) -> str:
        reason = self._end_subscriptions(session, now)
        is_changed = parted(session.client)[0] in changed
        return "The user is gone, or has another password." if is_changed else reason

    def _end_subscriptions(self, session: Session, now: float) -> str:
        lost = [one for one in session.subscriptions if not self._guard.may_read(session.client, one)]
        for pattern in lost:
            self._subscribing.end(session, pattern)
        if not lost:
            return ""
        self._drop(session, now)
        self._outbox.note("unsubscribed", session.connection, session.client, f"may not read {lost[0]} any more")
        return f"The client may not read {lost[0]} any more."

    def _drop(self, session: Session, now: float) -> None:
        """What waits and may not be read. Another member of its group may."""
        waiting = session.queue.take_all()
        readable = [one for one in waiting if self._may_read(session, one)]
        for delivery in readable:
            session.queue.offer(delivery, ENOUGH, ENOUGH)
        self._figures.waiting -= len(waiting) - len(readable)
        unread = [one for one in session.inflight.values() if not one.released]
        for delivery in [one for one in [*unread, *waiting] if not self._may_read(session, one)]:
            session.inflight.pop(delivery.packet_id, None)
            self._forget(session, delivery, now)

    def _may_read(self, session: Session, delivery: Delivery) -> bool:
        return self._guard.may_read(session.client, delivery.publication.topic.decode())

    def _forget(self, session: Session, delivery: Delivery, now: float) -> None:
        if session.persistent and delivery.publication.number:
            self._outbox.append(Done(session.client, delivery.publication.number))
        self._distribution.bequeath(delivery, now)
