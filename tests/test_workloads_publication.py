import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from weft.errors import WeftError
from weft.model.instance import instance_from_pairs
from weft.workloads.publication import publications, schedule


@pytest.fixture
def small():
    # Topic 1 and node 3 have nobody.
    return instance_from_pairs([0, 0, 0, 1, 1, 2], [0, 2, 3, 0, 2, 0], node_count=4, topic_count=4)


def chances(instance, by):
    """The probability of every (topic, node), from the definition."""
    expected = {}
    rows, other = (instance.subscribers, "nodes") if by == "topic" else (instance.interest, "topics")
    filled = [row for row in range(rows.rows) if len(rows[row])]
    for row in filled:
        for column in rows[row].tolist():
            pair = (row, column) if other == "nodes" else (column, row)
            expected[pair] = 1 / len(filled) / len(rows[row])
    return expected


@pytest.mark.parametrize("by", ["topic", "node"])
def test_publications_follow_their_law(small, by):
    published = publications(small, 50_000, seed=1, by=by)
    expected = chances(small, by)
    seen = dict.fromkeys(expected, 0)
    for pair in zip(published.topics.tolist(), published.nodes.tolist(), strict=True):
        seen[pair] += 1
    frequencies = np.array(list(expected.values())) * len(published)
    assert stats.chisquare(list(seen.values()), frequencies).pvalue > 1e-3


def test_issuers_subscribe_and_the_seed_decides(small):
    one, again, other = (publications(small, 100, seed=seed) for seed in (1, 1, 2))
    assert all(node in small.subscribers[topic] for topic, node in zip(one.topics, one.nodes, strict=True))
    assert np.array_equal(one.topics, again.topics)
    assert np.array_equal(one.nodes, again.nodes)
    assert not np.array_equal(one.topics, other.topics)
    assert one.topics.dtype == one.nodes.dtype == np.int32


def test_no_subscriptions_no_publications():
    with pytest.raises(WeftError, match="has no subscriptions"):
        publications(instance_from_pairs([], [], node_count=3, topic_count=3), 10, seed=1)


def test_a_negative_count_is_named(small):
    with pytest.raises(WeftError, match="`count` -1 is negative"):
        publications(small, -1, seed=1)
    assert len(publications(small, 0, seed=1)) == 0


@given(
    publishers=st.integers(1, 20),
    rate=st.floats(0.1, 20.0),
    duration=st.floats(0.1, 10.0),
    arrivals=st.sampled_from(["regular", "poisson"]),
    seed=st.integers(0, 2**32),
)
@settings(max_examples=60, deadline=None)
def test_times_ascend_within_the_duration(publishers, rate, duration, arrivals, seed):
    made = schedule(publishers, rate, duration, seed, arrivals)
    assert np.all(np.diff(made.times) >= 0)
    assert np.all((made.times >= 0) & (made.times < duration))
    assert np.all((made.publishers >= 0) & (made.publishers < publishers))


@given(publishers=st.integers(1, 20), rate=st.floats(0.1, 20.0), duration=st.floats(0.1, 10.0))
@settings(max_examples=40, deadline=None)
def test_regular_publishers_keep_their_interval(publishers, rate, duration):
    made = schedule(publishers, rate, duration, seed=5)
    for publisher in range(publishers):
        times = made.times[made.publishers == publisher]
        np.testing.assert_allclose(np.diff(times), 1 / rate, rtol=1e-6)
        assert len(times) in (int(rate * duration), int(np.ceil(rate * duration)))


def test_popsubs_schedule_has_ten_publications_a_second():
    made = schedule(200, rate=10.0, duration=60.0, seed=1)
    assert np.all(np.bincount(made.publishers) == 600)
    phases = np.unique(made.times[:200])
    assert len(phases) == 200
    assert stats.kstest(phases * 10.0, "uniform").pvalue > 1e-3


def test_poisson_counts_and_gaps():
    made = schedule(2000, rate=2.0, duration=10.0, seed=1, arrivals="poisson")
    counts = np.bincount(made.publishers, minlength=2000)
    assert counts.mean() == pytest.approx(20.0, rel=0.02)
    assert counts.var() == pytest.approx(20.0, rel=0.1)
    assert stats.kstest(made.times / 10.0, "uniform").pvalue > 1e-3


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"publishers": 0}, "`publishers` 0"),
        ({"rate": 0.0}, "`rate` 0.0"),
        ({"duration": float("nan")}, "`duration` nan"),
    ],
)
def test_schedule_options_out_of_range_are_named(options, sentence):
    with pytest.raises(WeftError, match=sentence):
        schedule(**{"publishers": 1, "rate": 1.0, "duration": 1.0, "seed": 1, **options})
