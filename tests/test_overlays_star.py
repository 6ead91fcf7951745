import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from greedy_reference import random_instances
from weft.overlays.star import shared_topics, star_nodes

INSTANCES = random_instances(st.integers(1, 40), st.integers(1, 30), 0.0, 0.1, 0.3, 1.0)


def topics_of(instance, nodes):
    return set().union(*(instance.interest[node].tolist() for node in nodes))


@given(INSTANCES, st.integers(0, 2**32), st.integers(1, 6))
@settings(deadline=None, max_examples=80)
def test_star_sets_are_a_greedy_cover_of_what_others_share(instance, seed, groups):
    group = np.random.default_rng(seed).integers(groups, size=instance.nodes).astype(np.int32)
    members = [np.flatnonzero(group == g) for g in range(groups)]
    counts = sum(np.isin(np.arange(instance.topics), list(topics_of(instance, nodes))).astype(int) for nodes in members)
    assert np.array_equal(shared_topics(instance.interest, group), counts > 1)
    stars = star_nodes(instance.interest, group)
    for nodes in members:
        wanted = {topic for topic in topics_of(instance, nodes) if counts[topic] > 1}
        assert is_greedy_cover(instance, nodes, set(np.intersect1d(stars, nodes).tolist()), wanted)


def is_greedy_cover(instance, nodes, chosen, wanted):
    """The chosen nodes can be put in an order in which each has the most uncovered topics of all, at its turn."""
    if not wanted:
        return not chosen
    new = {node: len(wanted & set(instance.interest[node].tolist())) for node in nodes}
    best = [node for node in chosen if new[node] == max(new.values())]
    return any(
        is_greedy_cover(instance, nodes, chosen - {node}, wanted - set(instance.interest[node].tolist()))
        for node in best
    )
