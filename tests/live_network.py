"""A real master and real nodes for tests: processes on the loopback."""

import json
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile

from forked_weft import Forked
from weft.live.address import Address
from weft.live.operator import ask

PATIENCE = 60.0  # seconds until something that should happen has not


class Process:
    """A `weft` process, and what it said."""

    def __init__(self, *options: str) -> None:
        self._log = TemporaryFile("w+")  # noqa: SIM115 - a pipe would have to be read
        self.process = Forked(*options, stderr=self._log)

    def line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def port(self) -> int:
        """The port behind `ready`."""
        line = self.line()
        assert line.startswith("ready"), (line, self.stop())
        return int(line.rpartition(":")[2])

    def wait(self) -> tuple[int, str]:
        """The exit code of a process that ends by itself, and its log."""
        code = self.process.wait(PATIENCE)
        self._log.seek(0)
        return code, self._log.read()

    def stop(self, number: int = signal.SIGTERM) -> tuple[int, str]:
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.wait()

    def said(self) -> str:
        self._log.seek(0)
        return self._log.read()


class Master(Process):
    def __init__(self, *options: str) -> None:
        super().__init__("master", "--listen", "127.0.0.1:0", *options)
        self.address = Address("127.0.0.1", self.port())

    def ask(self, request: str, **options: object) -> dict:
        return ask(self.address, request, options, patient=True)

    def up(self) -> set[str]:
        return {node["name"] for node in self.ask("status")["nodes"] if node["state"] == "up"}

    def await_up(self, *names: str) -> None:
        end = time.monotonic() + PATIENCE
        while self.up() != set(names):
            assert time.monotonic() < end, (self.ask("status"), self.said())
            time.sleep(0.02)


class Node(Process):
    def __init__(self, master: Master, name: str, *options: str, ready: bool = True) -> None:
        listen = ("--listen", "127.0.0.1:0")
        super().__init__("node", "--master", str(master.address), "--name", name, *listen, *options)
        self.mqtt = self.port() if ready else 0


@contextmanager
def running(*processes: Process) -> Iterator[None]:
    try:
        yield
    finally:
        for one in processes:
            if one.process.poll() is None:
                one.stop(signal.SIGKILL)


def weft(*options: str) -> tuple[int, str, str]:
    """A command's exit code, and what it said on both."""
    with TemporaryFile("w+") as out, TemporaryFile("w+") as err:
        code = Forked(*options, stdout=out, stderr=err).wait(PATIENCE * 3)
        for file in (out, err):
            file.seek(0)
        return code, out.read(), err.read()


def weft_json(*options: str) -> dict:
    code, out, err = weft(*options, "--json")
    assert code == 0, err
    return json.loads(out)


def folder(path: Path, name: str) -> str:
    return str(path / name)
