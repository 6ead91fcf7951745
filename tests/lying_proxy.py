"""A proxy between a broker and its subscribers that drops, doubles and swaps publications, and counts what it did."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from weft.wire.mqtt.parser import frame

LIMIT = 1 << 28


@dataclass
class Lies:
    drop: int = 0  # every so many-th publication; 0 is never
    double: int = 0
    swap: int = 0  # with the next one
    dropped: int = 0
    doubled: int = 0
    swapped: int = 0
    seen: int = 0
    held: bytes = field(default=b"")

    def told(self, packet: bytes) -> bytes:
        """What is passed on when a publication comes."""
        self.seen += 1
        held, self.held = self.held, b""
        if held:
            return packet + held
        if self.drop and self.seen % self.drop == 0:
            self.dropped += 1
            return b""
        if self.double and self.seen % self.double == 0:
            self.doubled += 1
            return packet + packet
        if self.swap and self.seen % self.swap == 0:
            self.swapped += 1
            self.held = packet
            return b""
        return packet


def _pass_on(source: socket.socket, target: socket.socket, lies: Lies | None) -> None:
    rest = b""
    while data := source.recv(65536):
        rest, out = rest + data, b""
        while (framed := frame(rest, 0, len(rest), LIMIT, None)) and framed[1] <= len(rest):
            packet, rest = rest[: framed[1]], rest[framed[1] :]
            out += lies.told(packet) if lies is not None and packet[0] >> 4 == 3 else packet
        target.sendall(out)
    target.shutdown(socket.SHUT_WR)


def _serve(listener: socket.socket, port: int, lies: Lies) -> None:
    while True:
        try:
            client, _ = listener.accept()
        except OSError:
            return
        broker = socket.create_connection(("127.0.0.1", port))
        for source, target, told in ((client, broker, None), (broker, client, lies)):
            threading.Thread(target=_quietly, args=(source, target, told), daemon=True).start()


def _quietly(source: socket.socket, target: socket.socket, lies: Lies | None) -> None:
    try:
        _pass_on(source, target, lies)
    except OSError:
        return  # one end is gone


@contextmanager
def lying(port: int, lies: Lies) -> Iterator[int]:
    """The port of a proxy for one subscriber of the broker at a port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=_serve, args=(listener, port, lies), daemon=True).start()
        yield listener.getsockname()[1]
