"""The fast lane: publications of QoS 0 without RETAIN, passed on as the bytes they came in.

A PUBLISH of QoS 0 has nothing in it that is between the client and the broker only, so what a subscriber of the same
family of versions gets is what the publisher sent, byte by byte. The lane finds the ends of packets and the receivers
of their topics, and nothing else; a run of packets with the same receivers is one slice of what was read. Between the
families a byte is put in or taken out: MQTT 5 has the length of its properties there.

The lane leaves to the long way what it is not sure of: topics whose receivers are not known, properties, aliases,
receivers that need a PUBLISH of their own, names of which it is not known that the client may publish on them, packets
of 16 KiB or more, or that could have a payload over the limit. It stops at the first such packet.

In a network, a run also goes to other nodes as it is, one message for all of it, and there into their lanes. What comes
alone need not be made a run of: `find` and `give` are for the network's lane (node/lane.py).
"""

from collections.abc import Hashable, Iterator

from weft.broker.connection import Connection
from weft.broker.effect import AcceptedRun
from weft.broker.figure import Figures
from weft.broker.outbox import Outbox
from weft.broker.parameters import Parameters
from weft.broker.route import Route, Routes
from weft.wire.content import Run
from weft.wire.mqtt.field import varint
from weft.wire.mqtt.packet import Version
from weft.wire.mqtt.topic import is_name

PUBLISH = 0x30
READ, WORK = 1 << 16, 10_000  # bytes of a client, and receivers of runs, after which others have a turn
NOWHERE = Route([], [], 0)

# Plain tuples, which cost a node nothing but themselves: an object of a class has a function that makes it.
Lone = tuple[Route, bytes, bytes, int]  # alone in a read: receivers, name, PUBLISH of 3.1.1, bytes of its payload
Sends = list[tuple[int, bytes]]  # connections, and what they are sent


class Lane:
    def __init__(self, outbox: Outbox, routes: Routes, figures: Figures, parameters: Parameters) -> None:
        self._outbox = outbox
        self._routes = routes
        self._figures = figures
        self._most = parameters.lane_bytes
        self._levels = parameters.topic_levels
        self.work = 0  # receivers of runs, since somebody set it back: what a slice may bring has a bound (reading.py)
        self._runs: dict[Hashable, list[tuple[bytes, int]]] = {}  # in a network: what goes where, of one read

    def pass_on(self, connection: Connection, data: bytes, at: int) -> int:
        """Pass on what there is from a place on; the place of the first packet that is left to others."""
        at = self._pass_on(connection, connection.version is Version.V5, data, at)
        if self._runs:
            self._hand_over(connection)
        return at

    def pass_in(self, data: bytes, at: int) -> int:
        """The same for a run that has come from another node."""
        return self._pass_on(None, False, data, at)

    def find(
        self, packet: bytes, is5: bool = False, allowed: set[bytes] | None = None, arrives: bool = False
    ) -> Lone | None:
        """A publication of a client, or of another node, that comes alone, if the lane is sure of its receivers."""
        end = len(packet)
        if end < 5 or packet[0] != PUBLISH:
            return None
        body, length = 2, packet[1]
        if length > 127:
            more, body = packet[2], 3
            length = length & 127 | more << 7
            if more > 127 or not more:
                return None
        name_end = body + 2 + (packet[body] << 8 | packet[body + 1])
        if (
            body + length != end
            or length > self._most
            or name_end > end
            or (is5 and (name_end == end or packet[name_end]))
        ):
            return None
        name = packet[body + 2 : name_end]
        if allowed is not None and name not in allowed:
            return None
        route = (self._routes.arriving if arrives else self._routes.by_name).get(name) or self._learned(name, arrives)
        if route is None or not route.is_plain:
            return None
        return route, name, _without_properties(packet) if is5 else packet, end - name_end - is5

    def _learned(self, name: bytes, arrives: bool) -> Route | None:
        """The receivers of a name that has not been looked up, if it is one."""
        try:
            text = name.decode()
        except UnicodeDecodeError:
            return None
        if not is_name(text) or text.count("/") >= self._levels:
            return None
        return self._routes.arrival(name) if arrives else self._routes.route(name)

    def give(self, route: Route, packet: bytes, payload: int) -> Sends:
        """Send a publication that came alone to its receivers."""
        figures = self._figures
        packet5 = _with_properties(packet) if route.put5 else packet
        sends: Sends = []
        for connection in route.receivers:
            if connection.stuck or connection.closing:
                figures.dropped += 1
                continue
            data = packet5 if connection.version is Version.V5 else packet
            sends.append((connection.number, data))
            figures.bytes_sent += len(data)
        self._count(len(sends), 1, payload)
        return sends

    def _pass_on(self, source: Connection | None, is5: bool, data: bytes, at: int) -> int:
        known, allowed = self._routes.by_name.get, source.allowed if source is not None else None
        end, start, limit = len(data), at, self._most
        until = min(end - 4, at + READ) if source is not None else end - 4
        run, packets, payload = NOWHERE, 0, 0
        while at < until and data[at] == PUBLISH:
            body = at + 2
            length = data[at + 1]
            if length > 127:
                more = data[body]
                length = length & 127 | more << 7
                body += 1
                if more > 127 or not more:
                    break
            stop = body + length
            if stop > end or not 3 <= length <= limit:
                break
            name_end = body + 2 + (data[body] << 8 | data[body + 1])
            if name_end > stop or (is5 and (name_end == stop or data[name_end])):
                break
            name = data[body + 2 : name_end]
            route = known(name)
            if allowed is not None and name not in allowed:
                break
            if route is not run:
                if route is None or not route.is_plain:
                    break
                if run is not NOWHERE:
                    self._pass(source, run, data[start:at], packets, payload, is5)
                    if self.work > WORK and source is not None:
                        return at
                run, start, packets, payload = route, at, 0, 0
            packets += 1
            payload += stop - name_end
            at = stop
        if run is not NOWHERE:
            self._pass(source, run, data[start:at], packets, payload, is5)
        return at

    def _pass(self, source: Connection | None, route: Route, run: bytes, packets: int, payload: int, is5: bool) -> None:
        if source is not None:
            self.work += len(route.receivers)
            self._receive(route, run, packets, payload - is5 * packets, is5)
        same, other = (route.put5, route.put3) if is5 else (route.put3, route.put5)
        for put in same:
            put(run)
        if other:
            run = _without_properties(run) if is5 else _with_properties(run)
            for put in other:
                put(run)
        self._outbox.touch_route(route)
        served = [one for one in route.receivers if not one.stuck and not one.closing]
        self._count(len(served), packets, payload - is5 * packets)

    def _receive(self, route: Route, run: bytes, packets: int, payload: int, is5: bool) -> None:
        """What a client of this node has said; other nodes may want it too."""
        self.count_received(packets, payload)
        if route.lead is not None:
            parts = self._runs.setdefault(route.lead, [])
            parts.append((_without_properties(run) if is5 else run, packets))

    def count_received(self, packets: int, payload: int) -> None:
        figures = self._figures
        figures.packets_received += packets
        figures.publications_received += packets
        figures.publication_bytes_received += payload

    def _hand_over(self, source: Connection) -> None:
        """What goes the same way in the network goes together, also where other publications came between."""
        assert source.session is not None
        runs, self._runs = self._runs, {}
        for lead, parts in runs.items():
            run = parts[0][0] if len(parts) == 1 else b"".join([part for part, _ in parts])
            name = next(run[body + 2 : end] for body, end, _ in _packets(run))
            count = sum([packets for _, packets in parts])
            self._outbox.add(AcceptedRun(lead, Run(run, count, name, source.session.client)))

    def _count(self, receivers: int, packets: int, payload: int) -> None:
        figures = self._figures
        figures.packets_sent += packets * receivers
        figures.publications_sent += packets * receivers
        figures.publication_bytes_sent += payload * receivers


def _with_properties(run: bytes) -> bytes:
    """Publications of QoS 0 before MQTT 5 as such of MQTT 5."""
    parts: list[bytes] = []
    for body, name_end, stop in _packets(run):
        parts += (b"\x30", varint(stop - body + 1), run[body:name_end], b"\0", run[name_end:stop])
    return b"".join(parts)


def _without_properties(run: bytes) -> bytes:
    """Publications of QoS 0 of MQTT 5 that have no properties, as such of 3.1.1."""
    parts: list[bytes] = []
    for body, name_end, stop in _packets(run):
        parts += (b"\x30", varint(stop - body - 1), run[body:name_end], run[name_end + 1 : stop])
    return b"".join(parts)


def _packets(run: bytes) -> Iterator[tuple[int, int, int]]:
    """Where bodies begin, their topics end, and they end."""
    at = 0
    while at < len(run):
        body, length = at + 2, run[at + 1]
        if length > 127:
            length = length & 127 | run[body] << 7
            body += 1
        at = body + length
        yield body, body + 2 + (run[body] << 8 | run[body + 1]), at
