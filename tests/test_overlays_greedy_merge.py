import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from greedy_reference import random_instance, random_instances
from weft.errors import WeftError
from weft.model.instance import instance_from_pairs
from weft.overlays.catalog import design
from weft.overlays.greedy_merge import support_curve
from weft.overlays.quality import degrees, quality
from weft.overlays.verify import topic_violations

INSTANCES = random_instances(st.integers(1, 50), st.integers(1, 20), 0.0, 0.05, 0.2, 0.6, 1.0)


@given(INSTANCES, st.integers(0, 2**32), st.sampled_from(["random", "overlap"]))
@settings(deadline=None, max_examples=60)
def test_gm_connects_every_topic(instance, seed, tie):
    overlay = design(instance, "gm", seed=seed, tie=tie)
    assert topic_violations(instance, overlay) == []
    assert overlay.ring_ids is None


def test_one_node_for_all_topics_makes_a_star():
    """Figure 2(c) of the DC paper: a node that subscribes to everything is linked with all others, and they only."""
    others = np.repeat(np.arange(6), 2)
    topics = np.array([0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 0])
    instance = instance_from_pairs(np.append(others, np.full(6, 6)), np.append(topics, np.arange(6)))
    overlay = design(instance, "gm", seed=1)
    assert degrees(overlay).tolist() == [1] * 6 + [6]


@given(INSTANCES, st.integers(0, 2**32), st.sampled_from([0.01, 0.5, 1, 2.3, 5]))
@settings(deadline=None, max_examples=40)
def test_gpa_keeps_to_the_average_degree_and_the_curve_tells_what_it_buys(instance, seed, average):
    overlay = design(instance, "gm", seed=seed, average_degree=average)
    curve = support_curve(instance, seed=seed)
    assert degrees(overlay).mean() <= average
    assert curve.average_degree[overlay.links] == pytest.approx(degrees(overlay).mean())
    assert curve.support[overlay.links] == pytest.approx(quality(instance, overlay)["tco_support_ratio"])
    assert curve.support[-1] == 1
    if overlay.links + 1 < len(curve.support):
        assert curve.average_degree[overlay.links + 1] > average


@given(INSTANCES, st.integers(0, 2**32), st.integers(1, 5))
@settings(deadline=None, max_examples=40)
def test_gpm_keeps_to_the_maximum_degree(instance, seed, maximum):
    overlay = design(instance, "gm", seed=seed, maximum_degree=maximum)
    assert degrees(overlay).max() <= maximum
    curve = support_curve(instance, seed=seed, maximum_degree=maximum)
    assert curve.support[-1] == pytest.approx(quality(instance, overlay)["tco_support_ratio"])


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"average_degree": -1}, "`average_degree` -1 is out of range"),
        ({"average_degree": 0}, "`average_degree` 0 is out of range"),
        ({"maximum_degree": 0}, "`maximum_degree` 0 is out of range"),
        ({"average_degree": float("nan")}, "`average_degree` nan is out of range"),
        ({"maximum_degree": -2}, "`maximum_degree` -2 is out of range"),
        (
            {"long": "chord"},
            "its options are `tie`, `latency`, `closeness`, `average_degree`, `maximum_degree`, `diameter`",
        ),
    ],
)
def test_a_wrong_budget_is_told(options, sentence):
    with pytest.raises(WeftError) as error:
        design(random_instance(1, 5, 3, 0.5), "gm", seed=1, **options)
    assert sentence in str(error.value)
