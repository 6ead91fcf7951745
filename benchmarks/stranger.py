"""A client that says what nobody should: packets as bytes, right or not, and sockets that read when they like."""

import contextlib
import itertools
import os
import socket
import ssl
import struct
import time
from base64 import b64encode
from collections.abc import Iterable, Sequence

from weft.wire.mqtt.field import binary, u16, u32, varint
from weft.wire.mqtt.packet import Connack, Version
from weft.wire.mqtt.parser import Parser
from weft.wire.mqtt.property import Property
from weft.wire.mqtt.reason import PacketError

LONGEST = 60.0  # seconds that anything is waited for
V311, V5 = 4, 5
CONNACK, PUBLISH, PUBACK, PUBREC, SUBACK, UNSUBACK, PINGRESP = 2, 3, 4, 5, 9, 11, 13
NEVER = 0xFFFFFFFF  # seconds of an expiry
PING, GOODBYE = b"\xc0\0", b"\xe0\0"
USER_PROPERTY = b"\x26\0\x01k\0\x01v"  # 7 bytes
_NUMBERS = itertools.count()


def packet(head: int, *parts: bytes) -> bytes:
    body = b"".join(parts)
    return bytes([head]) + varint(len(body)) + body


def properties(version: int, said: bytes = b"") -> bytes:
    return varint(len(said)) + said if version == V5 else b""


def new_name(prefix: str = "stranger") -> str:
    return f"{prefix}-{os.getpid()}-{next(_NUMBERS)}"


def connect(
    client: str = "",
    version: int = V311,
    *,
    clean: bool = True,
    keep_alive: int = 0,
    said: bytes = b"",
    will: bytes = b"",  # properties, topic and payload
    login: tuple[str, str] | None = None,
) -> bytes:
    flags = clean << 1 | bool(will) << 2 | (0xC0 if login else 0)
    names = b"".join(binary(one.encode()) for one in (login or ()))
    head = (binary(b"MQTT"), bytes([version, flags]), u16(keep_alive), properties(version, said))
    return packet(0x10, *head, binary((client or new_name()).encode()), will, names)


def kept(seconds: int = NEVER) -> bytes:
    """Property of a CONNECT whose session stays."""
    return b"\x11" + u32(seconds)


def will(topic: str, payload: bytes = b"", said: bytes = b"") -> bytes:
    """A will of MQTT 5."""
    return properties(V5, said) + binary(topic.encode()) + binary(payload)


def publish(
    topic: str, payload: bytes = b"", qos: int = 0, number: int = 1, *, retain: bool = False, said: bytes | None = None
) -> bytes:
    """A PUBLISH: of MQTT 5 where `said`, its properties, are given."""
    tail = b"" if said is None else properties(V5, said)
    identifier = u16(number) if qos else b""
    return packet(0x30 | qos << 1 | retain, binary(topic.encode()), identifier, tail, payload)


def subscribe(filters: Iterable[str], qos: int = 0, version: int = V311, said: bytes = b"", number: int = 1) -> bytes:
    options = bytes([qos])
    return packet(0x82, u16(number), properties(version, said), *(binary(one.encode()) + options for one in filters))


def unsubscribe(filters: Iterable[str], version: int = V311, said: bytes = b"", number: int = 2) -> bytes:
    return packet(0xA2, u16(number), properties(version, said), *(binary(one.encode()) for one in filters))


class Stranger:
    """A connection. What is refused or closed is no error here: others are what counts."""

    def __init__(self, port: int, *, source: str = "127.0.0.1", buffer: int | None = None) -> None:
        self.socket = socket.socket()
        self.socket.settimeout(LONGEST)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if buffer is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        self.socket.bind((source, 0))
        self._rest = bytearray()
        self.closed = False
        try:
            self.socket.connect(("127.0.0.1", port))
        except OSError:
            self.closed = True

    def say(self, *said: bytes) -> None:
        """Write all of it, for as long as it is read."""
        if not self.closed:
            try:
                self.socket.sendall(b"".join(said))
            except OSError:
                self.closed = True

    def hear(self, kind: int, times: int = 1) -> int:
        """How many packets of a kind come, until there are so many or the connection ends."""
        found, until = 0, time.monotonic() + LONGEST
        while found < times and time.monotonic() < until:
            if (come := self._next()) is None:
                break
            found += come == kind
        return found

    def drained(self) -> None:
        """Return when the broker has handled all that it was told here."""
        self.say(PING)
        self.hear(PINGRESP)

    def sip(self, size: int) -> None:
        """Read so many bytes, if there are any."""
        try:
            self.socket.settimeout(0.01)
            self.closed = not self.socket.recv(size)
        except TimeoutError:
            pass
        except OSError:
            self.closed = True
        finally:
            self.socket.settimeout(LONGEST)

    def leave(self) -> None:
        """Go without a word."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()
        self.closed = True

    def _next(self) -> int | None:
        """The kind of the next packet."""
        while (whole := _first_length(self._rest)) is None:
            try:
                data = b"" if self.closed else self.socket.recv(1 << 18)
            except OSError:
                data = b""
            if not data:
                self.closed = True
                return None
            self._rest += data
        kind = self._rest[0] >> 4
        del self._rest[:whole]
        return kind


def _first_length(data: bytearray) -> int | None:
    """Bytes of the first packet, if all of it is there."""
    length = 0
    for place, byte in enumerate(data[1:5]):
        length |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            whole = 2 + place + length
            return whole if whole <= len(data) else None
    return None


def joined(port: int, version: int = V311, *, buffer: int | None = None, **options: object) -> Stranger:
    """A stranger with a CONNACK."""
    one = Stranger(port, buffer=buffer)
    one.say(connect(version=version, **options))  # type: ignore[arg-type]
    one.hear(CONNACK)
    return one


def aliases_of(port: int) -> int:
    """Topic aliases that a broker allows its clients."""
    one = Stranger(port)
    one.say(connect(version=V5))
    parser = Parser(version=Version.V5)
    try:
        while not one.closed:
            for answer in parser.feed(one.socket.recv(4096)):
                if isinstance(answer, Connack):
                    return int(answer.properties.get(Property.TOPIC_ALIAS_MAXIMUM, 0))
    except (OSError, PacketError):
        pass
    finally:
        one.leave()
    return 0


def client_hello() -> bytes:
    """The first bytes of a TLS handshake, which may be said again and again."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    written = ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        context.wrap_bio(ssl.MemoryBIO(), written).do_handshake()
    return written.read()


# WebSockets


def upgrade(headers: Sequence[str] = ()) -> bytes:
    own = ("Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Protocol: mqtt")
    key = f"Sec-WebSocket-Key: {b64encode(bytes(16)).decode()}"
    lines = ("GET /mqtt HTTP/1.1", "Host: 127.0.0.1", *own, key, *headers)
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def ws_frame(opcode: int, payload: bytes, final: bool = True) -> bytes:
    """A frame of a client, whose mask is zero."""
    size = len(payload)
    length = (
        bytes([0x80 | size]) if size < 126 else b"\xfe" + u16(size) if size < 65536 else b"\xff" + bytes(4) + u32(size)
    )
    return bytes([final << 7 | opcode]) + length + bytes(4) + payload
