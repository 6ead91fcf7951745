"""Bytes of clients, read as packets, and each packet handed to who answers it.

A read has any number of packets, the last perhaps in part: that waits for as many bytes as it needs, and is not looked
at before. Lanes take what they can as bytes (lane.py, window_lane.py); the rest is decoded. A packet that breaks the
standard ends the connection, and nothing behind it is read: what a client means that has made one mistake is not
guessed.

A client is heard a slice at a time, for what it has sent, and what follows from that, may take long: what is left waits
for its next turn (backlog.py). A packet may itself be longer than a slice: SUBSCRIBE is handled in steps.

A client that is held (hold.py) is not heard at all. Its bytes are still taken, up to `read_ahead`, and its PINGREQ is
answered from there: it is behind its publications, and a client that does not hear in time gives up. More is not read
before there is room.

The first packet must be CONNECT, and short, for nobody knows the client yet. While CONNECT waits for an answer nothing
behind it is read (entrance.py).
"""

from collections.abc import Callable, Iterator
from typing import Any

from weft.broker import window_lane
from weft.broker.backlog import Backlog
from weft.broker.connection import Connection
from weft.broker.effect import Hold, Resume
from weft.broker.entrance import Entrance
from weft.broker.figure import Figures
from weft.broker.giving import Giving
from weft.broker.inbound import Inbound
from weft.broker.lane import PUBLISH, Lane
from weft.broker.outbound import Outbound
from weft.broker.outbox import Outbox
from weft.broker.parameters import Parameters
from weft.broker.parting import Parting
from weft.broker.route import Routes
from weft.broker.subscribing import Subscribing
from weft.broker.unread import Unread
from weft.wire.mqtt import packet as p
from weft.wire.mqtt.parser import Bounds, decode, frame, opened
from weft.wire.mqtt.property import Property
from weft.wire.mqtt.reason import PacketError, Reason, protocol_error
from weft.wire.mqtt.writer import encode

PINGRESP = encode(p.Pingresp(), p.Version.V311)
CONNECT_BYTES = 1 << 19  # of CONNECT: five fields of 64 KiB and properties; nobody is known before it
CONNECT_PROPERTIES = 100  # of CONNECT, and of its will

FILTERED = (8, 10)  # kinds of packets with filters
LONG = 4096  # bytes of these, from which on filters are read as they are taken

# What a slice is made of: packets, what is sent for them, filters; some milliseconds
SLICE = 250
LANE_BYTES = 256  # in a lane, as long as one
RECEIVERS = 8  # of runs in a lane, as long as one
HOLDERS = 32  # of a name that is looked up, as long as one


class Reading:
    def __init__(
        self,
        outbox: Outbox,
        lane: Lane,
        window: window_lane.WindowLane,
        entrance: Entrance,
        inbound: Inbound,
        outbound: Outbound,
        subscribing: Subscribing,
        giving: Giving,
        parting: Parting,
        backlog: Backlog,
        routes: Routes,
        figures: Figures,
        parameters: Parameters,
    ) -> None:
        self._outbox = outbox
        self._lane = lane
        self._window_lane = window
        self._entrance = entrance
        self._inbound = inbound
        self._outbound = outbound
        self._giving = giving
        self._parting = parting
        self._backlog = backlog
        self._routes = routes
        self._figures = figures
        self._parameters = parameters
        self._bounds = Bounds(parameters.properties, parameters.subscriptions)
        self._connect_bounds = Bounds(min(parameters.properties, CONNECT_PROPERTIES))
        self._packets: dict[type[p.Packet], Callable[[Connection, Any, float], Iterator[int] | None]] = {
            p.Publish: inbound.publish,
            p.Puback: self._puback,
            p.Pubrec: self._pubrec,
            p.Pubrel: self._pubrel,
            p.Pubcomp: self._pubcomp,
            p.Subscribe: subscribing.subscribe,
            p.Unsubscribe: subscribing.unsubscribe,
            p.Pingreq: self._pingreq,
            p.Disconnect: self._disconnect,
            p.Auth: self._auth,
        }

    def receive(self, connection: Connection, data: bytes, now: float) -> None:
        self._figures.bytes_received += len(data)
        unread = connection.unread
        if unread is None and not connection.holds and connection.work is None:
            self._hear(connection, data, 0, now)
        else:
            self._keep(connection, unread or Unread(), data, now)
        if connection.given is not None:
            self._giving.give(connection, now)
        if connection.unread is not None or connection.paused:
            self._balance(connection, now)

    def _keep(self, connection: Connection, unread: Unread, data: bytes, now: float) -> None:
        """Put what comes behind what is not handled yet."""
        connection.unread = unread
        unread.add(data)
        if connection.holds or connection.work is not None or not unread.need:
            self._look_ahead(connection, unread, data, now)
        elif unread.size >= unread.need:
            self._hear(connection, unread.take(), unread.at, now)

    def go_on(self, connection: Connection, now: float) -> bool:
        """A connection's turn. Whether it has more to do at once."""
        session = connection.session
        if connection.work is not None:
            self._do(connection, connection.work, SLICE, now)
        elif connection.is_heard():
            assert connection.unread is not None
            self._hear(connection, connection.unread.take(), connection.unread.at, now)
        if session is not None and not connection.closing:
            self._outbound.fill(session, now)
        is_giving = self._giving.give(connection, now)
        self._balance(connection, now)
        return connection.work is not None or connection.is_heard() or is_giving

    def _balance(self, connection: Connection, now: float) -> None:
        """Let the driver read no more than there is room for."""
        unread = connection.unread
        is_waited_for = unread is None or (unread.size < unread.need and not connection.holds)
        room = self._parameters.read_ahead if connection.session is not None else 0
        is_full = unread is not None and unread.size > room and not is_waited_for
        if is_full and not connection.paused and not connection.closing:
            connection.paused = True
            self._outbox.add(Hold(connection.number))
        elif connection.paused and not is_full:
            connection.paused, connection.heard = False, now
            self._outbox.add(Resume(connection.number))

    def _look_ahead(self, connection: Connection, unread: Unread, data: bytes, now: float) -> None:
        """Answer what cannot wait, unless the client does not take its answers."""
        if connection.session is None:
            return
        whole, requests = unread.look_ahead(data)
        if whole:
            connection.heard = now
        if requests and not connection.congested:
            unread.answered += requests
            self._figures.packets_sent += requests
            self._outbox.send(connection, PINGRESP * requests)

    def _hear(self, connection: Connection, data: bytes, at: int, now: float) -> None:
        """A slice of what there is, from a place on."""
        try:
            end, need = self._read(connection, data, at, now)
        except PacketError as error:
            self._parting.give_up(connection, error, data[at:] if connection.version is None else b"", now)
            return
        if end == len(data):
            connection.unread = None
        elif not connection.closing:
            if connection.unread is None:
                connection.unread = Unread(data)
            connection.unread.leave(end, need)
            if not need and not connection.holds:
                self._backlog.add(connection)

    def _read(self, connection: Connection, data: bytes, at: int, now: float) -> tuple[int, int]:
        """Handle packets from a place on: where the first is that is left, and how many bytes from there it needs."""
        end, limit, left = len(data), self._parameters.packet_bytes, SLICE
        bounds, self._lane.work = self._bounds, 0
        if connection.version is None:
            limit, bounds = min(limit, CONNECT_BYTES), self._connect_bounds
        while at < end and not connection.closing:
            if left <= 0 or connection.holds or connection.work is not None:
                return at, 0
            if connection.session is not None:
                start, head = at, data[at]
                if head == PUBLISH:
                    at = self._lane.pass_on(connection, data, at)
                elif head == window_lane.PUBLISH and not self._inbound.journal.full:
                    at = self._window_lane.pass_on(connection, data, at, now)
                elif head == window_lane.PUBACK and connection.given is None:
                    at = self._window_lane.acknowledge(connection, data, at)
                if at > start:
                    connection.heard = now
                    if at == end:
                        return at, 0
                    left -= (at - start) // LANE_BYTES + self._lane.work // RECEIVERS
                    self._lane.work = 0
            framed = frame(data, at, end, limit, connection.version)
            if framed is None or framed[1] > end:
                return at, (framed[1] - at if framed else end - at + 1)
            packet = _packet(data, at, framed, connection.version, bounds)
            connection.heard = now
            self._figures.packets_received += 1
            sent = self._figures.packets_sent
            connection.work = work = self._dispatch(connection, packet, now)
            at = framed[1]
            if work is not None:
                left = self._do(connection, work, left, now)
            left -= 1 + self._figures.packets_sent - sent + self._routes.take_work() // HOLDERS
        return at, 0

    def _do(self, connection: Connection, work: Iterator[int], left: int, now: float) -> int:
        """A slice of the work of a packet; how much of the slice is left."""
        try:
            for step in work:
                left -= step
                if left <= 0:
                    self._backlog.add(connection)
                    return left
            connection.work = None
        except PacketError as error:
            self._parting.give_up(connection, error, b"", now)
        return left

    def _dispatch(self, connection: Connection, packet: p.Packet, now: float) -> Iterator[int] | None:
        """Hand a packet to who answers it; what is left to do of it, if that takes long."""
        if connection.version is None:
            if not isinstance(packet, p.Connect):
                raise protocol_error("The first packet is not CONNECT.")
            self._parting.greeted(connection)
            self._entrance.connect(connection, packet, now)
            return None
        handler = self._packets.get(type(packet))
        if handler is None:
            raise protocol_error(f"A client has sent {type(packet).__name__.upper()}.")
        return handler(connection, packet, now)

    # Packets

    def _puback(self, connection: Connection, packet: p.Puback, now: float) -> None:
        assert connection.session is not None
        self._outbound.acknowledge(connection.session, packet.packet_id, now)

    def _pubrec(self, connection: Connection, packet: p.Pubrec, now: float) -> None:
        assert connection.session is not None
        self._outbound.receive(connection.session, packet.packet_id, packet.reason, now)

    def _pubrel(self, connection: Connection, packet: p.Pubrel, now: float) -> None:
        self._inbound.release(connection, packet.packet_id)

    def _pubcomp(self, connection: Connection, packet: p.Pubcomp, now: float) -> None:
        assert connection.session is not None
        self._outbound.complete(connection.session, packet.packet_id, now)

    def _pingreq(self, connection: Connection, packet: p.Pingreq, now: float) -> None:
        if connection.unread is not None and connection.unread.answered:
            connection.unread.answered -= 1
            return
        self._figures.packets_sent += 1
        self._outbox.send(connection, PINGRESP)

    def _disconnect(self, connection: Connection, packet: p.Disconnect, now: float) -> None:
        session = connection.session
        assert session is not None
        expiry = packet.properties.get(Property.SESSION_EXPIRY_INTERVAL)
        if expiry is not None:
            if expiry and not session.expiry:
                raise protocol_error("DISCONNECT asks to keep a session that CONNECT did not.")
            session.expiry = min(expiry, self._parameters.session_expiry)
        self._outbox.note("disconnected", connection, session.client, "by the client")
        self._parting.end(connection, now, will=packet.reason != Reason.SUCCESS)

    def _auth(self, connection: Connection, packet: p.Auth, now: float) -> None:
        raise protocol_error("AUTH without an authentication method in CONNECT.")


def _packet(data: bytes, at: int, framed: tuple[int, int], version: p.Version | None, bounds: Bounds) -> p.Packet:
    body, end = framed
    if version is not None and end - at > LONG and data[at] >> 4 in FILTERED:
        return opened(data, at, body, end, version, bounds)
    return decode(data, at, body, end, version, bounds)
