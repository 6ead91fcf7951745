"""A master and its nodes as processes of this machine, on its loopback.

Nodes are forked from one process that has loaded what a node needs, so that sixteen of them start as fast as one, and
share its memory. The master needs other things, and is a process of its own from the start. All start at once: nodes
call the master until it is there.
"""

import os
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import get_context, parent_process, resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkServerProcess, SpawnProcess
from pathlib import Path
from threading import Thread
from typing import Any

from weft.errors import SurroundingsError, WeftError

ENDING = 15.0  # seconds until a process that should have ended has not
SAME = 1.0  # seconds within which a signal for all processes comes to this one too, when another has ended by it
HOST = "127.0.0.1"

Start = Callable[[dict[str, Any], Callable[[str], None]], None]  # runs a process with options; says when it is ready
Process = ForkServerProcess | SpawnProcess


@dataclass(frozen=True, slots=True)
class Row:
    """A process that runs."""

    name: str
    address: str
    pid: int


@dataclass(frozen=True, slots=True)
class Fleet:
    nodes: int
    port: int  # of the first node's clients; those of the others and the master's follow
    data: Path | None
    sync: str
    http: int | None  # of the first node's metrics
    logs: bool

    @property
    def master(self) -> str:
        return f"{HOST}:{self.port + self.nodes}"

    def addresses(self) -> dict[str, str]:
        return {f"node-{place}": f"{HOST}:{self.port + place}" for place in range(self.nodes)}

    def master_options(self) -> dict[str, Any]:
        return {"listen": self.master, "data": self._data("master"), "quiet": self._quiet}

    def node_options(self, place: int) -> dict[str, Any]:
        name = f"node-{place}"
        return {
            "master": self.master,
            "name": name,
            "listen": [f"{HOST}:{self.port + place}"],
            "data": self._data(name),
            "sync": self.sync,
            "http": None if self.http is None else f"{HOST}:{self.http + place}",
            "quiet": self._quiet,
        }

    @property
    def _quiet(self) -> bool | None:
        return None if self.logs else True

    def _data(self, name: str) -> Path | None:
        return None if self.data is None else self.data / name


class Stop:
    """Word of a signal that all is to end.

    A `threading.Event` would not do: its wait takes a lock, and a handler that sets it may come just then, in the same
    thread, and wait for that lock for ever.
    """

    def __init__(self) -> None:
        self._read, self._write = os.pipe()

    def set(self) -> None:
        os.write(self._write, b".")

    def wait(self, seconds: float) -> bool:
        return bool(select.select([self._read], [], [], seconds)[0])

    def is_set(self) -> bool:
        return self.wait(0.0)


class Processes:
    """What was started, and the pipes on which it says that it is ready."""

    def __init__(self) -> None:
        self.running: dict[str, Process] = {}
        self._pipes: dict[Connection, str] = {}

    def start(self, context: Any, name: str, start: Start, options: dict[str, Any], stop: Stop) -> None:
        ours, theirs = context.Pipe(duplex=False)
        process = context.Process(target=_run, args=(start, options, theirs), name=name)
        try:
            with _interrupts_blocked():
                process.start()
        except (EOFError, ConnectionError) as error:  # of the process that it should have been forked from
            if stop.wait(SAME):
                return
            raise SurroundingsError(f"{name} did not start: the process that starts nodes has ended.") from error
        finally:
            theirs.close()
        self._pipes[ours] = name
        self.running[name] = process

    def await_all(self, stop: Stop) -> None:
        while self._pipes and not stop.is_set():
            for pipe in wait(list(self._pipes), 0.2):
                assert isinstance(pipe, Connection)
                self._hear(pipe, stop)

    def watch(self, stop: Stop) -> None:
        """Tell of processes that end by themselves; the others go on."""
        left = dict(self.running)
        while left and not stop.wait(0.5):
            for name in [name for name, process in left.items() if process.exitcode is not None]:
                sys.stderr.write(f"weft: {name} has ended with code {left.pop(name).exitcode}.\n")

    def end(self) -> None:
        """Nodes first, so that they can tell the master."""
        for process in reversed(self.running.values()):
            if process.exitcode is None:
                process.terminate()
        until = time.monotonic() + ENDING
        for process in self.running.values():
            process.join(max(0.0, until - time.monotonic()))
            if process.exitcode is None:
                process.kill()
                process.join()

    def _hear(self, pipe: Connection, stop: Stop) -> None:
        name = self._pipes.pop(pipe)
        try:
            said = pipe.recv()
        except EOFError:
            said = "" if stop.wait(SAME) else "it ended"
        pipe.close()
        if said:
            raise SurroundingsError(f"{name} did not start: {said}")


def run(fleet: Fleet, master: Start, node: Start, preload: list[str], ready: Callable[[list[Row]], None]) -> None:
    """Run it until SIGINT or SIGTERM, or until all processes have ended."""
    if fleet.port + fleet.nodes > 65_535:
        raise WeftError(f"{fleet.nodes} nodes and a master from `port` {fleet.port} on pass 65535.", "port")
    if fleet.http is not None and fleet.http + fleet.nodes - 1 > 65_535:
        raise WeftError(f"{fleet.nodes} nodes from `http` {fleet.http} on pass 65535.", "http")
    stop = Stop()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    forks = get_context("forkserver")
    forks.set_forkserver_preload(preload)
    resource_tracker.ensure_running()  # it unblocks interrupts when it is started
    processes = Processes()
    try:
        processes.start(get_context("spawn"), "master", master, fleet.master_options(), stop)
        for place, name in enumerate(fleet.addresses()):
            if not stop.is_set():
                processes.start(forks, name, node, fleet.node_options(place), stop)
        processes.await_all(stop)
        if not stop.is_set():
            addresses = {**fleet.addresses(), "master": fleet.master}
            ready([Row(name, address, processes.running[name].pid or 0) for name, address in addresses.items()])
        processes.watch(stop)
    finally:
        processes.end()


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Block Ctrl-C, for processes that are started meanwhile for ever: it is for this one, which ends all in order.

    To ignore it when they run would be late: it may come while they are loaded, and event loops listen to it again.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def _run(start: Start, options: dict[str, Any], pipe: Connection) -> None:
    """Start what this process is for."""
    Thread(target=_end_with_parent, daemon=True).start()
    try:
        start(options, pipe.send)
    except WeftError as error:
        with suppress(OSError):
            pipe.send(str(error))
            sys.exit(error.exit_code)
        sys.stderr.write(f"weft: {error}\n")
        sys.exit(error.exit_code)


def _end_with_parent() -> None:
    """End in order when the process that has started this one is gone. A signal of the kernel's for that would tell of
    the one that nodes are forked from, which lives as long as they do."""
    parent = parent_process()
    assert parent is not None
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)
