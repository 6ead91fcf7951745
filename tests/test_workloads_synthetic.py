import numpy as np
import pytest
from scipy import stats

from weft.errors import WeftError
from weft.workloads.catalog import generate
from weft.workloads.synthetic import Expo, Unif, Zipf

TOPICS = 40


# With one subscription a node, the followers of a topic are a plain multinomial sample of p(t).
@pytest.mark.parametrize(
    ("name", "options", "law"),
    [
        ("unif", {}, np.ones(TOPICS)),
        ("zipf", {}, np.arange(1.0, TOPICS + 1) ** -2.0),
        ("zipf", {"exponent": 0.7}, np.arange(1.0, TOPICS + 1) ** -0.7),
        ("expo", {}, np.exp(-10.0 * np.arange(TOPICS) / TOPICS)),
        ("expo", {"rate": 2.0}, np.exp(-2.0 * np.arange(TOPICS) / TOPICS)),
    ],
)
def test_popularity_follows_the_law(name, options, law):
    instance = generate(name, nodes=100_000, topics=TOPICS, subscriptions=1, seed=3, **options)
    expected = law / law.sum() * instance.nodes
    assert stats.chisquare(instance.subscribers.counts, expected).pvalue > 1e-3


@pytest.mark.parametrize(
    "workload",
    [
        Unif(300, 50, 50),
        Zipf(300, 50, 50),
        Expo(300, 50, 50),
        Zipf(300, 2000, 20, exponent=5.0),
        Zipf(300, 2000, 20, exponent=1e6),
        Expo(300, 2000, 20, rate=1e6),
    ],
)
def test_every_node_has_its_subscriptions_even_at_extremes(workload):
    interest = workload.interest(seed=1)
    assert np.all(interest.counts == workload.subscriptions)
    rows = interest.indices.reshape(workload.nodes, -1)
    assert np.all(np.diff(rows, axis=1) > 0)


def test_the_steepest_zipf_gives_everyone_the_first_topics():
    rows = Zipf(50, 1000, 20, exponent=1e6).rows(1, np.arange(50))
    assert np.array_equal(rows, np.tile(np.arange(20), (50, 1)))


def test_rate_ten_makes_the_top_topic_ten_times_the_mean():
    law = np.exp(Expo(1, 10_000).log_weights())
    assert law[0] / law.mean() == pytest.approx(10.0, rel=0.01)
    assert law[:700].sum() / law.sum() == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Unif(0), "`nodes` 0 is out of range"),
        (lambda: Unif(10, 0), "`topics` 0 is out of range"),
        (lambda: Unif(10, 5, 0), "`subscriptions` 0 is out of range"),
        (lambda: Unif(10, 5, 6), "`subscriptions` 6 is more than `topics` 5"),
        (lambda: Unif(2**31), "`nodes` 2147483648 is out of range"),
        (lambda: Zipf(10, exponent=-1.0), "`exponent` -1.0 is out of range"),
        (lambda: Zipf(10, exponent=float("nan")), "`exponent` nan is out of range"),
        (lambda: Expo(10, rate=float("inf")), "`rate` inf is out of range"),
    ],
)
def test_parameters_out_of_range_are_named(make, sentence):
    with pytest.raises(WeftError, match=sentence):
        make()
