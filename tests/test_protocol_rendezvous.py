import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from weft.kernels.random import stream
from weft.protocol.rendezvous import rendezvous


@settings(deadline=None)  # the first call compiles
@given(st.integers(0, 2**31), st.integers(0, 2**62), st.integers(1, 2**62))
def test_integers_and_arrays_agree_with_the_kernels_hash(topic, seed, ring_size):
    expected = int(stream(seed, topic)) % ring_size
    assert rendezvous(topic, seed, ring_size) == expected
    assert rendezvous(np.array([topic], np.uint64), seed, ring_size).tolist() == [expected]


def test_topics_are_spread_uniformly_over_the_ring():
    counts = np.bincount(rendezvous(np.arange(100_000, dtype=np.uint64), 7, 100).astype(np.int64), minlength=100)
    assert stats.chisquare(counts).pvalue > 0.001


def test_another_seed_is_another_place():
    topics = np.arange(1000, dtype=np.uint64)
    same = rendezvous(topics, 1, 1000) == rendezvous(topics, 2, 1000)
    assert same.mean() < 0.02
