"""MQTT, chapter 6: WebSockets as the transport."""

import base64
import hashlib
import os
import socket

import pytest

from mqtt_peer import DEADLINE, PINGREQ, V5, connect, decode, publish, subscribe, unique
from mqtt_table import both, v5, v311

TEXT, BINARY, CLOSE = 1, 2, 8


class WebSocket:
    """Client end of a WebSocket (RFC 6455), as little of it as the tests need."""

    def __init__(self, address: tuple[str, int], protocols: str = "mqtt") -> None:
        self.socket = socket.create_connection(address, DEADLINE)
        self.key = base64.b64encode(os.urandom(16)).decode()
        self.buffer = b""
        self.open(address, protocols)

    def open(self, address: tuple[str, int], protocols: str) -> None:
        lines = [
            "GET /mqtt HTTP/1.1",
            f"Host: {address[0]}:{address[1]}",
            "Upgrade: websocket",
            "Connection: Upgrade",
            f"Sec-WebSocket-Key: {self.key}",
            "Sec-WebSocket-Version: 13",
            *([f"Sec-WebSocket-Protocol: {protocols}"] if protocols else []),
        ]
        self.socket.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        while b"\r\n\r\n" not in self.buffer and (data := self.socket.recv(4096)):
            self.buffer += data
        head, _, self.buffer = self.buffer.partition(b"\r\n\r\n")
        status, *fields = head.decode("latin-1").split("\r\n")
        self.status = int(status.split()[1]) if status else 0
        self.fields = {
            name.strip().lower(): value.strip() for name, _, value in (each.partition(":") for each in fields)
        }

    def send(self, payload: bytes, kind: int = BINARY, final: bool = True) -> None:
        mask = os.urandom(4)
        size = len(payload)
        length = bytes([0x80 | size]) if size < 126 else bytes([0x80 | 126]) + size.to_bytes(2, "big")
        masked = bytes(byte ^ mask[place % 4] for place, byte in enumerate(payload))
        self.socket.sendall(bytes([kind | (0x80 if final else 0)]) + length + mask + masked)

    def exactly(self, count: int) -> bytes:
        while len(self.buffer) < count:
            data = self.socket.recv(65536)
            if not data:
                raise EOFError
            self.buffer += data
        head, self.buffer = self.buffer[:count], self.buffer[count:]
        return head

    def frame(self) -> tuple[int, bytes]:
        first, second = self.exactly(2)
        assert not second & 0x80, "a server does not mask"
        size = second if second < 126 else int.from_bytes(self.exactly(2 if second == 126 else 8), "big")
        return first & 15, self.exactly(size)

    def stream(self, count: int) -> bytes:
        """Bytes of MQTT, at least so many, all from binary frames."""
        data = b""
        while len(data) < count:
            kind, payload = self.frame()
            assert kind in (BINARY, 0)
            data += payload
        return data

    def closed(self) -> bool:
        """Whether the server ends the connection, by a frame or by closing it."""
        try:
            while self.frame()[0] != CLOSE:
                pass
        except (EOFError, ConnectionResetError):
            pass
        return True


@pytest.fixture
def address(broker_addresses: list[tuple[str, int]]) -> tuple[str, int]:
    if len(broker_addresses) < 2:
        pytest.skip("no WebSocket address was given behind a comma in MQTT_BROKER")
    return broker_addresses[1]


@pytest.mark.parametrize("protocols", ["mqtt", "chat, mqtt", "mqtt, mqttv3.1"])
@v311("6.0.0-4")
@v5("6.0.0-4")
def test_the_subprotocol_mqtt_is_selected(address: tuple[str, int], protocols: str) -> None:
    peer = WebSocket(address, protocols)
    assert (peer.status, peer.fields["sec-websocket-protocol"]) == (101, "mqtt")
    proof = hashlib.sha1((peer.key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()
    assert peer.fields["sec-websocket-accept"] == base64.b64encode(proof).decode()


@both
@v311("6.0.0-1", "6.0.0-2")
@v5("6.0.0-1", "6.0.0-2")
def test_packets_and_frames_need_not_be_aligned(address: tuple[str, int], version: int) -> None:
    peer, topic = WebSocket(address), unique()
    stream = connect(version, unique("c")) + subscribe(version, 1, [(topic, 0)]) + publish(version, topic, b"x" * 300)
    for place in range(0, len(stream), 7):  # packets across frames
        peer.send(stream[place : place + 7])
    connack = 5 if version == V5 else 4
    got = peer.stream(connack + 5 + 300)
    assert decode(version, got[: 2 + got[1]]).code == 0
    assert got.endswith(b"x" * 300)
    peer.send(PINGREQ * 3)  # packets within a frame
    assert peer.stream(6) == b"\xd0\x00" * 3


@both
@v311("6.0.0-2")
@v5("6.0.0-2")
def test_a_packet_may_come_in_a_fragmented_message(address: tuple[str, int], version: int) -> None:
    peer = WebSocket(address)
    first = connect(version, unique("c"))
    peer.send(first[:5], BINARY, final=False)
    peer.send(first[5:], 0, final=True)
    assert peer.stream(4)[0] == 0x20


@both
@v311("6.0.0-1")
@v5("6.0.0-1")
def test_a_text_frame_closes_the_connection(address: tuple[str, int], version: int) -> None:
    peer = WebSocket(address)
    peer.send(connect(version, unique("c")))
    assert peer.stream(4)[0] == 0x20
    peer.send(PINGREQ.replace(b"\xc0", b"\x40"), TEXT)
    assert peer.closed()
