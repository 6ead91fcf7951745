"""Where the steps of a divided design are done: arrays by name, and work over ranges.

A piece of work is a function of a module: it takes the workshop's arrays and a range, and gives the columns that it
makes for the range. What it gives depends on these alone, so it does not matter where, when and how often it is done.
Here it is done on threads; pipeline/workshop.py does it in Spark's tasks, with the arrays in files.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Protocol

import numpy as np

from weft.kernels.parallel import thread_count

Array = Any  # of any type and shape
Columns = Mapping[str, Array]
Range = tuple[int, int]


class Arrays(Protocol):
    """Arrays by name. What is read is not to be written."""

    def __getitem__(self, name: str) -> Array: ...


Work = Callable[[Arrays, int, int], Columns]


class Workshop(Protocol):
    @property
    def arrays(self) -> Arrays: ...

    def put(self, **arrays: Array) -> None: ...

    def run(self, step: str, work: Work, ranges: Sequence[Range]) -> None:
        """Do the work of all ranges; its columns, those of the ranges one after the other, become arrays."""

    def drop(self, *names: str) -> None: ...


class Bench:
    """The workshop of one process."""

    def __init__(self) -> None:
        self.arrays: dict[str, Array] = {}

    def put(self, **arrays: Array) -> None:
        self.arrays |= arrays

    def run(self, step: str, work: Work, ranges: Sequence[Range]) -> None:
        with ThreadPoolExecutor(thread_count()) as pool:
            made = list(pool.map(partial(_done, work, self.arrays), ranges))
        self.put(**{name: np.concatenate([columns[name] for columns in made]) for name in made[0]})

    def drop(self, *names: str) -> None:
        for name in names:
            del self.arrays[name]


def _done(work: Work, arrays: Arrays, of: Range) -> Columns:
    return work(arrays, *of)


MOST = 64  # ranges: many more than cores have tasks at hand,
LEAST_COST = 100_000  # and each worth the start of a task


def ranges_by(costs: Array, count: int | None = None) -> list[Range]:
    """Ranges of about the same cost, at most so many."""
    if count is None:
        count = int(min(MOST, max(1, costs.sum() // LEAST_COST)))
    ends = np.cumsum(costs, dtype=np.float64)
    bounds = np.searchsorted(ends, np.linspace(0, ends[-1] if len(ends) else 0, count + 1))
    bounds[0], bounds[-1] = 0, len(ends)
    bounds = np.unique(bounds)
    return list(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)) or [(0, 0)]
