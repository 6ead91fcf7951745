"""Pairs grouped by row: a counting sort, for pairs too many to sort at once."""

import numpy as np
from numba import prange

from weft.arrays import Int32s, Int64s
from weft.kernels.jit import jit, parallel_jit


@jit
def group(rows: Int32s, columns: Int32s, row_count: int) -> tuple[Int64s, Int32s]:
    """Distinct columns of every row, ascending: offsets into an array of columns, and that array."""
    indptr, grouped = scatter(rows, columns, row_count)
    return compact(indptr, grouped, sort_rows(indptr, grouped))


@jit
def scatter(rows: Int32s, columns: Int32s, row_count: int) -> tuple[Int64s, Int32s]:
    indptr = np.zeros(row_count + 1, dtype=np.int64)
    for row in rows:
        indptr[row + 1] += 1
    indptr = np.cumsum(indptr)
    free = indptr[:-1].copy()
    grouped = np.empty(len(columns), dtype=np.int32)
    for i in range(len(rows)):
        grouped[free[rows[i]]] = columns[i]
        free[rows[i]] += 1
    return indptr, grouped


@parallel_jit
def sort_rows(indptr: Int64s, grouped: Int32s) -> Int64s:
    """Sort every row in place, its distinct columns first; returns how many they are."""
    counts = np.zeros(len(indptr) - 1, dtype=np.int64)
    for i in prange(len(counts)):
        row = grouped[indptr[i] : indptr[i + 1]]
        row.sort()
        for column in row:
            if counts[i] == 0 or row[counts[i] - 1] != column:
                row[counts[i]] = column
                counts[i] += 1
    return counts


@parallel_jit
def compact(indptr: Int64s, grouped: Int32s, counts: Int64s) -> tuple[Int64s, Int32s]:
    """The first `counts[i]` columns of every row, without the gaps."""
    offsets = np.zeros(len(indptr), dtype=np.int64)
    offsets[1:] = np.cumsum(counts)
    kept = np.empty(offsets[-1], dtype=np.int32)
    for i in prange(len(counts)):
        kept[offsets[i] : offsets[i + 1]] = grouped[indptr[i] : indptr[i] + counts[i]]
    return offsets, kept
