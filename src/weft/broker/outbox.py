"""What an event leads to: bytes by connection, records for the journal, and the rest, in the order to carry it out.

What goes to one connection in one event is one send. It waits for the last record that any part of it waits for.

A receiver whose driver has more bytes than it likes is congested. What an event brings for it is still sent, but the
connection that the event came from is not read any further until the receiver has drained: so a publisher of QoS 0
that is faster than its subscriber is slowed down, and loses nothing. After some patience the receiver counts as
stuck: nobody waits for it any more, and publications of QoS 0 pass it by until it drains. A client that does not take
the answers to what it sends is itself held, until it has.

What is large is sent by itself: all its receivers share the one copy.
"""

from weft.access.name import shown
from weft.broker.connection import Connection
from weft.broker.deadline import Deadlines
from weft.broker.effect import Append, Close, Effect, Note, Send, Unsay
from weft.broker.figure import Figures
from weft.broker.hold import Holds
from weft.broker.record import Record, encode
from weft.broker.route import Route
from weft.wire.mqtt.parser import count

PUBLISHING, SUBSCRIBING = 1, 2  # what a client may not
LARGE = 1 << 14  # bytes from which on a piece is sent by itself
ANSWERS = "answers"  # the reason why a client is held that does not take them


class Outbox:
    def __init__(
        self, deadlines: Deadlines, holds: Holds, figures: Figures, patience: float, durable: bool, position: int
    ) -> None:
        self._holds = holds
        self._patiences = deadlines.timer(lambda number, _: self._lose_patience(number))
        self._congested: dict[int, Connection] = {}  # that publishers wait for, by number
        self._figures = figures
        self._patience = patience
        self.durable = durable  # there is a journal
        self.position = position  # records so far
        self._effects: list[Effect] = []
        self._touched: list[Connection] = []
        self._routes: set[Route] = set()  # whose plain receivers have got something

    def add(self, effect: Effect) -> None:
        self._effects.append(effect)

    def note(self, event: str, connection: Connection | None = None, client: str = "", detail: str = "") -> None:
        self._effects.append(Note(event, connection.number if connection else 0, shown(client), detail))

    def note_refusal(self, connection: Connection, client: str, kind: int, detail: str) -> None:
        """The first of each kind on a connection; who tries again and again does not fill the log."""
        if not connection.refusals & kind:
            connection.refusals |= kind
            self.note("not_authorized", connection, client, detail)

    def append(self, record: Record) -> None:
        if self.durable:
            self.append_encoded(encode(record))

    def append_encoded(self, record: bytes) -> None:
        if self.durable:
            self.position += 1
            self._effects.append(Append(record))

    def send(self, connection: Connection, data: bytes) -> None:
        if connection.burst:
            self._join_burst(connection)
        connection.out.append(data)
        connection.made += len(data)
        self.touch(connection)

    def send_durable(self, connection: Connection, data: bytes) -> None:
        """Send what promises that all records so far will be kept."""
        connection.after = self.position
        self.send(connection, data)

    def unsay(self, connection: Connection) -> None:
        """Take back all that the connection was to be sent, in this event and before."""
        connection.out.clear()
        connection.burst.clear()
        connection.after = 0
        self._effects.append(Unsay(connection.number))

    def touch(self, connection: Connection) -> None:
        if not connection.touched:
            connection.touched = True
            self._touched.append(connection)

    def touch_route(self, route: Route) -> None:
        self._routes.add(route)

    def close(self, connection: Connection) -> None:
        if not connection.closing:
            connection.closing = True
            self._figures.connections -= 1
            self.touch(connection)

    def flush(self, source: Connection | None) -> list[Effect]:
        for route in self._routes:
            for connection in route.receivers:
                self.touch(connection)
        self._routes.clear()
        for connection in self._touched:
            self._flush_one(connection, source)
        self._touched.clear()
        effects, self._effects = self._effects, []
        return effects

    def _flush_one(self, connection: Connection, source: Connection | None) -> None:
        connection.touched = False
        if connection.burst:
            self._join_burst(connection)
        out = connection.out
        is_answered = bool(out) and source is connection
        if out:
            if connection.made < LARGE:
                self._send_piece(connection, out[0] if len(out) == 1 else b"".join(out))
            else:
                self._send_large(connection, out)
            out.clear()
            connection.after = connection.made = 0
        if connection.closing:
            self._effects.append(Close(connection.number))
        elif connection.congested:
            if is_answered:
                self._holds.hold(connection.number, ANSWERS)
            elif not connection.stuck and source is not None and source is not connection:
                self._holds.hold(source.number, connection)

    def _send_large(self, connection: Connection, out: list[bytes]) -> None:
        """Send each large piece by itself, and what is between them together."""
        large = [place for place, piece in enumerate(out) if len(piece) >= LARGE]
        begin = 0
        for place in [*large, len(out)]:
            if begin < place:
                self._send_piece(connection, b"".join(out[begin:place]))
            if place < len(out):
                self._send_piece(connection, out[place])
            begin = place + 1

    def _send_piece(self, connection: Connection, data: bytes) -> None:
        self._effects.append(Send(connection.number, data, connection.after))
        self._figures.bytes_sent += len(data)

    def _join_burst(self, connection: Connection) -> None:
        if connection.stuck or connection.closing:
            self._figures.dropped += sum(map(count, connection.burst))
        else:
            connection.out += connection.burst
            self.touch(connection)
        connection.burst.clear()

    def congest(self, connection: Connection, reason: int, now: float) -> None:
        if not connection.congested:
            self._congested[connection.number] = connection
            self._patiences.at(now + self._patience, connection.number)
        connection.congested |= reason

    def _lose_patience(self, number: int) -> None:
        connection = self._congested[number]
        connection.stuck = True
        self._holds.release(connection)

    def drain(self, connection: Connection, reason: int) -> bool:
        """Whether nobody says any more that it cannot keep up."""
        connection.congested &= ~reason
        if connection.congested:
            return False
        connection.stuck = False
        self._forget(connection)
        self._holds.free(connection.number, ANSWERS)
        return True

    def let_go(self, connection: Connection) -> None:
        """Let nobody wait for a connection that has ended, nor it for anybody."""
        connection.quit()
        self._forget(connection)
        self._holds.drop(connection)

    def _forget(self, connection: Connection) -> None:
        self._patiences.drop(connection.number)
        self._congested.pop(connection.number, None)
        self._holds.release(connection)
