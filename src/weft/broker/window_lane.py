"""The fast lane of QoS 1: publications and their acknowledgements, without values in between.

A PUBLISH of QoS 1 goes on as the bytes it came in but for its packet identifier, which is the receiver's. Both halves
of the handshake are kept as on the long way (outbound.py), in the same places; the lane only gets there without making
packets of bytes and bytes of packets.

It leaves to the long way, and stops at: topics whose receivers are not known or not all `sure` (connected, same family
of versions, QoS 1 or more, nothing of their own in the PUBLISH, nothing for the journal), properties, RETAIN and DUP,
a journal that is full, acknowledgements that make room for what waits.
"""

from weft.broker.connection import Connection
from weft.broker.figure import Figures
from weft.broker.outbound import Outbound
from weft.broker.outbox import Outbox
from weft.broker.publication import Delivery, Publication
from weft.broker.route import Route, Routes
from weft.broker.session import Session
from weft.wire.mqtt.packet import Version
from weft.wire.mqtt.property import Properties

PUBLISH = 0x32
PUBACK = 0x40
READ, SENDS = 1 << 14, 1_000  # bytes of a client, and publications sent, after which others have a turn
_ACKNOWLEDGED = b"\x40\x02"
_NONE: Properties = {}


class WindowLane:
    def __init__(self, outbox: Outbox, outbound: Outbound, routes: Routes, figures: Figures, most: int) -> None:
        self._outbox = outbox
        self._outbound = outbound
        self._routes = routes
        self._figures = figures
        self._most = most  # bytes of a packet: larger ones are left to the long way

    def pass_on(self, connection: Connection, data: bytes, at: int, now: float) -> int:
        """Pass on what there is from a place on; the place of the first packet that is left to others."""
        known, limit, end = self._routes.by_name.get, self._most, len(data)
        until, begin = min(end - 4, at + READ), self._figures.packets_sent
        allowed = connection.allowed
        is5 = connection.version is Version.V5
        session = connection.session
        assert session is not None
        packets = payload = 0
        answers: list[bytes] = []
        while at < until and data[at] == PUBLISH and self._figures.packets_sent - begin < SENDS:
            body = at + 2
            length = data[at + 1]
            if length > 127:
                more = data[body]
                length = length & 127 | more << 7
                body += 1
                if more > 127 or not more:
                    break
            stop = body + length
            if stop > end or not 5 <= length <= limit:
                break
            name_end = body + 2 + (data[body] << 8 | data[body + 1])
            rest = name_end + 2
            if rest > stop or (is5 and (rest == stop or data[rest])):
                break
            name = data[body + 2 : name_end]
            route = known(name)
            packet_id = data[name_end:rest]
            if route is None or packet_id == b"\0\0" or not self._is_sure(route, is5):
                break
            if allowed is not None and name not in allowed:
                break
            publication = Publication(name, data[rest + is5 : stop], 1, False, _NONE, None, session.client)
            for receiver in route.sure:
                self._give(receiver, publication, data[at:name_end], data[rest:stop], now)
            answers += (_ACKNOWLEDGED, packet_id)
            packets += 1
            payload += stop - rest - is5
            at = stop
        if answers:
            self._outbox.send(connection, b"".join(answers))
            self._count(packets, payload)
        return at

    def acknowledge(self, connection: Connection, data: bytes, at: int) -> int:
        """Take PUBACKs that make nothing else happen; the place of the first packet that is left to others."""
        session = connection.session
        assert session is not None
        if session.queue or session.resend or (session.persistent and self._outbox.durable):
            return at
        inflight = session.inflight
        begin, end = at, len(data) - 3
        while at < end and data[at] == PUBACK and data[at + 1] == 2:
            packet_id = data[at + 2] << 8 | data[at + 3]
            delivery = inflight.get(packet_id)
            if delivery is None or delivery.qos != 1:
                break
            del inflight[packet_id]
            at += 4
        taken = (at - begin) // 4
        connection.outstanding = max(0, connection.outstanding - taken)
        self._figures.packets_received += taken
        return at

    def _is_sure(self, route: Route, is5: bool) -> bool:
        if not route.is_sure or (route.put3 if is5 else route.put5):
            return False
        return not (self._outbox.durable and any(one.persistent for one in route.sure))

    def _give(self, session: Session, publication: Publication, head: bytes, tail: bytes, now: float) -> None:
        connection = session.connection
        assert connection is not None
        delivery = Delivery(publication, 1)
        if session.queue or session.resend or connection.congested or connection.outstanding >= connection.window:
            self._outbound.offer(session, delivery)
            return
        packet_id = delivery.packet_id = session.new_identifier()
        session.inflight[packet_id] = delivery
        connection.outstanding += 1
        self._outbox.send(connection, b"%b%c%c%b" % (head, packet_id >> 8, packet_id & 255, tail))
        self._figures.publication_bytes_sent += len(publication.payload)
        self._figures.packets_sent += 1
        self._figures.publications_sent += 1

    def _count(self, packets: int, payload: int) -> None:
        figures = self._figures
        figures.packets_received += packets
        figures.publications_received += packets
        figures.publication_bytes_received += payload
        figures.packets_sent += packets
