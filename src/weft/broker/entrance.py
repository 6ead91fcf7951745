"""Entrance of clients, from CONNECT to a session: what each must pass before it is let in.

    checked      limits and words of the packet (admission.py)
    identified   who it is; a password is checked elsewhere, for that takes long, and waits for it (checking.py)
    found        in a network its session may be at another node, and the node says when it can go on
    in           it has its session, and CONNACK is sent (admission.py)

While one of these is awaited the connection has the packet (`waiting`), and what comes behind CONNECT is kept unread: a
client may send more before CONNACK, but nothing of it may count before it is known who the client is. The password is
not kept beyond its check.
"""

from dataclasses import replace

from weft.access.guard import Guard, Known, Question
from weft.access.name import parted, session_name
from weft.broker.admission import Admission
from weft.broker.checking import Checks
from weft.broker.connection import Connection
from weft.broker.effect import Connecting, LetIn
from weft.broker.hold import Holds
from weft.broker.outbound import Outbound
from weft.broker.outbox import Outbox
from weft.broker.parting import Parting
from weft.broker.sessions import Sessions
from weft.wire.mqtt.packet import Connect, Version
from weft.wire.mqtt.reason import PacketError, Reason

ENTRANCE = "entrance"  # the reason why nothing behind CONNECT is heard
VERSIONS = {Version.V31: "3.1", Version.V311: "3.1.1", Version.V5: "5"}  # for the log


class Entrance:
    def __init__(
        self,
        outbox: Outbox,
        holds: Holds,
        sessions: Sessions,
        admission: Admission,
        parting: Parting,
        outbound: Outbound,
        guard: Guard,
        linked: bool,  # this is a node of a network
    ) -> None:
        self._outbox = outbox
        self._holds = holds
        self._sessions = sessions
        self._admission = admission
        self._parting = parting
        self._outbound = outbound
        self._guard = guard
        self._linked = linked
        self._checks = Checks(outbox, guard)

    def connect(self, connection: Connection, packet: Connect, now: float) -> None:
        try:
            self._admission.check(connection, packet)
            known = self._guard.identify(connection.visitor, packet, now)
            if not isinstance(known, Question):
                self._let_in(connection, packet, known, now)
                return
        except PacketError as error:
            self._parting.refuse(connection, packet.version, error, now)
            return
        connection.question = known
        self._await(connection, packet)
        crowded_out = self._checks.add(connection, known)
        if crowded_out is not None:
            other = crowded_out.connection
            busy = PacketError(Reason.SERVER_BUSY, "Too many passwords wait to be checked.")
            self._parting.refuse(other, self._waited(other).version, busy, now)

    def hear_password(self, number: int, is_right: bool, now: float) -> None:
        """A password has been checked."""
        check = self._checks.end(number)
        connection = check.connection
        packet = None if connection.closing else self._waited(connection)
        try:
            known = self._guard.answer(check.question, is_right, connection.visitor, now)
            if packet is not None:
                self._let_in(connection, packet, known, now)
        except PacketError as error:
            if packet is not None:
                self._parting.refuse(connection, packet.version, error, now)

    def leave(self, connection: Connection) -> None:
        """The connection has gone."""
        self._checks.leave(connection)

    def go_on(self, connection: Connection, now: float) -> None:
        """The network has found the session: the client is in."""
        if connection.waiting is None or connection.closing:
            return
        packet = self._waited(connection)
        try:
            self._admission.check_room(packet)  # others have come meanwhile
        except PacketError as error:
            self._parting.refuse(connection, packet.version, error, now)
            return
        self._enter(connection, packet, now)

    def _await(self, connection: Connection, packet: Connect) -> None:
        connection.waiting = packet
        self._holds.hold(connection.number, ENTRANCE)

    def _waited(self, connection: Connection) -> Connect:
        """The packet that has waited, and waits no longer."""
        packet = connection.waiting
        assert packet is not None
        connection.waiting = connection.question = None
        self._holds.free(connection.number, ENTRANCE)
        return packet

    def _let_in(self, connection: Connection, packet: Connect, known: Known, now: float) -> None:
        """The client has said who it is; in a network its session may be another node's."""
        self._guard.check(known, packet)
        self._outbox.add(LetIn(connection.number))
        connection.known = known
        packet = replace(packet, client=session_name(known.user, packet.client), password=None)
        self._admission.check_room(packet)
        if known.until is not None:
            self._parting.await_expiry(connection, known.until)
        if self._linked and parted(packet.client)[1] and self._may_be_elsewhere(packet.client):
            self._await(connection, packet)
            self._outbox.add(Connecting(connection.number, packet.client, packet.clean))
            return
        self._enter(connection, packet, now)

    def _may_be_elsewhere(self, client: str) -> bool:
        session = self._sessions.get(client)
        return session is None or session.unsure

    def _enter(self, connection: Connection, packet: Connect, now: float) -> None:
        former = self._sessions.get(packet.client) if packet.client else None
        if former is not None and former.connection is not None:
            self._parting.take_over(former.connection, now)
        present = self._admission.admit(connection, packet, now)
        session = connection.session
        assert session is not None
        self._outbox.note("connected", connection, session.client, f"MQTT {VERSIONS[packet.version]}")
        self._parting.await_silence(connection, now)
        if present:
            self._outbound.resume(session, now)
