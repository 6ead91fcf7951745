from itertools import combinations, permutations

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from weft.kernels.draw.alias import alias_table
from weft.kernels.draw.distinct import draw_by_keys, draw_rows
from weft.kernels.random import stream


def set_probabilities(weights, count):
    """Successive sampling by enumeration: the probability of each set, summed over the orders of draws."""
    probabilities = {}
    for values in combinations(range(len(weights)), count):
        total = 0.0
        for order in permutations(values):
            left, chance = sum(weights), 1.0
            for value in order:
                chance *= weights[value] / left
                left -= weights[value]
            total += chance
        probabilities[values] = total
    return probabilities


def chi_square_of_sets(rows, weights, count):
    expected = set_probabilities(weights, count)
    seen = dict.fromkeys(expected, 0)
    for row in rows.tolist():
        seen[tuple(row)] += 1
    frequencies = np.array([expected[values] for values in seen]) * len(rows)
    return stats.chisquare(list(seen.values()), frequencies / frequencies.sum() * len(rows)).pvalue


def weights_of_table(keep, other):
    """What an alias table really draws."""
    shares = keep / len(keep)
    np.add.at(shares, other, (1.0 - keep) / len(keep))
    return shares


@pytest.mark.parametrize("weights", [[1.0], [1.0, 1.0, 1.0], [5.0, 0.0, 1.0], [1e-300, 1.0, 1e300], list(range(1, 50))])
def test_alias_table_holds_the_distribution(weights):
    weights = np.array(weights, dtype=np.float64)
    keep, other = alias_table(weights)
    assert np.all((keep >= 0.0) & (keep <= 1.0))
    np.testing.assert_allclose(weights_of_table(keep, other), weights / weights.sum(), atol=1e-15)


# Few values and many draws make rejection give way to keys within many rows; the skew of the second set makes
# it do so in every row, and that of the third in hardly any.
@pytest.mark.parametrize(
    ("weights", "count"),
    [
        ([8.0, 4.0, 2.0, 1.0, 1.0], 3),
        ([1000.0, 500.0, 3.0, 2.0, 1.0], 4),
        ([1.0, 1.2, 1.4, 1.6, 1.8, 2.0], 2),
        ([1.0, 1.0, 1.0, 1.0], 2),
    ],
)
def test_rows_follow_successive_sampling_exactly(weights, count):
    rows = draw_rows(7, np.arange(200_000), count, np.log(weights))
    assert chi_square_of_sets(rows, weights, count) > 1e-3


def test_keys_alone_follow_successive_sampling_exactly():
    weights, count = [8.0, 4.0, 2.0, 1.0, 1.0], 3
    rows = np.empty((100_000, count), dtype=np.int32)
    for i, row in enumerate(rows):
        draw_by_keys(np.uint64(stream(11, i)), row, np.zeros(len(weights), dtype=np.bool_), np.log(weights))
    assert chi_square_of_sets(rows, weights, count) > 1e-3


def test_chi_square_tells_successive_sampling_from_its_neighbours():
    # The oracle itself: conditional Bernoulli sampling, the usual wrong answer, must not pass.
    weights, count = np.array([8.0, 4.0, 2.0, 1.0, 1.0]), 3
    sets = list(combinations(range(5), count))
    wrong = np.array([np.prod(weights[list(values)]) for values in sets])
    picked = np.random.default_rng(1).choice(len(sets), size=200_000, p=wrong / wrong.sum())
    assert chi_square_of_sets(np.array(sets)[picked], weights, count) < 1e-6


@given(
    log_weights=st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40),
    share=st.floats(0.0, 1.0),
    seed=st.integers(0, 2**63 - 1),
)
@settings(max_examples=50, deadline=None)
def test_rows_are_distinct_ascending_and_within_range(log_weights, share, seed):
    count = max(1, round(share * len(log_weights)))
    rows = draw_rows(seed, np.arange(5), count, np.array(log_weights))
    assert rows.shape == (5, count)
    assert np.all(np.diff(rows, axis=1) > 0)
    assert rows.min() >= 0
    assert rows.max() < len(log_weights)


def test_weights_that_underflow_are_drawn_in_their_order():
    log_weights = -1e4 * np.arange(30.0)
    rows = draw_rows(1, np.arange(20), 12, log_weights)
    assert np.array_equal(rows, np.tile(np.arange(12), (20, 1)))


def test_the_odds_of_weights_that_underflow_are_kept():
    log_weights = np.array([0.0, -1e4, -1e4 + np.log(3.0)])
    rows = draw_rows(3, np.arange(40_000), 2, log_weights)
    assert np.all(rows[:, 0] == 0)
    assert stats.binomtest(int((rows[:, 1] == 2).sum()), len(rows), 0.75).pvalue > 1e-3


def test_a_row_depends_on_the_seed_and_its_number_alone():
    log_weights = -2.0 * np.log(np.arange(1.0, 200.0))
    whole = draw_rows(5, np.arange(1000), 20, log_weights)
    some = np.array([999, 3, 3, 512, 0])
    assert np.array_equal(draw_rows(5, some, 20, log_weights), whole[some])
    assert not np.array_equal(draw_rows(6, some, 20, log_weights), whole[some])


def test_rows_do_not_depend_on_the_number_of_threads():
    log_weights = -2.0 * np.log(np.arange(1.0, 200.0))
    many = draw_rows(5, np.arange(3000), 20, log_weights)
    threads = numba.get_num_threads()
    numba.set_num_threads(1)
    one = draw_rows(5, np.arange(3000), 20, log_weights)
    numba.set_num_threads(threads)
    assert np.array_equal(one, many)
