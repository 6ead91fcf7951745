"""Publications from a client.

    QoS 1  -> PUBLISH  PUBACK <-
    QoS 2  -> PUBLISH  PUBREC <-  -> PUBREL  PUBCOMP <-

A publication of QoS 2 is passed on when it first comes; its identifier is remembered until the client releases it, and
what comes under it meanwhile is the same publication again. PUBACK, PUBREC and PUBCOMP wait for the journal: each lets
the client forget what only the journal then knows.
"""

from weft.broker import capability
from weft.broker.alias import InboundAliases
from weft.broker.connection import Connection
from weft.broker.distribution import Distribution
from weft.broker.effect import Repeated
from weft.broker.figure import Figures
from weft.broker.outbox import PUBLISHING, Outbox
from weft.broker.parameters import Parameters
from weft.broker.permission import Permission
from weft.broker.publication import Publication
from weft.broker.record import ReceiptCleared, ReceiptNoted
from weft.broker.session import LATE, Receipt, Session
from weft.wire.mqtt.packet import Acknowledgement, Puback, Pubcomp, Publish, Pubrec, Version
from weft.wire.mqtt.property import Properties, Property
from weft.wire.mqtt.reason import PacketError, Reason, protocol_error
from weft.wire.mqtt.writer import encode

NOT_PASSED_ON = (Property.TOPIC_ALIAS, Property.MESSAGE_EXPIRY_INTERVAL, Property.WILL_DELAY_INTERVAL)


class Inbound:
    def __init__(
        self,
        outbox: Outbox,
        distribution: Distribution,
        figures: Figures,
        parameters: Parameters,
        permission: Permission,
    ) -> None:
        self._outbox = outbox
        self._distribution = distribution
        self._figures = figures
        self._parameters = parameters
        self._permission = permission
        self.journal = permission.journal

    def publish(self, connection: Connection, packet: Publish, now: float) -> None:
        session = connection.session
        assert session is not None
        self._figures.publications_received += 1
        self._figures.publication_bytes_received += len(packet.payload)
        topic = self._topic(connection, packet)
        self._check(topic, packet)
        publication = _make_publication(topic, packet, session.client, now)
        connection.said |= packet.qos == 2
        if packet.qos == 2 and self._is_known(session, packet, publication):
            self._confirm(session, packet.packet_id, publication)
            if self._parameters.linked:
                self._outbox.add(Repeated(connection.number, session.client))
            self._answer(connection, Pubrec(packet.packet_id), session.persistent)
        elif (refusal := self._permission.refusal(publication, connection.allowed)) is not None:
            self._refuse(connection, packet, refusal, topic)
        else:
            self._take(connection, session, packet, publication, now)

    def release(self, connection: Connection, packet_id: int) -> None:
        """PUBREL."""
        session = connection.session
        assert session is not None
        reason = Reason.SUCCESS
        if packet_id in session.received:
            del session.received[packet_id]
            if session.persistent:
                self._outbox.append(ReceiptCleared(session.client, packet_id))
        else:
            reason = Reason.PACKET_IDENTIFIER_NOT_FOUND
        self._answer(connection, Pubcomp(packet_id, reason), session.persistent)

    def note(self, session: Session, received: tuple[tuple[int, int], ...], late: bool) -> None:
        """What has come under these identifiers is known already."""
        for packet_id, content in received:
            before = session.received.get(packet_id)
            is_noted = before is not None and late and before.may_be(content)
            if before is None or (before.position == LATE and not is_noted):
                self._outbox.append(ReceiptNoted(session.client, packet_id, content, late))
                noted = Receipt(LATE if late else self._outbox.position, content)
                session.received[packet_id] = noted.joined(before or noted)

    def outdate(self, session: Session) -> None:
        """What the client has not released here it may have released elsewhere since."""
        for packet_id, receipt in session.received.items():
            if receipt.position != LATE:
                self._outbox.append(ReceiptNoted(session.client, packet_id, receipt.content, late=True))
            session.received[packet_id] = receipt._replace(position=LATE)

    def _topic(self, connection: Connection, packet: Publish) -> str:
        if Property.TOPIC_ALIAS not in packet.properties:
            return packet.topic
        if connection.aliases is None:
            connection.aliases = InboundAliases(self._parameters.topic_aliases)
        return connection.aliases.resolve(packet)

    def _check(self, topic: str, packet: Publish) -> None:
        if Property.SUBSCRIPTION_IDENTIFIER in packet.properties:
            raise protocol_error("A client's PUBLISH has a subscription identifier.")
        capability.require(self._parameters, packet)
        if topic.count("/") >= self._parameters.topic_levels:
            most = self._parameters.topic_levels
            raise PacketError(Reason.TOPIC_NAME_INVALID, f"A topic has more than {most} levels.")

    def _refuse(self, connection: Connection, packet: Publish, reason: Reason, topic: str) -> None:
        """QoS 0 is dropped. Before MQTT 5 there is no refusal but to close; what is written to $SYS is ignored."""
        self._figures.dropped += 1
        if reason is Reason.NOT_AUTHORIZED:
            self._outbox.note_refusal(connection, connection.client, PUBLISHING, f"publish on {topic}")
        made = Puback if packet.qos == 1 else Pubrec
        if not packet.qos:
            return
        if connection.version is Version.V5:
            self._answer(connection, made(packet.packet_id, reason), promised=False)
        elif reason is Reason.NOT_AUTHORIZED:
            self._answer(connection, made(packet.packet_id), promised=False)
        else:
            raise PacketError(reason, "There is no room to keep the publication.")

    def _take(
        self, connection: Connection, session: Session, packet: Publish, publication: Publication, now: float
    ) -> None:
        before = self._outbox.position
        if packet.qos == 2:
            self._bound(connection, session)
        receipt = packet.packet_id if packet.qos == 2 and session.persistent else 0
        matched = self._distribution.accept(publication, now, receipt)
        if not packet.qos:
            return
        if packet.qos == 2:
            session.received[packet.packet_id] = Receipt(self._outbox.position, publication.content())
            session.doubted -= {packet.packet_id}
        is5 = connection.version is Version.V5
        reason = Reason.NO_MATCHING_SUBSCRIBERS if is5 and not matched else Reason.SUCCESS
        made = Puback if packet.qos == 1 else Pubrec
        promised = self._outbox.position > before or session.persistent
        self._answer(connection, made(packet.packet_id, reason), promised)

    def _is_known(self, session: Session, packet: Publish, publication: Publication) -> bool:
        """Whether it has come before, as far as is known.

        In a network the client may have released an identifier at another node, of which this one hears later, or
        has not heard, and use it for something else: if it says the same again, it says so, and it is the same.
        """
        receipt = session.received.get(packet.packet_id)
        if receipt is None:
            return False
        is_doubted = receipt.position == LATE or (self._parameters.linked and packet.packet_id in session.doubted)
        return not is_doubted or (packet.dup and receipt.may_be(publication.content()))

    def _confirm(self, session: Session, packet_id: int, publication: Publication) -> None:
        """The client has not released it: it says it again."""
        session.doubted -= {packet_id}
        if session.received[packet_id].position == LATE:
            content = publication.content()
            self._outbox.append(ReceiptNoted(session.client, packet_id, content))
            session.received[packet_id] = Receipt(self._outbox.position, content)

    def _bound(self, connection: Connection, session: Session) -> None:
        most = self._parameters.receive_maximum
        if connection.version is not Version.V5 or len(session.received) < most:
            return
        if sum(one.position != LATE for one in session.received.values()) >= most:
            raise PacketError(Reason.RECEIVE_MAXIMUM_EXCEEDED, f"More than {most} publications are not released.")

    def _answer(self, connection: Connection, packet: Acknowledgement, promised: bool) -> None:
        assert connection.version is not None
        self._figures.packets_sent += 1
        send = self._outbox.send_durable if promised else self._outbox.send
        send(connection, encode(packet, connection.version))


def _make_publication(topic: str, packet: Publish, publisher: str, now: float) -> Publication:
    properties, expires = passed_on(packet.properties, now)
    return Publication(topic.encode(), packet.payload, packet.qos, packet.retain, properties, expires, publisher)


def passed_on(properties: Properties, now: float) -> tuple[Properties, float | None]:
    """The properties that receivers get, and when the publication expires."""
    if not properties:
        return properties, None
    expiry = properties.get(Property.MESSAGE_EXPIRY_INTERVAL)
    kept = {one: value for one, value in properties.items() if one not in NOT_PASSED_ON}
    return kept, None if expiry is None else now + expiry
