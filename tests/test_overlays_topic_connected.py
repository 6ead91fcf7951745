"""What all topic-connected overlays promise."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from greedy_reference import random_instance, random_instances
from weft.model.instance import instance_from_pairs
from weft.overlays.catalog import design
from weft.overlays.quality import degrees, quality
from weft.overlays.verify import topic_violations

VARIANTS = [
    ("gm", {}),
    ("dc", {}),
    ("dc", {"tie": "overlap"}),
    ("dc", {"partition": "kmeans"}),
    ("dcbc", {}),
    ("dcbc", {"tie": "overlap"}),
    ("dcbc", {"bulk": 0.0}),
    ("dcbc", {"bulk": 1.0}),
    ("ring-per-topic", {}),
]


@pytest.mark.parametrize(("name", "options"), VARIANTS, ids=str)
@given(
    instance=random_instances(st.integers(1, 60), st.integers(1, 25), 0.0, 0.05, 0.3, 1.0),
    seed=st.integers(0, 2**32),
    data=st.data(),
)
@settings(deadline=None, max_examples=30)
def test_every_topic_is_connected(name, options, instance, seed, data):
    if name == "dc":
        options = {**options, "partitions": data.draw(st.none() | st.integers(1, instance.nodes))}
    overlay = design(instance, name, seed=seed, **options)
    assert topic_violations(instance, overlay) == []
    assert overlay.ring_ids is None
    pairs = np.stack([overlay.sources, overlay.targets])
    assert np.unique(np.sort(pairs, axis=0), axis=1).shape[1] == overlay.links  # no link twice


@pytest.mark.parametrize(("name", "options"), VARIANTS, ids=str)
def test_the_seed_decides(name, options):
    instance = random_instance(1, 60, 15, 0.3)
    one, again, other = (design(instance, name, seed=seed, **options) for seed in (1, 1, 2))
    assert np.array_equal(one.sources, again.sources)
    assert np.array_equal(one.targets, again.targets)
    assert not np.array_equal(one.targets, other.targets)


def test_a_ring_per_topic_costs_two_links_a_subscription():
    """Disjoint topics share no links: every subscription costs two link ends."""
    instance = instance_from_pairs(np.arange(30), np.arange(30) % 3)
    overlay = design(instance, "ring-per-topic", seed=1)
    assert degrees(overlay).tolist() == [2] * 30
    assert quality(instance, overlay)["topic_diameter"]["maximum"] == 5


def test_the_greedy_ones_need_far_fewer_links_than_a_ring_per_topic():
    instance = random_instance(3, 300, 40, 0.3)
    links = {name: design(instance, name, seed=1).links for name in ("gm", "dc", "dcbc", "ring-per-topic")}
    assert links["gm"] <= min(links["dc"], links["dcbc"])
    assert 3 * max(links["dc"], links["dcbc"]) < links["ring-per-topic"]
