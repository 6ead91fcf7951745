"""What an event leads to: bytes by connection, records for the journal, and the rest, in the order to carry it out.

What goes to one connection in one event is one send. It waits for the last record that any part of it waits for.

A receiver whose driver has more bytes than it likes is congested. What an event brings for it is still sent, but the
connection that the event came from is not read any further until the receiver has drained: so a publisher of QoS 0
that is faster than its subscriber is slowed down, and loses nothing. After some patience the receiver counts as
stuck: nobody waits for it any more, and publications of QoS 0 pass it by until it drains.
"""

from weft.access.name import shown
from weft.broker.connection import Connection
from weft.broker.deadline import Deadlines
from weft.broker.effect import Append, Close, Effect, Hold, Note, Resume, Send, Unsay
from weft.broker.figure import Figures
from weft.broker.record import Record, encode
from weft.broker.route import Route
from weft.wire.mqtt.parser import count

PUBLISHING, SUBSCRIBING = 1, 2  # what a client may not


class Outbox:
    def __init__(self, deadlines: Deadlines, figures: Figures, patience: float, durable: bool, position: int) -> None:
        self._deadlines = deadlines
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
        if out:
            data = out[0] if len(out) == 1 else b"".join(out)
            self._effects.append(Send(connection.number, data, connection.after))
            self._figures.bytes_sent += len(data)
            out.clear()
            connection.after = 0
        if connection.closing:
            self._effects.append(Close(connection.number))
        elif connection.congested and not connection.stuck and source is not None and source is not connection:
            self._hold(source, connection)

    def _join_burst(self, connection: Connection) -> None:
        if connection.stuck or connection.closing:
            self._figures.dropped += sum(map(count, connection.burst))
        else:
            connection.out += connection.burst
            self.touch(connection)
        connection.burst.clear()

    def _hold(self, source: Connection, receiver: Connection) -> None:
        if receiver.holding is None:
            receiver.holding = set()
        if source in receiver.holding or source.closing:
            return
        receiver.holding.add(source)
        self.hold(source)

    def hold(self, source: Connection) -> None:
        source.held_for += 1
        if source.held_for == 1:
            self._effects.append(Hold(source.number))

    def resume(self, source: Connection) -> None:
        source.held_for -= 1
        if source.held_for == 0:
            self._effects.append(Resume(source.number))

    def let_go(self, receiver: Connection) -> None:
        """Nobody waits for a receiver any more."""
        holding, receiver.holding = receiver.holding, None
        for source in sorted(holding or (), key=lambda one: one.number):
            self.resume(source)

    def congest(self, connection: Connection, now: float) -> None:
        connection.congested = True
        self._deadlines.at(now + self._patience, lambda _: self._lose_patience(connection))

    def _lose_patience(self, connection: Connection) -> None:
        if connection.congested and not connection.stuck:
            connection.stuck = True
            self.let_go(connection)

    def drain(self, connection: Connection) -> None:
        connection.congested = connection.stuck = False
        self.let_go(connection)
