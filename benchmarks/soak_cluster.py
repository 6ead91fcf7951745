"""A cluster as operators start it: an authority, a master and nodes with certificates, each by its command.

Node number i has its clients' port at `port` + i; the master's follows, then that of `mqtts` at the first node, then
the links'.
"""

import os
import shlex
import signal
import ssl
import string
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Timer

from bridged import WEFT
from weft.live.address import Address
from weft.live.fleet import HOST
from weft.live.operator import CREDENTIALS, ask

MASTER = "master"
STARTING = 120.0  # seconds
ENDING = 30.0  # seconds
MIB = 1 << 20


@dataclass(frozen=True)
class Size:
    """What a process takes at a moment."""

    memory: float  # MiB that are its own
    files: int  # open ones
    disk: float  # MiB of its folder: a node's journal, the master's store


@dataclass
class Cluster:
    nodes: int
    port: int
    folder: Path
    node_options: str
    master_options: str
    lives: dict[str, int] = field(default_factory=dict)  # how often each has been started
    _running: "dict[str, subprocess.Popen[str]]" = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        return list(string.ascii_lowercase[: self.nodes])

    @property
    def master(self) -> Address:
        return Address(HOST, self.port + self.nodes)

    @property
    def ports(self) -> list[int]:
        return [self.port + place for place in range(self.nodes)]

    @property
    def tls_port(self) -> int:
        return self.port + self.nodes + 1

    def tls(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.folder / "ca" / "authority.pem"))

    def begin(self) -> None:
        self._weft("ca", "init", "--ca", str(self.folder / "ca"), "--host", HOST)
        os.environ[CREDENTIALS] = str(self.folder / "ca" / "operator")
        self.start(MASTER)
        for name in self.names:
            self.start(name)
        self.await_up()

    def end(self) -> None:
        for process in self._running.values():
            process.terminate()  # all at once
        for process in self._running.values():
            with suppress(subprocess.TimeoutExpired):
                process.wait(ENDING)
            process.kill()
            process.wait()

    def start(self, name: str) -> None:
        """Start a process, and wait until it is ready."""
        command = self._master_command() if name == MASTER else self._node_command(name)
        with (self.folder / f"{name}.log").open("a") as log:
            process = subprocess.Popen([*WEFT, *command], stdout=subprocess.PIPE, stderr=log, text=True)
        self._running[name] = process
        self.lives[name] = self.lives.get(name, 0) + 1
        impatience = Timer(STARTING, process.kill)
        impatience.daemon = True
        impatience.start()
        assert process.stdout is not None
        while not (line := process.stdout.readline()).startswith("ready"):
            if not line:
                raise SystemExit(f"{name} does not start: {self.last_words(name)}")
        impatience.cancel()

    def restart(self, name: str, number: signal.Signals) -> None:
        process = self._running[name]
        process.send_signal(number)
        try:
            process.wait(ENDING)
        except subprocess.TimeoutExpired:
            raise SystemExit(f"{name} does not end by {number.name} in {ENDING:.0f} s.") from None
        self.start(name)

    def last_words(self, name: str) -> str:
        """The end of a log, which goes with the folder."""
        return (self.folder / f"{name}.log").read_text()[-2000:]

    def redesign(self) -> None:
        with suppress(subprocess.CalledProcessError):  # there may be nothing to gain
            self._weft("redesign", "--master", str(self.master), "--yes")

    def await_up(self) -> None:
        until = time.monotonic() + STARTING
        while time.monotonic() < until:
            status = ask(self.master, "status", patient=True)
            if [node["state"] for node in status["nodes"]] == ["up"] * self.nodes:
                return
            time.sleep(0.1)
        raise SystemExit("Not all nodes come up.")

    def sizes(self) -> dict[str, Size]:
        """What all processes take that run now."""
        found = {}
        for name, process in list(self._running.items()):
            with suppress(OSError, ValueError):
                found[name] = Size(own_mib(process.pid), open_files(process.pid), folder_mib(self.folder / name))
        return found

    def _master_command(self) -> list[str]:
        own = ["--data", str(self.folder / MASTER), "--ca", str(self.folder / "ca"), "--listen", str(self.master)]
        return ["master", *own, *shlex.split(self.master_options)]

    def _node_command(self, name: str) -> list[str]:
        place = self.names.index(name)
        link = f"{HOST}:{self.tls_port + 1 + place}"
        own = ["--master", str(self.master), "--name", name, "--data", str(self.folder / name), "--link", link]
        own += ["--listen", f"{HOST}:{self.ports[place]}"]
        if place == 0:
            own += ["--listen", f"mqtts://{HOST}:{self.tls_port}"]
        if name not in self.lives:
            own += ["--join", self._weft("ca", "token", name, "--ca", str(self.folder / "ca"), "--host", HOST).strip()]
        return ["node", *own, *shlex.split(self.node_options)]

    def _weft(self, *words: str) -> str:
        return subprocess.run([*WEFT, *words], check=True, stdout=subprocess.PIPE, text=True).stdout


def own_mib(pid: int) -> float:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Anonymous:")) / 1024


def open_files(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


def folder_mib(folder: Path) -> float:
    total = 0
    for path in folder.rglob("*"):
        with suppress(FileNotFoundError):  # it has been replaced since
            total += path.stat().st_size
    return total / MIB
