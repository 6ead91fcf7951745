"""A node: listeners, journal, broker and monitor, from start to end."""

import asyncio
import os
import select
import signal
import ssl
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from importlib.util import find_spec

from weft.access.guard import Guard
from weft.access.page import Pages
from weft.broker.broker import Broker
from weft.broker.parameters import Parameters
from weft.broker.recovery import Recovery
from weft.errors import SurroundingsError, WeftError
from weft.live.address import Address, listening
from weft.live.clock import Clock
from weft.live.collector import Collector
from weft.live.driver import Driver
from weft.live.heap import Heap, trimmer
from weft.live.journal import open_journal
from weft.live.listener import Listener, Streams, raise_descriptor_limit, rest_of, share_of
from weft.live.log import Log
from weft.live.monitor import Monitor
from weft.live.network import NodeDriver, name_of, start_member
from weft.live.settings import Settings
from weft.live.socket import Poller
from weft.live.stop import Stop
from weft.live.stream import StreamClient
from weft.live.tls import Refusals, reload, server_context
from weft.live.watch import Watch, daily

ENDING = 1.2  # seconds that the rest of an end in order may take; more than what waits in it below
SWITCH = 0.0002  # seconds that the journal's thread may keep the interpreter while the event loop wants it; Python's
# own 5 ms would be added to every read and write while the journal works through a large batch


def run(settings: Settings, ready: Callable[[list[Address]], None], version: str) -> None:
    """Serve until SIGINT or SIGTERM. `ready` is told the addresses when clients can connect."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # until it is listened to
    problem = ""
    if settings.join and settings.master is not None and settings.own is not None:
        from weft.live.joining import join

        problem = join(settings.own, settings.master, name_of(settings), settings.join)
    if find_spec("uvloop") is not None:
        import uvloop

        uvloop.run(serve(settings, ready, version, problem))
    else:
        asyncio.run(serve(settings, ready, version, problem))


async def serve(settings: Settings, ready: Callable[[list[Address]], None], version: str, problem: str = "") -> None:
    """Serve, after telling what was wrong before."""
    sys.setswitchinterval(SWITCH)
    clock = Clock()
    log = Log(clock, settings.json_logs, settings.quiet, settings.log_level)
    log.take_over()
    try:
        if problem:
            log.write("not_joined", detail=problem)
        await _serve(settings, ready, version, clock, log)
    finally:
        log.close()


async def _serve(
    settings: Settings, ready: Callable[[list[Address]], None], version: str, clock: Clock, log: Log
) -> None:
    asked, settings = settings.parameters.connections, _within_descriptors(settings)
    stop, watch = Stop(settings.leaving + ENDING, log), Watch()
    watch.hear(log.write)
    for warning in settings.warnings():
        log.write("unprotected", detail=warning)
    driver = _start(settings, clock, log, version)
    driver.defects.watch()
    stop.at_once, stop.at_last = driver.end_soon, driver.close_at_last
    if settings.access.paths:
        watch.add(settings.access.paths, partial(settings.access.read_again, driver.renew_access, log.write))
    listeners = Listeners(driver, log, watch, settings)
    addresses = await listeners.open()
    renewal = _look_after_credentials(settings, driver, watch, log)
    watch.start()
    clients = settings.parameters.connections
    if clients < asked != Parameters().connections:
        log.write("descriptors", detail=f"{settings.descriptors:,} are enough for {clients:,} clients, not {asked:,}")
    if isinstance(driver, NodeDriver):
        await driver.join(settings, addresses)
        await _first(stop.heard, driver.peering.joined, *driver.ends, patience=driver.patience)
    Collector().watch()
    Heap(trimmer()).watch()
    if not any(end.is_set() for end in (stop.heard, *driver.ends)):
        ready(addresses)
    await _first(stop.heard, *driver.ends)
    if renewal is not None:
        renewal.cancel()
    watch.stop()
    listeners.close()
    await driver.stop()
    if driver.broken.is_set():
        raise SurroundingsError("The journal cannot go on: the log says why. Mend the disk and start again.")
    if isinstance(driver, NodeDriver) and driver.reason:
        raise WeftError(driver.reason)


def _within_descriptors(settings: Settings) -> Settings:
    """Settings with no more clients than there are descriptors for, beside those of strangers at any port."""
    descriptors = raise_descriptor_limit()
    connections = min(settings.parameters.connections, rest_of(descriptors, settings.ports))
    parameters = replace(settings.parameters, connections=connections)
    return replace(settings, parameters=parameters, descriptors=descriptors)


def _start(settings: Settings, clock: Clock, log: Log, version: str) -> Driver:
    seed = int.from_bytes(os.urandom(8))
    guard = Guard(settings.access.read(), settings.limits, os.urandom(32))
    if settings.master is not None:
        return start_member(settings, clock, log, seed, version, guard)
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
        guard=guard,
    )
    driver = Driver(broker, clock, log, journal)
    driver.start()
    driver.work(broker.restore(recovery, clock.now()))
    return driver


def _look_after_credentials(settings: Settings, driver: Driver, watch: Watch, log: Log) -> asyncio.Task[None] | None:
    """Have a node's certificate renewed before it ends, and taken when it is another."""
    if not isinstance(driver, NodeDriver) or settings.own is None or settings.master is None:
        return None
    from weft.live.joining import renew_credentials

    driver.peering.watch(watch)
    return asyncio.ensure_future(daily(partial(renew_credentials, settings.own, settings.master), log.write))


async def _first(*events: asyncio.Event, patience: float | None = None) -> None:
    """Wait until one of them is set, or so many seconds have passed."""
    waits = [asyncio.ensure_future(event.wait()) for event in events]
    await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED, timeout=patience)
    for one in waits:
        one.cancel()


class Listeners:
    """All that accept connections: plain sockets on a poller of their own where the system has one, and streams."""

    def __init__(self, driver: Driver, log: Log, watch: Watch, settings: Settings) -> None:
        self._driver = driver
        self._log = log
        self._settings = settings
        self._poller = Poller(driver, log.write) if hasattr(select, "epoll") else None
        self._listeners: list[Listener] = []
        self._refusals = Refusals(log.write, driver.now)
        self._most = share_of(settings.descriptors, settings.ports)
        self._context = self._tls(watch) if any(one.secure for one in settings.listen) else None

    async def open(self) -> list[Address]:
        """The addresses, with the ports that were given for port 0."""
        opened = [replace(address, port=await self._open(address)) for address in self._settings.listen]
        if self._settings.http is not None:
            monitor = partial(Monitor, self._driver, self._settings.pages(self._settings.http))
            await self._serve(monitor, self._settings.http, None)
        return opened

    def close(self) -> None:
        if self._poller is not None:
            self._poller.close()
        for listener in self._listeners:
            listener.close()

    async def _open(self, address: Address) -> int:
        anonymous = self._settings.takes_anonymous(address)
        if address.scheme == "mqtt" and self._poller is not None:
            with listening(address):
                return await self._poller.listen(address.host, address.port, anonymous, self._most)
        pages = self._settings.pages(address) if address.websocket else None
        make = partial(_client, self._driver, self._settings.parameters.packet_bytes, pages, anonymous)
        return await self._serve(make, address, self._context if address.secure else None)

    async def _serve(
        self, make: Callable[[], asyncio.Protocol], address: Address, context: ssl.SSLContext | None
    ) -> int:
        streams = Streams(make, context, self._settings.parameters.connect_timeout, self._refusals.add)
        listener = Listener(streams.take, self._log.write, self._most)
        with listening(address):
            port = await listener.open(address.host, address.port)
        self._listeners.append(listener)
        return port

    def _tls(self, watch: Watch) -> ssl.SSLContext:
        credentials = self._settings.tls()
        self._driver.certificates.add(credentials.certificate)
        context = server_context(credentials)
        watch.add(credentials.paths, partial(reload, context, credentials, self._log.write))
        return context


def _client(driver: Driver, largest: int, pages: Pages | None, anonymous: bool) -> StreamClient:
    """A client, over WebSockets where pages may call."""
    if pages is None:
        return StreamClient(driver, anonymous)
    from weft.live.websocket import WebSocketClient

    return WebSocketClient(driver, largest, pages, anonymous)
