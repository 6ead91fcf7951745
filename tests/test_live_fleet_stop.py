"""The end of a network on this machine: a signal may come at any moment of the wait for it."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import Pipe
from threading import Timer

import pytest

from weft.errors import SurroundingsError
from weft.live import fleet
from weft.live.fleet import Processes, Stop

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
    processes = Processes()
    with signalled() as stop:
        begin(processes, False, stop)
    assert processes.running == {}
    processes.await_all(Stop())


def test_a_process_that_has_ended_by_the_signal_is_not_one_that_did_not_start() -> None:
    processes = Processes()
    begin(processes, True, Stop())
    with signalled() as stop:
        processes.await_all(stop)
        assert stop.is_set()


def test_a_process_that_ends_without_a_signal_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleet, "SAME", 0.01)
    processes = Processes()
    with pytest.raises(SurroundingsError, match="node-0 did not start: the process that starts nodes has ended"):
        begin(processes, False, Stop())
    begin(processes, True, Stop())
    with pytest.raises(SurroundingsError, match="node-0 did not start: it ended"):
        processes.await_all(Stop())
