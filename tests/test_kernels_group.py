import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.kernels.draw.group import group


@given(pairs=st.lists(st.tuples(st.integers(0, 7), st.integers(0, 5)), max_size=80))
@settings(max_examples=100, deadline=None)
def test_rows_hold_their_distinct_columns_ascending(pairs):
    rows, columns = np.array(pairs, dtype=np.int32).reshape(-1, 2).T.copy()
    indptr, indices = group(rows, columns, 8)
    grouped = [indices[indptr[row] : indptr[row + 1]].tolist() for row in range(8)]
    assert grouped == [sorted({column for r, column in pairs if r == row}) for row in range(8)]
