"""Sessions that come from elsewhere: from the journal at the start, from another node with their client."""

from collections import deque
from collections.abc import Callable, Set
from dataclasses import replace
from math import inf
from zlib import crc32

from weft.broker.distribution import Distribution
from weft.broker.effect import ALL, SessionArrived, SessionSubscribed
from weft.broker.figure import Figures
from weft.broker.issuer import Issuer
from weft.broker.outbox import Outbox
from weft.broker.publication import Delivery, Origin
from weft.broker.record import Done, SessionLeft, Unsubscribed
from weft.broker.recovery import Kept, Recovery, restored, session_records
from weft.broker.retained import RetainedMessages
from weft.broker.session import IDENTIFIERS, LATE, Session
from weft.broker.sessions import Sessions
from weft.broker.subscriptions import Subscriptions
from weft.broker.will import Wills
from weft.wire.mqtt.packet import Version
from weft.wire.mqtt.topic import is_shared, matches, split_shared

MANY = 2**62  # no bound on what a session has brought along


class Restoration:
    def __init__(
        self,
        outbox: Outbox,
        sessions: Sessions,
        subscriptions: Subscriptions,
        distribution: Distribution,
        retained: RetainedMessages,
        wills: Wills,
        figures: Figures,
        number: Callable[[], int],  # of the next publication that the journal keeps
        issuer: Issuer | None,  # in a network
    ) -> None:
        self._outbox = outbox
        self._sessions = sessions
        self._subscriptions = subscriptions
        self._distribution = distribution
        self._retained = retained
        self._wills = wills
        self._figures = figures
        self._number = number
        self._issuer = issuer

    def restore(self, recovery: Recovery, now: float) -> None:
        """All that a journal had. Clients that were connected have been away since now."""
        for publication in recovery.retained.values():
            self._retained.recover(publication)
        for client, kept in recovery.sessions.items():
            if kept.expiry:
                self._make(client, kept).unsure = True
        for session in list(self._sessions):
            self._await_return(session, now)

    def take_in(self, event: SessionArrived, now: float) -> list[Session]:
        """A session of another node. Where the client has one here, what it had there comes before what it has here."""
        recovery = Recovery()
        recovery.replay(event.records)
        taken = []
        for client, kept in recovery.sessions.items():
            session = self._sessions.get(client)
            is_late = session is not None and event.known is not None
            if session is None:
                self._renumber(kept)
                session = self._make(client, kept)
                for record in session_records(session):
                    self._outbox.append_encoded(record)
                self._await_return(session, now)
            else:
                self._give_up(session, event.old - kept.subscriptions.keys())
                self._merge_subscriptions(session, kept, event.known)
                waiting = (one for one in kept.deliveries.values() if is_late or not one.packet_id)
                self._give_way(session, event.had - {one.publication.origin for one in waiting})
                self._merge(session, kept, event.had, is_late, now)
            if not is_late:
                _join_receipts(session, kept, self._outbox.position)
            session.had |= dict.fromkeys(event.had, inf)
            session.coming -= event.had
            session.gathering |= event.partial
            taken.append(session)
        return taken

    def foresee(self, session: Session, given: frozenset[Origin]) -> None:
        """The client was sent these where its session comes from: of what waits here they do not wait any more."""
        session.coming |= given
        for one in session.queue.take_all():
            if one.publication.origin in given:
                self._figures.waiting -= 1
                session.had.pop(one.publication.origin, None)
                self._outbox.append(Done(session.client, one.publication.number))
            else:
                session.queue.offer(one, MANY, MANY)

    def number_waiting(self, session: Session) -> None:
        """Number what waits for a session that leaves; a journal would have.

        Others may wait for the same, behind something else: so each session has copies of its own.
        """
        for delivery in [*session.inflight.values(), *session.queue]:
            delivery.publication = replace(delivery.publication, number=self._number())

    def _merge_subscriptions(self, session: Session, kept: Kept, known: frozenset[str] | None) -> None:
        """Subscriptions of the other node, unless the client has been here since: then what it did here counts."""
        if known is None:
            self._give_up(session, session.subscriptions.keys() - kept.subscriptions.keys())
        if known is not None and ALL in known:
            return
        for pattern, one in kept.subscriptions.items():
            before = session.subscriptions.get(pattern)
            if (known is None and before != one) or (known is not None and before is None and pattern not in known):
                self._subscriptions.add(session, one)
                self._outbox.add(SessionSubscribed(session.client, pattern, one))

    def _give_up(self, session: Session, patterns: Set[str]) -> None:
        """End subscriptions that the client has given up elsewhere."""
        for pattern in sorted(patterns & session.subscriptions.keys()):
            self._subscriptions.remove(session, pattern)
            self._outbox.append(Unsubscribed(session.client, pattern))
            self._outbox.add(SessionSubscribed(session.client, pattern, None))

    def _give_way(self, session: Session, there: frozenset[Origin]) -> None:
        """What was under way here, and the client was given at the other node, is not sent again."""
        for packet_id, delivery in list(session.inflight.items()):
            if delivery.publication.origin in there:
                session.had.pop(delivery.publication.origin, None)
                if delivery.qos == 2:
                    delivery.released = True  # it may know it by this identifier
                else:
                    del session.inflight[packet_id]
                    self._outbox.append(Done(session.client, delivery.publication.number))

    def _merge(self, session: Session, kept: Kept, there: frozenset[Origin], is_late: bool, now: float) -> None:
        """What waits here has come while the session was on its way, some of it perhaps to both nodes.

        What it has been unsubscribed from meanwhile goes to another member, where it is of a shared subscription.
        """
        waiting = session.queue.take_all()
        self._figures.waiting -= len(waiting)
        for one in waiting:
            self._outbox.append(Done(session.client, one.publication.number))
        had = session.had.keys() - {one.publication.origin for one in waiting if one.publication.origin in there}
        waiting = [one for one in waiting if one.publication.origin not in there]
        self._renumber(kept)
        _join_receipts(session, kept, LATE if is_late else self._outbox.position)
        rest = self._reopen(session, kept, had)
        rest += [replace(one, publication=replace(one.publication, number=self._number())) for one in waiting]
        left = []
        for one in rest:
            if _is_wanted(session, one):
                session.queue.offer(replace(one, packet_id=0), MANY, MANY)
            else:
                left.append(one)
        session.last = max([session.last, *(one.publication.number for one in session.queue)])
        self._figures.waiting += len(session.queue)
        for record in session_records(session):
            self._outbox.append_encoded(record)
        for one in left:
            self._distribution.bequeath(one, now)

    def _reopen(self, session: Session, kept: Kept, had: Set[Origin | None]) -> list[Delivery]:
        """Go on with what was sent and not acknowledged; what is left waits.

        What the client has been sent here as well is not sent again. Of QoS 2 it is released, for the client may know
        it by the identifier that it had there.
        """
        rest, again = [], []
        for delivery in [*kept.sent.values(), *(one for one in kept.deliveries.values() if not one.packet_id)]:
            is_sent_here = delivery.publication.origin is not None and delivery.publication.origin in had
            delivery.released |= is_sent_here and delivery.qos == 2
            is_open = delivery.packet_id and delivery.packet_id not in session.inflight
            if is_open and (delivery.released or not is_sent_here):
                session.inflight[delivery.packet_id] = delivery
                session.last = max(session.last, delivery.publication.number)
                again.append(delivery)
            elif not delivery.released and not is_sent_here:
                rest.append(delivery)
        if session.connection is not None:
            session.resend = deque([*(session.resend or ()), *again])
        return rest

    def _make(self, client: str, kept: Kept) -> Session:
        session = self._sessions.create(client, Version(kept.version), kept.expiry)
        restored(kept, session)
        if not session.inflight:  # there may be some at the node that it comes from: other identifiers than those
            session.next_id = self._first_identifier(client)
        self._figures.waiting += len(session.queue)
        for one in kept.subscriptions.values():
            self._subscriptions.add(session, one)
        return session

    def _first_identifier(self, client: str) -> int:
        """An identifier to begin with, which no other node would: the client may know some of theirs still."""
        incarnation = self._issuer.incarnation if self._issuer is not None else 0
        return 1 + crc32(incarnation.to_bytes(8) + client.encode(), self._number()) % IDENTIFIERS

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


def _join_receipts(session: Session, kept: Kept, position: int) -> None:
    for packet_id, one in kept.receipts(position).items():
        session.received[packet_id] = one.joined(session.received.get(packet_id, one))


def _is_wanted(session: Session, delivery: Delivery) -> bool:
    """Whether the session still holds a filter that matches; it may have been unsubscribed from meanwhile."""
    name = delivery.publication.topic.decode()
    for pattern in session.subscriptions:
        parts = split_shared(pattern) if is_shared(pattern) else None
        if matches(parts[1] if parts is not None else pattern, name):
            return True
    return False
