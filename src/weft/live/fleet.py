"""A master and its nodes as processes of this machine, on its loopback."""

import ctypes
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import Event

from weft.errors import SurroundingsError, WeftError

COMMAND = [sys.executable, "-c", "from weft.cli import main; main()"]
STARTING, ENDING = 60.0, 15.0  # seconds until a process that should be ready, or ended, is not
HOST = "127.0.0.1"
PARENT_DIES = 1  # as in <sys/prctl.h>, PR_SET_PDEATHSIG

Ready = Callable[[list[tuple[str, str]], str], None]


@dataclass(frozen=True, slots=True)
class Fleet:
    nodes: int
    port: int  # of the first node's clients; those of the others and the master's follow
    data: Path | None
    sync: str
    http: int | None
    logs: bool

    @property
    def master(self) -> str:
        return f"{HOST}:{self.port + self.nodes}"

    def names(self) -> list[str]:
        return [f"node-{place}" for place in range(self.nodes)]

    def master_options(self) -> list[str]:
        return ["master", "--listen", self.master, *self._data("master"), *self._quiet()]

    def node_options(self, place: int) -> list[str]:
        name = f"node-{place}"
        options = ["node", "--master", self.master, "--name", name, "--listen", f"{HOST}:{self.port + place}"]
        http = [] if self.http is None else ["--http", f"{HOST}:{self.http + place}"]
        return [*options, *self._data(name), "--sync", self.sync, *http, *self._quiet()]

    def _data(self, name: str) -> list[str]:
        return [] if self.data is None else ["--data", str(self.data / name)]

    def _quiet(self) -> list[str]:
        return [] if self.logs else ["--quiet"]


def run(fleet: Fleet, ready: Ready) -> None:
    """Until SIGINT or SIGTERM, or until all nodes have ended."""
    if fleet.port + fleet.nodes > 65_535:
        raise WeftError(f"{fleet.nodes} nodes and a master from `port` {fleet.port} on pass 65535.", "port")
    stop = Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    processes: dict[str, subprocess.Popen[str]] = {}
    try:
        processes["master"] = _start(fleet.master_options())
        _await_ready("master", processes["master"], stop)
        for place, name in enumerate(fleet.names()):
            processes[name] = _start(fleet.node_options(place))
        for name in fleet.names():
            _await_ready(name, processes[name], stop)
        if not stop.is_set():
            ready([(name, f"{HOST}:{fleet.port + place}") for place, name in enumerate(fleet.names())], fleet.master)
        _watch(processes, stop)
    finally:
        _end(list(processes.values()))


def _start(options: list[str]) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [*COMMAND, *options], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, preexec_fn=_end_with_parent
    )


def _end_with_parent() -> None:
    """Ask the system to end this process when its parent ends, however that ends; and leave Ctrl-C to the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PARENT_DIES, signal.SIGTERM)


def _await_ready(name: str, process: "subprocess.Popen[str]", stop: Event) -> None:
    assert process.stdout is not None
    line = "" if stop.is_set() else process.stdout.readline()
    if not line.startswith("ready") and not stop.is_set():
        raise SurroundingsError(f"{name} did not start: what it said is above.")


def _watch(processes: dict[str, "subprocess.Popen[str]"], stop: Event) -> None:
    """Tell of processes that end by themselves; the others go on."""
    left = dict(processes)
    while left and not stop.wait(0.5):
        for name in [name for name, process in left.items() if process.poll() is not None]:
            sys.stderr.write(f"weft: {name} has ended with code {left.pop(name).returncode}.\n")


def _end(processes: list["subprocess.Popen[str]"]) -> None:
    """Nodes first, so that they can tell the master."""
    for process in reversed(processes):
        if process.poll() is None:
            process.terminate()
    until = time.monotonic() + ENDING
    for process in processes:
        try:
            process.wait(max(0.0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
