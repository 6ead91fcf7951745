"""CONNECT and its answer: who is let in, with which session, under which limits.

Nothing is sent to a client that is larger than it takes [MQTT-3.1.2-24]. Whoever takes CONNACK takes all other
packets, which are shorter, but for three: SUBACK and UNSUBACK, which are refused (subscribing.py), and PUBLISH, which
is left out (outbound.py).
"""

from hashlib import sha256

from weft.access.guard import Guard
from weft.access.name import parted, session_name
from weft.broker import capability
from weft.broker.alias import OutboundAliases
from weft.broker.connection import NO_LIMIT, Connection
from weft.broker.figure import Figures
from weft.broker.outbox import Outbox
from weft.broker.parameters import FOREVER, Parameters
from weft.broker.session import Session, size_of
from weft.broker.sessions import Sessions
from weft.broker.will import Wills
from weft.wire.mqtt.packet import Connack, Connect, Version
from weft.wire.mqtt.property import Properties, Property
from weft.wire.mqtt.reason import CONNECT_RETURNS, PacketError, Reason
from weft.wire.mqtt.writer import encode, encode_within

GRACE = 1.5  # times the keep-alive that a client may be silent
NAME, DIGITS = "auto-{}", 24  # of clients that come without one


class Admission:
    def __init__(
        self,
        outbox: Outbox,
        sessions: Sessions,
        wills: Wills,
        figures: Figures,
        parameters: Parameters,
        seed: int,
        guard: Guard,
    ) -> None:
        self._outbox = outbox
        self._sessions = sessions
        self._wills = wills
        self._figures = figures
        self._parameters = parameters
        self._seed = seed
        self._guard = guard
        self._named = 0  # clients that had no name

    def check(self, connection: Connection, packet: Connect) -> None:
        """Raise what speaks against letting a client in."""
        connection.largest = packet.properties.get(Property.MAXIMUM_PACKET_SIZE, NO_LIMIT)
        connection.wants_reasons = bool(packet.properties.get(Property.REQUEST_PROBLEM_INFORMATION, 1))
        if Property.AUTHENTICATION_METHOD in packet.properties:
            raise PacketError(Reason.BAD_AUTHENTICATION_METHOD, "There is no enhanced authentication here.")
        if self._figures.connections > self._parameters.connections:
            raise PacketError(Reason.SERVER_BUSY, "There are too many connections.")
        nameless = not packet.client and packet.version is not Version.V5
        if nameless and (not packet.clean or packet.version is Version.V31):
            raise PacketError(Reason.CLIENT_IDENTIFIER_NOT_VALID, "A client without a name asks for a session to keep.")
        if packet.will is not None:
            capability.require(self._parameters, packet.will)
            if packet.will.topic.count("/") >= self._parameters.topic_levels:
                raise PacketError(Reason.TOPIC_NAME_INVALID, "The topic of the will has too many levels.")
            if size_of(packet.will) > self._parameters.queue_bytes:
                raise PacketError(Reason.QUOTA_EXCEEDED, "The will takes more than what a session may keep.")
        if packet.version is Version.V5:
            connack = Connack(False, Reason.SUCCESS, self._terms(packet, NAME.format("0" * DIGITS)))
            if encode_within(connack, packet.version, connection.largest) is None:
                raise PacketError(Reason.PACKET_TOO_LARGE, "CONNACK is larger than the client takes.")

    def check_room(self, packet: Connect) -> None:
        """Raise what speaks against keeping a session for a client that is known."""
        if self._expiry(packet) and not self._sessions.have_room(packet.client):
            raise PacketError(Reason.QUOTA_EXCEEDED, "There is no room to keep another session.")
        if not self._sessions.may_come(packet.client):
            raise PacketError(Reason.QUOTA_EXCEEDED, "This node has told its master of as many clients as it may.")

    def admit(self, connection: Connection, packet: Connect, now: float) -> bool:
        """Let a client in whose former connection, if any, is gone. Whether its session was there already."""
        before = self._outbox.position
        client = packet.client if parted(packet.client)[1] else self._new_name(parted(packet.client)[0])
        self._agree(connection, packet)
        session = self._sessions.get(client)
        if session is not None and packet.clean:
            self._sessions.end(session, now)
            session = None
        present = session is not None
        expiry = self._expiry(packet)
        if session is None:
            session = self._sessions.create(client, packet.version, expiry)
        self._sessions.attach(session, connection, expiry)
        self._wills.set(session, packet.will)
        promised = session.persistent or self._outbox.position > before
        self._answer(connection, session, packet, present, promised)
        return present

    def refuse(self, connection: Connection, version: Version | None, error: PacketError) -> None:
        """Say why, where the version has a word for it."""
        if version is Version.V5:
            words: Properties = {Property.REASON_STRING: error.text} if connection.wants_reasons else {}
            data = encode_within(Connack(False, error.reason, words), version, connection.largest)
            if data is not None:
                self._outbox.send(connection, data)
        elif (code := CONNECT_RETURNS.get(error.reason)) is not None:
            self._outbox.send(connection, encode(Connack(False, code), Version.V311))

    def _new_name(self, user: str) -> str:
        """One that nobody has, or can guess without the seed."""
        while True:
            self._named += 1
            client = NAME.format(sha256(f"{self._seed}/{self._named}".encode()).hexdigest()[:DIGITS])
            name = session_name(user, client)
            if self._sessions.get(name) is None:
                return name

    def _expiry(self, packet: Connect) -> int:
        if packet.version is Version.V5:
            wanted: int = packet.properties.get(Property.SESSION_EXPIRY_INTERVAL, 0)
        else:
            wanted = 0 if packet.clean else FOREVER
        return min(wanted, self._parameters.session_expiry)

    def _agree(self, connection: Connection, packet: Connect) -> None:
        """Limits of both sides, for this connection."""
        wishes = packet.properties
        connection.version, connection.bridge = packet.version, packet.bridge
        connection.allowed = None if self._guard.is_open else set()
        connection.keep_alive = self._keep_alive(packet) * GRACE
        connection.window = min(wishes.get(Property.RECEIVE_MAXIMUM, 65_535), self._parameters.inflight)
        if maximum := min(wishes.get(Property.TOPIC_ALIAS_MAXIMUM, 0), self._parameters.topic_aliases):
            connection.outbound_aliases = OutboundAliases(maximum)

    def _keep_alive(self, packet: Connect) -> int:
        longest = self._parameters.keep_alive
        if packet.version is not Version.V5 or not longest:
            return packet.keep_alive
        return min(packet.keep_alive or longest, longest)

    def _answer(self, connection: Connection, session: Session, packet: Connect, present: bool, promised: bool) -> None:
        properties = self._terms(packet, parted(session.client)[1]) if packet.version is Version.V5 else {}
        present = present and packet.version is not Version.V31
        send = self._outbox.send_durable if promised else self._outbox.send
        send(connection, encode(Connack(present, Reason.SUCCESS, properties), packet.version))
        self._figures.packets_sent += 1

    def _terms(self, packet: Connect, client: str) -> Properties:
        """What a client of MQTT 5 must know: limits, and where it did not get what it asked for."""
        parameters = self._parameters
        terms: Properties = {
            Property.RECEIVE_MAXIMUM: parameters.receive_maximum,
            Property.MAXIMUM_PACKET_SIZE: parameters.packet_bytes,
            Property.TOPIC_ALIAS_MAXIMUM: parameters.topic_aliases,
            **capability.told(parameters),
        }
        if not parted(packet.client)[1]:
            terms[Property.ASSIGNED_CLIENT_IDENTIFIER] = client
        if packet.properties.get(Property.SESSION_EXPIRY_INTERVAL, 0) != self._expiry(packet):
            terms[Property.SESSION_EXPIRY_INTERVAL] = self._expiry(packet)
        if self._keep_alive(packet) != packet.keep_alive:
            terms[Property.SERVER_KEEP_ALIVE] = self._keep_alive(packet)
        return terms
