"""Seconds since 1970 that never go back, however the machine's clock is set while we run."""

import time


class Clock:
    def __init__(self) -> None:
        self._offset = time.time() - time.monotonic()

    def now(self) -> float:
        return time.monotonic() + self._offset
