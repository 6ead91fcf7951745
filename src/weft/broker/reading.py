"""Bytes of clients, read as packets, and each packet handed to who answers it.

A read has any number of packets, the last perhaps in part: that waits for as many bytes as it needs, and is not looked
at before. Lanes take what they can as bytes (lane.py, window_lane.py); the rest is decoded. A packet that breaks the
standard ends the connection, and nothing behind it is read: what a client means that has made one mistake is not
guessed.

The first packet must be CONNECT, and short, for nobody knows the client yet. While CONNECT waits for an answer nothing
behind it is read (entrance.py).
"""

from collections.abc import Callable
from typing import Any

from weft.broker import window_lane
from weft.broker.connection import Connection
from weft.broker.entrance import Entrance
from weft.broker.figure import Figures
from weft.broker.inbound import Inbound
from weft.broker.lane import PUBLISH, Lane
from weft.broker.outbound import Outbound
from weft.broker.outbox import Outbox
from weft.broker.parameters import Parameters
from weft.broker.parting import Parting
from weft.broker.subscribing import Subscribing
from weft.wire.mqtt import packet as p
from weft.wire.mqtt.parser import Bounds, decode, frame
from weft.wire.mqtt.property import Property
from weft.wire.mqtt.reason import PacketError, Reason, protocol_error
from weft.wire.mqtt.writer import encode

PINGRESP = encode(p.Pingresp(), p.Version.V311)
NEVER = 2**62  # bytes: no read is worth another look
CONNECT_BYTES = 1 << 19  # of CONNECT: five fields of 64 KiB and properties; nobody is known before it
CONNECT_PROPERTIES = 100  # of CONNECT, and of its will


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
        parting: Parting,
        figures: Figures,
        parameters: Parameters,
    ) -> None:
        self._outbox = outbox
        self._lane = lane
        self._window_lane = window
        self._entrance = entrance
        self._inbound = inbound
        self._outbound = outbound
        self._subscribing = subscribing
        self._parting = parting
        self._figures = figures
        self._parameters = parameters
        self._bounds = Bounds(parameters.properties, parameters.subscriptions)
        self._connect_bounds = Bounds(min(parameters.properties, CONNECT_PROPERTIES))
        self._packets: dict[type[p.Packet], Callable[[Connection, Any, float], None]] = {
            p.Publish: inbound.publish,
            p.Puback: self._puback,
            p.Pubrec: self._pubrec,
            p.Pubrel: self._pubrel,
            p.Pubcomp: self._pubcomp,
            p.Subscribe: subscribing.subscribe,
            p.Unsubscribe: self._unsubscribe,
            p.Pingreq: self._pingreq,
            p.Disconnect: self._disconnect,
            p.Auth: self._auth,
        }

    def receive(self, connection: Connection, data: bytes, now: float) -> None:
        self._figures.bytes_received += len(data)
        if connection.pieces is not None:
            connection.pieces += data
            if len(connection.pieces) < connection.need:
                return
            data, connection.pieces = bytes(connection.pieces), None
        self._read_or_give_up(connection, data, now)

    def read_on(self, connection: Connection, now: float) -> None:
        """Read what came behind CONNECT while it waited."""
        data, connection.pieces = bytes(connection.pieces or b""), None
        self._read_or_give_up(connection, data, now)

    def _read_or_give_up(self, connection: Connection, data: bytes, now: float) -> None:
        try:
            self._read(connection, data, now)
        except PacketError as error:
            self._parting.give_up(connection, error, data, now)

    def _read(self, connection: Connection, data: bytes, now: float) -> None:
        """All packets of a read; what is left waits for more."""
        at, end, limit, bounds = 0, len(data), self._parameters.packet_bytes, self._bounds
        if connection.version is None:
            limit, bounds = min(limit, CONNECT_BYTES), self._connect_bounds
        while at < end and not connection.closing:
            if connection.session is not None:
                start, head = at, data[at]
                if head == PUBLISH:
                    at = self._lane.pass_on(connection, data, at)
                elif head == window_lane.PUBLISH and not self._inbound.journal.full:
                    at = self._window_lane.pass_on(connection, data, at, now)
                elif head == window_lane.PUBACK:
                    at = self._window_lane.acknowledge(connection, data, at)
                if at > start:
                    connection.heard = now
                if at == end:
                    return
            framed = frame(data, at, end, limit, connection.version)
            if framed is None or framed[1] > end:
                _await_more(connection, data[at:], framed[1] - at if framed else 0)
                return
            packet = decode(data, at, framed[0], framed[1], connection.version, bounds)
            connection.heard = now
            self._figures.packets_received += 1
            self._dispatch(connection, packet, now)
            at = framed[1]
            if connection.waiting is not None:
                _await_more(connection, data[at:], NEVER)
                return

    def _dispatch(self, connection: Connection, packet: p.Packet, now: float) -> None:
        if connection.version is None:
            if not isinstance(packet, p.Connect):
                raise protocol_error("The first packet is not CONNECT.")
            self._parting.greeted(connection)
            self._entrance.connect(connection, packet, now)
            return
        handler = self._packets.get(type(packet))
        if handler is None:
            raise protocol_error(f"A client has sent {type(packet).__name__.upper()}.")
        handler(connection, packet, now)

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

    def _unsubscribe(self, connection: Connection, packet: p.Unsubscribe, now: float) -> None:
        self._subscribing.unsubscribe(connection, packet)

    def _pingreq(self, connection: Connection, packet: p.Pingreq, now: float) -> None:
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


def _await_more(connection: Connection, rest: bytes, need: int) -> None:
    connection.pieces, connection.need = bytearray(rest), need
