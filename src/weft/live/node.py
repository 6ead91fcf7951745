"""A node: listeners, journal, broker and monitor, from start to end."""

import asyncio
import gc
import os
import select
import signal
import ssl
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from importlib.util import find_spec

from weft.broker.broker import Broker
from weft.broker.recovery import Recovery
from weft.errors import SurroundingsError, WeftError
from weft.live.address import Address
from weft.live.clock import Clock
from weft.live.driver import Driver
from weft.live.journal import open_journal
from weft.live.log import Log
from weft.live.monitor import Monitor
from weft.live.network import NodeDriver, start_member
from weft.live.settings import Settings
from weft.live.socket import Poller
from weft.live.stream import StreamClient

BACKLOG = 4096  # connections that wait to be accepted
SWITCH = 0.0002  # seconds that the journal's thread may keep the interpreter while the event loop wants it; Python's
# own 5 ms would be added to every read and write while the journal works through a large batch


def run(settings: Settings, ready: Callable[[list[Address]], None], version: str) -> None:
    """Serve until SIGINT or SIGTERM. `ready` is told the addresses when clients can connect."""
    if find_spec("uvloop") is not None:
        import uvloop

        uvloop.run(serve(settings, ready, version))
    else:
        asyncio.run(serve(settings, ready, version))


async def serve(settings: Settings, ready: Callable[[list[Address]], None], version: str) -> None:
    sys.setswitchinterval(SWITCH)
    clock = Clock()
    log = Log(clock, settings.json_logs, settings.quiet)
    driver = _start(settings, clock, log, version)
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    listeners = Listeners(driver, log)
    addresses = await listeners.open(settings)
    if isinstance(driver, NodeDriver):
        await driver.join(settings, addresses)
        await _first(stop, driver.peering.joined, *driver.ends, patience=driver.patience)
    gc.freeze()  # what is there now stays: the collector need not look at it again
    if not any(end.is_set() for end in (stop, *driver.ends)):
        ready(addresses)
    await _first(stop, *driver.ends)
    listeners.close()
    await driver.stop()
    if driver.broken.is_set():
        raise SurroundingsError("The journal cannot go on: the log says why. Mend the disk and start again.")
    if isinstance(driver, NodeDriver) and driver.reason:
        raise WeftError(driver.reason)


def _start(settings: Settings, clock: Clock, log: Log, version: str) -> Driver:
    seed = int.from_bytes(os.urandom(8))
    if settings.master is not None:
        return start_member(settings, clock, log, seed, version)
    recovery = Recovery()
    journal = None
    if settings.data is not None:
        journal = open_journal(settings.data, recovery.replay, sync=settings.sync)
    broker = Broker(
        settings.parameters,
        clock.now(),
        seed=seed,
        durable=journal is not None,
        position=journal.position if journal is not None else 0,
        version=version,
    )
    driver = Driver(broker, clock, log, journal)
    driver.start()
    driver.work(broker.restore(recovery, clock.now()))
    return driver


async def _first(*events: asyncio.Event, patience: float | None = None) -> None:
    """Wait until one of them is set, or so many seconds have passed."""
    waits = [asyncio.ensure_future(event.wait()) for event in events]
    await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED, timeout=patience)
    for one in waits:
        one.cancel()


class Listeners:
    """All that accept connections: plain sockets on a poller of their own where the system has one, and streams."""

    def __init__(self, driver: Driver, log: Log) -> None:
        self._driver = driver
        self._poller = Poller(driver, log.write) if hasattr(select, "epoll") else None
        self._servers: list[asyncio.Server] = []

    async def open(self, settings: Settings) -> list[Address]:
        """The addresses, with the ports that were given for port 0."""
        context = _tls(settings)
        opened = []
        for address in settings.listen:
            port = await self._open(address, context if address.secure else None, settings.parameters.packet_bytes)
            opened.append(replace(address, port=port))
        if settings.http is not None:
            await self._serve(partial(Monitor, self._driver), settings.http, None)
        return opened

    def close(self) -> None:
        if self._poller is not None:
            self._poller.close()
        for server in self._servers:
            server.close()

    async def _open(self, address: Address, context: ssl.SSLContext | None, largest: int) -> int:
        if address.scheme == "mqtt" and self._poller is not None:
            with _listening(address):
                return await self._poller.listen(address.host, address.port, BACKLOG)
        return await self._serve(partial(_client, self._driver, largest, address.websocket), address, context)

    async def _serve(
        self, make: Callable[[], asyncio.Protocol], address: Address, context: ssl.SSLContext | None
    ) -> int:
        loop = asyncio.get_running_loop()
        with _listening(address):
            server = await loop.create_server(make, address.host, address.port, backlog=BACKLOG, ssl=context)
        self._servers.append(server)
        port: int = server.sockets[0].getsockname()[1]
        return port


@contextmanager
def _listening(address: Address) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise SurroundingsError(f"{address} cannot be listened on ({reason}): give another address.") from error


def _client(driver: Driver, largest: int, websocket: bool) -> StreamClient:
    if not websocket:
        return StreamClient(driver)
    from weft.live.websocket import WebSocketClient

    return WebSocketClient(driver, largest)


def _tls(settings: Settings) -> ssl.SSLContext | None:
    if settings.certificate is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(settings.certificate, settings.key)
    except (OSError, ssl.SSLError) as error:
        raise WeftError(f"{settings.certificate} and its key cannot be used ({error}): give PEM files.") from error
    return context
