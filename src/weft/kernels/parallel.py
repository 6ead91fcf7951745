"""How kernels share their work among threads.

A kernel that can be shared works on a range of rows or chunks, which are its first two arguments, and lets go of the
GIL. Threads of Python take ranges until none is left. Numba's own `prange` does the same, and takes seconds longer to
compile for every kernel. The loop inside belongs into a `leaf_jit`: with references counted, two threads that read the
same arrays write the same counters all the time.

Rows are cut into chunks of about equal work. The number of chunks is fixed, so that what depends on it (a random stream
a chunk, the order of outputs) does not depend on the number of threads.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

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


def in_ranges(kernel: Callable[..., Any], count: int, *arguments: Any) -> None:
    """kernel(first, last, *arguments), for ranges that hold each number below count once."""
    threads = min(thread_count(), count)
    if threads <= 1:
        kernel(0, count, *arguments)
        return
    bounds = np.linspace(0, count, min(count, CHUNKS) + 1).astype(np.int64).tolist()
    with ThreadPoolExecutor(threads) as pool:
        for done in [pool.submit(kernel, first, last, *arguments) for first, last in pairwise(bounds)]:
            done.result()


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
