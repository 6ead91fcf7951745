"""Rows of columns, against dense matrices and sets."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from weft.model.csr import Csr, csr_from_pairs

ROWS, COLUMNS = 4, 6
pairs = st.lists(st.tuples(st.integers(0, ROWS - 1), st.integers(0, COLUMNS - 1)), max_size=20)


def csr_of(found):
    rows, columns = np.array(found, np.int64).reshape(-1, 2).T
    return csr_from_pairs(rows, columns, ROWS, COLUMNS)


def rows_of(csr: Csr):
    return [csr[row].tolist() for row in range(csr.rows)]


@given(pairs)
def test_rows_are_ascending_and_without_duplicates(found):
    csr = csr_of(found)
    assert rows_of(csr) == [sorted({c for r, c in found if r == row}) for row in range(ROWS)]
    assert (csr.rows, csr.columns, len(csr)) == (ROWS, COLUMNS, len(set(found)))
    assert csr.counts.tolist() == [len(row) for row in rows_of(csr)]
    assert csr.row_of_each().tolist() == [row for row, _ in sorted(set(found))]


@given(pairs, st.lists(st.integers(0, ROWS - 1), max_size=6))
def test_rows_are_taken_in_any_order_and_again(found, rows):
    csr = csr_of(found)
    assert rows_of(csr.take(np.array(rows, np.int64))) == [rows_of(csr)[row] for row in rows]


@given(pairs, pairs)
def test_a_pair_is_found_where_it_is_one(found, asked):
    rows, columns = np.array(asked, np.int32).reshape(-1, 2).T
    assert csr_of(found).has(rows, columns).tolist() == [pair in found for pair in asked]


@given(pairs, st.sets(st.integers(0, ROWS - 1)))
def test_rows_that_are_not_wanted_become_empty(found, wanted):
    some = csr_of(found).only(np.array(sorted(wanted), np.int64))
    assert rows_of(some) == [row if number in wanted else [] for number, row in enumerate(rows_of(csr_of(found)))]
    assert some.columns == COLUMNS


@given(pairs, pairs)
def test_rows_stand_above_others(one, other):
    both = csr_of(one).above(csr_of(other))
    assert rows_of(both) == rows_of(csr_of(one)) + rows_of(csr_of(other))
    assert both.columns == COLUMNS


@given(pairs)
def test_columns_that_occur_keep_their_order(found):
    csr = csr_of(found)
    new = {column: number for number, column in enumerate(sorted({c for _, c in found}))}
    assert rows_of(csr.compact()) == [[new[column] for column in row] for row in rows_of(csr)]
    assert csr.compact().columns == len(new)


@given(pairs)
def test_columns_become_rows(found):
    csr = csr_of(found)
    dense = np.zeros((ROWS, COLUMNS), int)
    for row, column in found:
        dense[row, column] = 1
    assert np.array_equal(csr.matrix().toarray(), dense)
    flipped = csr.transpose()
    assert np.array_equal(flipped.matrix().toarray(), dense.T)
    assert (flipped.rows, flipped.columns) == (COLUMNS, ROWS)
    assert (flipped.indptr.dtype, flipped.indices.dtype) == (np.int64, np.int32)


def test_nothing_has_rows_too():
    empty = csr_from_pairs(np.empty(0, np.int64), np.empty(0, np.int64), 2, 0)
    assert rows_of(empty) == [[], []]
    assert empty.compact().columns == 0
