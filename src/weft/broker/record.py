"""Records: what a journal keeps of a broker, so that nothing acknowledged is lost.

A record says what has changed, and replaying records is replaying changes. What is said of a session, subscription,
topic or identifier last is what holds; a publication is known by its number, and a session knows by `last` which
numbers it has had.

One table gives each record its number and the types of its fields.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from operator import attrgetter
from struct import Struct
from struct import error as StructError
from typing import Any

from weft.broker.publication import Delivery, Publication
from weft.wire.frame_field import FrameError
from weft.wire.mqtt import field as f
from weft.wire.mqtt import property as prop
from weft.wire.mqtt.packet import Will
from weft.wire.mqtt.property import BYTE, FOUR, STRING, TWO, VARIABLE, Kind, read_properties, write_properties
from weft.wire.mqtt.reason import PacketError


class RecordError(FrameError):
    """A record that is none: of a newer Weft, or of a node that does not speak as agreed."""


class Record:
    __slots__ = ()


@dataclass(frozen=True, slots=True)
class SessionOpened(Record):
    """A client with a persistent session has come, or the session is part of a snapshot."""

    client: str
    version: int
    expiry: int  # seconds
    last: int  # number of the latest publication that it was given


@dataclass(frozen=True, slots=True)
class SessionLeft(Record):
    """The client is away."""

    client: str
    at: float  # seconds since 1970
    expiry: int


@dataclass(frozen=True, slots=True)
class SessionEnded(Record):
    client: str


@dataclass(frozen=True, slots=True)
class WillSet(Record):
    client: str
    will: Will | None


@dataclass(frozen=True, slots=True)
class Subscribed(Record):
    client: str
    filter: str
    options: int
    identifier: int


@dataclass(frozen=True, slots=True)
class Unsubscribed(Record):
    client: str
    filter: str


# The client, QoS with the retain flag as bit 2, identifiers, and the shared filter that it is a member of, or nothing.
# Without a client it is one member of the filter at any node, who is yet to be found (node/recovery.py).
Receiver = tuple[str, int, tuple[int, ...], str]


def receiver(client: str, one: Delivery) -> Receiver:
    return client, one.qos | one.retain << 2, one.identifiers, one.group


def any_member(one: Publication, group: str) -> Receiver:
    return "", one.qos, (), group


@dataclass(frozen=True, slots=True)
class Queued(Record):
    """A publication is owed to persistent sessions, or to one member of a shared subscription at any node.

    With QoS 2 from a persistent session the receipt is part of it, so that a crash leaves both or neither.
    """

    publication: Publication
    receivers: tuple[Receiver, ...]
    receipt: int = 0  # the publisher's packet identifier, or 0


@dataclass(frozen=True, slots=True)
class Sent(Record):
    """A publication has a packet identifier, and may have reached the client."""

    client: str
    number: int
    packet_id: int


@dataclass(frozen=True, slots=True)
class Released(Record):
    """QoS 2: the client has said that it has it."""

    client: str
    number: int


@dataclass(frozen=True, slots=True)
class Done(Record):
    """Nothing is owed any more of one publication to one client."""

    client: str
    number: int


@dataclass(frozen=True, slots=True)
class ReceiptNoted(Record):
    """QoS 2 from a client: the identifier has been received."""

    client: str
    packet_id: int
    content: int  # checksum of what came under it
    late: bool = False  # the client may have released it since, here or elsewhere; so with what was noted before


@dataclass(frozen=True, slots=True)
class ReceiptCleared(Record):
    client: str
    packet_id: int


@dataclass(frozen=True, slots=True)
class Retained(Record):
    publication: Publication


@dataclass(frozen=True, slots=True)
class Unretained(Record):
    topic: str


_U64 = Struct(">Q")
_F64 = Struct(">d")
_ORIGIN = Struct(">dIQQ")


def _read_u64(data: bytes, at: int, end: int) -> tuple[int, int]:
    return _U64.unpack_from(data, at)[0], at + 8


def _read_f64(data: bytes, at: int, end: int) -> tuple[float, int]:
    return _F64.unpack_from(data, at)[0], at + 8


def _read_blob(data: bytes, at: int, end: int) -> tuple[bytes, int]:
    length, at = f.read_u32(data, at, end)
    return data[at : at + length], at + length


def _blob(value: bytes) -> bytes:
    return f.u32(len(value)) + value


def _publication(one: Publication) -> bytes:
    return b"".join(
        (
            f.binary(one.topic),
            _blob(one.payload),
            f.u8(one.qos | one.retain << 2 | (one.origin is not None) << 3),
            write_properties(one.properties),
            _F64.pack(one.expires or 0.0),
            f.string(one.publisher),
            _U64.pack(one.number),
            _ORIGIN.pack(one.issued, *one.origin) if one.origin is not None else b"",
        )
    )


def _read_publication(data: bytes, at: int, end: int) -> tuple[Publication, int]:
    topic, at = f.read_binary(data, at, end)
    payload, at = _read_blob(data, at, end)
    flags, at = f.read_u8(data, at, end)
    properties, at = read_properties(data, at, end, prop.PUBLISH)
    expires, at = _read_f64(data, at, end)
    publisher, at = f.read_string(data, at, end)
    number, at = _read_u64(data, at, end)
    one = Publication(topic, payload, flags & 3, bool(flags & 4), properties, expires or None, publisher, number)
    if flags & 8:
        one.issued, *origin = _ORIGIN.unpack_from(data, at)
        one.origin = (origin[0], origin[1], origin[2])
        at += _ORIGIN.size
    return one, at


def _will(will: Will | None) -> bytes:
    if will is None:
        return b"\0"
    flags = f.u8(0x80 | will.qos | will.retain << 2)
    return flags + f.string(will.topic) + f.binary(will.payload) + write_properties(will.properties)


def _read_will(data: bytes, at: int, end: int) -> tuple[Will | None, int]:
    flags, at = f.read_u8(data, at, end)
    if not flags:
        return None, at
    topic, at = f.read_string(data, at, end)
    payload, at = f.read_binary(data, at, end)
    properties, at = read_properties(data, at, end, prop.WILL)
    return Will(topic, payload, flags & 3, bool(flags & 4), properties), at


def _many(kind: Kind) -> Kind:
    def read(data: bytes, at: int, end: int) -> tuple[tuple[Any, ...], int]:
        count, at = f.read_varint(data, at, end)
        values = []
        for _ in range(count):
            value, at = kind.read(data, at, end)
            values.append(value)
        return tuple(values), at

    return Kind(read, lambda values: f.varint(len(values)) + b"".join(map(kind.write, values)))


def _together(*kinds: Kind) -> Kind:
    def read(data: bytes, at: int, end: int) -> tuple[tuple[Any, ...], int]:
        values = []
        for kind in kinds:
            value, at = kind.read(data, at, end)
            values.append(value)
        return tuple(values), at

    def write(values: tuple[Any, ...]) -> bytes:
        return b"".join(kind.write(value) for kind, value in zip(kinds, values, strict=True))

    return Kind(read, write)


def _receiver(one: Receiver) -> bytes:
    client, flags, identifiers, group = one
    head = f.string(client) + f.u8(flags | bool(group) << 3) + IDENTIFIERS.write(identifiers)
    return head + f.string(group) if group else head


def _read_receiver(data: bytes, at: int, end: int) -> tuple[Receiver, int]:
    client, at = f.read_string(data, at, end)
    flags, at = f.read_u8(data, at, end)
    identifiers, at = IDENTIFIERS.read(data, at, end)
    group, at = f.read_string(data, at, end) if flags & 8 else ("", at)
    return (client, flags & 7, identifiers, group), at


def _packed(kind: Kind, layout: str) -> Kind:
    """The same bytes, written faster: a string, and integers behind it."""
    pack = Struct(layout).pack
    return Kind(kind.read, lambda values: f.string(values[0]) + pack(*values[1:]))


NUMBER = Kind(_read_u64, _U64.pack)
TIME = Kind(_read_f64, _F64.pack)
PUBLICATION = Kind(_read_publication, _publication)
WILL = Kind(_read_will, _will)
IDENTIFIERS = _many(VARIABLE)
RECEIVERS = _many(Kind(_read_receiver, _receiver))

KINDS: dict[type[Record], tuple[int, Kind]] = {
    SessionOpened: (1, _together(STRING, BYTE, FOUR, NUMBER)),
    SessionLeft: (2, _together(STRING, TIME, FOUR)),
    SessionEnded: (3, _together(STRING)),
    WillSet: (4, _together(STRING, WILL)),
    Subscribed: (5, _together(STRING, STRING, BYTE, VARIABLE)),
    Unsubscribed: (6, _together(STRING, STRING)),
    Queued: (7, _together(PUBLICATION, RECEIVERS, TWO)),
    Sent: (8, _packed(_together(STRING, NUMBER, TWO), ">QH")),
    Released: (9, _packed(_together(STRING, NUMBER), ">Q")),
    Done: (10, _packed(_together(STRING, NUMBER), ">Q")),
    ReceiptNoted: (11, _together(STRING, TWO, FOUR, BYTE)),
    ReceiptCleared: (12, _together(STRING, TWO)),
    Retained: (13, _together(PUBLICATION)),
    Unretained: (14, _together(STRING)),
}
_BY_NUMBER: dict[int, tuple[type[Record], Kind]] = {number: (made, kind) for made, (number, kind) in KINDS.items()}


def _values_of(made: type[Record]) -> Callable[[Any], Any]:
    """All fields of a record as a tuple, as fast as it goes: the journal of a busy node has a record a packet."""
    names = [one.name for one in fields(made)]  # type: ignore[arg-type]
    return attrgetter(*names) if len(names) > 1 else lambda record: (getattr(record, names[0]),)


_WRITERS = {made: (f.u8(number), kind.write, _values_of(made)) for made, (number, kind) in KINDS.items()}


def encode(record: Record) -> bytes:
    number, write, values = _WRITERS[type(record)]
    return number + write(values(record))


def decode(data: bytes) -> Record:
    try:
        made, kind = _BY_NUMBER[data[0]]
        values, _ = kind.read(data, 1, len(data))
    except (IndexError, KeyError, StructError, PacketError, UnicodeDecodeError) as cause:
        raise RecordError("A record of a session cannot be read.") from cause
    build: Callable[..., Record] = made
    return build(*values)
