"""SIGINT and SIGTERM of a process that serves: an end in order, and an end in any case.

The event loop hears of the signal when it comes to it; what overloads it can be left from the moment of the signal on.
A thread waits beside it: whatever the event loop does, in so many seconds the process has ended.
"""

import asyncio
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from threading import Thread

from weft.live.log import Log

LAST_WORDS = 0.2  # seconds that the log has when there is no more time
SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stop:
    def __init__(self, seconds: float, log: Log) -> None:
        self.heard = asyncio.Event()
        self.at_once: Callable[[], None] = lambda: None  # in the handler of the signal
        self.at_last: Callable[[], None] = lambda: None  # in the thread, if it is that which ends the process
        self._loop = asyncio.get_running_loop()
        self._seconds = seconds
        self._log = log
        self._read, self._write = os.pipe()
        Thread(target=self._wait, name="stop", daemon=True).start()
        for number in SIGNALS:
            signal.signal(number, self._hear)

    def _hear(self, *_: object) -> None:
        """A handler of Python's: it is called between two instructions, whatever the event loop does."""
        os.write(self._write, b".")
        self.at_once()
        with suppress(RuntimeError):  # of an event loop that is closed
            self._loop.call_soon_threadsafe(self.heard.set)

    def _wait(self) -> None:
        os.read(self._read, 1)
        time.sleep(self._seconds)
        self._log.write(
            "ended_late", detail=f"the process has ended before its end in order was done; it was at {_place()}"
        )
        self.at_last()
        self._log.close(seconds=LAST_WORDS)
        os._exit(0)


def _place() -> str:
    """Where the main thread is."""
    frame = sys._current_frames()[threading.main_thread().ident or 0]
    return " < ".join(
        f"{os.path.basename(one.filename)}:{one.lineno}" for one in traceback.extract_stack(frame)[:-4:-1]
    )
