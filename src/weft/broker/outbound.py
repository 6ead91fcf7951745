"""Deliveries to a client: QoS 0 at once or not at all, QoS 1 and 2 until the client has acknowledged them.

    QoS 1  PUBLISH ->  <- PUBACK                            at least once
    QoS 2  PUBLISH ->  <- PUBREC  PUBREL ->  <- PUBCOMP     exactly once

What one event may bring a connection has a bound: publications of QoS 0 beyond that are dropped, others wait for its
turn (backlog.py).

At most `window` publications are open on a connection, the others wait in the session's queue. A session that is
resumed gets first, in the order of the first time and with their identifiers, what it has not acknowledged: PUBLISH
with DUP, or PUBREL where PUBREC had come.

Journal, for persistent sessions: a PUBLISH of QoS 2 waits until its identifier is on disk, for sent again under another
it would be received twice. Likewise PUBREL waits until it is on disk that PUBREC has come: it lets the client forget
the identifier, and PUBLISH, sent again under it, would be new. Of QoS 1 the identifier is only noted. PUBACK and
PUBCOMP are noted and waited for by nobody: forgotten in a crash, the handshake is repeated from where the journal has
it.
"""

from collections import deque

from weft.broker.alias import OutboundAliases
from weft.broker.backlog import Backlog
from weft.broker.connection import Connection
from weft.broker.figure import Figures
from weft.broker.outbox import LARGE, Outbox
from weft.broker.parameters import Parameters
from weft.broker.publication import Delivery, Publication, head
from weft.broker.record import Done, Released, Sent
from weft.broker.session import Session
from weft.wire.mqtt.packet import Pubrel, Version
from weft.wire.mqtt.property import Property
from weft.wire.mqtt.reason import Reason
from weft.wire.mqtt.writer import acknowledgement
from weft.wire.mqtt.writer import encode as encode_packet

PUBREL = 0x62
MADE = 1 << 24  # bytes that one event may bring a connection, and one packet more


class Outbound:
    def __init__(self, outbox: Outbox, backlog: Backlog, figures: Figures, parameters: Parameters) -> None:
        self._outbox = outbox
        self._backlog = backlog
        self._figures = figures
        self._parameters = parameters

    def offer(self, session: Session, delivery: Delivery) -> bool:
        """Put a delivery of QoS 1 or 2 into the session's queue, if there is room. `fill` sends it."""
        if session.ended:
            return False
        room = self._parameters.queue_bytes - session.will_size
        if session.queue.offer(delivery, self._parameters.queue_messages, room):
            self._figures.waiting += 1
            return True
        self._figures.dropped += 1
        return False

    def pass_by(
        self, session: Session, publication: Publication, retain: bool, ids: tuple[int, ...], now: float
    ) -> None:
        """Send a publication of QoS 0, if the client is there and keeps up."""
        connection = session.connection
        if connection is None or connection.stuck or connection.made > MADE:
            self._figures.dropped += connection is not None
            return
        self._write(connection, Delivery(publication, 0, retain, ids), now, dup=False)

    def fill(self, session: Session, now: float) -> None:
        """Send what is due, as far as window and connection allow."""
        connection = session.connection
        if connection is None or connection.closing or session.gathering:
            return
        while session.resend and self._has_room(connection):
            self._send_again(session, connection, session.resend.popleft(), now)
        queue = session.queue
        while queue and self._has_room(connection):
            delivery = queue.take()
            self._figures.waiting -= 1
            self._send_first(session, connection, delivery, now)
        is_giving = connection.given is not None and self.can_give(session, connection)
        if is_giving or (connection.made > MADE and (queue or session.resend)):
            self._backlog.add(connection)

    def _has_room(self, connection: Connection) -> bool:
        """Whether it may be sent one more now: by its window, its driver, and what this event has brought it."""
        is_full = connection.outstanding >= connection.window or connection.made > MADE
        return not is_full and not connection.congested

    def can_give(self, session: Session, connection: Connection) -> bool:
        """Whether nothing waits, and one more would not either."""
        return not session.queue and not session.resend and not session.gathering and self._has_room(connection)

    def resume(self, session: Session, now: float) -> None:
        session.resend = deque(session.inflight.values())
        self.fill(session, now)

    def acknowledge(self, session: Session, packet_id: int, now: float) -> None:
        """PUBACK."""
        delivery = session.inflight.get(packet_id)
        if delivery is not None and delivery.qos == 1:
            self._finish(session, delivery, now)

    def receive(self, session: Session, packet_id: int, reason: int, now: float) -> None:
        """PUBREC."""
        connection = session.connection
        assert connection is not None
        delivery = session.inflight.get(packet_id)
        if delivery is None or delivery.qos != 2:
            if reason < Reason.UNSPECIFIED_ERROR:
                self._answer_unknown(connection, packet_id)
        elif reason >= Reason.UNSPECIFIED_ERROR:
            self._finish(session, delivery, now)
        else:
            self._release(session, connection, delivery)

    def complete(self, session: Session, packet_id: int, now: float) -> None:
        """PUBCOMP."""
        delivery = session.inflight.get(packet_id)
        if delivery is not None and delivery.released:
            self._finish(session, delivery, now)

    def _release(self, session: Session, connection: Connection, delivery: Delivery) -> None:
        if not delivery.released:
            delivery.released = True
            if session.persistent:
                self._outbox.append(Released(session.client, delivery.publication.number))
        self._say_release(session, connection, delivery)

    def _say_release(self, session: Session, connection: Connection, delivery: Delivery) -> None:
        send = self._outbox.send_durable if session.persistent else self._outbox.send
        send(connection, acknowledgement(PUBREL, delivery.packet_id))
        self._figures.packets_sent += 1

    def _answer_unknown(self, connection: Connection, packet_id: int) -> None:
        assert connection.version is not None
        data = encode_packet(Pubrel(packet_id, Reason.PACKET_IDENTIFIER_NOT_FOUND), connection.version)
        self._outbox.send(connection, data)
        self._figures.packets_sent += 1

    def _finish(self, session: Session, delivery: Delivery, now: float) -> None:
        assert session.connection is not None
        self._close(session, session.connection, delivery)
        if session.queue or session.resend or session.connection.given:
            self.fill(session, now)

    def _close(self, session: Session, connection: Connection, delivery: Delivery) -> None:
        del session.inflight[delivery.packet_id]
        if connection.outstanding:
            connection.outstanding -= 1
        if session.persistent:
            self._outbox.append(Done(session.client, delivery.publication.number))

    def _send_first(self, session: Session, connection: Connection, delivery: Delivery, now: float) -> None:
        publication = delivery.publication
        if publication.expires is not None and publication.expires <= now:
            self._skip(session, delivery)
            return
        delivery.packet_id = session.new_identifier()
        if not self._write(connection, delivery, now, dup=False):
            self._skip(session, delivery)
            return
        session.inflight[delivery.packet_id] = delivery
        connection.outstanding += 1
        if session.persistent:
            self._outbox.append(Sent(session.client, publication.number, delivery.packet_id))
            delivery.position = self._outbox.position
            if delivery.qos == 2:
                connection.after = delivery.position

    def _skip(self, session: Session, delivery: Delivery) -> None:
        """Expired, or too large for this client: as if it had been delivered."""
        if session.persistent:
            self._outbox.append(Done(session.client, delivery.publication.number))

    def _send_again(self, session: Session, connection: Connection, delivery: Delivery, now: float) -> None:
        if session.inflight.get(delivery.packet_id) is not delivery:
            return
        connection.outstanding += 1
        if delivery.released:
            self._say_release(session, connection, delivery)
        elif self._write(connection, delivery, now, dup=True):
            if session.persistent and delivery.qos == 2:
                connection.after = self._outbox.position
        else:
            self._close(session, connection, delivery)

    def _write(self, connection: Connection, delivery: Delivery, now: float, dup: bool) -> bool:
        """Whether the PUBLISH is small enough for the client."""
        version = connection.version
        assert version is not None
        payload = delivery.publication.payload
        head = delivery.head(version, now, dup)
        if connection.outbound_aliases is not None and len(head) + len(payload) + 3 <= connection.largest:
            head = _aliased(head, connection.outbound_aliases, delivery, version, now, dup)
        if len(head) + len(payload) > connection.largest:
            self._figures.dropped += 1
            return False
        if len(payload) < LARGE:
            self._outbox.send(connection, head + payload)
        else:
            self._outbox.send(connection, head)
            self._outbox.send(connection, payload)
        self._figures.packets_sent += 1
        self._figures.publications_sent += 1
        self._figures.publication_bytes_sent += len(payload)
        return True


def _aliased(
    whole: bytes, aliases: OutboundAliases, delivery: Delivery, version: Version, now: float, dup: bool
) -> bytes:
    one = delivery.publication
    topic, alias = aliases.shorten(one.topic)
    if not alias:
        return whole
    properties = {Property.TOPIC_ALIAS: alias, **one.properties}
    aliased = Publication(one.topic, one.payload, one.qos, one.retain, properties, one.expires)
    return head(
        aliased, version, now, delivery.qos, delivery.retain, dup, delivery.packet_id, delivery.identifiers, topic
    )
