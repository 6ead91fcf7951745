"""Rows cut into chunks of about equal work, for kernels that run chunks in parallel.

The number of chunks is fixed, so that what depends on it (a random stream a chunk, the order of outputs) does not
depend on the number of threads.
"""

import numpy as np

from weft.kernels.connectivity import Int64s

CHUNKS = 64  # many more than cores, so that the cores share the work evenly


def chunk_bounds(steps: Int64s) -> Int64s:
    """The chunk k has the rows from bounds[k] to bounds[k + 1]; steps are what each row costs."""
    done = np.cumsum(steps)
    bounds = np.searchsorted(done, np.linspace(0, done[-1], CHUNKS + 1))
    bounds[0], bounds[-1] = 0, len(steps)
    return bounds.astype(np.int64)
