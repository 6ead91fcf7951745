"""How parallel kernels share their work.

Rows are cut into chunks of about equal work. The number of chunks is fixed, so that what depends on it (a random stream
a chunk, the order of outputs) does not depend on the number of threads.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import numba
import numpy as np

from weft.arrays import Int64s

CHUNKS = 64  # many more than cores, so that the cores share the work evenly
FEW_STEPS = 5_000_000  # some ten milliseconds


def chunk_bounds(steps: Int64s) -> Int64s:
    """The chunk k has the rows from bounds[k] to bounds[k + 1]; steps are what each row costs."""
    bounds = np.searchsorted(np.cumsum(steps), np.linspace(0, steps.sum(), CHUNKS + 1))
    bounds[0], bounds[-1] = 0, len(steps)
    return bounds.astype(np.int64)


def thread_count() -> int:
    return int(numba.get_num_threads())


@contextmanager
def threads_for(steps: int) -> Iterator[None]:
    """One thread for few steps: where the cores are busy, as in a Spark task, to wait for a second one takes longer."""
    before = numba.get_num_threads()
    numba.set_num_threads(1 if steps < FEW_STEPS else before)
    try:
        yield
    finally:
        numba.set_num_threads(before)
