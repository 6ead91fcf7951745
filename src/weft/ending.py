"""The end of a process by a signal: at once, wherever it is, with one sentence and nothing left behind.

Python runs a signal handler on the main thread, between two of its instructions: not while that thread is inside a
kernel, and in the middle of whatever else it does, a call to Java or the clean-up after the signal before. So nothing
is done there. C's handler writes the signal's number to a pipe, and a thread that does nothing but read it ends the
process: first what other processes do for this one, then files that are not finished; then it says so, and exits. The
handler only keeps the main thread from going on. More signals find the end under way, and change nothing.

Whoever has something to end says so with `at_stop` while that is so. Without `watch`, which is the command line's, all
of this does nothing: a signal is Python's own, an exception.
"""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from enum import IntEnum
from pathlib import Path

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PATIENCE = 0.3  # seconds for the main thread to stand still: files are removed behind its back

CONTINUES = "run the same command to continue"  # what is true of the work that was stopped

Undo = Callable[[], object]


class Order(IntEnum):
    """What is undone first: other processes write to the files that are removed after them."""

    PROCESSES = 0
    FILES = 1
    TERMINAL = 2


class _Ending:
    """What there is to undo, and to say."""

    def __init__(self) -> None:
        self.undo: list[tuple[Order, Undo]] = []
        self.written: list[Path] = []
        self.remark: str | None = None
        self.watched = False
        self.stopping = threading.Event()
        self.still = threading.Event()


_ending = _Ending()


@contextmanager
def at_stop(order: Order, undo: Undo) -> Iterator[None]:
    """Undo something if a signal ends the process inside the block."""
    entry = (order, undo)
    _ending.undo.insert(0, entry)  # what was begun last is undone first
    try:
        yield
    finally:
        _ending.undo.remove(entry)


def wrote(path: Path) -> None:
    """Take note of an output that is finished, and stays."""
    _ending.written.append(path)


def remark(words: str) -> None:
    """Say this, instead of what was written, when a signal ends the process."""
    _ending.remark = words


def watch() -> None:
    """End by signals from now on. A signal that the caller of this process ignores stays ignored."""
    if not _ending.watched:
        _ending.watched = True
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        threading.Thread(target=_end, args=(reader,), daemon=True, name="ending").start()
    for number in SIGNALS:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _stand_still)


def release() -> None:
    """Leave signals to somebody who ends by them in another way: an event loop."""
    signal.set_wakeup_fd(-1)
    for number in SIGNALS:
        if signal.getsignal(number) is _stand_still:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)


def stand_still_if_stopping() -> None:
    """Keep the calling thread from going on while a signal ends the process."""
    if _ending.stopping.is_set():
        _stand_still()


def _stand_still(*_: object) -> None:
    _ending.still.set()
    while True:
        signal.pause()


def _end(reader: int) -> None:
    number = os.read(reader, 1)[0]
    while number not in SIGNALS:
        number = os.read(reader, 1)[0]
    _ending.stopping.set()
    try:
        _ending.still.wait(PATIENCE)
        _end_processes()
        for _, undo in sorted(_ending.undo, key=lambda entry: entry[0]):
            with suppress(OSError):  # the others still are to be undone
                undo()
        with suppress(OSError):  # nobody may be listening
            os.write(2, f"weft: Stopped; {_remark()}.\n".encode())
    finally:
        os._exit(128 + number)


def _end_processes() -> None:
    """End all processes below this one, where the system shows them."""
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended meanwhile
            parents[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
    ahead = [os.getpid()]
    while ahead:
        parent = ahead.pop()
        below = [pid for pid, its_parent in parents.items() if its_parent == parent]
        ahead += below
        for pid in below:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def _remark() -> str:
    if _ending.remark is not None:
        return _ending.remark
    return f"{' and '.join(map(str, _ending.written))} was written" if _ending.written else "nothing was written"
