"""The best fingers on a ring, against all choices of fingers and against the greedy."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from greedy_reference import Parts, random_instance
from weft.errors import WeftError
from weft.model.instance import instance_from_pairs
from weft.overlays.catalog import design
from weft.overlays.quality import quality
from weft.overlays.ring_optimum import ring_optimum


def parts_left(instance, links):
    parts = Parts(instance)
    for v, w in links:
        parts.add(v, w)
    return parts.count()


def fewest_parts(instance, ring_ids):
    """All fingers of all nodes, tried one after the other."""
    n, choices = instance.nodes, []
    for v in range(n):
        distance = (ring_ids - ring_ids[v]) % n
        for low in (1, 2, 4):
            members = np.flatnonzero((distance >= low) & (distance < 2 * low))
            if len(members):
                choices.append([(v, int(w)) for w in members])
    return min(parts_left(instance, links) for links in product(*choices))


@given(st.integers(0, 2**32), st.integers(1, 5), st.integers(1, 8), st.sampled_from([0.4, 0.6]))
@settings(deadline=None, max_examples=20)
def test_no_fingers_connect_more(seed, nodes, topics, density):
    instance = random_instance(seed, nodes, topics, density)
    ring_ids = np.random.default_rng(seed).permutation(nodes)
    best = ring_optimum(instance, ring_ids)
    links = zip(best.sources.tolist(), best.targets.tolist(), strict=True)
    assert parts_left(instance, links) == fewest_parts(instance, ring_ids)


@pytest.mark.parametrize("seed", range(6))
def test_the_greedy_is_never_better_and_at_least_half_as_good(seed):
    """A greedy under a partition matroid saves at least half of what the best choice does (Fisher et al. 1978)."""
    instance = random_instance(seed, 10, 14, 0.25)
    greedy = design(instance, "grswico", seed=seed)
    assert greedy.ring_ids is not None
    best, found = (
        quality(instance, overlay)["tco_support_ratio"] for overlay in (ring_optimum(instance, greedy.ring_ids), greedy)
    )
    assert best / 2 <= found <= best + 1e-9


def test_where_nothing_is_shared_there_are_no_fingers():
    assert ring_optimum(instance_from_pairs([0, 1], [0, 1]), np.array([1, 0])).links == 0


def test_large_instances_are_refused():
    with pytest.raises(WeftError, match="are too many"):
        ring_optimum(instance_from_pairs(np.arange(20), np.zeros(20, int)), np.arange(20))
