"""Python's collector of garbage, kept from stopping the process for long.

It looks at all that there is each time that a quarter more has been made, which takes a tenth of a second where clients
hold a hundred thousand filters, and everybody waits. What a look that took long has found is mostly there to stay: it
is not looked at again. What it is made of is freed all the same when nothing refers to it any more; only what refers to
itself would not be, and nothing in `weft.broker` and `weft.node` does (tests/test_collector.py).
"""

import gc
import time
from collections.abc import Callable

LONG = 0.01  # seconds
ALL = 2  # the generation of a look at everything


class Collector:
    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._begun = 0.0

    def watch(self) -> None:
        gc.freeze()  # what is there now
        gc.callbacks.append(self.note)

    def note(self, phase: str, info: dict[str, int]) -> None:
        """The collector begins, or has ended."""
        if info["generation"] != ALL:
            return
        if phase == "start":
            self._begun = self._clock()
        elif self._clock() - self._begun > LONG:
            gc.freeze()
