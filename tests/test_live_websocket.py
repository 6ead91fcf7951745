"""WebSockets that cost more than they say: frames of a byte or none, and pings of one that does not read."""

import asyncio
from typing import Any

from websockets.frames import Frame, Opcode

from weft.access.page import Pages
from weft.broker.effect import Received
from weft.live.client import HIGH
from weft.live.websocket import FRAMES, WebSocketClient

UPGRADE = (
    b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: mqtt\r\n\r\n"
)


class Around:
    """The driver and the transport of a client."""

    def __init__(self) -> None:
        self.heard: list[bytes] = []
        self.sent: list[bytes] = []
        self.waiting = 0
        self.reads = True

    def read(self, number: int, data: bytes) -> None:
        self.heard.append(data)

    def handle(self, event: Received) -> None: ...

    def write(self, data: bytes) -> None:
        self.sent.append(data)

    def get_write_buffer_size(self) -> int:
        return self.waiting

    def is_closing(self) -> bool:
        return False

    def pause_reading(self) -> None:
        assert self.reads
        self.reads = False

    def resume_reading(self) -> None:
        assert not self.reads
        self.reads = True


def made() -> tuple[Around, WebSocketClient]:
    around: Any = Around()
    client = WebSocketClient(around, 1 << 20, Pages())
    client.transport = around
    client.data_received(UPGRADE)
    around.sent.clear()
    return around, client


def masked(opcode: Opcode, data: bytes) -> bytes:
    return Frame(opcode, data).serialize(mask=True)


async def end(client: WebSocketClient) -> int:
    """How many turns are left."""
    turns = 0
    while client.is_behind:
        await asyncio.sleep(0)
        turns += 1
    return turns


def test_many_small_frames_are_taken_in_turns() -> None:
    async def main() -> None:
        around, client = made()
        client.data_received(b"".join(masked(Opcode.BINARY, b"%d" % (number % 10)) for number in range(5 * FRAMES)))
        assert sum(map(len, around.heard)) < 3 * FRAMES
        assert not around.reads
        client.data_received(masked(Opcode.BINARY, b"last"))
        assert await end(client) > 1
        assert b"".join(around.heard) == b"".join(b"%d" % (number % 10) for number in range(5 * FRAMES)) + b"last"
        assert around.reads

    asyncio.run(main())


def test_who_is_paused_by_the_broker_meanwhile_stays_so() -> None:
    async def main() -> None:
        around, client = made()
        client.data_received(masked(Opcode.BINARY, b"x") * 5 * FRAMES)
        client.pause()
        await end(client)
        assert not around.reads
        client.unpause()
        assert around.reads
        client.pause()
        client.data_received(masked(Opcode.BINARY, b"x") * 5 * FRAMES)
        await end(client)
        assert not around.reads

    asyncio.run(main())


def test_a_large_frame_needs_no_turns() -> None:
    around, client = made()
    client.data_received(masked(Opcode.BINARY, bytes(200_000)))
    assert sum(map(len, around.heard)) == 200_000
    assert around.reads


def test_pings_of_one_that_does_not_read_are_not_answered() -> None:
    async def main() -> None:
        around, client = made()
        client.data_received(masked(Opcode.PING, b"x") * 3)
        assert len(around.sent) == 3
        around.waiting = HIGH + 1
        client.data_received(masked(Opcode.PING, b"x") * 1_000)
        await end(client)
        assert len(around.sent) == 3
        around.waiting = 0
        client.data_received(masked(Opcode.PING, b"y"))
        assert len(around.sent) == 4

    asyncio.run(main())
