"""Sessions that come from other nodes, and go to them; in a network only.

A session comes in parts, and its client may be in before the last (restoration.py). What it may not hold by the rights
of this node ends as soon as it is here. One that goes takes its will along: the client is alive at another node, so
nothing is published for it here, and what waits for it goes to no other member of a shared subscription, unless the
session has ended for good.
"""

from weft.broker.effect import (
    SessionArrived,
    SessionClaimed,
    SessionComing,
    SessionGathered,
    SessionMoved,
    SessionOutdated,
)
from weft.broker.enforcement import Enforcement
from weft.broker.inbound import Inbound
from weft.broker.outbound import Outbound
from weft.broker.parting import Parting
from weft.broker.restoration import Restoration
from weft.broker.sessions import Sessions
from weft.broker.will import Wills
from weft.wire.mqtt.reason import Reason


class Transfers:
    def __init__(
        self,
        sessions: Sessions,
        restoration: Restoration,
        enforcement: Enforcement,
        parting: Parting,
        wills: Wills,
        inbound: Inbound,
        outbound: Outbound,
    ) -> None:
        self._sessions = sessions
        self._restoration = restoration
        self._enforcement = enforcement
        self._parting = parting
        self._wills = wills
        self._inbound = inbound
        self._outbound = outbound

    def take_in(self, event: SessionArrived, now: float) -> None:
        taken = self._restoration.take_in(event, now)
        self._enforcement.enforce(taken, now)
        for session in taken:
            self._outbound.fill(session, now)

    def outdate(self, event: SessionOutdated, now: float) -> None:
        session = self._sessions.get(event.client)
        if session is not None:
            self._inbound.outdate(session)

    def foresee(self, event: SessionComing, now: float) -> None:
        session = self._sessions.get(event.client)
        if session is not None:
            self._inbound.note(session, event.received, event.late)
            self._restoration.foresee(session, event.given)

    def complete(self, event: SessionGathered, now: float) -> None:
        session = self._sessions.get(event.client)
        if session is not None and session.gathering:
            session.gathering = False
            self._outbound.fill(session, now)

    def be_claimed(self, event: SessionClaimed, now: float) -> None:
        session = self._sessions.get(event.client)
        if session is not None and session.connection is not None:
            self._parting.take_over(session.connection, now)

    def let_go(self, event: SessionMoved, now: float) -> None:
        session = self._sessions.get(event.client)
        if session is None:
            return
        if not event.ended:
            self._wills.set(session, None)
        if session.connection is not None:
            self._parting.say_goodbye(session.connection, Reason.SESSION_TAKEN_OVER, "")
            self._parting.end(session.connection, now, will=False)
        if self._sessions.get(event.client) is session:
            self._sessions.end(session, now, bequeath=event.ended)
