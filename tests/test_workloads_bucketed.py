from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from weft.errors import WeftError
from weft.workloads.bucketed import Bucketed, high, low, random


def buckets_of(workload, seed):
    """How many topics each node takes from each bucket."""
    interest = workload.interest(seed)
    taken = np.zeros((workload.nodes, workload.buckets), dtype=np.int64)
    np.add.at(taken, (interest.row_of_each(), interest.indices // workload.bucket_size), 1)
    return taken


@given(
    buckets=st.integers(1, 8),
    bucket_size=st.integers(1, 12),
    picked=st.integers(1, 8),
    share=st.integers(1, 12),
    seed=st.integers(0, 2**32),
)
@settings(max_examples=50, deadline=None)
def test_nodes_take_equal_shares_of_the_buckets_they_pick(buckets, bucket_size, picked, share, seed):
    picked, share = min(picked, buckets), min(share, bucket_size)
    workload = Bucketed(20, buckets * bucket_size, picked * share, buckets, picked)
    assert np.all(np.diff(workload.rows(seed, np.arange(20)), axis=1) > 0)
    taken = buckets_of(workload, seed)
    assert set(np.unique(taken)) <= {0, share}
    assert np.all((taken > 0).sum(axis=1) == picked)


@pytest.mark.parametrize(("preset", "picked", "share"), [(low, 5, 10), (high, 2, 25)])
def test_presets_are_the_papers_patterns(preset, picked, share):
    workload = preset(100)
    assert (workload.topics, workload.subscriptions, workload.buckets) == (1000, 50, 20)
    assert (workload.picked, workload.share) == (picked, share)


def test_sets_of_buckets_and_topics_are_equally_likely():
    workload = Bucketed(60_000, topics=20, subscriptions=4, buckets=5, picked=2)
    rows = workload.rows(9, np.arange(workload.nodes))
    sets, seen = np.unique(rows, axis=0, return_counts=True)
    assert len(sets) == comb(5, 2) * comb(4, 2) ** 2
    assert stats.chisquare(seen).pvalue > 1e-3


def test_random_takes_every_topic_equally():
    interest = random(4000).interest(2)
    assert np.all(interest.counts == 50)
    followers = interest.transpose().counts
    # Draws without replacement scatter less than a multinomial, by the factor 1 - 50/1000.
    statistic = stats.chisquare(followers).statistic / (1 - 50 / 1000)
    assert 1e-3 < stats.chi2(999).sf(statistic) < 1 - 1e-3


def test_correlation_grows_from_random_to_high():
    def common_if_any(workload):
        rows = workload.rows(4, np.arange(200))
        common = [len(np.intersect1d(a, b)) for a, b in zip(rows[::2], rows[1::2], strict=True)]
        return np.mean([count for count in common if count])

    assert common_if_any(random(200)) < common_if_any(low(200)) < common_if_any(high(200))


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: low(10, topics=1001), "`topics` 1001 is no multiple of `buckets` 20"),
        (lambda: low(10, subscriptions=51), "`subscriptions` 51 is no multiple of `picked` 5"),
        (lambda: high(10, subscriptions=200), "takes 100 topics from each of 2 buckets of 50"),
        (lambda: low(10, buckets=4), "`picked` 5 is more than `buckets` 4"),
        (lambda: low(10, picked=0), "`picked` 0 is out of range"),
        (lambda: low(10, buckets=0), "`buckets` 0 is out of range"),
    ],
)
def test_uneven_buckets_are_named(make, sentence):
    with pytest.raises(WeftError, match=sentence):
        make()
