"""Sessions that come from elsewhere: from the journal at the start, from another node with their client."""

from collections.abc import Callable, Iterable

from weft.broker.figure import Figures
from weft.broker.outbox import Outbox
from weft.broker.record import SessionLeft
from weft.broker.recovery import Kept, Recovery, restored, session_records
from weft.broker.retained import RetainedMessages
from weft.broker.session import Session
from weft.broker.sessions import Sessions
from weft.broker.subscriptions import Subscriptions
from weft.broker.will import Wills
from weft.wire.mqtt.packet import Version


class Restoration:
    def __init__(
        self,
        outbox: Outbox,
        sessions: Sessions,
        subscriptions: Subscriptions,
        retained: RetainedMessages,
        wills: Wills,
        figures: Figures,
        number: Callable[[], int],  # of the next publication that the journal keeps
    ) -> None:
        self._outbox = outbox
        self._sessions = sessions
        self._subscriptions = subscriptions
        self._retained = retained
        self._wills = wills
        self._figures = figures
        self._number = number

    def restore(self, recovery: Recovery, now: float) -> None:
        """All that a journal had. Clients that were connected have been away since now."""
        for publication in recovery.retained.values():
            self._retained.restore(publication)
        for client, kept in recovery.sessions.items():
            if kept.expiry:
                self._make(client, kept)
        for session in list(self._sessions):
            self._await_return(session, now)

    def take_in(self, records: Iterable[bytes], now: float) -> None:
        """A session of another node, unless the client has one here."""
        recovery = Recovery()
        recovery.replay(records)
        for client, kept in recovery.sessions.items():
            if self._sessions.get(client) is None:
                self._renumber(kept)
                session = self._make(client, kept)
                for record in session_records(session):
                    self._outbox.append_encoded(record)
                self._await_return(session, now)

    def _make(self, client: str, kept: Kept) -> Session:
        session = self._sessions.create(client, Version(kept.version), kept.expiry)
        restored(kept, session)
        self._figures.waiting += len(session.queue)
        for one in kept.subscriptions.values():
            self._subscriptions.add(session, one)
        return session

    def _await_return(self, session: Session, now: float) -> None:
        if session.left is None:
            session.left = now
            self._outbox.append(SessionLeft(session.client, now, session.expiry))
        self._wills.arm(session, now)
        self._sessions.await_return(session)

    def _renumber(self, kept: Kept) -> None:
        """Numbers of this node's, for those that it came with were the other's."""
        deliveries, sent = list(kept.deliveries.values()), list(kept.sent.values())
        for delivery in deliveries:
            delivery.publication.number = kept.last = self._number()
        kept.deliveries = {one.publication.number: one for one in deliveries}
        kept.sent = {one.publication.number: one for one in sent}
