"""Rights that are taken away end what they had allowed.

A subscription that may not be any more ends, and what waits in a session and may not be read goes, by whatever filter
it came. It does not matter whether the client is there; one that is is dismissed, for DISCONNECT is the standard's only
way to tell it. First all subscriptions end, and then what waits is looked at: another member of a group gets what one
may not have any more, and must not be one that is about to lose it too. Wills are looked at when they are due
(will.py), retained messages when they are given (retained.py).
"""

from collections.abc import Iterable

from weft.access.guard import Guard
from weft.broker.distribution import Distribution
from weft.broker.figure import Figures
from weft.broker.outbox import Outbox
from weft.broker.parting import Parting
from weft.broker.publication import Delivery
from weft.broker.record import Done
from weft.broker.session import Session
from weft.broker.subscribing import Subscribing

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

    def enforce(self, sessions: Iterable[Session], now: float) -> None:
        """End what may not be, and dismiss who has lost something."""
        if self._guard.is_open:
            return
        held = list(sessions)
        lost = {session: self._end_subscriptions(session) for session in held}
        for session in held:
            lost[session] += self._drop(session, now)
        for session in held:
            if lost[session] and session.connection is not None:
                reason = f"The client may not read {lost[session][0]} any more."
                self._parting.expel(session.connection, reason, now)

    def _end_subscriptions(self, session: Session) -> list[str]:
        lost = [one for one in session.subscriptions if not self._guard.may_read(session.client, one)]
        for pattern in lost:
            self._subscribing.end(session, pattern)
        if lost:
            self._outbox.note("unsubscribed", session.connection, session.client, f"may not read {lost[0]} any more")
        return lost

    def _drop(self, session: Session, now: float) -> list[str]:
        """Topics of what waited and may not be read. Another member of its group may."""
        unread = [one for one in session.inflight.values() if not one.released]
        names = {one.publication.topic for one in [*unread, *session.queue]}
        denied = {name for name in names if not self._guard.may_read(session.client, name.decode())}
        if not denied:
            return []
        waiting = session.queue.take_all()
        for delivery in waiting:
            if delivery.publication.topic not in denied:
                session.queue.offer(delivery, ENOUGH, ENOUGH)
        self._figures.waiting -= len(waiting) - len(session.queue)
        for delivery in [one for one in [*unread, *waiting] if one.publication.topic in denied]:
            session.inflight.pop(delivery.packet_id, None)
            self._forget(session, delivery, now)
        return sorted(name.decode() for name in denied)

    def _forget(self, session: Session, delivery: Delivery, now: float) -> None:
        if session.persistent and delivery.publication.number:
            self._outbox.append(Done(session.client, delivery.publication.number))
        self._distribution.bequeath(delivery, now)
