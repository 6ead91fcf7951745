"""The master's driver: what is told has been kept, and what cannot be kept is told to nobody."""

import asyncio
import io
import resource
import time
from collections.abc import Iterable
from multiprocessing import active_children
from pathlib import Path
from typing import Any

import pytest

from live_network import Master, running, weft
from live_network import Node as LiveNode
from live_node import PATIENCE, Paho, http, until
from weft.errors import SurroundingsError
from weft.live.address import Address
from weft.live.clock import Clock
from weft.live.log import Log
from weft.live.master import MasterDriver
from weft.live.master_metrics import metrics
from weft.live.master_settings import MasterSettings
from weft.master.effect import Keep, StartDesign, Tell
from weft.master.engine import design_here
from weft.master.record import Record
from weft.wire import frame as w


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
        self.number = 2
        self.unhandled = 0
        self.is_held = False
        self.aborted = ""

    def gather(self, frame: w.Frame) -> None:
        self._gathered.append(frame)

    def release(self) -> None:
        self.sent += [(frame, len(self._store.kept)) for frame in self._gathered]
        self._gathered = []

    def close(self, reason: str = "") -> None:
        pass

    def settled(self) -> None:
        pass

    def hold(self) -> None:
        self.is_held = True

    def go_on(self) -> None:
        self.is_held = False

    def abort(self, reason: str) -> None:
        self._gathered = []
        self.aborted = reason


def test_a_master_whose_store_takes_nothing_is_gone_until_it_does(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        store, clock, out = FakeStore(), Clock(), io.StringIO()
        given: Any = store
        settings = MasterSettings(listen=Address("127.0.0.1", 0))
        driver = MasterDriver(settings, clock, Log(clock, out=out), given, design_here)
        await asyncio.sleep(0.01)
        old, new = FakeWire(store), FakeWire(store)
        wires: Any = {1: old, 2: new}
        driver._wires[1] = wires[1]
        before, store.is_full = len(store.kept), True
        driver._answers[99] = asked = asyncio.get_running_loop().create_future()
        driver._carry_out([Keep((Record("filter", "1 x", [1, True]),)), Tell(1, w.InPlace(1))])
        assert await asked == {"error": "There is no room."}
        assert (old.sent, old.aborted) == ([], "There is no room.")
        assert not driver.store_works
        assert driver.status()["problems"][0].startswith("There is no room. Until then nodes go on without")
        assert "\nweft_master_store_works 0\n" in metrics(driver.status())
        assert await driver.ask("leave", {"node": "x"}) == {"error": "There is no room."}
        master, driver._wires[2] = driver.master, wires[2]
        driver.heard(wires[2], [w.Hello(w.VERSION, "", w.Role.NODE, "b")])
        await asyncio.sleep(0.05)
        assert new.sent == []
        store.is_full = False
        async with asyncio.timeout(5):
            while not new.sent:
                await asyncio.sleep(0.01)
        assert isinstance(new.sent[0][0], w.Hello)
        assert len(store.kept) > before
        assert driver.master is not master
        assert (driver.master.network.cluster, driver.status()["problems"]) == (master.network.cluster, [])
        assert [out.getvalue().count(f" {event}") for event in ("store_failed", "store_works")] == [1, 1]
        await driver.stop()

    monkeypatch.setattr("weft.live.master.RETRY", 0.01)
    asyncio.run(main())


def test_the_end_of_a_master_is_the_end_of_its_designs() -> None:
    async def main() -> None:
        clock, endless = Clock(), 3600
        settings = MasterSettings(listen=Address("127.0.0.1", 0))
        engine: Any = time.sleep
        driver = MasterDriver(settings, clock, Log(clock, out=io.StringIO()), None, engine)
        job: Any = endless
        driver._carry_out([StartDesign(1, job)])
        async with asyncio.timeout(PATIENCE):
            while not active_children():
                await asyncio.sleep(0.01)
            (process,) = active_children()
            await driver.stop()
            while process.is_alive():
                await asyncio.sleep(0.01)

    asyncio.run(main())


def test_who_calls_meanwhile_and_says_too_much_is_sent_away(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        clock, out = Clock(), io.StringIO()
        settings = MasterSettings(listen=Address("127.0.0.1", 0))
        driver = MasterDriver(settings, clock, Log(clock, out=out), None, design_here)
        driver._problem = "There is no room."
        wire: Any = FakeWire(FakeStore())
        wire.number = 1
        for _ in range(11):
            driver.heard(wire, [w.Leave()])
        assert wire.aborted == "There is no room."
        assert len(driver._events) == 10

    monkeypatch.setattr("weft.live.master.WAITING", 10)
    asyncio.run(main())


def test_a_node_is_not_read_faster_than_what_it_says_is_handled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else all that it says waits here, as fast as the network brings it."""

    async def main() -> None:
        clock = Clock()
        settings = MasterSettings(listen=Address("127.0.0.1", 0))
        driver = MasterDriver(settings, clock, Log(clock, out=io.StringIO()), None, design_here)
        wires: Any = {number: FakeWire(FakeStore()) for number in (1, 2)}
        driver._wires |= wires
        for number, wire in wires.items():
            wire.number = number
        said, hello = 0, w.Hello(w.VERSION, "", w.Role.NODE, "a")
        while not wires[1].is_held and said < 100:
            driver.heard(wires[1], [hello] * 5)
            said += 5
        driver.heard(wires[2], [hello])
        assert said == 25
        assert not wires[2].is_held
        async with asyncio.timeout(PATIENCE):
            while wires[1].is_held:
                assert wires[1].unhandled > 10
                await asyncio.sleep(0)
            while driver._events:
                await asyncio.sleep(0)
        assert [wire.unhandled for wire in wires.values()] == [0, 0]
        await driver.stop()

    monkeypatch.setattr("weft.live.master.UNHANDLED", 20)
    monkeypatch.setattr("weft.live.master.SLICE", 0.0001)
    asyncio.run(main())


def test_a_master_with_a_full_disk_is_as_one_that_is_gone_and_comes_back(tmp_path: Path) -> None:
    with running(master := Master("--data", str(tmp_path / "m"))):
        nodes = [LiveNode(master, name, "--data", str(tmp_path / name)) for name in "ab"]
        with running(*nodes), Paho(nodes[0].mqtt) as receiver, Paho(nodes[1].mqtt) as sender:
            master.await_up("a", "b")
            resource.prlimit(master.process.pid, resource.RLIMIT_FSIZE, (1, resource.RLIM_INFINITY))
            receiver.subscribe("t", 1)  # its SUBACK comes
            _, status, _ = weft("status", "--master", str(master.address))
            assert "! " in status
            assert "cannot be written" in status
            assert "\nweft_master_store_works 0\n" in http(master.address.port, "/metrics")
            assert http(master.address.port, "/health").startswith("HTTP/1.1 503")
            assert weft("leave", "a", "--master", str(master.address))[0] == 2
            sender.publish("t", "without", 1)
            until(lambda: receiver.payloads() == ["without"], "the delivery without the master")
            resource.prlimit(master.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
            until(lambda: master.ask("status")["store_works"], "another beginning")
            master.await_up("a", "b")
            assert master.ask("explain", topic="t")["trees"][0]["subscribers"] == 1
            assert http(master.address.port, "/health").startswith("HTTP/1.1 200")
            receiver.subscribe("u", 1)
            assert master.ask("explain", topic="u")["trees"][0]["subscribers"] == 1
            sender.publish("t", "with", 1)
            until(lambda: receiver.payloads() == ["without", "with"], "the delivery with the master")
        _, log = master.stop()
    assert "store_works" in log
