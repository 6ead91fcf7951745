"""A master process: one port for nodes and operators, a store, and a process beside it that designs.

Whose bytes they are is told by the first four: a frame's length, or a method of HTTP, which would be a frame of more
than a gigabyte.

What nodes say is handled in slices of time, in its order, so that pings and operators are answered while thousands of
clients subscribe.

A master whose store takes nothing is one that has ended, until it does: what could not be kept was told to nobody,
nodes lose their connections and go on as without a master, and operators are told why. When the store works again it
begins anew with what is there, as after any other restart. So there is no third state that nodes could be left in.
"""

import asyncio
import os
import signal
import ssl
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from importlib.util import find_spec
from itertools import count
from multiprocessing import get_context
from time import thread_time
from typing import Any, cast

from weft.access.badge import Badge, Role, stranger
from weft.access.limit import is_loopback
from weft.access.page import Pages
from weft.access.unproved import MOST
from weft.errors import SurroundingsError, WeftError
from weft.live.address import Address, listening
from weft.live.clock import Clock
from weft.live.collector import Collector
from weft.live.defect import Defects, fatal
from weft.live.disk import cut
from weft.live.heap import Heap, trimmer
from weft.live.http import METHODS, HttpCall
from weft.live.link import Wire
from weft.live.listener import Listener, Streams, nothing, raise_descriptor_limit, share_of
from weft.live.log import Log
from weft.live.master_certificates import Certificates
from weft.live.master_http import Requests
from weft.live.master_settings import MasterSettings
from weft.live.process_metrics import process_metrics
from weft.live.stop import Stop
from weft.live.store import SqliteStore
from weft.live.tls import Refusals
from weft.live.watch import Watch, daily
from weft.master import effect as e
from weft.master.engine import Engine, Job
from weft.master.keeping import cluster_record
from weft.master.master import Master
from weft.master.record import Record
from weft.wire.frame import Frame
from weft.wire.frame_codec import TO_MASTER

LATE = 0.1  # seconds behind a deadline from which this process has stood still
PATIENCE = 10.0  # seconds for a handshake, and for a whole request or Hello
SLICE = 0.02  # seconds of processor for what nodes say, until others get their turn
ENDING = 4.0  # seconds from SIGTERM until this process has ended in any case
RETRY = 1.0  # seconds until a store that failed is tried again
STALE = "what is shown of them is from before"
WAITING = 10_000  # frames that wait meanwhile; a node that calls says one
UNHANDLED = 2_000  # frames of one node that wait to be handled, from which on it is not read until half of them are


def run(settings: MasterSettings, engine: Engine, ready: Callable[[Address], None]) -> None:
    """Serve until SIGINT or SIGTERM. `ready` is told the address when nodes can connect."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # until it is listened to
    if find_spec("uvloop") is not None:
        import uvloop

        uvloop.run(serve(settings, engine, ready))
    else:
        asyncio.run(serve(settings, engine, ready))


async def serve(settings: MasterSettings, engine: Engine, ready: Callable[[Address], None]) -> None:
    clock = Clock()
    log = Log(clock, settings.json_logs, settings.quiet, settings.log_level)
    log.take_over()
    descriptors = raise_descriptor_limit()
    stop, watch = Stop(ENDING, log), Watch()
    watch.hear(log.write)
    store = None if settings.data is None else SqliteStore(settings.data)
    if store is not None and store.unread:
        log.write("store_cut", detail=cut(store.unread))
    try:
        driver = MasterDriver(settings, clock, log, store, engine)
        driver.defects.watch()
        listener, address = await listen(driver, settings.listen, driver.context(watch), log, share_of(descriptors, 1))
        watch.start()
        Collector().watch()
        Heap(trimmer()).watch()
        renewal = asyncio.ensure_future(daily(driver.renew, log.write))
        if settings.authority is None and not is_loopback(settings.listen.host):
            log.write("unprotected", detail=f"{settings.listen}: whoever reaches it may join and change the network")
        ready(address)
        await stop.heard.wait()
        renewal.cancel()
        watch.stop()
        listener.close()
        await driver.stop()
    finally:
        if store is not None:
            store.close()
        log.close()


async def listen(
    driver: "MasterDriver", address: Address, context: ssl.SSLContext | None, log: Log, most: int = MOST
) -> tuple[Listener, Address]:
    """Where it listens, also where port 0 was given."""
    streams = Streams(lambda: Door(driver), context, PATIENCE, Refusals(log.write, driver.clock.now).add)
    listener = Listener(streams.take, log.write, most, PATIENCE)
    with listening(address):
        port = await listener.open(address.host, address.port)
    return listener, replace(address, port=port)


class Door(asyncio.Protocol):
    """A connection of which nothing is known yet."""

    def __init__(self, driver: "MasterDriver") -> None:
        self._driver = driver
        self._data = b""
        self.settled: Callable[[], None] = nothing

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._data += data
        if len(self._data) < 4:
            return
        badge = self._driver.badge_of(self._transport)
        behind: HttpCall | Wire = (
            HttpCall(self._driver.requests.answer, self._driver.defects, self._driver.pages, badge, self._driver.calls)
            if self._data[:4] in METHODS
            else Wire(self._driver, self._driver.clock, TO_MASTER, badge)
        )
        behind.settled = self.settled
        self._transport.set_protocol(behind)
        behind.connection_made(self._transport)
        behind.data_received(self._data)

    def connection_lost(self, exc: Exception | None) -> None:
        self.settled()


class MasterDriver:
    """Drives a master: frames, requests and the timer go in, effects are carried out in order."""

    def __init__(
        self, settings: MasterSettings, clock: Clock, log: Log, store: SqliteStore | None, engine: Engine
    ) -> None:
        self.clock = clock
        self.pages = Pages(settings.listen.host, settings.http_host)
        self.certificates = None if settings.authority is None else Certificates(settings.authority, clock, log)
        self.defects = Defects(log)
        self.calls: set[HttpCall] = set()  # that are answered, or whose answers are read
        self._log = log
        self._store = store
        self._engine = engine
        self._wires: dict[int, Wire] = {}
        self._events: deque[e.Event | None] = deque()  # None is the deadline
        self._working = False  # or about to
        self._numbers = count(1)
        self._tickets = count(1)
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._designs: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._unkept: dict[tuple[str, str], Record] = {}
        self._told: dict[int, Wire] = {}
        self._ended: list[Wire] = []
        self._settling = False
        self._problem = ""  # why the store takes nothing
        self._excused = False  # for being late, until the deadline is handled
        self._settings = settings
        self.requests = Requests(self, self.certificates, log)
        records = [] if store is None else list(store.records())
        kept = next((record.value["name"] for record in records if record.kind == "cluster"), "")
        if records:
            _require_cluster(kept, settings.cluster)
        self._begin(settings.cluster or os.urandom(4).hex(), records)
        if store is not None and not kept:
            store.keep([cluster_record(self.master.network)])
        self._tell_revoked()

    def _begin(self, cluster: str, records: list[Record]) -> None:
        self.master = Master(self._settings.parameters, cluster, self.clock.now(), self._settings.seed)
        self._carry_out(self.master.restore(records, self.clock.now()))

    def context(self, watch: Watch) -> ssl.SSLContext | None:
        """TLS of the port, where there is an authority."""
        return (
            None
            if self.certificates is None
            else self.certificates.context(
                watch, self._send_revoked_away, lambda ends: self._handle(e.CertificatesRead(ends))
            )
        )

    async def stop(self) -> None:
        for design in self._designs:
            design.cancel()
        if not self._problem:
            self._settle()
        for wire in list(self._wires.values()):
            wire.close("the master ends")
        await asyncio.sleep(0)
        self._events.clear()  # of what nodes say from now on nothing is kept
        self._working = True
        if not self._problem:
            self._settle()

    # Connections

    def badge_of(self, transport: asyncio.Transport) -> Badge | None:
        """Badge of who has called; None where there are no certificates."""
        return None if self.certificates is None else self.certificates.badge_of(transport)

    def _send_revoked_away(self) -> None:
        assert self.certificates is not None
        for wire in list(self._wires.values()):
            if wire.badge is not None and self.certificates.is_revoked(wire.badge):
                wire.refuse("The certificate was revoked.")
        self._tell_revoked()

    def _tell_revoked(self) -> None:
        if self.certificates is not None:
            self._handle(e.Revoked(self.certificates.revoked_names()))

    def renew(self) -> bool:
        """Renew the master's own certificate if it is time."""
        return self.certificates is not None and self.certificates.authority.renew_master()

    def opened(self, wire: Wire) -> None:
        wire.number = next(self._numbers)
        problem = "" if wire.badge is None else stranger(wire.badge, Role.NODE)
        if problem:
            self._log.write("stranger", detail=f"{wire.peer}: {problem}")
            wire.refuse(f"Only nodes of this cluster can join. {problem}")
            return
        self._wires[wire.number] = wire
        if wire.badge is not None:
            wire.settled()
            self._events.append(e.Proved(wire.number, wire.badge.name))
            self._work_soon()

    def heard(self, wire: Wire, frames: Sequence[Frame]) -> None:
        wire.settled()  # where there are no certificates: it has said Hello
        if self._problem and len(self._events) + len(frames) > WAITING:
            wire.abort(self._problem)
            return
        self._events += [e.Heard(wire.number, frame) for frame in frames]
        wire.unhandled += len(frames)
        if wire.unhandled > UNHANDLED:
            wire.hold()
        self._work_soon()

    def closed(self, wire: Wire, reason: str) -> None:
        self._events.append(e.Closed(wire.number))
        self._work_soon()

    def congested(self, wire: Wire) -> None:
        """What is told to a node cannot be left out: it waits."""

    def drained(self, wire: Wire) -> None:
        pass

    def timed(self, wire: Wire, round_trip: float) -> None:
        pass

    def clock_read(self, wire: Wire, time: float) -> None:
        self._events.append(e.ClockRead(wire.number, time))
        self._work_soon()

    # Operators

    @property
    def store_works(self) -> bool:
        return not self._problem

    def status(self) -> dict[str, Any]:
        """What is known without asking anybody."""
        status = self.master.status()
        if self._problem:
            status["problems"].insert(0, f"{self._problem} Until then nodes go on without this master; {STALE}.")
        return {**status, "store_works": self.store_works}

    def metrics(self) -> str:
        """What Prometheus reads of this process."""
        return process_metrics(self._log, self.defects)

    async def ask(self, request: str, options: dict[str, Any]) -> dict[str, Any]:
        if request == "status":
            return self.status()
        if self._problem:
            return {"error": self._problem}
        ticket = next(self._tickets)
        future: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._answers[ticket] = future
        try:
            self._handle(e.Asked(ticket, request, options))
            return await future
        finally:
            self._answers.pop(ticket, None)

    # What nodes say

    def _work_soon(self) -> None:
        if not self._working and not self._problem:
            self._working = True
            asyncio.get_running_loop().call_soon(self._work)

    @fatal
    def _work(self) -> None:
        """A slice of what is to be handled."""
        if self._problem:
            self._working = False
            return
        until = thread_time() + SLICE
        while self._events and thread_time() < until:
            event = self._events.popleft()
            if isinstance(event, e.Heard):
                self._count_handled(event.connection)
            if event is None:
                self._excused = False
                self._carry_out(self.master.on_timer(self.clock.now()))
            elif not isinstance(event, e.Heard) or event.connection in self._wires:  # else it is being sent away
                self._carry_out(self.master.handle(event, self.clock.now(), more=True))
            if isinstance(event, e.Closed):
                self._wires.pop(event.connection, None)
        self._carry_out(self.master.finish())
        self._arm()
        self._working = False
        if self._events:
            self._work_soon()

    def _count_handled(self, connection: int) -> None:
        wire = self._wires.get(connection)
        if wire is not None:
            wire.unhandled -= 1
            if wire.unhandled == UNHANDLED // 2:
                wire.go_on()

    # Effects

    @fatal
    def _handle(self, event: e.Event) -> None:
        self._carry_out(self.master.handle(event, self.clock.now()))
        self._arm()

    def _carry_out(self, effects: list[e.Effect]) -> None:
        for effect in effects:
            match effect:
                case e.Tell(number, frame) if number in self._wires:
                    self._wires[number].gather(frame)
                    self._told[number] = self._wires[number]
                case e.Keep(records):
                    self._unkept |= {(record.kind, record.key): record for record in records}
                case e.Close(number) if number in self._wires:
                    self._ended.append(self._wires.pop(number))
                case e.Answer(ticket, reply) if ticket in self._answers and not self._answers[ticket].done():
                    self._answers[ticket].set_result(reply)
                case e.StartDesign(number, job):
                    task = asyncio.ensure_future(self._design(number, job))
                    self._designs.add(task)
                    task.add_done_callback(self._designs.discard)
                case e.Note(event, node, detail):
                    self._log.write(event, node=node, detail=detail)

        if (self._told or self._unkept or self._ended) and not self._settling:
            self._settling = True
            asyncio.get_running_loop().call_soon(self._settle)

    @fatal
    def _settle(self) -> None:
        """All of one turn of the event loop: what is kept first, then what is told, then who is sent away.

        What cannot be kept is told to nobody.
        """
        self._settling = False
        problem = self._keep()
        if problem:
            self._lose_store(problem)
            return
        told, ended = self._told, self._ended
        self._told, self._ended = {}, []
        for wire in told.values():
            wire.release()
        for wire in ended:
            wire.close()

    def _keep(self) -> str:
        """Put all that there is to keep into the store; why that was not possible."""
        try:
            if self._unkept and self._store is not None:
                self._store.keep(self._unkept.values())
        except SurroundingsError as error:
            return str(error)
        self._unkept = {}
        return ""

    def _lose_store(self, problem: str) -> None:
        """Be as one that has ended, from what could not be kept on."""
        self._problem = problem
        self._log.write("store_failed", detail=problem)
        self._told, self._ended = {}, []
        self._events.clear()
        self._excused = False
        if self._timer is not None:
            self._timer.cancel()
        for design in self._designs:
            design.cancel()
        for answer in self._answers.values():
            if not answer.done():
                answer.set_result({"error": problem})
        for wire in list(self._wires.values()):
            wire.abort(problem)
        asyncio.get_running_loop().call_later(RETRY, self._try_store)

    @fatal
    def _try_store(self) -> None:
        assert self._store is not None
        if self._keep():
            asyncio.get_running_loop().call_later(RETRY, self._try_store)
            return
        self._problem = ""
        self._log.write("store_works")
        self._begin(self.master.network.cluster, list(self._store.records()))
        self._arm()
        self._work_soon()

    async def _design(self, number: int, job: Job) -> None:
        """Design in a process that ends with it: kernels and the JVM need memory, and the master must answer."""
        pool = ProcessPoolExecutor(1, get_context("spawn"), _ignore_hangups)
        try:
            design = await asyncio.get_running_loop().run_in_executor(pool, self._engine, job)
        except BrokenProcessPool:
            self._handle(e.DesignFailed(number, "The process that designs has ended: see whether memory is short."))
        except (WeftError, MemoryError) as error:
            self._handle(e.DesignFailed(number, str(error)))
        else:
            self._handle(e.Designed(number, design))
        finally:
            for process in list((pool._processes or {}).values()):  # one that designs still would hold up our end
                process.kill()
            pool.shutdown(wait=False, cancel_futures=True)

    def _arm(self) -> None:
        if self._excused:
            return
        deadline = self.master.next_deadline()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if deadline is not None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(max(0.0, deadline - self.clock.now()), self._ring)

    @fatal
    def _ring(self) -> None:
        """The deadline has come. What nodes have said until now is heard first, unread too if we are late for it."""
        deadline, loop = self.master.next_deadline(), asyncio.get_running_loop()
        if deadline is not None and self.clock.now() - deadline > LATE and not self._excused:
            self._excused = True
            self._timer = loop.call_later(LATE, self._ring)
            return
        self._timer, self._excused = None, True
        self._events.append(None)
        self._work_soon()


def _ignore_hangups() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)


def _require_cluster(kept: str, wanted: str) -> None:
    """Refuse to be the master of another cluster than that whose nodes are in the store."""
    if not kept and not wanted:
        raise WeftError(
            "The data folder was salvaged without the name of its cluster: give `cluster` the name that its nodes have "
            "in their identity.json.",
            "cluster",
        )
    if wanted and kept and kept != wanted:
        raise WeftError(
            f"The data folder is of the cluster {kept}, not of {wanted}: give another `data` folder, or leave "
            "`cluster` out.",
            "data",
            "cluster",
        )
