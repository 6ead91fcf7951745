"""Operators and the master's HTTP port: what answers is looked at before it is believed, and a defect is an answer."""

import asyncio
import io

import pytest

from weft.live.address import Address
from weft.live.clock import Clock
from weft.live.log import Log
from weft.live.master import MasterDriver, listen
from weft.live.master_settings import MasterSettings
from weft.master.engine import design_here


def test_a_defect_of_the_master_is_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    async def answer() -> bytes:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context["exception"]))
        settings, clock = MasterSettings(listen=Address("127.0.0.1", 0)), Clock()
        driver = MasterDriver(settings, clock, Log(clock, out=io.StringIO()), None, design_here)
        monkeypatch.setattr(driver.master, "handle", broken)
        server = await listen(driver, settings.listen, None)
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        writer.write(b"GET /status HTTP/1.1\r\n\r\n")
        async with asyncio.timeout(20):
            said = await reader.read()
        writer.close()
        server.close()
        await driver.stop()
        assert driver._answers == {}
        return said

    def broken(*_: object) -> None:
        raise defect

    defect = ZeroDivisionError("a defect")
    told: list[Exception] = []
    said = asyncio.run(answer())
    assert said.startswith(b"HTTP/1.1 500 Internal Server Error\r\n")
    assert said.endswith(b"The request has met a defect of Weft: see the log.\n")
    assert told == [defect]
