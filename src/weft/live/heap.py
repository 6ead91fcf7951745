"""Free memory goes back to the system.

glibc gives back only what lies at the end of its heap. After a burst (a node that comes back, a machine that stood
still) a process would for ever take what it took once, and a little more with each that is larger. So what is free in
between is given back from time to time, in a thread: it takes some milliseconds. Where the C library has no such
function, nothing is done.
"""

import asyncio
import ctypes
from collections.abc import Callable

EVERY = 60.0  # seconds


def trimmer() -> Callable[[int], int] | None:
    """The C library's `malloc_trim`, if it has one."""
    return getattr(ctypes.CDLL(None), "malloc_trim", None)


class Heap:
    def __init__(self, trim: Callable[[int], int] | None) -> None:
        self._trim = trim

    def watch(self) -> None:
        if self._trim is not None:
            asyncio.get_running_loop().call_later(EVERY, self._give_back, self._trim)

    def _give_back(self, trim: Callable[[int], int]) -> None:
        asyncio.get_running_loop().run_in_executor(None, trim, 0)
        self.watch()
