"""Defects, put in on purpose: what cannot be read ends its connection, and what is half done ends the process."""

import asyncio
import gc
import io
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest

from broker_client import V3, V5, House
from live_node import PATIENCE
from weft.access.page import Pages
from weft.broker.effect import CheckPassword, Note, Opened
from weft.errors import SurroundingsError
from weft.live.clock import Clock
from weft.live.defect import Defects
from weft.live.driver import Driver
from weft.live.http import Call, HttpCall, Response
from weft.live.link import Wire
from weft.live.log import Log
from weft.live.monitor import Monitor
from weft.live.websocket import WebSocketClient
from weft.wire.http import Request
from weft.wire.mqtt import packet as p
from weft.wire.mqtt import parser
from weft.wire.mqtt.reason import Reason
from weft.wire.mqtt.writer import encode

PAGES = Pages("127.0.0.1")


class EndedError(BaseException):
    """Stands for the end of a process."""


@pytest.fixture
def codes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Exit codes of processes that would have ended."""
    found: list[int] = []

    def end(code: int) -> None:
        found.append(code)
        raise EndedError

    monkeypatch.setattr("weft.live.defect.os._exit", end)
    return found


def broken(*_: object) -> Any:
    raise ZeroDivisionError("a defect")


def ended(log: io.StringIO) -> bool:
    return log.getvalue().startswith("weft: A defect of Weft has ended this process (ZeroDivisionError: a defect")


# What cannot be read


def test_a_packet_that_cannot_be_read_for_a_defect_ends_its_connection_and_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    house = House()
    one, other, old = house.greeted("one", V5), house.greeted("other", V5), house.greeted("old", V3)
    with monkeypatch.context() as patch:
        patch.setitem(parser._DECODERS, 8, broken)
        assert [packet.reason for packet in one.say(p.Subscribe(1, (p.Request("a", 0),)))] == [  # type: ignore[attr-defined]
            Reason.IMPLEMENTATION_SPECIFIC_ERROR
        ]
        assert old.say(p.Subscribe(1, (p.Request("a", 0),))) == []
    assert (one.closed, old.closed, other.closed) == (True, True, False)
    notes = [effect for effect in house.effects if isinstance(effect, Note) and effect.event == "defect"]
    assert [(note.client, note.detail) for note in notes] == [
        (client, "ZeroDivisionError('a defect')") for client in ("one", "old")
    ]
    assert other.say(p.Pingreq()) == [p.Pingresp()]
    assert house.greeted("one", V5).say(p.Pingreq()) == [p.Pingresp()]


class Transport(asyncio.Transport):
    def __init__(self) -> None:
        super().__init__({"peername": ("192.0.2.7", 4711), "ssl_object": object()})
        self.is_aborted = False

    def abort(self) -> None:
        self.is_aborted = True

    def is_closing(self) -> bool:
        return self.is_aborted

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass


class Owner:
    def __init__(self, defects: Defects) -> None:
        self.defects = defects

    def opened(self, wire: Wire) -> None:
        pass


async def unanswered(_: Call) -> Response:
    raise AssertionError


def frames(driver: Driver) -> asyncio.Protocol:
    owner: Any = Owner(driver.defects)
    wire = Wire(owner, Clock())
    wire._reader.feed = broken  # type: ignore[method-assign]
    return wire


def node_http(driver: Driver) -> asyncio.Protocol:
    monitor = Monitor(driver, PAGES)
    monitor._reader.feed = broken  # type: ignore[method-assign]
    return monitor


def node_answer(driver: Driver) -> asyncio.Protocol:
    monitor = Monitor(driver, PAGES)
    monitor._reader.feed = lambda _: Request("GET", "/health", b"")  # type: ignore[method-assign]
    monitor._answer = broken  # type: ignore[method-assign]
    return monitor


def master_http(driver: Driver) -> asyncio.Protocol:
    call = HttpCall(unanswered, driver.defects, PAGES)
    call._reader.feed = broken  # type: ignore[method-assign]
    return call


def websocket(driver: Driver) -> asyncio.Protocol:
    client = WebSocketClient(driver, 1000, PAGES)
    client._socket.receive_data = broken  # type: ignore[method-assign]
    return client


@pytest.mark.parametrize("make", [frames, node_http, node_answer, master_http, websocket])
def test_bytes_that_cannot_be_read_for_a_defect_end_their_connection(
    make: Callable[[Driver], asyncio.Protocol], codes: list[int]
) -> None:
    async def main() -> None:
        driver, log = driver_of(lambda event: [])
        one, transport = make(driver), Transport()
        one.connection_made(transport)
        one.data_received(b"anything")
        assert transport.is_aborted
        assert 'defect peer=192.0.2.7:4711 detail="ZeroDivisionError: a defect (test_live_defect.py:' in log.getvalue()
        assert "\nweft_defects_total 1\n" in driver.metrics()

    asyncio.run(main())
    assert codes == []


def test_a_password_that_cannot_be_checked_for_a_defect_is_a_wrong_one(codes: list[int]) -> None:
    class Kept:
        matches = staticmethod(broken)

    async def main() -> None:
        heard: list[object] = []
        kept: Any = Kept()

        def handle(event: object) -> list[object]:
            heard.append(event)
            return [CheckPassword(3, b"x", kept)] if isinstance(event, Opened) else []

        driver, _ = driver_of(handle)
        driver.handle(Opened(3))
        async with asyncio.timeout(PATIENCE):
            while len(heard) < 2:
                await asyncio.sleep(0.001)
        assert (heard[1].connection, heard[1].right) == (3, False)  # type: ignore[attr-defined]
        assert driver.defects.count == 1

    asyncio.run(main())
    assert codes == []


# What is half done


class Broker:
    def __init__(self, handle: Callable[[object], list[Any]]) -> None:
        self._handle = handle

    def handle(self, event: object, now: float) -> list[Any]:
        return self._handle(event)

    def next_deadline(self) -> None:
        return None


def driver_of(handle: Callable[[object], list[Any]]) -> tuple[Driver, io.StringIO]:
    broker: Any = Broker(handle)
    clock, out = Clock(), io.StringIO()
    return Driver(broker, clock, Log(clock, out=out), None), out


@pytest.mark.parametrize("effects", [broken, lambda _: [CheckPassword(1, b"", None)]], ids=["event", "effect"])  # type: ignore[arg-type]
def test_an_event_that_is_half_done_ends_the_process(effects: Callable[[object], list[Any]], codes: list[int]) -> None:
    async def main() -> None:
        driver, log = driver_of(effects)
        with pytest.raises(EndedError):
            driver.handle(Opened(1))
        assert codes == [70]
        assert log.getvalue().startswith("weft: A defect of Weft has ended this process (")
        assert "Traceback (most recent call last):" in log.getvalue()
        assert not driver._busy

    asyncio.run(main())


def test_what_nobody_has_caught_ends_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """A callback of the event loop, a task that nobody waits for, and a thread."""
    codes: list[int] = []
    monkeypatch.setattr("weft.live.defect.os._exit", codes.append)
    monkeypatch.setattr(threading, "excepthook", threading.excepthook)

    log = io.StringIO()

    async def main() -> None:
        Defects(Log(Clock(), out=log)).watch()
        asyncio.get_running_loop().call_soon(broken)
        await asyncio.sleep(0)

    async def failing() -> None:
        broken()

    async def other() -> None:
        Defects(Log(Clock(), out=log)).watch()
        task = asyncio.ensure_future(failing())
        await asyncio.sleep(0.001)
        del task
        gc.collect()

    asyncio.run(main())
    assert codes == [70]
    assert ended(log)
    asyncio.run(other())
    assert codes == [70, 70]
    thread = threading.Thread(target=broken)
    thread.start()
    thread.join()
    assert codes == [70, 70, 70]


def test_errors_of_sockets_are_none_of_ours(codes: list[int]) -> None:
    async def main() -> None:
        log = io.StringIO()
        Defects(Log(Clock(), out=log)).watch()
        context = {"message": "socket.accept() out of system resource", "exception": OSError(24, "Too many")}
        asyncio.get_running_loop().call_exception_handler(context)
        asyncio.get_running_loop().call_exception_handler({"message": "Task was destroyed but it is pending!"})
        assert log.getvalue().count(" python ") == 2

    asyncio.run(main())
    assert codes == []


def test_a_disk_that_fails_while_an_effect_is_carried_out_is_no_defect(codes: list[int]) -> None:
    def fails(_: object) -> list[Any]:
        raise SurroundingsError("There is no room.")

    async def main() -> None:
        driver, log = driver_of(fails)
        with pytest.raises(EndedError):
            driver.handle(Opened(1))
        assert log.getvalue() == "weft: There is no room.\n"

    asyncio.run(main())
    assert codes == [SurroundingsError.exit_code]


DEFECT = """
from weft.broker.reading import Reading
def defect(*_):
    raise ZeroDivisionError("a defect")
Reading._pingreq = defect
from weft.cli import main
main()
"""


def test_a_node_with_a_defect_ends_with_70_and_its_story() -> None:
    command = [sys.executable, "-c", DEFECT, "node", "--listen", "127.0.0.1:0", "--quiet"]
    one = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert one.stdout is not None
    port = int(one.stdout.readline().rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.sendall(encode(p.Connect("x", V3), V3) + encode(p.Pingreq(), V3))
        _, err = one.communicate(timeout=PATIENCE)
    assert one.returncode == 70
    assert err.startswith("weft: A defect of Weft has ended this process (ZeroDivisionError: a defect (<string>:4))")
    assert err.rstrip().endswith("ZeroDivisionError: a defect")
