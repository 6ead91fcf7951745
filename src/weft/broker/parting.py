"""How connections end: refused, silent, expired, taken over, or for a mistake; and what becomes of their sessions."""

from collections.abc import Mapping

from weft.broker.admission import Admission
from weft.broker.connection import Connection
from weft.broker.deadline import ONLY, Deadlines
from weft.broker.figure import Figures
from weft.broker.outbox import Outbox
from weft.broker.parameters import Parameters
from weft.broker.sessions import Sessions
from weft.broker.will import Wills
from weft.wire.mqtt import packet as p
from weft.wire.mqtt.property import Properties, Property
from weft.wire.mqtt.reason import PacketError, Reason, UnreadableError
from weft.wire.mqtt.writer import encode_within

CONNECT5 = b"\0\x04MQTT\x05"


class Parting:
    def __init__(
        self,
        outbox: Outbox,
        deadlines: Deadlines,
        sessions: Sessions,
        wills: Wills,
        admission: Admission,
        figures: Figures,
        parameters: Parameters,
        connections: Mapping[int, Connection],
    ) -> None:
        self._outbox = outbox
        self._connections = connections
        self._greetings = deadlines.timer(lambda _, now: self._check_greetings(now))
        self._silences = deadlines.timer(self._check_silence)  # by number of the connection
        self._logins = deadlines.timer(self._expire_login)  # the same
        self._sessions = sessions
        self._wills = wills
        self._admission = admission
        self._figures = figures
        self._parameters = parameters
        self._mute: dict[Connection, float] = {}  # who has not said CONNECT, and since when

    # At once

    def end(self, connection: Connection, now: float, will: bool) -> None:
        self._forget(connection)
        self._outbox.close(connection)
        self._leave_session(connection, now, will)
        self._outbox.let_go(connection)

    def lose(self, connection: Connection, now: float) -> None:
        """The connection is gone; the client has not said goodbye, if we have not."""
        self._forget(connection)
        connection.congested = 0
        if not connection.closing:
            connection.closing = True
            self._figures.connections -= 1
            self._outbox.note("disconnected", connection, connection.client, "connection lost")
            self._leave_session(connection, now, will=True)
        self._outbox.let_go(connection)

    def dismiss(self, connection: Connection, reason: Reason, text: str, now: float, told: str = "") -> None:
        """End a client's connection for a reason; `told` is for the log, where it says more."""
        self._outbox.note("disconnected", connection, connection.client, told or text)
        self.say_goodbye(connection, reason, text)
        self.end(connection, now, will=True)

    def expel(self, connection: Connection, text: str, now: float) -> None:
        """End the connection of a client that has lost a right. Nothing more leaves of what it was to get."""
        self._outbox.unsay(connection)
        self.dismiss(connection, Reason.NOT_AUTHORIZED, text, now)

    def take_over(self, connection: Connection, now: float) -> None:
        """The client has connected a second time: the first connection ends."""
        self._outbox.note("taken_over", connection, connection.client)
        self.say_goodbye(connection, Reason.SESSION_TAKEN_OVER, "")
        self.end(connection, now, will=True)

    def give_up(self, connection: Connection, error: PacketError, data: bytes, now: float) -> None:
        """The client has broken the standard, or has sent what we cannot read."""
        if connection.closing:
            return
        if isinstance(error, UnreadableError):
            self._outbox.note("defect", connection, connection.client, repr(error.__cause__))
        if connection.version is None:
            known = p.Version.V5 if CONNECT5 in data[:14] and data[0] == 0x10 else None
            self.refuse(connection, known, error, now)
        else:
            self.dismiss(connection, error.reason, error.text, now)

    def refuse(self, connection: Connection, version: p.Version | None, error: PacketError, now: float) -> None:
        self._outbox.note("refused", connection, "", error.text)
        self._admission.refuse(connection, version, error)
        self.refuse_silently(connection, now)

    def refuse_silently(self, connection: Connection, now: float) -> None:
        self._figures.refused += 1
        self.end(connection, now, will=False)

    def say_goodbye(self, connection: Connection, reason: Reason, text: str) -> None:
        """DISCONNECT of the server, which is MQTT 5's."""
        if connection.version is not p.Version.V5:
            return
        properties: Properties = {Property.REASON_STRING: text} if text and connection.wants_reasons else {}
        data = encode_within(p.Disconnect(reason, properties), p.Version.V5, connection.largest)
        if data is not None:
            self._outbox.send(connection, data)

    def _leave_session(self, connection: Connection, now: float, will: bool) -> None:
        """The client's session goes on without the connection."""
        session = connection.session
        if session is None:
            return
        if not will:
            self._wills.set(session, None)
        self._sessions.detach(session, now)
        if session.persistent:
            self._wills.arm(session, now)

    def _forget(self, connection: Connection) -> None:
        """Nothing is awaited of it any more."""
        self._mute.pop(connection, None)
        self._silences.drop(connection.number)
        self._logins.drop(connection.number)

    # In time

    def await_greeting(self, connection: Connection, now: float) -> None:
        """One timer for all who have not said CONNECT, the one who has waited longest first."""
        if ONLY not in self._greetings:
            self._greetings.at(now + self._parameters.connect_timeout)
        self._mute[connection] = now

    def greeted(self, connection: Connection) -> None:
        self._mute.pop(connection, None)

    def _check_greetings(self, now: float) -> None:
        while self._mute:
            connection, since = next(iter(self._mute.items()))
            if since + self._parameters.connect_timeout > now:
                self._greetings.at(since + self._parameters.connect_timeout)
                return
            self.refuse_silently(connection, now)

    def await_silence(self, connection: Connection, now: float) -> None:
        """End the connection when its client says nothing for too long."""
        if connection.keep_alive:
            self._silences.after(connection.keep_alive, connection.number, now)

    def _check_silence(self, number: int, now: float) -> None:
        connection = self._connections[number]
        due = connection.heard + connection.keep_alive
        if due > now or connection.paused:
            self._silences.after(max(due - now, connection.keep_alive / 2), number, now)
        else:
            self.dismiss(connection, Reason.KEEP_ALIVE_TIMEOUT, "", now, "keep-alive timeout")

    def await_expiry(self, connection: Connection, until: float) -> None:
        """End a connection when its token is not valid any more."""
        self._logins.at(until, connection.number)

    def _expire_login(self, number: int, now: float) -> None:
        self.dismiss(self._connections[number], Reason.MAXIMUM_CONNECT_TIME, "The token has expired.", now)
