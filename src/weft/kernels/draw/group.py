"""Pairs grouped by row: a counting sort, for pairs too many to sort at once."""

import numpy as np

from weft.arrays import Int32s, Int64s
from weft.kernels.jit import jit
from weft.kernels.parallel import in_ranges


def group(rows: Int32s, columns: Int32s, row_count: int) -> tuple[Int64s, Int32s]:
    """Distinct columns of every row, ascending: offsets into an array of columns, and that array."""
    indptr, grouped = scatter(rows, columns, row_count)
    return compact(indptr, grouped, sort_rows(indptr, grouped))


@jit
def scatter(rows: Int32s, columns: Int32s, row_count: int) -> tuple[Int64s, Int32s]:
    indptr = np.zeros(row_count + 1, dtype=np.int64)
    for row in rows:
        indptr[row + 1] += 1
    for row in range(row_count):
        indptr[row + 1] += indptr[row]
    free = indptr[:-1].copy()
    grouped = np.empty(len(columns), dtype=np.int32)
    for i in range(len(rows)):
        grouped[free[rows[i]]] = columns[i]
        free[rows[i]] += 1
    return indptr, grouped


def sort_rows(indptr: Int64s, grouped: Int32s) -> Int64s:
    """Sort every row in place, its distinct columns first; returns how many they are."""
    counts = np.zeros(len(indptr) - 1, dtype=np.int64)
    in_ranges(sort_range, len(counts), indptr, grouped, counts)
    return counts


@jit
def sort_range(first: int, last: int, indptr: Int64s, grouped: Int32s, counts: Int64s) -> None:
    for i in range(first, last):
        row = grouped[indptr[i] : indptr[i + 1]]
        row.sort()
        for column in row:
            if counts[i] == 0 or row[counts[i] - 1] != column:
                row[counts[i]] = column
                counts[i] += 1


def compact(indptr: Int64s, grouped: Int32s, counts: Int64s) -> tuple[Int64s, Int32s]:
    """The first `counts[i]` columns of every row, without the gaps."""
    offsets = np.zeros(len(indptr), dtype=np.int64)
    offsets[1:] = np.cumsum(counts)
    kept = np.empty(offsets[-1], dtype=np.int32)
    in_ranges(copy_range, len(counts), indptr, grouped, offsets, kept)
    return offsets, kept


@jit
def copy_range(first: int, last: int, indptr: Int64s, grouped: Int32s, offsets: Int64s, kept: Int32s) -> None:
    for i in range(first, last):
        for k in range(offsets[i + 1] - offsets[i]):
            kept[offsets[i] + k] = grouped[indptr[i] + k]
