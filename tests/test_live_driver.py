"""A node's driver: how it ends."""

import asyncio
import io
from typing import Any

import pytest

from weft.broker.effect import Close, Send, Stopping, Unsay
from weft.live.client import Client
from weft.live.clock import Clock
from weft.live.driver import Driver
from weft.live.log import Log


class FakeBroker:
    def __init__(self) -> None:
        self.events: list[object] = []

    def handle(self, event: object, now: float) -> list[object]:
        self.events.append(event)
        return []

    def next_deadline(self) -> None:
        return None


class Slow(Client):
    """A client whose system takes nothing more, or all."""

    def __init__(self, writing: bool) -> None:
        super().__init__(None)  # type: ignore[arg-type]
        self.writing, self.ended = writing, False
        self.written: list[bytes] = []

    def write(self, data: bytes) -> None:
        self.written.append(data)

    def is_writing(self) -> bool:
        return self.writing

    def abort(self) -> None:
        self.ended = True

    def finish(self) -> None: ...


@pytest.mark.parametrize("writing", [False, True])
def test_what_was_to_be_sent_can_be_taken_back(writing: bool) -> None:
    driver: Any = Driver(FakeBroker(), Clock(), Log(Clock(), out=io.StringIO()), None)  # type: ignore[arg-type]
    client = Slow(writing)
    client.driver, client.number = driver, driver.add(client)
    client.send(b"secret", 5, 0)
    driver.work([Unsay(client.number), Send(client.number, b"goodbye"), Close(client.number)])
    assert client.written == [b"goodbye"]
    assert client.release(9)
    assert client.ended is writing


class FakeClient:
    is_aborted = False

    def abort(self) -> None:
        self.is_aborted = True


@pytest.mark.parametrize("is_broken", [False, True])
def test_a_node_whose_journal_is_broken_ends_without_a_word(is_broken: bool) -> None:
    """Others must not take it for one that has left in order: what it knows is not on its disk."""

    async def main() -> None:
        broker: Any = FakeBroker()
        client: Any = FakeClient()
        clock = Clock()
        driver = Driver(broker, clock, Log(clock, out=io.StringIO()), None)
        driver.add(client)
        if is_broken:
            driver.broken.set()
        async with asyncio.timeout(10):
            await driver.stop()
        assert any(isinstance(event, Stopping) for event in broker.events) is not is_broken
        assert client.is_aborted

    asyncio.run(main())
