"""Interests drawn topic by topic: against the binomial law, topic by topic and node by node."""

import numpy as np
import pytest
from scipy import stats

from weft.errors import WeftError
from weft.kernels.draw.independent import draw_independently
from weft.workloads.catalog import generate
from weft.workloads.independent import Independent, probabilities

NODES = 20_000


@pytest.mark.parametrize("popularity", ["unif", "zipf", "expo"])
@pytest.mark.parametrize("subscriptions", [2.5, 30])
def test_topics_are_drawn_with_their_probabilities_and_independently(popularity, subscriptions):
    made = Independent(NODES, 40, subscriptions, popularity)
    q, interest = made.probabilities(), made.interest(5)
    counts = np.bincount(interest.indices, minlength=40)
    assert np.all(counts[q == 1] == NODES)
    drawn = q < 1
    surprise = (counts - NODES * q)[drawn] ** 2 / (NODES * q * (1 - q))[drawn]
    assert stats.chi2.sf(surprise.sum(), drawn.sum()) > 1e-3
    assert interest.counts.mean() == pytest.approx(subscriptions, rel=0.02)
    assert interest.counts.var() == pytest.approx((q * (1 - q)).sum(), rel=0.05)


def test_topics_beside_each_other_are_drawn_apart():
    q = np.array([0.9, 0.5, 0.5, 0.1])
    counts, topics = draw_independently(3, np.arange(NODES), q)
    has = np.zeros((NODES, 4), bool)
    has[np.repeat(np.arange(NODES), counts), topics] = True
    assert np.abs(np.corrcoef(has.T) - np.eye(4)).max() < 0.03


def test_no_probability_no_topic():
    counts, topics = draw_independently(1, np.arange(5), np.array([1.0, 0.0, 0.0]))
    assert (counts.tolist(), topics.tolist()) == ([1] * 5, [0] * 5)


def test_what_is_out_of_range_is_named():
    with pytest.raises(WeftError, match="`subscriptions` 41 is out of range: give a number above 0, up to 40"):
        generate("independent", nodes=5, topics=40, subscriptions=41)
    with pytest.raises(WeftError, match="`popularity` is 'flat': choose one of unif, zipf, expo"):
        generate("independent", nodes=5, popularity="flat")
    with pytest.raises(WeftError, match="`subscriptions` is float, and has to be a whole number"):
        generate("unif", nodes=5, subscriptions=2.5)


@pytest.mark.parametrize(
    ("weights", "total", "expected"),
    [
        ([1, 1, 1, 1], 2, [0.5, 0.5, 0.5, 0.5]),
        ([8, 2, 1, 1], 2, [1, 0.5, 0.25, 0.25]),  # the first would be 4/3
        ([100, 50, 2, 2], 3, [1, 1, 0.5, 0.5]),
        ([3, 2, 1], 3, [1, 1, 1]),
    ],
)
def test_probabilities_sum_up_to_the_subscriptions(weights, total, expected):
    assert probabilities(np.array(weights, float), total) == pytest.approx(expected)
