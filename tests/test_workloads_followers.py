import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.errors import WeftError
from weft.model.instance import instance_from_pairs
from weft.workloads.followers import apportion, follower_counts, follower_popularity, zipf_popularity


@pytest.fixture
def social():
    # User 0 has three followers, 1 has two, 2 has one, 3 none.
    return instance_from_pairs([1, 2, 3, 0, 2, 3], [0, 0, 0, 1, 1, 2], node_count=4, topic_count=4, social=True)


def test_followers_are_subscribers(social):
    assert follower_counts(social).tolist() == [3, 2, 1, 0]


def test_publishers_are_users_with_followers(social):
    assert follower_popularity(social, 3, seed=1).tolist() == [3, 2, 1]
    drawn = {tuple(follower_popularity(social, 2, seed).tolist()) for seed in range(50)}
    assert drawn == {(3, 2), (3, 1), (2, 1)}


@pytest.mark.parametrize("publishers", [0, 4])
def test_too_many_publishers_are_named(social, publishers):
    with pytest.raises(WeftError, match=f"`publishers` {publishers} is out of range: 3 users have followers"):
        follower_popularity(social, publishers, seed=1)


def test_apportion_by_hand():
    # Quotas 4.7, 3.3 and 2.0: the largest remainder gets the missing one.
    assert apportion(10, [47, 33, 20]).tolist() == [5, 3, 2]
    assert apportion(2, [1, 1, 1]).tolist() == [1, 1, 0]
    assert apportion(5, [0, 1]).tolist() == [0, 5]


@given(
    total=st.integers(0, 10**6),
    popularity=st.lists(st.integers(0, 10**6), min_size=1, max_size=50).filter(any),
)
def test_shares_sum_and_keep_their_quota(total, popularity):
    shares = apportion(total, popularity)
    quotas = total * np.array(popularity) / sum(popularity)
    assert shares.sum() == total
    assert np.all(np.abs(shares - quotas) < 1 + 1e-6)


def test_zipf_runs_from_almost_uniform_to_skewed():
    flat = apportion(22_000, zipf_popularity(200, 0.05))
    skewed = apportion(22_000, zipf_popularity(200, 1.0))
    assert flat.max() < 2 * flat.min()
    assert skewed[0] == pytest.approx(2 * skewed[1], abs=1)
    assert np.all(np.diff(skewed) <= 0)


@pytest.mark.parametrize("popularity", [[], [0, 0], [1, -1], [1, np.inf], [np.nan]])
def test_popularity_must_be_weights(popularity):
    with pytest.raises(WeftError, match="Popularity must be"):
        apportion(10, popularity)
