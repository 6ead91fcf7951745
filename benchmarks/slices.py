"""`weft` as ever, but it notes the longest time that its node has worked without a break: what a slice really takes.

It is time of the processor, so that what else a machine does is not in it, and stands in a file that `stall.py` reads
and sets back. A slice is what one event leads to, from the bytes of a client, a deadline or a word of the journal to
all that is done for it.
"""

import mmap
import os
import struct
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from time import thread_time
from typing import Any

FILE = "WEFT_SLICES"  # in the environment: where the longest is kept, in seconds
SIZE = 8
COMMAND = [sys.executable, "-P", __file__]


class Longest:
    """The longest so far, in a file that two processes share."""

    def __init__(self, path: Path) -> None:
        if not path.exists():
            path.write_bytes(bytes(SIZE))
        with path.open("r+b") as file:
            self._shared = mmap.mmap(file.fileno(), SIZE)

    @property
    def seconds(self) -> float:
        return float(struct.unpack_from("d", self._shared)[0])

    @seconds.setter
    def seconds(self, value: float) -> None:
        struct.pack_into("d", self._shared, 0, value)


def noted(method: Callable[..., Any], longest: Longest) -> Callable[..., Any]:
    @wraps(method)
    def run(*given: Any) -> Any:
        begun = thread_time()
        try:
            return method(*given)
        finally:
            took = thread_time() - begun
            if took > longest.seconds:
                longest.seconds = took

    return run


def main() -> None:
    from weft.cli import main as weft
    from weft.live.driver import Driver
    from weft.live.network import NodeDriver

    longest = Longest(Path(os.environ[FILE]))
    events = [(Driver, ("read", "handle", "work", "_ring", "_hear_journal")), (NodeDriver, ("read", "pass_on"))]
    for driver, names in events:
        for name in names:
            setattr(driver, name, noted(getattr(driver, name), longest))
    weft()


if __name__ == "__main__":
    main()
