"""Bytes to packets. Any split of the bytes gives the same packets, and any bytes give packets or a `PacketError`.

`frame` finds where the next packet ends, `decode` makes a value of it. A broker calls the two itself, to look at a
PUBLISH without making a value of it; everybody else feeds a `Parser`.

A packet must be used up to its last byte, its flags must be those of the table, and its size within the limit, which
is checked as soon as the length is known, before the rest has come. `Bounds` say how many it may have of what there may
be many, and nothing behind one more is read: so the sender does not decide how long a packet takes. The filters of a
long SUBSCRIBE or UNSUBSCRIBE can be read some at a time (`opened`), with other work in between.

Bits that MQTT 3.1 does not use are not looked at: it has no value that they must have, and its clients send PUBREL,
SUBSCRIBE and UNSUBSCRIBE again with DUP.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from weft.wire.mqtt import field as f
from weft.wire.mqtt import packet as p
from weft.wire.mqtt import property as prop
from weft.wire.mqtt.property import Properties, Property, read_properties
from weft.wire.mqtt.reason import (
    PacketError,
    Reason,
    UnreadableError,
    malformed,
    protocol_error,
    quota_exceeded,
)
from weft.wire.mqtt.topic import is_filter, is_name, is_shared, split_shared

# Flags that the lower half of the first byte must have, by type; those of PUBLISH mean something.
FLAGS = {1: 0, 2: 0, 4: 0, 5: 0, 6: 2, 7: 0, 8: 2, 9: 0, 10: 2, 11: 0, 12: 0, 13: 0, 14: 0, 15: 0}
PUBLISH = 3
HEADS = frozenset({kind << 4 | flags for kind, flags in FLAGS.items()} | {PUBLISH << 4 | flags for flags in range(16)})
NAMES = {b"MQTT": (p.Version.V311, p.Version.V5), b"MQIsdp": (p.Version.V31,)}
BRIDGE = 0x80  # set in the level by bridges of Mosquitto, which MQTT 5 gives options for what it asks

_SUBACK_CODES = frozenset({0, 1, 2, 0x80, 0x83, 0x87, 0x8F, 0x91, 0x97, 0x9E, 0xA1, 0xA2})
_RECEIVED = frozenset({0, 0x10, 0x80, 0x83, 0x87, 0x90, 0x91, 0x97, 0x99})
REASONS = {  # codes that each packet of MQTT 5 may carry
    2: frozenset({0, *range(0x80, 0x8B), 0x8C, 0x90, 0x95, 0x97, 0x99, 0x9A, 0x9B, 0x9C, 0x9D, 0x9F}),
    4: _RECEIVED,
    5: _RECEIVED,
    6: frozenset({0, 0x92}),
    7: frozenset({0, 0x92}),
    9: _SUBACK_CODES,
    11: frozenset({0, 0x11, 0x80, 0x83, 0x87, 0x8F, 0x91}),
    14: frozenset({0, 4, *range(0x80, 0x84), 0x87, 0x89, 0x8B, *range(0x8D, 0x91), *range(0x93, 0xA3)}) - {0x91},
    15: frozenset({0, 0x18, 0x19}),
}


@dataclass(frozen=True, slots=True)
class Bounds:
    """How many a packet may have; one more is 0x97."""

    properties: int = prop.ANY  # user properties, of the packet and of its will each
    filters: int = prop.ANY  # of SUBSCRIBE and UNSUBSCRIBE


UNBOUNDED = Bounds()


class Parser:
    """Packets of one direction of a connection. The version is learnt from CONNECT unless it is given."""

    def __init__(self, limit: int = f.VARINT_MAXIMUM + 5, version: p.Version | None = None) -> None:
        self.limit = limit  # bytes of a packet
        self.version = version
        self._rest = bytearray()
        self._need = 0  # bytes that are worth another look

    @property
    def rest(self) -> bytes:
        """Bytes of a packet of which more is to come."""
        return bytes(self._rest)

    def feed(self, data: bytes) -> Iterator[p.Packet]:
        """The packets that are complete now. Iterate to the end; what is left waits for more."""
        self._rest += data
        if len(self._rest) < self._need:
            return
        data, at = bytes(self._rest), 0
        self._rest.clear()
        self._need = 0
        while (framed := frame(data, at, len(data), self.limit, self.version)) is not None:
            body, end = framed
            if end > len(data):
                self._need = end - at
                break
            packet = decode(data, at, body, end, self.version)
            if isinstance(packet, p.Connect):
                self.version = packet.version
            yield packet
            at = end
        self._rest += data[at:]


def frame(data: bytes, at: int, end: int, limit: int, version: p.Version | None) -> tuple[int, int] | None:
    """Where the body of the packet at a place begins and ends, whether it has come or not.

    None if not even that can be told yet."""
    if at >= end:
        return None
    if data[at] not in HEADS and not _is_old(data[at], version):
        raise malformed(f"0x{data[at]:02X} begins no packet: its type or flags are reserved.")
    length = 0
    for place in (1, 2, 3, 4):
        if at + place >= end:
            return None
        byte = data[at + place]
        length |= (byte & 0x7F) << 7 * (place - 1)
        if byte < 0x80:
            break
    else:
        raise malformed("The remaining length has more than four bytes.")
    if byte == 0 and place > 1 and version is p.Version.V5:
        raise malformed("The remaining length has more bytes than it needs.")
    if 1 + place + length > limit:
        raise PacketError(
            Reason.PACKET_TOO_LARGE, f"A packet of {1 + place + length} bytes is over the limit of {limit}."
        )
    return at + 1 + place, at + 1 + place + length


def _is_old(head: int, version: p.Version | None) -> bool:
    """Whether a packet of MQTT 3.1 may begin so; before CONNECT has said the version it may be that."""
    kind = head >> 4
    return kind == 1 if version is None else version is p.Version.V31 and 1 <= kind <= 14


def count(data: bytes) -> int:
    """How many packets there are in bytes that are whole packets."""
    at = found = 0
    while (framed := frame(data, at, len(data), f.VARINT_MAXIMUM + 5, None)) is not None:
        at = framed[1]
        found += 1
    return found


def decode(
    data: bytes, at: int, body: int, end: int, version: p.Version | None, bounds: Bounds = UNBOUNDED
) -> p.Packet:
    """The packet whose first byte is at a place and whose body is between two others."""
    try:
        return _decode(data, at, body, end, version, bounds)
    except PacketError:
        raise
    except Exception as error:
        raise UnreadableError from error


def _decode(data: bytes, at: int, body: int, end: int, version: p.Version | None, bounds: Bounds) -> p.Packet:
    head = data[at]
    kind = head >> 4
    if kind == 1:
        return _connect(data, head, body, end, bounds)
    if version is None:
        raise protocol_error("The first packet is not CONNECT.")
    if kind == PUBLISH:
        return _publish(data, head, body, end, version, bounds)
    if version is not p.Version.V5 and kind == 15:
        raise malformed("AUTH is of MQTT 5 only.")
    packet, at = _DECODERS[kind](data, body, end, version, bounds)
    if at != end:
        raise malformed("A packet is longer than what is in it.")
    return packet


def opened(
    data: bytes, at: int, body: int, end: int, version: p.Version, bounds: Bounds = UNBOUNDED
) -> p.Subscribe | p.Unsubscribe:
    """A SUBSCRIBE or UNSUBSCRIBE, as for `decode`, of which filters are read as they are taken, or found wrong."""
    return (_open_subscribe if data[at] >> 4 == 8 else _open_unsubscribe)(data, body, end, version, bounds)


def _connect(data: bytes, head: int, at: int, end: int, bounds: Bounds) -> p.Connect:
    version, bridge, at = _protocol(data, at, end)
    flags, at = f.read_u8(data, at, end)
    if (flags & 1 or head & 15) and version is not p.Version.V31:
        raise malformed("A reserved flag of CONNECT is set.")
    keep_alive, at = f.read_u16(data, at, end)
    properties, at = _properties(data, at, end, version, prop.CONNECT, bounds)
    client, at = f.read_string(data, at, end)
    will, at = _will(data, at, end, version, flags, bounds)
    username: str | None = None
    password: bytes | None = None
    if flags & 0x40 and not flags & 0x80 and version is not p.Version.V5:
        raise malformed("CONNECT has a password without a user name.")
    if flags & 0x80:
        username, at = f.read_string(data, at, end)
    if flags & 0x40:
        password, at = f.read_binary(data, at, end)
    if at != end:
        raise malformed("CONNECT is longer than what is in it.")
    if Property.AUTHENTICATION_DATA in properties and Property.AUTHENTICATION_METHOD not in properties:
        raise protocol_error("CONNECT has authentication data without a method.")
    return p.Connect(client, version, bool(flags & 2), keep_alive, will, username, password, properties, bridge)


def _protocol(data: bytes, at: int, end: int) -> tuple[p.Version, bool, int]:
    name, at = f.read_binary(data, at, end)
    level, at = f.read_u8(data, at, end)
    if name not in NAMES:
        raise PacketError(Reason.UNSUPPORTED_PROTOCOL_VERSION, f"The protocol is {name[:16]!r} and not MQTT.")
    version, bridge = level & ~BRIDGE, bool(level & BRIDGE)
    if version not in NAMES[name] or (bridge and version == p.Version.V5):
        raise PacketError(Reason.UNSUPPORTED_PROTOCOL_VERSION, f"Level {level} of MQTT is not served.")
    return p.Version(version), bridge, at


def _will(data: bytes, at: int, end: int, version: p.Version, flags: int, bounds: Bounds) -> tuple[p.Will | None, int]:
    qos = flags >> 3 & 3
    if not flags & 4:
        if flags & 0x38 and version is not p.Version.V31:
            raise malformed("CONNECT has flags of a will without a will.")
        return None, at
    if qos == 3:
        raise malformed("The will has QoS 3.")
    properties, at = _properties(data, at, end, version, prop.WILL, bounds)
    topic, at = f.read_string(data, at, end)
    payload, at = f.read_binary(data, at, end)
    if not is_name(topic):
        raise PacketError(Reason.TOPIC_NAME_INVALID, "The topic of the will is empty or has a wildcard.")
    _check_response_topic(properties)
    return p.Will(topic, payload, qos, bool(flags & 0x20), properties), at


def _properties(
    data: bytes, at: int, end: int, version: p.Version, place: int, bounds: Bounds
) -> tuple[Properties, int]:
    return read_properties(data, at, end, place, bounds.properties) if version is p.Version.V5 else ({}, at)


def _check_response_topic(properties: Properties) -> None:
    response = properties.get(Property.RESPONSE_TOPIC)
    if response is not None and not is_name(response):
        raise protocol_error("The response topic is empty or has a wildcard.")


def _publish(data: bytes, head: int, at: int, end: int, version: p.Version, bounds: Bounds) -> p.Publish:
    qos, dup, retain = head >> 1 & 3, bool(head & 8), bool(head & 1)
    if qos == 3:
        raise malformed("PUBLISH has QoS 3.")
    if dup and not qos:
        if version is not p.Version.V31:
            raise malformed("PUBLISH has QoS 0 and DUP.")
        dup = False
    topic, at = f.read_string(data, at, end)
    packet_id = 0
    if qos:
        packet_id, at = _packet_id(data, at, end)
    properties, at = _properties(data, at, end, version, prop.PUBLISH, bounds)
    if not is_name(topic) and (topic or version is not p.Version.V5):
        raise PacketError(Reason.TOPIC_NAME_INVALID, "PUBLISH has a topic that is empty or has a wildcard.")
    if not topic and Property.TOPIC_ALIAS not in properties:
        raise protocol_error("PUBLISH has neither a topic nor an alias.")
    _check_response_topic(properties)
    return p.Publish(topic, data[at:end], qos, retain, dup, packet_id, properties)


def _packet_id(data: bytes, at: int, end: int) -> tuple[int, int]:
    packet_id, at = f.read_u16(data, at, end)
    if packet_id == 0:
        raise protocol_error("A packet identifier is 0.")
    return packet_id, at


def _reason(data: bytes, at: int, end: int, kind: int) -> tuple[int, int]:
    reason, at = f.read_u8(data, at, end)
    if reason not in REASONS[kind]:
        raise malformed(f"0x{reason:02X} is no reason code of this packet.")
    return reason, at


def _reason_and_properties(
    data: bytes, at: int, end: int, version: p.Version, kind: int, bounds: Bounds
) -> tuple[int, Properties, int]:
    """Both may be left off from behind."""
    if version is not p.Version.V5 or at == end:
        return Reason.SUCCESS, {}, at
    reason, at = _reason(data, at, end, kind)
    if at == end:
        return reason, {}, at
    properties, at = read_properties(data, at, end, kind, bounds.properties)
    return reason, properties, at


_Decoder = Callable[[bytes, int, int, p.Version, Bounds], tuple[p.Packet, int]]


def _acknowledgement(made: type[p.Acknowledgement], kind: int) -> _Decoder:
    def decoded(data: bytes, at: int, end: int, version: p.Version, bounds: Bounds) -> tuple[p.Packet, int]:
        packet_id, at = _packet_id(data, at, end)
        reason, properties, at = _reason_and_properties(data, at, end, version, kind, bounds)
        return made(packet_id, reason, properties), at

    return decoded


def _connack(data: bytes, at: int, end: int, version: p.Version, bounds: Bounds) -> tuple[p.Packet, int]:
    flags, at = f.read_u8(data, at, end)
    if flags > 1:
        raise malformed("CONNACK has reserved flags.")
    if version is p.Version.V5:
        code, at = _reason(data, at, end, prop.CONNACK)
    else:
        code, at = f.read_u8(data, at, end)
    properties, at = _properties(data, at, end, version, prop.CONNACK, bounds)
    return p.Connack(bool(flags), code, properties), at


def _subscribe(data: bytes, at: int, end: int, version: p.Version, bounds: Bounds) -> tuple[p.Packet, int]:
    one = _open_subscribe(data, at, end, version, bounds)
    return p.Subscribe(one.packet_id, tuple(one.requests), one.properties), end


def _open_subscribe(data: bytes, at: int, end: int, version: p.Version, bounds: Bounds) -> p.Subscribe:
    packet_id, at = _packet_id(data, at, end)
    properties, at = _properties(data, at, end, version, prop.SUBSCRIBE, bounds)
    if at == end:
        raise protocol_error("SUBSCRIBE has no filter.")
    return p.Subscribe(packet_id, _requests(data, at, end, version, bounds), properties)


def _requests(data: bytes, at: int, end: int, version: p.Version, bounds: Bounds) -> Iterator[p.Request]:
    for pattern, behind in _filters(data, at, end, bounds, gap=1):
        yield _request(pattern, data[behind], version)


def _filters(data: bytes, at: int, end: int, bounds: Bounds, gap: int) -> Iterator[tuple[str, int]]:
    """Filters up to the end of a packet, and the places behind them, where so many bytes follow each."""
    found = 0
    while at < end:
        if found >= bounds.filters:
            raise quota_exceeded(f"A packet has more than {bounds.filters:,} filters.")
        pattern, at = f.read_string(data, at, end)
        if at + gap > end:
            raise malformed("A packet ends within a byte field.")
        yield pattern, at
        at += gap
        found += 1


def _request(pattern: str, options: int, version: p.Version) -> p.Request:
    _check_filter(pattern)
    if version is p.Version.V31:
        options &= 3
    if options & (0xC0 if version is p.Version.V5 else 0xFC):
        raise malformed("SUBSCRIBE has reserved options.")
    qos, handling, no_local = options & 3, options >> 4, bool(options & 4)
    if qos == 3 or handling == 3:
        raise malformed("SUBSCRIBE has QoS 3 or retain handling 3.")
    if no_local and is_shared(pattern):
        raise protocol_error("A shared subscription has no local.")
    return p.Request(pattern, qos, no_local, bool(options & 8), handling)


def _check_filter(pattern: str) -> None:
    valid = split_shared(pattern) is not None if is_shared(pattern) else is_filter(pattern)
    if not valid:
        raise PacketError(Reason.TOPIC_FILTER_INVALID, f"{pattern[:80]!r} is no topic filter.")


def _unsubscribe(data: bytes, at: int, end: int, version: p.Version, bounds: Bounds) -> tuple[p.Packet, int]:
    one = _open_unsubscribe(data, at, end, version, bounds)
    return p.Unsubscribe(one.packet_id, tuple(one.filters), one.properties), end


def _open_unsubscribe(data: bytes, at: int, end: int, version: p.Version, bounds: Bounds) -> p.Unsubscribe:
    packet_id, at = _packet_id(data, at, end)
    properties, at = _properties(data, at, end, version, prop.UNSUBSCRIBE, bounds)
    if at == end:
        raise protocol_error("UNSUBSCRIBE has no filter.")
    return p.Unsubscribe(packet_id, _patterns(data, at, end, bounds), properties)


def _patterns(data: bytes, at: int, end: int, bounds: Bounds) -> Iterator[str]:
    for pattern, _ in _filters(data, at, end, bounds, gap=0):
        _check_filter(pattern)
        yield pattern


def _suback(data: bytes, at: int, end: int, version: p.Version, bounds: Bounds) -> tuple[p.Packet, int]:
    packet_id, at = _packet_id(data, at, end)
    properties, at = _properties(data, at, end, version, prop.SUBACK, bounds)
    codes = tuple(data[at:end])
    if not codes or not _SUBACK_CODES.issuperset(codes):
        raise malformed("SUBACK has no code, or one that is none.")
    return p.Suback(packet_id, codes, properties), end


def _unsuback(data: bytes, at: int, end: int, version: p.Version, bounds: Bounds) -> tuple[p.Packet, int]:
    packet_id, at = _packet_id(data, at, end)
    properties, at = _properties(data, at, end, version, prop.UNSUBACK, bounds)
    if version is not p.Version.V5:
        return p.Unsuback(packet_id), at
    codes = tuple(data[at:end])
    if not codes or not REASONS[prop.UNSUBACK].issuperset(codes):
        raise malformed("UNSUBACK has no code, or one that is none.")
    return p.Unsuback(packet_id, codes, properties), end


def _pingreq(_: bytes, at: int, __: int, ___: p.Version, ____: Bounds) -> tuple[p.Packet, int]:
    return p.Pingreq(), at


def _pingresp(_: bytes, at: int, __: int, ___: p.Version, ____: Bounds) -> tuple[p.Packet, int]:
    return p.Pingresp(), at


def _disconnect(data: bytes, at: int, end: int, version: p.Version, bounds: Bounds) -> tuple[p.Packet, int]:
    reason, properties, at = _reason_and_properties(data, at, end, version, prop.DISCONNECT, bounds)
    return p.Disconnect(reason, properties), at


def _auth(data: bytes, at: int, end: int, version: p.Version, bounds: Bounds) -> tuple[p.Packet, int]:
    reason, properties, at = _reason_and_properties(data, at, end, version, prop.AUTH, bounds)
    return p.Auth(reason, properties), at


_DECODERS: dict[int, _Decoder] = {
    2: _connack,
    4: _acknowledgement(p.Puback, prop.PUBACK),
    5: _acknowledgement(p.Pubrec, prop.PUBREC),
    6: _acknowledgement(p.Pubrel, prop.PUBREL),
    7: _acknowledgement(p.Pubcomp, prop.PUBCOMP),
    8: _subscribe,
    9: _suback,
    10: _unsubscribe,
    11: _unsuback,
    12: _pingreq,
    13: _pingresp,
    14: _disconnect,
    15: _auth,
}
