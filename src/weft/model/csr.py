"""Compressed sparse rows: for every row the sorted columns that belong to it."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from weft.arrays import Int32s, Int64s, distinct


@dataclass(frozen=True, eq=False)
class Csr:
    indptr: Int64s  # rows + 1 offsets into indices
    indices: Int32s  # columns, ascending within a row, no duplicates
    columns: int

    @property
    def rows(self) -> int:
        return len(self.indptr) - 1

    def __len__(self) -> int:
        return len(self.indices)

    def __getitem__(self, row: int) -> Int32s:
        place = checked_place(row, self.rows)
        return self.indices[self.indptr[place] : self.indptr[place + 1]]

    @property
    def counts(self) -> Int64s:
        return np.diff(self.indptr)

    def row_of_each(self) -> Int32s:
        """The row of every entry, in the order of indices."""
        return np.repeat(np.arange(self.rows, dtype=np.int32), self.counts)

    def has(self, rows: Int32s, columns: Int32s) -> npt.NDArray[np.bool_]:
        """Whether each column belongs to its row: a binary search in all rows at once."""
        low, high = self.indptr[rows], self.indptr[rows + 1]
        ends = high
        for _ in range(int(self.counts.max(initial=0)).bit_length()):
            middle = (low + high) // 2
            below = (low < high) & (self.indices[np.minimum(middle, len(self) - 1)] < columns)
            low, high = np.where(below, middle + 1, low), np.where(below, high, middle)
        found: npt.NDArray[np.bool_] = low < ends
        found[found] = self.indices[low[found]] == columns[found]
        return found

    def only(self, rows: Int64s | Int32s) -> "Csr":
        """Empty all rows but the given ones, which are in ascending order."""
        taken, counts = self.take(rows), np.zeros(self.rows, np.int64)
        counts[rows] = taken.counts
        return Csr(np.append(0, np.cumsum(counts)), taken.indices, self.columns)

    def take(self, rows: Int64s | Int32s) -> "Csr":
        """The given rows, in the given order."""
        counts = self.counts[rows]
        indptr = np.append(0, np.cumsum(counts))
        places = np.repeat(self.indptr[rows] - indptr[:-1], counts) + np.arange(indptr[-1])
        return Csr(indptr, self.indices[places], self.columns)

    def compact(self) -> "Csr":
        """The columns that occur, renumbered in their order."""
        used = distinct(self.indices)
        return Csr(self.indptr, np.searchsorted(used, self.indices).astype(np.int32), len(used))

    def above(self, other: "Csr") -> "Csr":
        """The rows of this and then those of the other, which has as many columns."""
        indptr = np.concatenate([self.indptr, len(self) + other.indptr[1:]])
        return Csr(indptr, np.concatenate([self.indices, other.indices]), self.columns)

    def matrix(self, kind: npt.DTypeLike = np.int8) -> sparse.csr_array:
        """A sparse matrix with a one for every entry."""
        ones = np.ones(len(self), kind)
        return sparse.csr_array((ones, self.indices, self.indptr), shape=(self.rows, self.columns))

    def transpose(self) -> "Csr":
        flipped = self.matrix().tocsc()
        return Csr(flipped.indptr.astype(np.int64), flipped.indices.astype(np.int32, copy=False), self.rows)


def checked_place(place: int, count: int) -> int:
    """The place, counted from the end where it is negative, as in a list."""
    if not -count <= place < count:
        raise IndexError(f"{place} is out of range: there are {count}")
    return place % count


def csr_from_pairs(rows: Int64s, columns: Int64s, row_count: int, column_count: int) -> Csr:
    """Rows of the distinct pairs; duplicates are dropped. Both counts are below 2^31, so a pair is one int64."""
    keys = distinct(rows * np.int64(column_count) + columns)
    found, indices = np.divmod(keys, np.int64(max(column_count, 1)))
    indptr = np.zeros(row_count + 1, dtype=np.int64)
    np.cumsum(np.bincount(found, minlength=row_count), out=indptr[1:])
    return Csr(indptr, indices.astype(np.int32), column_count)
