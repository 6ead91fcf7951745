"""The time that goes into compiling: kernels tell when it starts and ends, progress asks.

It is kept here, and not with the kernels, so that asking loads no compiler.
"""

import time


class Compilation:
    """Machine code that this process makes."""

    def __init__(self) -> None:
        self._starts: list[float] = []  # of what is under way: a kernel, one that it calls, ...
        self._finished = 0.0

    @property
    def under_way(self) -> bool:
        return bool(self._starts)

    @property
    def seconds(self) -> float:
        """What was spent on it up to now."""
        first = next(iter(self._starts), None)
        return self._finished + (0.0 if first is None else time.perf_counter() - first)

    def start(self) -> None:
        self._starts.append(time.perf_counter())

    def end(self) -> None:
        first = self._starts.pop()
        if not self._starts:
            self._finished += time.perf_counter() - first


COMPILATION = Compilation()
