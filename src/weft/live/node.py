"""A node: listeners, journal, broker and monitor, from start to end."""

import asyncio
import gc
import os
import signal
import ssl
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec

from weft.broker.broker import Broker
from weft.broker.recovery import Recovery
from weft.errors import SurroundingsError, WeftError
from weft.live.address import Address
from weft.live.client import Client
from weft.live.clock import Clock
from weft.live.driver import Driver
from weft.live.journal import open_journal
from weft.live.log import Log
from weft.live.monitor import Monitor
from weft.live.settings import Settings

BACKLOG = 4096  # connections that wait to be accepted


def run(settings: Settings, ready: Callable[[list[Address]], None], version: str) -> None:
    """Serve until SIGINT or SIGTERM. `ready` is told the addresses when clients can connect."""
    if find_spec("uvloop") is not None:
        import uvloop

        uvloop.run(serve(settings, ready, version))
    else:
        asyncio.run(serve(settings, ready, version))


async def serve(settings: Settings, ready: Callable[[list[Address]], None], version: str) -> None:
    clock = Clock()
    log = Log(clock, settings.json_logs, settings.quiet)
    driver = _start(settings, clock, log, version)
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    servers = await _listen(settings, driver)
    gc.freeze()  # what is there now stays: the collector need not look at it again
    ready([_bound(server, address) for server, address in zip(servers, settings.listen, strict=False)])
    await _first(stop, driver.broken)
    for server in servers:
        server.close()
    await driver.stop()
    if driver.broken.is_set():
        raise SurroundingsError("The journal cannot go on: the log says why. Mend the disk and start again.")


def _start(settings: Settings, clock: Clock, log: Log, version: str) -> Driver:
    recovery = Recovery()
    journal = None
    if settings.data is not None:
        journal = open_journal(settings.data, recovery.replay, sync=settings.sync)
    broker = Broker(
        settings.parameters,
        clock.now(),
        seed=int.from_bytes(os.urandom(8)),
        durable=journal is not None,
        position=journal.position if journal is not None else 0,
        version=version,
    )
    driver = Driver(broker, clock, log, journal)
    driver.start()
    driver.begin(broker.restore(recovery, clock.now()))
    return driver


async def _first(*events: asyncio.Event) -> None:
    waits = [asyncio.ensure_future(event.wait()) for event in events]
    await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    for one in waits:
        one.cancel()


async def _listen(settings: Settings, driver: Driver) -> list[asyncio.Server]:
    context = _tls(settings)
    servers = []
    for address in settings.listen:
        make = partial(_client, driver, settings.parameters.packet_bytes, address.websocket)
        servers.append(await _server(make, address, context if address.secure else None))
    if settings.http is not None:
        servers.append(await _server(partial(Monitor, driver), settings.http, None))
    return servers


def _client(driver: Driver, largest: int, websocket: bool) -> Client:
    if not websocket:
        return Client(driver)
    from weft.live.websocket import WebSocketClient

    return WebSocketClient(driver, largest)


async def _server(
    make: Callable[[], asyncio.Protocol], address: Address, context: ssl.SSLContext | None
) -> asyncio.Server:
    loop = asyncio.get_running_loop()
    try:
        return await loop.create_server(make, address.host, address.port, backlog=BACKLOG, ssl=context)
    except OSError as error:
        reason = error.strerror or str(error)
        raise SurroundingsError(f"{address} cannot be listened on ({reason}): give another --listen.") from error


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


def _bound(server: asyncio.Server, address: Address) -> Address:
    """The address with the port that was given for port 0."""
    return Address(address.host, server.sockets[0].getsockname()[1], address.scheme)
