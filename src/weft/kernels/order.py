"""Sorting and choosing by rank.

What numpy has for it takes seconds to compile: numba brings checks, conversions and error messages along.
"""

import numpy as np

from weft.arrays import Floats, Int32s, Int64s
from weft.kernels.jit import jit


@jit
def descending(keys: Int32s) -> Int64s:
    """The places of the keys, largest key first, equal ones as they stand: a merge sort from the bottom up."""
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


@jit
def in_order(keys: Floats, rank: int) -> float:
    """The key of a rank, counted from 0 at the smallest; the keys are in another order afterwards (Hoare's find)."""
    low, high = 0, len(keys) - 1
    while low < high:
        pivot, i, j = keys[(low + high) >> 1], low, high
        while i <= j:
            while keys[i] < pivot:
                i += 1
            while keys[j] > pivot:
                j -= 1
            if i <= j:
                keys[i], keys[j] = keys[j], keys[i]
                i += 1
                j -= 1
        if rank <= j:
            high = j
        elif rank >= i:
            low = i
        else:
            break
    return float(keys[rank])
