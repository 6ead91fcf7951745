"""SUBSCRIBE and UNSUBSCRIBE: what is granted, what is answered, and the retained messages that follow."""

from weft.access.guard import Guard
from weft.broker.connection import Connection
from weft.broker.distribution import Distribution
from weft.broker.effect import FilterAsked, SessionSubscribed
from weft.broker.figure import Figures
from weft.broker.outbox import SUBSCRIBING, Outbox
from weft.broker.parameters import Parameters
from weft.broker.record import Subscribed, Unsubscribed
from weft.broker.retained import RetainedMessages
from weft.broker.session import Session
from weft.broker.subscription import Subscription
from weft.broker.subscriptions import Subscriptions
from weft.wire.mqtt.field import varint
from weft.wire.mqtt.packet import Packet, Request, Suback, Subscribe, Unsuback, Unsubscribe, Version
from weft.wire.mqtt.property import Property
from weft.wire.mqtt.reason import SUBACK_FAILURE, PacketError, Reason
from weft.wire.mqtt.topic import is_shared
from weft.wire.mqtt.writer import encode


class Subscribing:
    def __init__(
        self,
        outbox: Outbox,
        subscriptions: Subscriptions,
        retained: RetainedMessages,
        distribution: Distribution,
        figures: Figures,
        parameters: Parameters,
        guard: Guard,
    ) -> None:
        self._outbox = outbox
        self._subscriptions = subscriptions
        self._retained = retained
        self._distribution = distribution
        self._figures = figures
        self._parameters = parameters
        self._guard = guard

    def subscribe(self, connection: Connection, packet: Subscribe, now: float) -> None:
        session = connection.session
        assert session is not None
        _require_room(connection, len(packet.requests))
        identifier = packet.properties.get(Property.SUBSCRIPTION_IDENTIFIER, (0,))[0]
        granted: list[tuple[Subscription, bool]] = []
        codes: list[int] = []
        for one in packet.requests:
            refusal = self._refusal(connection, session, one)
            qos = min(one.qos, self._parameters.maximum_qos)
            if refusal is None:
                made = _subscription(connection, one, qos, identifier)
                granted.append((made, self._add(session, made)))
            codes.append(qos if refusal is None else refusal)
        if connection.version is not Version.V5:
            codes = [min(code, SUBACK_FAILURE) for code in codes]
        self._answer(connection, session, Suback(packet.packet_id, tuple(codes)))
        for made, fresh in granted:
            self._send_retained(session, made, fresh, now)

    def unsubscribe(self, connection: Connection, packet: Unsubscribe) -> None:
        session = connection.session
        assert session is not None
        _require_room(connection, len(packet.filters))
        codes = []
        for pattern in packet.filters:
            had = self.end(session, pattern)
            codes.append(Reason.SUCCESS if had else Reason.NO_SUBSCRIPTION_EXISTED)
        self._answer(connection, session, Unsuback(packet.packet_id, tuple(codes)))

    def end(self, session: Session, pattern: str) -> bool:
        """End a subscription. Whether there was one."""
        had = self._subscriptions.remove(session, pattern)
        if had and session.persistent:
            self._outbox.append(Unsubscribed(session.client, pattern))
            self._tell(session, pattern, None)
        return had

    def _refusal(self, connection: Connection, session: Session, request: Request) -> Reason | None:
        if not self._guard.may_read(session.client, request.filter):
            self._outbox.note_refusal(connection, session.client, SUBSCRIBING, f"subscribe to {request.filter}")
            return Reason.NOT_AUTHORIZED
        if request.filter.count("/") >= self._parameters.topic_levels:
            return Reason.TOPIC_FILTER_INVALID
        full = len(session.subscriptions) >= self._parameters.subscriptions
        if full and request.filter not in session.subscriptions:
            return Reason.QUOTA_EXCEEDED
        return None

    def _add(self, session: Session, made: Subscription) -> bool:
        if session.persistent:
            self._outbox.append(Subscribed(session.client, made.filter, made.options, made.identifier))
            self._tell(session, made.filter, made)
        fresh = self._subscriptions.add(session, made)
        if self._parameters.linked:
            self._outbox.add(FilterAsked(made.filter))
        return fresh

    def _tell(self, session: Session, filter_: str, made: Subscription | None) -> None:
        if self._parameters.linked:
            self._outbox.add(SessionSubscribed(session.client, filter_, made))

    def _send_retained(self, session: Session, made: Subscription, fresh: bool, now: float) -> None:
        if is_shared(made.filter) or made.retain_handling == 2 or (made.retain_handling == 1 and not fresh):
            return
        for publication in self._retained.find(made.filter, now):
            self._distribution.to_session(session, made, publication, now)

    def _answer(self, connection: Connection, session: Session, packet: Packet) -> None:
        assert connection.version is not None
        self._figures.packets_sent += 1
        send = self._outbox.send_durable if session.persistent else self._outbox.send
        send(connection, encode(packet, connection.version))


def _require_room(connection: Connection, codes: int) -> None:
    """Refuse what would be answered with more than the client takes, before anything of it is done."""
    body = 3 + codes  # a packet identifier, and no properties
    if 1 + len(varint(body)) + body > connection.largest:
        raise PacketError(Reason.PACKET_TOO_LARGE, "The answer would be larger than the client takes.")


def _subscription(connection: Connection, request: Request, qos: int, identifier: int) -> Subscription:
    """What is subscribed to. A bridge has no word for no local, and would give its own clients what they said twice."""
    no_local = request.no_local or (connection.bridge and not is_shared(request.filter))
    as_published = request.retain_as_published or connection.bridge
    return Subscription(request.filter, qos, no_local, as_published, request.retain_handling, identifier)
