"""SUBSCRIBE and UNSUBSCRIBE: what is granted, what is answered, and the retained messages that follow.

A packet may have a hundred thousand filters, so both are handled in steps (reading.py). What a filter leads to begins
before the packet is answered, and is answered for when all are done.
"""

from collections.abc import Iterable, Iterator, Sized

from weft.access.guard import Guard
from weft.broker.connection import Connection
from weft.broker.effect import FilterAsked, Granted, SessionSubscribed
from weft.broker.figure import Figures
from weft.broker.giving import Giving
from weft.broker.outbound import Outbound
from weft.broker.outbox import SUBSCRIBING, Outbox
from weft.broker.parameters import Parameters
from weft.broker.record import Subscribed, Unsubscribed
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
        giving: Giving,
        outbound: Outbound,
        figures: Figures,
        parameters: Parameters,
        guard: Guard,
    ) -> None:
        self._outbox = outbox
        self._subscriptions = subscriptions
        self._giving = giving
        self._outbound = outbound
        self._figures = figures
        self._parameters = parameters
        self._guard = guard

    def subscribe(self, connection: Connection, packet: Subscribe, now: float) -> Iterator[int]:
        """Answer SUBSCRIBE, in steps."""
        session = connection.session
        assert session is not None
        _require_room(connection, packet.requests)
        identifier = packet.properties.get(Property.SUBSCRIPTION_IDENTIFIER, (0,))[0]
        wanted: list[Subscription] = []  # with what is retained
        codes: list[int] = []
        for one in packet.requests:
            refusal = self._refusal(connection, session, one)
            qos = min(one.qos, self._parameters.maximum_qos)
            if refusal is None:
                made = _subscription(connection, one, qos, identifier)
                if self._add(connection, session, made):
                    wanted.append(made)
            codes.append(qos if refusal is None else refusal)
            _require_room(connection, codes)
            yield 1
        if session.persistent:
            for made in wanted:
                if made.qos:
                    yield from self._giving.queue(session, made, now)
        if connection.version is not Version.V5:
            codes = [min(code, SUBACK_FAILURE) for code in codes]
        if self._parameters.linked:
            self._outbox.add(Granted(connection.number))
        self._answer(connection, session, Suback(packet.packet_id, tuple(codes)))
        for made in wanted:
            self._giving.begin(connection, made, now)
            yield 1
        self._outbound.fill(session, now)

    def unsubscribe(self, connection: Connection, packet: Unsubscribe, now: float) -> Iterator[int]:
        """Answer UNSUBSCRIBE, in steps."""
        session = connection.session
        assert session is not None
        _require_room(connection, packet.filters)
        codes = []
        for pattern in packet.filters:
            self._giving.end(connection, pattern)
            had = self.end(session, pattern)
            codes.append(Reason.SUCCESS if had else Reason.NO_SUBSCRIPTION_EXISTED)
            _require_room(connection, codes)
            yield 1
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
        if request.filter in session.subscriptions:
            return None
        has_room = not full and self._subscriptions.have_room(session, request.filter)
        if not has_room or not self._subscriptions.may_hold(session, request.filter):
            return Reason.QUOTA_EXCEEDED
        return None

    def _add(self, connection: Connection, session: Session, made: Subscription) -> bool:
        """Whether what is retained goes with it. What is held already costs nothing."""
        before = session.subscriptions.get(made.filter)
        if made != before:
            if session.persistent:
                self._outbox.append(Subscribed(session.client, made.filter, made.options, made.identifier))
            self._subscriptions.add(session, made)
        if session.persistent:
            self._tell(session, made.filter, made)
        if self._parameters.linked:
            self._outbox.add(FilterAsked(connection.number, made.filter, session.persistent))
        is_wanted = made.retain_handling == 0 or (made.retain_handling == 1 and before is None)
        return is_wanted and not is_shared(made.filter)

    def _tell(self, session: Session, filter_: str, made: Subscription | None) -> None:
        if self._parameters.linked:
            self._outbox.add(SessionSubscribed(session.client, filter_, made))

    def _answer(self, connection: Connection, session: Session, packet: Packet) -> None:
        assert connection.version is not None
        self._figures.packets_sent += 1
        send = self._outbox.send_durable if session.persistent else self._outbox.send
        send(connection, encode(packet, connection.version))


def _require_room(connection: Connection, answered: Iterable[object]) -> None:
    """Refuse what would be answered with more than the client takes, as soon as that can be told."""
    codes = len(answered) if isinstance(answered, Sized) else 0
    body = 3 + codes  # a packet identifier, and no properties
    if 1 + len(varint(body)) + body > connection.largest:
        raise PacketError(Reason.PACKET_TOO_LARGE, "The answer would be larger than the client takes.")


def _subscription(connection: Connection, request: Request, qos: int, identifier: int) -> Subscription:
    """What is subscribed to. A bridge has no word for no local, and would give its own clients what they said twice."""
    no_local = request.no_local or (connection.bridge and not is_shared(request.filter))
    as_published = request.retain_as_published or connection.bridge
    return Subscription(request.filter, qos, no_local, as_published, request.retain_handling, identifier)
