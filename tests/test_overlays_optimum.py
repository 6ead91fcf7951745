from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from greedy_reference import random_instance
from weft.errors import WeftError
from weft.model.instance import instance_from_pairs
from weft.model.overlay import overlay_from_links
from weft.overlays.catalog import design
from weft.overlays.optimum import optimum
from weft.overlays.verify import topic_violations


def fewest_links(instance):
    pairs = list(combinations(range(instance.nodes), 2))
    for count in range(len(pairs) + 1):
        for links in combinations(pairs, count):
            ends = np.array(links, int).reshape(-1, 2)
            if not topic_violations(instance, overlay_from_links(instance.nodes, ends[:, 0], ends[:, 1])):
                return count
    raise AssertionError


@given(st.integers(0, 2**32), st.integers(1, 5), st.integers(1, 6), st.sampled_from([0.3, 0.5, 0.7]))
@settings(deadline=None, max_examples=25)
def test_no_overlay_has_fewer_links(seed, nodes, topics, density):
    instance = random_instance(seed, nodes, topics, density)
    best = optimum(instance)
    assert topic_violations(instance, best) == []
    assert best.links == fewest_links(instance)


@given(st.integers(0, 2**32), st.integers(6, 12), st.integers(2, 10))
@settings(deadline=None, max_examples=15)
def test_the_greedy_is_never_better(seed, nodes, topics):
    instance = random_instance(seed, nodes, topics, 0.4)
    best = optimum(instance)
    assert topic_violations(instance, best) == []
    assert best.links <= design(instance, "gm", seed=1).links


def test_large_instances_are_refused():
    with pytest.raises(WeftError, match="share a topic"):
        optimum(instance_from_pairs(np.arange(200), np.zeros(200, int)))
