"""A master and its nodes as processes of this machine, on its loopback.

Nodes are forked from one process that has loaded what a node needs, so that sixteen of them start as fast as one, and
share its memory. The master needs other things, and is a process of its own from the start. All start at once: nodes
call the master until it is there. One that a defect has ended (live/defect.py) is started again.

None of them outlives this process, however it ends. They end in order when they notice, and are killed a moment later
whatever they do: by a thread of their own, and by a guard, which holds their process group and waits for nothing but
the end of a pipe that only this process can write to. The guard also ends one that has been stopped, or that keeps its
interpreter to itself.
"""

import os
import select
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import get_context, parent_process, resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkServerProcess, SpawnProcess
from pathlib import Path
from threading import Thread
from typing import Any

from weft.errors import Exit, SurroundingsError, WeftError
from weft.live.disk import A_NETWORK, MASTER, require_own
from weft.live.log import Writer

ENDING = 8.0  # seconds until a process that should have ended has not; nodes take 5 (live/stop.py)
FORSAKEN = 2.0  # seconds that processes have for their end when this one is gone
RESTARTS, WHILE = 5, 60.0  # of one process, within so many seconds
ENDED = "it ended"
HUNG_UP = "SIGHUP is heard, and there are no certificates, users or rights here that could be read again."
SAME = 1.0  # seconds within which a signal for all processes comes to this one too, when another has ended by it
HOST = "127.0.0.1"

GUARD = f"""
import os, signal, sys, time
for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
    signal.signal(number, signal.SIG_IGN)
sys.stdin.buffer.read()
os.killpg(0, signal.SIGTERM)
time.sleep({FORSAKEN})
os.killpg(0, signal.SIGKILL)
"""

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
    log_level: str | None = None

    @property
    def master(self) -> str:
        return f"{HOST}:{self.port + self.nodes}"

    def addresses(self) -> dict[str, str]:
        return {f"node-{place}": f"{HOST}:{self.port + place}" for place in range(self.nodes)}

    def master_options(self) -> dict[str, Any]:
        return {
            "listen": self.master,
            "data": self._data(MASTER),
            "cluster": self._cluster,
            "quiet": self._quiet,
            "log_level": self.log_level,
        }

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
            "log_level": self.log_level,
        }

    @property
    def _cluster(self) -> str | None:
        """A master that keeps nothing is the same again when it is started again: nodes would refuse another."""
        return f"up-{self.port}" if self.data is None else None

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


class Restarts:
    """When each process was started again."""

    def __init__(self) -> None:
        self._times: dict[str, deque[float]] = {}

    def allow(self, name: str, now: float) -> bool:
        """Whether it may be started once more; if so, that counts."""
        times = self._times.setdefault(name, deque(maxlen=RESTARTS))
        if len(times) == RESTARTS and now - times[0] < WHILE:
            return False
        times.append(now)
        return True


class Guard:
    """The process group of all that was started, and the process that ends it when this one is gone."""

    def __init__(self) -> None:
        with _signals_kept():
            command = [sys.executable, "-ISc", GUARD]
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, process_group=0)
        self.group = self._process.pid

    def end(self) -> None:
        """End it, and whatever is left: processes that its processes have started."""
        with suppress(ProcessLookupError):
            os.killpg(self.group, signal.SIGKILL)
        self._process.wait()


class Processes:
    """What was started, and the pipes on which it says that it is ready."""

    def __init__(self, group: int, say: Callable[[str], None]) -> None:
        self.running: dict[str, Process] = {}
        self._group = group
        self._say = say
        self._again: dict[str, Callable[[], None]] = {}  # by name, starts it once more
        self._restarts = Restarts()
        self._pipes: dict[Connection, str] = {}

    def start(self, context: Any, name: str, start: Start, options: dict[str, Any], stop: Stop) -> None:
        ours, theirs = context.Pipe(duplex=False)
        process = context.Process(target=_run, args=(start, options, theirs, self._group), name=name)
        try:
            with _signals_kept():
                process.start()
        except (EOFError, ConnectionError) as error:  # of the process that it should have been forked from
            if stop.wait(SAME):
                return
            raise SurroundingsError(f"{name} did not start: the process that starts nodes has ended.") from error
        finally:
            theirs.close()
        self._pipes[ours] = name
        self.running[name] = process
        self._again[name] = lambda: self.start(context, name, start, options, stop)

    def await_all(self, stop: Stop) -> None:
        while self._pipes and not stop.is_set():
            for pipe in wait(list(self._pipes), 0.2):
                assert isinstance(pipe, Connection)
                name, said = self._hear(pipe, stop)
                if said:
                    raise SurroundingsError(f"{name} did not start: {said}")

    def watch(self, stop: Stop) -> None:
        """Tell of processes that end by themselves, and start those again that a defect has ended; others go on."""
        left = dict(self.running)
        while left and not stop.wait(0.5):
            for name in [name for name, process in left.items() if process.exitcode is not None]:
                code = left.pop(name).exitcode
                if code == Exit.DEFECT and self._restarts.allow(name, time.monotonic()):
                    self._start_again(name)
                    left[name] = self.running[name]
                else:
                    often = f", {RESTARTS + 1} times within a minute" if code == Exit.DEFECT else ""
                    how = f"with code {code}" if code is None or code >= 0 else f"by signal {-code}"
                    self._say(f"{name} has ended {how}{often}.")
            for pipe in wait(list(self._pipes), 0.0):  # of those that were started again
                assert isinstance(pipe, Connection)
                name, said = self._hear(pipe, stop)
                if said and said != ENDED:  # else its exit code is told
                    self._say(f"{name} did not start: {said}")

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

    def _start_again(self, name: str) -> None:
        self._say(f"{name} has ended with code {Exit.DEFECT}, for a defect, and is started again.")
        try:
            self._again[name]()
        except SurroundingsError as error:
            self._say(str(error))

    def _hear(self, pipe: Connection, stop: Stop) -> tuple[str, str]:
        """Name of the process behind a pipe, and why it did not start."""
        name = self._pipes.pop(pipe)
        try:
            said = pipe.recv()
        except EOFError:
            said = "" if stop.wait(SAME) else ENDED
        pipe.close()
        return name, said


def run(fleet: Fleet, master: Start, node: Start, preload: list[str], ready: Callable[[list[Row]], None]) -> None:
    """Run it until SIGINT or SIGTERM, or until all processes have ended."""
    if fleet.port + fleet.nodes > 65_535:
        raise WeftError(f"{fleet.nodes} nodes and a master from `port` {fleet.port} on pass 65535.", "port")
    if fleet.data is not None:
        require_own(fleet.data, A_NETWORK)
    if fleet.http is not None and fleet.http + fleet.nodes - 1 > 65_535:
        raise WeftError(f"{fleet.nodes} nodes from `http` {fleet.http} on pass 65535.", "http")
    stop, voice = Stop(), Writer(sys.stderr.fileno())

    def say(sentence: str) -> None:
        voice.write(f"weft: {sentence}\n")

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    signal.signal(signal.SIGHUP, lambda *_: say(HUNG_UP))
    forks = get_context("forkserver")
    forks.set_forkserver_preload(preload)
    with _signals_kept():
        resource_tracker.ensure_running()  # it unblocks interrupts when it is started
    guard = Guard()
    processes = Processes(guard.group, say)
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
        guard.end()
        voice.close()


@contextmanager
def _signals_kept() -> Iterator[None]:
    """Block Ctrl-C, for processes that are started meanwhile for ever: it is for this one, which ends all in order.

    To ignore it when they run would be late: it may come while they are loaded, and event loops listen to it again.
    SIGHUP ends none of them, until they hear it themselves; only the main thread may ask for that.
    """
    is_main = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN) if is_main else None
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        if is_main:
            signal.signal(signal.SIGHUP, before)


def _run(start: Start, options: dict[str, Any], pipe: Connection, group: int) -> None:
    """Start what this process is for."""
    with suppress(OSError):  # the guard has ended
        os.setpgid(0, group)
    Thread(target=_end_with_parent, daemon=True).start()
    try:
        start(options, pipe.send)
    except WeftError as error:
        with suppress(OSError):
            pipe.send(str(error))
            sys.exit(error.exit_code)
        sys.stderr.write(f"weft: {error}\n")
        sys.exit(error.exit_code)
    except Exception:
        traceback.print_exc()
        sys.exit(Exit.DEFECT)


def _end_with_parent() -> None:
    """End when the process that has started this one is gone: in order, if that is soon. A signal of the kernel's for
    that would tell of the one that nodes are forked from, which lives as long as they do."""
    parent = parent_process()
    assert parent is not None
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(FORSAKEN)
    os._exit(0)
