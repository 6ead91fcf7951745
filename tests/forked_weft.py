"""`weft` commands for tests of processes, each forked from one process that has loaded what they need.

A command is a process of its own, with its own standard files, folder and environment, to be killed like any other; it
only is spared the loading, most of a second, which hundreds of them would take. Between the two stands a process that
waits for its end and tells the exit code. What is about loading itself starts `weft` as users do.
"""

import json
import os
import select
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import IO

LOADED = ("weft.cli", "weft.cli.engine", "weft.live.master", "weft.live.node", "weft.live.operator", "uvloop")


class Forked:
    """A process with as much of `subprocess.Popen` as tests need; `stdout` has what it prints, unless one is given."""

    def __init__(self, *arguments: str, stdout: IO[str] | None = None, stderr: IO[str]) -> None:
        self.stdout: IO[str] | None = None
        self.returncode: int | None = None
        told, tell = os.pipe()
        self._told = os.fdopen(told, "r")
        if stdout is None:
            out, into = os.pipe()
            self.stdout = os.fdopen(out, "r")
        else:
            into = os.dup(stdout.fileno())
        request = {"arguments": arguments, "folder": str(Path.cwd()), "environment": dict(os.environ)}
        with _loaded().makefile("wb") as line:
            socket.send_fds(_loaded(), [b"."], [into, stderr.fileno(), tell])
            line.write(json.dumps(request).encode() + b"\n")
        os.close(into)
        os.close(tell)
        self.pid = int(self._told.readline())

    def poll(self) -> int | None:
        return self._heard(0.0)

    def wait(self, timeout: float | None = None) -> int:
        code = self._heard(timeout)
        if code is None:
            raise subprocess.TimeoutExpired("weft", timeout or 0.0)
        return code

    def _heard(self, timeout: float | None) -> int | None:
        if self.returncode is None and select.select([self._told], [], [], timeout)[0]:
            self.returncode = int(self._told.readline())
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):  # it has ended, and that is not told yet
                os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


@cache
def _loaded() -> socket.socket:
    """A line to the process that has loaded everything; it ends with this one."""
    ours, theirs = socket.socketpair()
    subprocess.Popen([sys.executable, __file__, str(theirs.fileno())], pass_fds=[theirs.fileno()])
    theirs.close()
    return ours


def serve(asked: socket.socket) -> None:
    """Fork a process for each request; in that one, its command returns or raises what becomes its exit code."""
    for name in LOADED:
        import_module(name)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those that wait
    lines = asked.makefile("rb", buffering=0)
    while True:
        _, files, _, _ = socket.recv_fds(asked, 1, 3)
        if not files:
            return
        request = json.loads(lines.readline())
        if os.fork() == 0:
            lines.close()
            asked.close()
            _start(request, *files)
            return
        for file in files:
            os.close(file)


def _start(request: dict, out: int, err: int, tell: int) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    child = os.fork()
    if child:
        for file in (out, err):
            os.close(file)
        os.write(tell, b"%d\n" % child)
        _, status = os.waitpid(child, 0)
        os.write(tell, b"%d\n" % os.waitstatus_to_exitcode(status))
        os._exit(0)
    with open(os.devnull) as nothing:
        os.dup2(nothing.fileno(), 0)
    for file, place in ((out, 1), (err, 2)):
        os.dup2(file, place)
        os.close(file)
    os.close(tell)
    _run(request)


def _run(request: dict) -> None:
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv = ["weft", *request["arguments"]]
    import_module("weft.cli").main()


if __name__ == "__main__":
    with socket.socket(fileno=int(sys.argv[1])) as asked_here:
        serve(asked_here)
