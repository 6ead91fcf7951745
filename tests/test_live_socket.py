"""Plain sockets on one poller: what several clients have said by the same moment goes to other nodes together."""

import asyncio
import select
import socket
from contextlib import suppress
from itertools import count
from typing import Any

import pytest

from weft.broker.effect import Closed, Opened, Received
from weft.live.socket import Poller


class Ear:
    """Stands for a driver, and remembers what it was told."""

    def __init__(self) -> None:
        self.gathering = False
        self.told: list[Any] = []
        self._numbers = count(1)

    def add(self, client: object) -> int:
        return next(self._numbers)

    def remove(self, client: object) -> None:
        pass

    def handle(self, event: object) -> None:
        self.told.append((event, self.gathering))

    def read(self, connection: int, data: bytes) -> None:
        self.handle(Received(connection, data))

    def flush(self) -> None:
        self.told.append("flush")


async def heard(ear: Ear, many: int) -> None:
    async with asyncio.timeout(20):
        while len(ear.told) < many:
            await asyncio.sleep(0)


def await_readable(*descriptors: int) -> None:
    """Block until all have something to read; the event loop reads nothing meanwhile."""
    for one in descriptors:
        assert select.select([one], [], [], 20)[0]


def test_what_several_clients_say_at_once_is_gathered_and_what_one_says_is_not() -> None:
    async def main() -> None:
        ear = Ear()
        poller = Poller(ear, lambda *_, **__: None)  # type: ignore[arg-type]
        port = await poller.listen("127.0.0.1", 0, True)
        one, two = (socket.create_connection(("127.0.0.1", port)) for _ in range(2))
        await heard(ear, 2)
        assert [type(event) for event, _ in ear.told] == [Opened, Opened]
        one.sendall(b"1")
        two.sendall(b"2")
        await_readable(*poller._clients)
        await heard(ear, 5)
        gathered = sorted(ear.told[2:4], key=lambda told: told[0].connection)
        assert gathered == [(Received(1, b"1"), True), (Received(2, b"2"), True)]
        assert ear.told[4:] == ["flush"]
        one.sendall(b"3")
        await heard(ear, 6)
        assert ear.told[5:] == [(Received(1, b"3"), False)]
        one.close()
        await heard(ear, 7)
        assert ear.told[6:] == [(Closed(1), False)]
        two.close()
        poller.close()

    asyncio.run(main())


@pytest.mark.parametrize("said", [b"", b"half of a packet"])
def test_a_connection_that_says_nothing_keeps_nobody_busy(said: bytes) -> None:
    """The system would tell at once, and again and again, that one may write to it (CVE-2023-5632 of Mosquitto)."""

    async def main() -> None:
        ear = Ear()
        poller = Poller(ear, lambda *_, **__: None)  # type: ignore[arg-type]
        port = await poller.listen("127.0.0.1", 0, True)
        one = socket.create_connection(("127.0.0.1", port))
        one.sendall(said)
        await heard(ear, 1 + bool(said))
        assert poller._epoll.poll(0) == []
        (client,) = poller._clients.values()
        client.write(bytes(1 << 23))  # more than the system takes
        assert client.is_writing()
        one.setblocking(False)
        while client.is_writing():
            with suppress(BlockingIOError):
                one.recv(1 << 20)
            await asyncio.sleep(0)
        assert poller._epoll.poll(0) == []
        one.close()
        poller.close()

    asyncio.run(main())
