"""Wills: what a client wants said if it goes without a word.

It is said when the connection is lost, or in MQTT 5 after a delay, but not later than the end of the session; a client
that comes back in time to its session takes it back. What may not be published then (permission.py) is dropped.
"""

from collections.abc import Callable

from weft.broker.deadline import Deadlines
from weft.broker.distribution import Distribution
from weft.broker.figure import Figures
from weft.broker.inbound import passed_on
from weft.broker.outbox import Outbox
from weft.broker.permission import Permission
from weft.broker.publication import Publication
from weft.broker.record import WillSet
from weft.broker.session import Session
from weft.wire.mqtt.packet import Will
from weft.wire.mqtt.property import Property
from weft.wire.mqtt.reason import Reason


class Wills:
    def __init__(
        self,
        outbox: Outbox,
        deadlines: Deadlines,
        distribution: Distribution,
        permission: Permission,
        figures: Figures,
        session_of: Callable[[str], Session | None],
    ) -> None:
        self._permission = permission
        self._figures = figures
        self._outbox = outbox
        self._session_of = session_of
        self._delays = deadlines.timer(self._fall_due)  # by client
        self._distribution = distribution

    def set(self, session: Session, will: Will | None) -> None:
        """The will that came with CONNECT; none takes back what was."""
        changed = session.will is not None or will is not None
        session.will, session.will_due = will, None
        self._delays.drop(session.client)
        if changed and session.persistent:
            self._outbox.append(WillSet(session.client, will))

    def arm(self, session: Session, now: float) -> None:
        """The client is gone without a word."""
        if session.will is None:
            return
        delay = session.will.properties.get(Property.WILL_DELAY_INTERVAL, 0)
        if not delay or not session.persistent:
            self.publish(session, now)
            return
        session.will_due = now + min(delay, session.expiry)
        self._delays.at(session.will_due, session.client)

    def publish(self, session: Session, now: float) -> None:
        """Say it now, if it has not been said."""
        will = session.will
        if will is None:
            return
        properties, expires = passed_on(will.properties, now)
        said = Publication(
            will.topic.encode(), will.payload, will.qos, will.retain, properties, expires, session.client
        )
        refusal = self._permission.refusal(said)
        if refusal is None:
            self._distribution.accept(said, now)
        else:
            self._figures.dropped += 1
            event = "not_authorized" if refusal is Reason.NOT_AUTHORIZED else "no_room"
            self._outbox.note(event, None, session.client, f"will on {will.topic}")
        self.set(session, None)

    def _fall_due(self, client: str, now: float) -> None:
        session = self._session_of(client)
        assert session is not None
        self.publish(session, now)
