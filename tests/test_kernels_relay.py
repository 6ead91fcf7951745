"""Sorted keys against sets and dictionaries."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.kernels.vitis.relay import missing, refreshed, union

KEYS = st.lists(st.integers(0, 12), max_size=15)


def ascending(keys):
    return np.array(sorted(keys), np.int64)


@given(KEYS, KEYS)
@settings(deadline=None)
def test_keys_are_united_and_missed_as_sets_are(one, other):
    assert union(ascending(one), ascending(other)).tolist() == sorted({*one, *other})
    assert missing(ascending(one), ascending(other)).tolist() == sorted({*one} - {*other})


@given(st.lists(st.sets(st.integers(0, 6)), max_size=12), st.integers(1, 4))
@settings(deadline=None)
def test_keys_are_kept_for_some_rounds_after_they_came_last(rounds, expiry):
    keys, stamps, last = np.empty(0, np.int64), np.empty(0, np.int32), {}
    for when, came in enumerate(rounds):
        keys, stamps = refreshed(keys, stamps, ascending(came), when, expiry)
        last |= dict.fromkeys(came, when)
        expected = {key: at for key, at in sorted(last.items()) if when - at < expiry}
        assert dict(zip(keys.tolist(), stamps.tolist(), strict=True)) == expected
        assert keys.tolist() == list(expected)
