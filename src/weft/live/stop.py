"""SIGINT and SIGTERM of a process that serves: an end in order, and an end in any case.

The event loop hears of the signal when it comes to it, and then has so many seconds. A thread waits beside it: whatever
the event loop does meanwhile, overloaded or waiting for somebody, the process has ended by then.
"""

import asyncio
import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from threading import Thread

from weft.live.log import Log

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stop:
    def __init__(self, seconds: float, log: Log) -> None:
        self.heard = asyncio.Event()
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
        with suppress(RuntimeError):  # of an event loop that is closed
            self._loop.call_soon_threadsafe(self.heard.set)

    def _wait(self) -> None:
        os.read(self._read, 1)
        time.sleep(self._seconds)
        self._log.write("ended_late", detail="the process has ended before all was done that an end in order is")
        self.at_last()
        self._log.close()
        os._exit(0)
