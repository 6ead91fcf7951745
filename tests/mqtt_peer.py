"""One end of an MQTT connection that says exactly what a test tells it to, right or wrong.

The conformance suite is an oracle, so it shares no code with the broker: this file has its own encoder, which checks
nothing (malformed bytes are what many tests are about), and its own decoder, which checks everything. What a broker
sends is held against the standards in every test: flags, minimal lengths, UTF-8, which properties and which reason
codes a packet may have, the client's Maximum Packet Size and Topic Alias Maximum. A breach raises `BreachError`.

Nothing sleeps. Every read has a deadline. That something does *not* arrive is shown by what arrives instead: the answer
to a PINGREQ, or a sentinel publication that was sent after it (`Peer.drain`).

Versions are protocol levels: 4 is MQTT 3.1.1, 5 is MQTT 5.0.
"""

import itertools
import os
import socket
import time
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from types import TracebackType
from typing import Any, Self

DEADLINE = 10.0  # seconds; only a broker that does not answer at all needs them
PATIENCE = 1.0  # seconds until a broker that should have closed the connection is asked whether it is still there

V311, V5 = 4, 5


class Kind(IntEnum):
    """Control packets by the upper half of their first byte."""

    CONNECT = 1
    CONNACK = 2
    PUBLISH = 3
    PUBACK = 4
    PUBREC = 5
    PUBREL = 6
    PUBCOMP = 7
    SUBSCRIBE = 8
    SUBACK = 9
    UNSUBSCRIBE = 10
    UNSUBACK = 11
    PINGREQ = 12
    PINGRESP = 13
    DISCONNECT = 14
    AUTH = 15


class Property(IntEnum):
    """Properties of MQTT 5 by identifier."""

    PAYLOAD_FORMAT = 0x01
    MESSAGE_EXPIRY = 0x02
    CONTENT_TYPE = 0x03
    RESPONSE_TOPIC = 0x08
    CORRELATION_DATA = 0x09
    SUBSCRIPTION_ID = 0x0B
    SESSION_EXPIRY = 0x11
    ASSIGNED_CLIENT_ID = 0x12
    SERVER_KEEP_ALIVE = 0x13
    AUTH_METHOD = 0x15
    AUTH_DATA = 0x16
    REQUEST_PROBLEM = 0x17
    WILL_DELAY = 0x18
    REQUEST_RESPONSE = 0x19
    RESPONSE_INFORMATION = 0x1A
    SERVER_REFERENCE = 0x1C
    REASON_STRING = 0x1F
    RECEIVE_MAXIMUM = 0x21
    ALIAS_MAXIMUM = 0x22
    ALIAS = 0x23
    MAXIMUM_QOS = 0x24
    RETAIN_AVAILABLE = 0x25
    USER = 0x26
    MAXIMUM_PACKET = 0x27
    WILDCARD_AVAILABLE = 0x28
    SUBSCRIPTION_ID_AVAILABLE = 0x29
    SHARED_AVAILABLE = 0x2A


P = Property
ONE_BYTE = {P.PAYLOAD_FORMAT, P.REQUEST_PROBLEM, P.REQUEST_RESPONSE, P.MAXIMUM_QOS, P.RETAIN_AVAILABLE}
ONE_BYTE |= {P.WILDCARD_AVAILABLE, P.SUBSCRIPTION_ID_AVAILABLE, P.SHARED_AVAILABLE}
TWO_BYTES = {P.SERVER_KEEP_ALIVE, P.RECEIVE_MAXIMUM, P.ALIAS_MAXIMUM, P.ALIAS}
FOUR_BYTES = {P.MESSAGE_EXPIRY, P.SESSION_EXPIRY, P.WILL_DELAY, P.MAXIMUM_PACKET}
BINARY = {P.CORRELATION_DATA, P.AUTH_DATA}

ANSWER = {P.REASON_STRING, P.USER}
# What a server may put into each packet, and the reason codes it may use there (MQTT 5.0, chapter 3 and section 2.4).
SERVER_PROPERTIES: dict[Kind, set[Property]] = {
    Kind.CONNACK: {
        P.SESSION_EXPIRY,
        P.ASSIGNED_CLIENT_ID,
        P.SERVER_KEEP_ALIVE,
        P.AUTH_METHOD,
        P.AUTH_DATA,
        P.RESPONSE_INFORMATION,
        P.SERVER_REFERENCE,
        P.RECEIVE_MAXIMUM,
        P.ALIAS_MAXIMUM,
        P.MAXIMUM_QOS,
        P.RETAIN_AVAILABLE,
        P.MAXIMUM_PACKET,
        P.WILDCARD_AVAILABLE,
        P.SUBSCRIPTION_ID_AVAILABLE,
        P.SHARED_AVAILABLE,
        *ANSWER,
    },
    Kind.PUBLISH: {
        P.PAYLOAD_FORMAT,
        P.MESSAGE_EXPIRY,
        P.CONTENT_TYPE,
        P.RESPONSE_TOPIC,
        P.CORRELATION_DATA,
        P.SUBSCRIPTION_ID,
        P.ALIAS,
        P.USER,
    },
    Kind.PUBACK: ANSWER,
    Kind.PUBREC: ANSWER,
    Kind.PUBREL: ANSWER,
    Kind.PUBCOMP: ANSWER,
    Kind.SUBACK: ANSWER,
    Kind.UNSUBACK: ANSWER,
    Kind.DISCONNECT: {P.SERVER_REFERENCE, *ANSWER},  # Session Expiry is the client's alone, [MQTT-3.14.2-2]
    Kind.AUTH: {P.AUTH_METHOD, P.AUTH_DATA, *ANSWER},
}
PUBLISH_CODES = {0x00, 0x10, 0x80, 0x83, 0x87, 0x90, 0x91, 0x97, 0x99}
SERVER_CODES: dict[Kind, set[int]] = {
    Kind.CONNACK: {0x00, *range(0x80, 0x8B), 0x8C, 0x90, 0x95, 0x97, 0x99, 0x9A, 0x9B, 0x9C, 0x9D, 0x9F},
    Kind.PUBACK: PUBLISH_CODES,
    Kind.PUBREC: PUBLISH_CODES,
    Kind.PUBREL: {0x00, 0x92},
    Kind.PUBCOMP: {0x00, 0x92},
    Kind.SUBACK: {0x00, 0x01, 0x02, 0x80, 0x83, 0x87, 0x8F, 0x91, 0x97, 0x9E, 0xA1, 0xA2},
    Kind.UNSUBACK: {0x00, 0x11, 0x80, 0x83, 0x87, 0x8F, 0x91},
    Kind.DISCONNECT: {0x00, *range(0x80, 0x84), 0x87, 0x89, *range(0x8B, 0x91), *range(0x93, 0xA3)},
    Kind.AUTH: {0x00, 0x18},
}


class BreachError(AssertionError):
    """Bytes of the broker that the standard does not allow."""


class SilenceError(AssertionError):
    """Nothing came before the deadline."""


class ClosedError(AssertionError):
    """The broker closed the connection where the test needed it open."""


# -- Encoding: whatever a test asks for, right or wrong


def number(value: int) -> bytes:
    """Variable byte integer."""
    digits = bytearray()
    while True:
        value, digit = divmod(value, 128)
        digits.append(digit | (0x80 if value else 0))
        if not value:
            return bytes(digits)


def binary(value: str | bytes) -> bytes:
    """Bytes, or the UTF-8 of a text, behind their length in two bytes."""
    data = value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value
    return len(data).to_bytes(2, "big") + data


def properties(pairs: Iterable[tuple[int, Any]]) -> bytes:
    """Property length and properties."""
    body = b"".join(bytes([key]) + property_value(key, value) for key, value in pairs)
    return number(len(body)) + body


def property_value(key: int, value: Any) -> bytes:
    if key == P.USER:
        return binary(value[0]) + binary(value[1])
    if key == P.SUBSCRIPTION_ID:
        return number(value)
    width = 1 if key in ONE_BYTE else 2 if key in TWO_BYTES else 4 if key in FOUR_BYTES else 0
    return int(value).to_bytes(width, "big") if width else binary(value)


def packet(kind: int, flags: int, body: bytes = b"") -> bytes:
    return bytes([kind << 4 | flags]) + number(len(body)) + body


@dataclass(frozen=True)
class Will:
    """Will of a CONNECT."""

    topic: str | bytes
    payload: bytes = b"gone"
    qos: int = 0
    retain: bool = False
    properties: Sequence[tuple[int, Any]] = ()

    def flags(self) -> int:
        return 0x04 | self.qos << 3 | (0x20 if self.retain else 0)

    def body(self, version: int) -> bytes:
        head = properties(self.properties) if version == V5 else b""
        return head + binary(self.topic) + binary(self.payload)


def connect(
    version: int,
    client_id: str | bytes | None,
    *,
    clean: bool = True,
    keep_alive: int = 0,
    will: Will | None = None,
    username: str | bytes | None = None,
    password: bytes | None = None,
    pairs: Sequence[tuple[int, Any]] = (),
    name: str | bytes = "MQTT",
    level: int | None = None,
    flags: int | None = None,
    more: bytes = b"",
) -> bytes:
    """CONNECT; `flags` replaces the flags that fit the fields, `level` the level, `more` is appended to the payload."""
    fitting = (0x02 if clean else 0) | (will.flags() if will else 0)
    fitting |= (0x80 if username is not None else 0) | (0x40 if password is not None else 0)
    body = binary(name) + bytes([level if level is not None else version, fitting if flags is None else flags])
    body += keep_alive.to_bytes(2, "big") + (properties(pairs) if version == V5 else b"")
    body += b"" if client_id is None else binary(client_id)
    body += will.body(version) if will else b""
    body += b"".join(binary(value) for value in (username, password) if value is not None)
    return packet(Kind.CONNECT, 0, body + more)


def publish(
    version: int,
    topic: str | bytes,
    payload: bytes = b"",
    *,
    qos: int = 0,
    packet_id: int = 0,
    retain: bool = False,
    dup: bool = False,
    pairs: Sequence[tuple[int, Any]] = (),
) -> bytes:
    flags = (8 if dup else 0) | qos << 1 | (1 if retain else 0)
    body = binary(topic) + (packet_id.to_bytes(2, "big") if qos else b"")
    return packet(Kind.PUBLISH, flags, body + (properties(pairs) if version == V5 else b"") + payload)


def subscribe(
    version: int,
    packet_id: int,
    filters: Iterable[tuple[str | bytes, int]],
    *,
    flags: int = 2,
    pairs: Sequence[tuple[int, Any]] = (),
) -> bytes:
    """SUBSCRIBE; `filters` are pairs of topic filter and options byte."""
    body = packet_id.to_bytes(2, "big") + (properties(pairs) if version == V5 else b"")
    body += b"".join(binary(text) + bytes([options]) for text, options in filters)
    return packet(Kind.SUBSCRIBE, flags, body)


def unsubscribe(version: int, packet_id: int, filters: Iterable[str | bytes], *, flags: int = 2) -> bytes:
    body = packet_id.to_bytes(2, "big") + (properties(()) if version == V5 else b"")
    return packet(Kind.UNSUBSCRIBE, flags, body + b"".join(binary(text) for text in filters))


def answer(kind: int, packet_id: int, reason: int | None = None, *, flags: int | None = None) -> bytes:
    """PUBACK, PUBREC, PUBREL or PUBCOMP; one form for both versions, as MQTT 5 lets a sender leave out success."""
    body = packet_id.to_bytes(2, "big") + (b"" if reason is None else bytes([reason]))
    return packet(kind, flags if flags is not None else 2 if kind == Kind.PUBREL else 0, body)


def disconnect(version: int, reason: int = 0, pairs: Sequence[tuple[int, Any]] = ()) -> bytes:
    if version != V5 or (reason == 0 and not pairs):
        return packet(Kind.DISCONNECT, 0)
    return packet(Kind.DISCONNECT, 0, bytes([reason]) + properties(pairs))


PINGREQ = packet(Kind.PINGREQ, 0)


# -- Decoding: what a server may send, and nothing else


@dataclass
class Packet:
    """Control packet from the broker; fields that its kind does not have keep their defaults."""

    kind: Kind
    flags: int
    raw: bytes
    packet_id: int = 0
    codes: list[int] = field(default_factory=list)  # reason codes; one but for SUBACK and UNSUBACK
    session_present: bool = False
    topic: str = ""
    payload: bytes = b""
    pairs: list[tuple[Property, Any]] = field(default_factory=list)

    @property
    def code(self) -> int:
        return self.codes[0]

    @property
    def qos(self) -> int:
        return self.flags >> 1 & 3

    @property
    def retain(self) -> bool:
        return bool(self.flags & 1)

    @property
    def dup(self) -> bool:
        return bool(self.flags & 8)

    def all(self, key: Property) -> list[Any]:
        return [value for name, value in self.pairs if name == key]

    def get(self, key: Property, default: Any = None) -> Any:
        return next(iter(self.all(key)), default)


class Reader:
    """Cursor over the body of one packet."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def left(self) -> int:
        return len(self.data) - self.at

    def take(self, count: int) -> bytes:
        if count > self.left():
            raise BreachError(f"a field of {count} bytes where {self.left()} are left: {self.data.hex(' ')}")
        self.at += count
        return self.data[self.at - count : self.at]

    def integer(self, width: int) -> int:
        return int.from_bytes(self.take(width), "big")

    def binary(self) -> bytes:
        return self.take(self.integer(2))

    def text(self) -> str:
        text = self.binary().decode("utf-8")
        if "\0" in text:
            raise BreachError(f"U+0000 in {text!r}")
        return text

    def number(self) -> int:
        value = 0
        for place in range(4):
            digit = self.integer(1)
            value |= (digit & 0x7F) << 7 * place
            if not digit & 0x80:
                if place and not digit:
                    raise BreachError(f"a length that is not minimal: {self.data.hex(' ')}")
                return value
        raise BreachError(f"a variable byte integer of more than four bytes: {self.data.hex(' ')}")

    def properties(self, kind: Kind) -> list[tuple[Property, Any]]:
        inside = Reader(self.take(self.number()))
        pairs: list[tuple[Property, Any]] = []
        while inside.left():
            key = Property(inside.integer(1))
            if key not in SERVER_PROPERTIES[kind]:
                raise BreachError(f"{key.name} in a {kind.name} from the server")
            if key not in (P.USER, P.SUBSCRIPTION_ID) and any(key == name for name, _ in pairs):
                raise BreachError(f"{key.name} twice in a {kind.name}")
            pairs.append((key, inside.value(key)))
        return pairs

    def value(self, key: Property) -> Any:
        if key == P.USER:
            return self.text(), self.text()
        if key == P.SUBSCRIPTION_ID:
            return self.number()
        width = 1 if key in ONE_BYTE else 2 if key in TWO_BYTES else 4 if key in FOUR_BYTES else 0
        if width:
            return self.integer(width)
        return self.binary() if key in BINARY else self.text()


def decode(version: int, raw: bytes) -> Packet:
    """Packet of a server in one version; `raw` is all of it."""
    kind = Kind(raw[0] >> 4)
    result = Packet(kind, raw[0] & 15, raw)
    reader = Reader(raw)
    reader.take(1)
    reader.number()
    if kind is not Kind.PUBLISH and result.flags != (2 if kind is Kind.PUBREL else 0):
        raise BreachError(f"reserved flags {result.flags:#x} in a {kind.name}")
    DECODERS[kind](version, reader, result)
    if reader.left():
        raise BreachError(f"{reader.left()} bytes behind the end of a {kind.name}: {raw.hex(' ')}")
    check_codes(version, result)
    return result


def decode_connack(version: int, reader: Reader, result: Packet) -> None:
    flags = reader.integer(1)
    if flags & 0xFE:
        raise BreachError(f"reserved acknowledge flags {flags:#x} in a CONNACK")
    result.session_present = bool(flags)
    result.codes = [reader.integer(1)]
    if version == V5:
        result.pairs = reader.properties(result.kind)
    if result.code and result.session_present:
        raise BreachError("a session that is present in a CONNACK that refuses")


def decode_publish(version: int, reader: Reader, result: Packet) -> None:
    if result.qos == 3:
        raise BreachError("a PUBLISH with QoS 3")
    if result.qos == 0 and result.dup:
        raise BreachError("a PUBLISH with QoS 0 and DUP")
    result.topic = reader.text()
    if "+" in result.topic or "#" in result.topic:
        raise BreachError(f"a wildcard in the topic name {result.topic!r}")
    result.packet_id = reader.integer(2) if result.qos else 0
    if result.qos and not result.packet_id:
        raise BreachError("a PUBLISH with packet identifier 0")
    if version == V5:
        result.pairs = reader.properties(result.kind)
    result.payload = reader.take(reader.left())


def decode_answer(version: int, reader: Reader, result: Packet) -> None:
    result.packet_id = reader.integer(2)
    result.codes = [reader.integer(1)] if version == V5 and reader.left() else [0]
    if version == V5 and reader.left():
        result.pairs = reader.properties(result.kind)


def decode_list(version: int, reader: Reader, result: Packet) -> None:
    result.packet_id = reader.integer(2)
    if version == V5:
        result.pairs = reader.properties(result.kind)
    if version == V5 or result.kind is Kind.SUBACK:
        result.codes = list(reader.take(reader.left()))


def decode_reason(version: int, reader: Reader, result: Packet) -> None:
    if version != V5:
        raise BreachError(f"a {result.kind.name} from a server of MQTT 3.1.1")
    result.codes = [reader.integer(1)] if reader.left() else [0]
    if reader.left():
        result.pairs = reader.properties(result.kind)


def decode_empty(version: int, reader: Reader, result: Packet) -> None:
    """PINGRESP has no body."""


DECODERS = {
    Kind.CONNACK: decode_connack,
    Kind.PUBLISH: decode_publish,
    **dict.fromkeys((Kind.PUBACK, Kind.PUBREC, Kind.PUBREL, Kind.PUBCOMP), decode_answer),
    **dict.fromkeys((Kind.SUBACK, Kind.UNSUBACK), decode_list),
    **dict.fromkeys((Kind.DISCONNECT, Kind.AUTH), decode_reason),
    Kind.PINGRESP: decode_empty,
}


def check_codes(version: int, result: Packet) -> None:
    old = {Kind.CONNACK: set(range(6)), Kind.SUBACK: {0, 1, 2, 0x80}}
    allowed = SERVER_CODES.get(result.kind) if version == V5 else old.get(result.kind)
    for code in result.codes:
        if allowed is not None and code not in allowed:
            raise BreachError(f"reason code {code:#04x} in a {result.kind.name}")


# -- The connection

serial = itertools.count()
RUN = os.urandom(4).hex()


def unique(prefix: str = "t") -> str:
    """Name that no other test, process or run uses: letters and digits, at most 23 for short prefixes."""
    return f"{prefix}{RUN}{os.getpid():x}x{next(serial):x}"


def lasting(version: int, *pairs: tuple[int, Any]) -> dict[str, Any]:
    """Options of a CONNECT that resumes a session, or begins one that outlives the connection."""
    return {"clean": False, "pairs": [(P.SESSION_EXPIRY, 600), *pairs] if version == V5 else []}


class Peer:
    """Connection to the broker."""

    def __init__(self, address: tuple[str, int], version: int) -> None:
        self.version = version
        self.socket = socket.create_connection(address, DEADLINE)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = bytearray()
        self.inbox: deque[Packet] = deque()
        self.ended = False  # the broker has closed, or reset, the connection
        self.ids = itertools.cycle(range(1, 65536))
        self.client_id = ""
        self.maximum_packet = 268435460
        self.aliases: dict[int, str] = {}
        self.alias_maximum = 0
        self.connack = Packet(Kind.CONNACK, 0, b"")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.drop()

    def drop(self) -> None:
        """Ends the connection as a broken network does: without DISCONNECT."""
        self.socket.close()

    def send(self, *packets: bytes) -> None:
        """Sends bytes; a broker that has closed already is found out by the next read."""
        try:
            self.socket.sendall(b"".join(packets))
        except (BrokenPipeError, ConnectionResetError):
            self.ended = self.ended or not self.buffer

    # reading

    def packet(self, deadline: float = DEADLINE) -> Packet:
        """Next packet from the network; what `take` set aside is not looked at."""
        until = time.monotonic() + deadline
        while (size := self.complete()) == 0:
            self.fill(until)
        raw = bytes(self.buffer[:size])
        del self.buffer[:size]
        if size > self.maximum_packet:
            raise BreachError(f"a packet of {size} bytes for a client that takes {self.maximum_packet}")
        return self.resolve(decode(self.version, raw))

    def complete(self) -> int:
        """Size of the packet at the start of the buffer, 0 while it is not all there."""
        length = 0
        for place in range(1, min(len(self.buffer), 5)):
            length |= (self.buffer[place] & 0x7F) << 7 * (place - 1)
            if not self.buffer[place] & 0x80:
                size = 1 + place + length
                return size if size <= len(self.buffer) else 0
        return 0

    def fill(self, until: float) -> None:
        if self.ended:
            raise ClosedError(f"the broker closed the connection; left over: {bytes(self.buffer).hex(' ')}")
        left = until - time.monotonic()
        if left <= 0:
            raise SilenceError("the broker sent nothing before the deadline")
        self.socket.settimeout(left)
        try:
            data = self.socket.recv(65536)
        except TimeoutError:
            raise SilenceError("the broker sent nothing before the deadline") from None
        except ConnectionResetError:
            data = b""
        self.ended = not data
        self.buffer += data

    def resolve(self, result: Packet) -> Packet:
        """The packet with its topic alias, if it has one, replaced by the topic that it stands for."""
        alias = result.get(P.ALIAS)
        if alias is None:
            if result.kind is Kind.PUBLISH and not result.topic:
                raise BreachError("a PUBLISH without topic name and topic alias")
            return result
        if not 0 < alias <= self.alias_maximum:
            raise BreachError(f"topic alias {alias} for a client that takes {self.alias_maximum}")
        if result.topic:
            self.aliases[alias] = result.topic
        elif alias not in self.aliases:
            raise BreachError(f"topic alias {alias} before its topic")
        result.topic = self.aliases[alias]
        return result

    def next(self, deadline: float = DEADLINE) -> Packet:
        return self.inbox.popleft() if self.inbox else self.packet(deadline)

    def take(self, kind: Kind, deadline: float = DEADLINE) -> Packet:
        """First packet of a kind; packets of other kinds that come before it stay for later."""
        for held in self.inbox:
            if held.kind is kind:
                self.inbox.remove(held)
                return held
        while (arrived := self.packet(deadline)).kind is not kind:
            self.inbox.append(arrived)
        return arrived

    def end(self, deadline: float = DEADLINE) -> list[Packet]:
        """What the broker still sends before it closes the connection; `SilenceError` where it does not close."""
        rest = list(self.inbox)
        self.inbox.clear()
        try:
            while True:
                rest.append(self.packet(deadline))
                assert rest[-1].kind is not Kind.PINGRESP, "the broker went on instead of closing the connection"
        except ClosedError:
            if self.buffer:
                raise
            return rest

    def refused(self, *codes: int, deadline: float = DEADLINE) -> Packet | None:
        """The broker closes; what it says of the reason, if it says anything, is one of `codes` (MQTT 5)."""
        try:
            rest = self.end(min(deadline, PATIENCE))
        except SilenceError:
            self.send(PINGREQ)  # not at once: unread bytes turn a close into a reset, which may swallow the reason
            rest = self.end(deadline)
        last = rest[-1] if rest and rest[-1].kind in (Kind.DISCONNECT, Kind.CONNACK) else None
        for early in rest[:-1] if last else rest:
            assert early.kind not in (Kind.DISCONNECT, Kind.CONNACK), f"{early} before the end of the connection"
        assert last is None or last.code, f"closed with {last}"
        if last is not None and self.version == V5:
            assert not codes or last.code in codes, f"{last.code:#04x} instead of {[hex(code) for code in codes]}"
        return last

    def ping(self) -> list[Packet]:
        """Asks for a PINGRESP; everything that came before it."""
        self.send(PINGREQ)
        before = list(self.inbox)
        self.inbox.clear()
        while (arrived := self.packet()).kind is not Kind.PINGRESP:
            before.append(arrived)
        return before

    def silent(self) -> None:
        """Nothing has come, and the connection is alive."""
        assert self.ping() == []

    # conversations

    def connect(self, client_id: str | bytes | None = None, **options: Any) -> Packet:
        """Connects and returns the CONNACK, whatever it says."""
        if client_id is None:
            client_id = unique("c")
        self.client_id = client_id if isinstance(client_id, str) else ""
        pairs = dict(options.get("pairs", ()))
        self.maximum_packet = pairs.get(P.MAXIMUM_PACKET, self.maximum_packet)
        self.alias_maximum = pairs.get(P.ALIAS_MAXIMUM, 0)
        self.send(connect(self.version, client_id, **options))
        self.connack = self.packet()
        assert self.connack.kind is Kind.CONNACK, self.connack
        return self.connack

    def subscribe(self, *filters: tuple[str, int] | str, pairs: Sequence[tuple[int, Any]] = ()) -> Packet:
        """Subscribes, at QoS 2 where only a filter is given; the SUBACK, in which nothing may have failed."""
        wanted = [(each, 2) if isinstance(each, str) else each for each in filters]
        packet_id = next(self.ids)
        self.send(subscribe(self.version, packet_id, wanted, pairs=pairs))
        suback = self.take(Kind.SUBACK)
        assert suback.packet_id == packet_id
        assert suback.codes == [options & 3 for _, options in wanted], suback
        return suback

    def unsubscribe(self, *filters: str) -> Packet:
        packet_id = next(self.ids)
        self.send(unsubscribe(self.version, packet_id, filters))
        unsuback = self.take(Kind.UNSUBACK)
        assert unsuback.packet_id == packet_id
        return unsuback

    def publish(self, topic: str, payload: bytes = b"", qos: int = 0, **options: Any) -> None:
        """Publishes and carries the handshake to its end."""
        packet_id = next(self.ids) if qos else 0
        self.send(publish(self.version, topic, payload, qos=qos, packet_id=packet_id, **options))
        if qos == 1:
            self.acknowledged(Kind.PUBACK, packet_id)
        elif qos == 2:
            self.acknowledged(Kind.PUBREC, packet_id)
            self.send(answer(Kind.PUBREL, packet_id))
            self.acknowledged(Kind.PUBCOMP, packet_id)

    def acknowledged(self, kind: Kind, packet_id: int) -> Packet:
        arrived = self.take(kind)
        assert (arrived.packet_id, arrived.code & 0x80) == (packet_id, 0), arrived
        return arrived

    def message(self, deadline: float = DEADLINE) -> Packet:
        """Next publication, acknowledged; what belongs to other handshakes is answered on the way."""
        while True:
            arrived = self.next(deadline)
            self.reply(arrived)
            if arrived.kind is Kind.PUBLISH:
                return arrived

    def reply(self, arrived: Packet) -> None:
        """Does what a receiver must at a PUBLISH or a PUBREL."""
        if arrived.kind is Kind.PUBLISH and arrived.qos:
            self.send(answer(Kind.PUBACK if arrived.qos == 1 else Kind.PUBREC, arrived.packet_id))
        elif arrived.kind is Kind.PUBREL:
            self.send(answer(Kind.PUBCOMP, arrived.packet_id))

    def messages(self, count: int) -> list[Packet]:
        return [self.message() for _ in range(count)]

    def drain(self, publisher: "Peer", qos: int = 1) -> list[Packet]:
        """Publications up to a sentinel that `publisher` sends now: all that this client was to get so far.

        They are acknowledged. The sentinel's topic is new, and no longer subscribed to afterwards.
        """
        topic = unique("sentinel")
        self.subscribe((topic, qos))
        publisher.publish(topic, b"", qos)
        before = []
        while (arrived := self.message()).topic != topic:
            before.append(arrived)
        self.unsubscribe(topic)
        for late in self.ping():
            self.reply(late)
        return before

    def leave(self, reason: int = 0, pairs: Sequence[tuple[int, Any]] = ()) -> None:
        """Disconnects as the standard asks and waits until the broker has seen it, which its closing shows."""
        self.send(disconnect(self.version, reason, pairs))
        self.socket.shutdown(socket.SHUT_WR)
        assert [each for each in self.end() if each.kind is Kind.DISCONNECT] == []
