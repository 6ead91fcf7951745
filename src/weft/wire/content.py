"""Content of a publication on its way through the network: what a broker needs to pass it on.

The issuer's node writes it once; nodes on the way hand it on as bytes. What is left of its life is in seconds from the
moment it was written, so that clocks may differ.

A run is many publications of QoS 0 of one client that take the same way, as the bytes of their PUBLISH packets, in the
form that MQTT 3.1.1 gives them. Its name is that of the first.
"""

from dataclasses import dataclass, field
from struct import Struct, error

from weft.wire.frame_field import MOMENT, FrameError
from weft.wire.mqtt import property as prop
from weft.wire.mqtt.property import Properties, read_properties, write_properties
from weft.wire.mqtt.reason import PacketError
from weft.wire.mqtt.topic import is_name

_HEAD = Struct(">BdHHI")  # flags, time of issue, lengths of name, publisher and payload
_RETAIN, _EXPIRES, _PROPERTIES, _RUN = 4, 8, 16, 32
_COUNT = Struct(">I")
_LENGTH = Struct(">H")


@dataclass(slots=True)
class Content:
    name: bytes  # of the topic, valid UTF-8
    payload: bytes
    qos: int = 0
    retain: bool = False
    properties: Properties = field(default_factory=dict)
    life: float | None = None  # seconds left when it was written
    publisher: str = ""  # the client
    issued: float = 0.0  # seconds since 1970, by the issuer's clock


def encode(one: Content) -> bytes:
    publisher = one.publisher.encode()
    flags = one.qos | one.retain << 2 | (one.life is not None) << 3 | bool(one.properties) << 4
    head = _HEAD.pack(flags, one.issued, len(one.name), len(publisher), len(one.payload))
    life = b"" if one.life is None else MOMENT.write(one.life)
    properties = write_properties(one.properties) if one.properties else b""
    return b"".join((head, one.name, publisher, one.payload, life, properties))


def decode(data: bytes) -> Content:
    try:
        return _decoded(data)
    except (error, UnicodeDecodeError, PacketError) as cause:
        raise FrameError("A publication of another node cannot be read.") from cause


def _decoded(data: bytes) -> Content:
    flags, issued, name_length, publisher_length, payload_length = _HEAD.unpack_from(data)
    name_end = 17 + name_length
    publisher_end = name_end + publisher_length
    at = publisher_end + payload_length
    if at > len(data) or flags > 31 or flags & 3 == 3:
        raise FrameError("A publication of another node cannot be read.")
    name, payload = data[17:name_end], data[publisher_end:at]
    one = Content(name, payload, flags & 3, bool(flags & _RETAIN), {}, None, "", issued)
    one.publisher = data[name_end:publisher_end].decode()
    name.decode()
    MOMENT.read(data, 1)
    if flags & _EXPIRES:
        one.life, at = MOMENT.read(data, at)
    if flags & _PROPERTIES:
        one.properties, at = read_properties(data, at, len(data), prop.PUBLISH)
    if at != len(data):
        raise FrameError("A publication of another node has bytes too many.")
    return one


def check(data: bytes) -> None:
    """Raise where another node's content cannot be read.

    All of it is looked at, also where it is only passed on: what a node has spoilt is to end its own link, and not one
    between two others, further on.
    """
    try:
        flags, _, name_length, publisher_length, payload_length = _HEAD.unpack_from(data)
        name_end = 17 + name_length
        publisher_end = name_end + publisher_length
        if not is_name(data[17:name_end].decode()):
            raise FrameError("A publication of another node has no name that can be published on.")
        data[name_end:publisher_end].decode()
        at = publisher_end + payload_length
        if flags == _RUN:
            is_known = payload_length >= _COUNT.size
        else:
            is_known = flags < _RUN and flags & 3 != 3
            MOMENT.read(data, 1)
            if flags & _EXPIRES:
                _, at = MOMENT.read(data, at)
            if flags & _PROPERTIES and at <= len(data):
                _, at = read_properties(data, at, len(data), prop.PUBLISH)
    except (error, UnicodeDecodeError, PacketError) as cause:
        raise FrameError("A publication of another node cannot be read.") from cause
    if not is_known or at != len(data):
        raise FrameError("A publication of another node is of an unknown form, or has another length than it says.")


def name_of(data: bytes) -> bytes:
    """The name of a content, without reading the rest."""
    return data[17 : 17 + (data[9] << 8 | data[10])]


def is_retained(data: bytes) -> bool:
    return bool(data[0] & _RETAIN)


@dataclass(slots=True)
class Run:
    packets: bytes  # PUBLISH of MQTT 3.1.1, QoS 0, without RETAIN
    count: int  # of them
    name: bytes  # of the first
    publisher: str


def encode_run(run: Run, issued: float) -> bytes:
    publisher = run.publisher.encode()
    head = _HEAD.pack(_RUN, issued, len(run.name), len(publisher), 4 + len(run.packets))
    return b"".join((head, run.name, publisher, _COUNT.pack(run.count), run.packets))


def is_run(data: bytes) -> bool:
    return data[0] == _RUN


def decode_run(data: bytes) -> Run:
    try:
        _, _, name_length, publisher_length, payload_length = _HEAD.unpack_from(data)
        name_end = 17 + name_length
        at = name_end + publisher_length
        if at + payload_length != len(data):
            raise FrameError("A run of another node has another length than it says.")
        count: int = _COUNT.unpack_from(data, at)[0]
        return Run(data[at + 4 :], count, data[17:name_end], data[name_end:at].decode())
    except (error, UnicodeDecodeError) as cause:
        raise FrameError("A run of another node cannot be read.") from cause


def content_of(data: bytes, at: int) -> bytes:
    """The content of one publication of QoS 0, where its publisher and its PUBLISH stand in some bytes."""
    try:
        packet_at = at + 2 + _LENGTH.unpack_from(data, at)[0]
        packet = data[packet_at:]
        body = 3 if packet[1] > 127 else 2
        name_end = body + 2 + _LENGTH.unpack_from(packet, body)[0]
    except (error, IndexError) as cause:
        raise FrameError("A publication of another node ends within its head.") from cause
    if name_end > len(packet):
        raise FrameError("A publication of another node ends within its name.")
    head = _HEAD.pack(_RUN, 0.0, name_end - body - 2, packet_at - at - 2, 4 + len(packet))
    return b"".join((head, packet[body + 2 : name_end], data[at + 2 : packet_at], _COUNT.pack(1), packet))


def count_of(data: bytes) -> int:
    """How many publications a content has."""
    if data[0] != _RUN:
        return 1
    at = 17 + (data[9] << 8 | data[10]) + (data[11] << 8 | data[12])
    count: int = _COUNT.unpack_from(data, at)[0]
    return count
