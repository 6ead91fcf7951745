"""The master's driver: what is told has been kept."""

import asyncio
import io
from collections.abc import Iterable
from typing import Any

import pytest

from weft.errors import SurroundingsError
from weft.live.address import Address
from weft.live.clock import Clock
from weft.live.log import Log
from weft.live.master import MasterDriver, serve
from weft.live.master_settings import MasterSettings
from weft.master.effect import Keep, Tell
from weft.master.engine import design_here
from weft.master.master import Master
from weft.master.record import Record
from weft.wire import frame as w
from weft.wire.frame_codec import encode


class FakeStore:
    def __init__(self) -> None:
        self.is_full = False
        self.kept: list[Record] = []

    def records(self) -> list[Record]:
        return []

    def keep(self, records: Iterable[Record]) -> None:
        if self.is_full:
            raise SurroundingsError("There is no room.")
        self.kept += records


class FakeWire:
    def __init__(self, store: FakeStore) -> None:
        self._store = store
        self._gathered: list[w.Frame] = []
        self.sent: list[tuple[w.Frame, int]] = []  # with how much was kept by then

    def gather(self, frame: w.Frame) -> None:
        self._gathered.append(frame)

    def release(self) -> None:
        self.sent += [(frame, len(self._store.kept)) for frame in self._gathered]
        self._gathered = []

    def close(self, reason: str = "") -> None:
        pass


def test_what_cannot_be_kept_is_not_told_until_it_can(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        store, clock, out = FakeStore(), Clock(), io.StringIO()
        given: Any = store
        settings = MasterSettings(listen=Address("127.0.0.1", 0))
        driver = MasterDriver(settings, clock, Log(clock, out=out), given, design_here)
        await asyncio.sleep(0.01)
        wire: Any = FakeWire(store)
        driver._wires[1] = wire
        before, store.is_full = len(store.kept), True
        for number in (1, 2):
            driver._carry_out([Keep((Record("filter", f"{number} x", [1, True]),)), Tell(1, w.InPlace(number))])
            await asyncio.sleep(0.05)
        assert wire.sent == []
        store.is_full = False
        async with asyncio.timeout(5):
            while not wire.sent:
                await asyncio.sleep(0.01)
        assert wire.sent == [(w.InPlace(1), before + 2), (w.InPlace(2), before + 2)]
        assert [out.getvalue().count(f" {event}") for event in ("store_failed", "store_works")] == [1, 1]
        await driver.stop()

    monkeypatch.setattr("weft.live.master.RETRY", 0.01)
    asyncio.run(main())


def test_a_master_that_cannot_do_its_work_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else it would handle no frame of any node for ever, and say that all is well."""

    def fail(*_: object, **__: object) -> None:
        raise KeyError("gone")

    async def main() -> None:
        addresses: list[Address] = []
        settings = MasterSettings(listen=Address("127.0.0.1", 0), quiet=True)
        serving = asyncio.ensure_future(serve(settings, design_here, addresses.append))
        async with asyncio.timeout(20):
            while not addresses:
                await asyncio.sleep(0.01)
            monkeypatch.setattr(Master, "handle", fail)
            _, writer = await asyncio.open_connection(addresses[0].host, addresses[0].port)
            writer.write(encode(w.Hello(w.VERSION, "", w.Role.NODE, "a")))
            with pytest.raises(SurroundingsError, match="defect"):
                await serving
            writer.close()

    asyncio.run(main())
