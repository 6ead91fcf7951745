"""A node's driver: how it ends."""

import asyncio
import io
from typing import Any

import pytest

from weft.broker.effect import Stopping
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


class FakeClient:
    is_aborted = False

    def abort(self) -> None:
        self.is_aborted = True


@pytest.mark.parametrize("end", ["", "broken", "defect"])
def test_a_node_whose_journal_is_broken_or_that_has_a_defect_ends_without_a_word(end: str) -> None:
    """Others must not take it for one that has left in order: what it knows is not on its disk."""

    async def main() -> None:
        broker: Any = FakeBroker()
        client: Any = FakeClient()
        clock = Clock()
        driver = Driver(broker, clock, Log(clock, out=io.StringIO()), None)
        driver.add(client)
        if end:
            getattr(driver, end).set()
        async with asyncio.timeout(10):
            await driver.stop()
        assert any(isinstance(event, Stopping) for event in broker.events) is not bool(end)
        assert client.is_aborted

    asyncio.run(main())


def test_effects_that_cannot_be_carried_out_end_the_process() -> None:
    """Else it would take no further event for ever, and look alive."""

    class Broken(FakeBroker):
        def handle(self, event: object, now: float) -> list[object]:
            raise KeyError("gone")

    async def main() -> None:
        broker: Any = Broken()
        clock, out = Clock(), io.StringIO()
        driver = Driver(broker, clock, Log(clock, out=out), None)
        driver._events.append(Stopping())
        with pytest.raises(KeyError):
            driver.work([])
        assert any(end.is_set() for end in driver.ends)
        assert " defect " in out.getvalue()

    asyncio.run(main())
