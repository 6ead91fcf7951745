"""The end of a network on this machine: a signal may come at any moment of the wait for it."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import Pipe
from pathlib import Path
from threading import Timer
from types import SimpleNamespace

import pytest

from live_node import PATIENCE, until
from weft.errors import SurroundingsError
from weft.live import fleet
from weft.live.fleet import RESTARTS, WHILE, Processes, Restarts, Stop

SIGNALLED = """
import signal
from weft.live.fleet import Stop

stop = Stop()
signal.signal(signal.SIGALRM, lambda *_: stop.set())
for _ in range(300):
    signal.setitimer(signal.ITIMER_REAL, 0.0004)
    while not stop.wait(0.0001):
        pass
    assert stop.is_set()
    stop = Stop()
assert not stop.wait(0.0)
"""


def test_a_signal_at_any_moment_of_the_wait_ends_it() -> None:
    subprocess.run([sys.executable, "-c", SIGNALLED], check=True, timeout=60)


# A signal for all processes, of which others end before this one knows


class Context:
    """A context of processes that say nothing; or of none, where what they are forked from has ended."""

    Pipe = staticmethod(Pipe)

    def __init__(self, is_there: bool) -> None:
        self._is_there = is_there

    def Process(self, **_: object) -> "Context":  # noqa: N802 - its name in multiprocessing
        return self

    def start(self) -> None:
        if not self._is_there:
            raise EOFError


@contextmanager
def signalled() -> Iterator[Stop]:
    """Word of a signal that comes a moment later."""
    stop = Stop()
    timer = Timer(0.05, stop.set)
    timer.start()
    yield stop
    timer.join()


def begin(processes: Processes, is_there: bool, stop: Stop) -> None:
    processes.start(Context(is_there), "node-0", lambda *_: None, {}, stop)


def test_processes_that_cannot_be_forked_any_more_are_not_missed_at_the_end() -> None:
    processes = Processes(0, lambda _: None)
    with signalled() as stop:
        begin(processes, False, stop)
    assert processes.running == {}
    processes.await_all(Stop())


def test_a_process_that_has_ended_by_the_signal_is_not_one_that_did_not_start() -> None:
    processes = Processes(0, lambda _: None)
    begin(processes, True, Stop())
    with signalled() as stop:
        processes.await_all(stop)
        assert stop.is_set()


def test_a_process_that_ends_without_a_signal_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleet, "SAME", 0.01)
    processes = Processes(0, lambda _: None)
    with pytest.raises(SurroundingsError, match="node-0 did not start: the process that starts nodes has ended"):
        begin(processes, False, Stop())
    begin(processes, True, Stop())
    with pytest.raises(SurroundingsError, match="node-0 did not start: it ended"):
        processes.await_all(Stop())


def test_how_a_process_has_ended_is_told() -> None:
    said: list[str] = []
    processes = Processes(0, said.append)
    processes.running = {f"node-{-code}": SimpleNamespace(exitcode=code) for code in (0, -9)}  # type: ignore[misc]
    processes.watch(Stop())
    assert said == ["node-0 has ended with code 0.", "node-9 has ended by signal 9."]


# Defects


def test_a_process_is_started_again_at_most_five_times_a_minute() -> None:
    restarts = Restarts()
    assert [restarts.allow("node-0", float(now)) for now in range(RESTARTS + 2)] == [True] * RESTARTS + [False] * 2
    assert restarts.allow("node-1", 6.0)
    assert not restarts.allow("node-0", WHILE - 0.1)
    assert restarts.allow("node-0", WHILE)
    assert not restarts.allow("node-0", WHILE + 0.9)
    assert restarts.allow("node-0", WHILE + 1.0)


FLEET = """
import os, signal, sys, time
from pathlib import Path
from weft.live.fleet import Fleet, run

def steady(given, ready):
    ready("")
    while True:
        signal.pause()

def failing(given, ready):
    ready("")
    count = int(given["data"].read_text()) if given["data"].exists() else 0
    given["data"].write_text(str(count + 1))
    if count < {times}:
        os._exit(70)
    steady(given, ready)

if __name__ == "__main__":
    run(Fleet(1, 30000, Path(sys.argv[1]), "disk", None, False), steady, failing, [], lambda _: None)
"""


@pytest.mark.parametrize(("times", "starts"), [(2, 3), (9, 6)])
def test_what_a_defect_has_ended_is_started_again(tmp_path: Path, times: int, starts: int) -> None:
    script = tmp_path / "fleet.py"
    script.write_text(FLEET.replace("{times}", str(times)))
    up = subprocess.Popen([sys.executable, str(script), str(tmp_path)], stderr=subprocess.PIPE, text=True)
    until(lambda: count_in(tmp_path / "node-0") == starts, "the last start")
    if times > starts:
        assert up.stderr is not None
        said = [up.stderr.readline() for _ in range(6)]
        assert said[-1] == "weft: node-0 has ended with code 70, 6 times within a minute.\n"
    up.send_signal(signal.SIGTERM)
    _, err = up.communicate(timeout=PATIENCE)
    assert up.returncode == 0
    if times < starts:
        assert err == "weft: node-0 has ended with code 70, for a defect, and is started again.\n" * times


def count_in(path: Path) -> int:
    return int(path.read_text() or 0) if path.exists() else 0
