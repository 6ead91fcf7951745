"""Order of keys, largest first; equal ones stay as they are.

The same as `np.argsort(-keys, kind="stable")`, whose version in numba takes more than a second to compile.
"""

import numpy as np

from weft.arrays import Int32s, Int64s
from weft.kernels.jit import jit


@jit
def descending(keys: Int32s) -> Int64s:
    """Merge sort of the places of the keys, from the bottom up."""
    count = len(keys)
    order, merged = np.empty(count, np.int64), np.empty(count, np.int64)
    for place in range(count):
        order[place] = place
    width = 1
    while width < count:
        for start in range(0, count, 2 * width):
            merge(keys, order, merged, start, min(start + width, count), min(start + 2 * width, count))
        order, merged = merged, order
        width *= 2
    return order


@jit
def merge(keys: Int32s, order: Int64s, merged: Int64s, start: int, middle: int, end: int) -> None:
    """The runs order[start:middle] and order[middle:end], which are sorted, as one."""
    i, j = start, middle
    for place in range(start, end):
        if j == end or (i < middle and keys[order[i]] >= keys[order[j]]):
            merged[place] = order[i]
            i += 1
        else:
            merged[place] = order[j]
            j += 1
