import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.kernels.order import descending, in_order


@settings(deadline=None)  # the first call compiles
@given(st.lists(st.integers(-3, 3) | st.integers(-(2**31) + 1, 2**31 - 1), max_size=70))
def test_descending_keeps_equal_keys_as_they_stand(keys):
    given = np.array(keys, np.int32)
    np.testing.assert_array_equal(descending(given), np.argsort(-given, kind="stable"))


@settings(deadline=None)  # the first call compiles
@given(st.lists(st.sampled_from([0.5, 1.0, np.inf]) | st.floats(allow_nan=False), min_size=1, max_size=70), st.data())
def test_the_key_of_a_rank(keys, data):
    rank = data.draw(st.integers(0, len(keys) - 1))
    assert in_order(np.array(keys), rank) == sorted(keys)[rank]


@pytest.mark.parametrize("count", [0, 1, 2, 3, 1000])
def test_descending_of_any_number_of_keys(count):
    keys = np.random.default_rng(count).integers(0, 10, count).astype(np.int32)
    np.testing.assert_array_equal(descending(keys), np.argsort(-keys, kind="stable"))
