"""A bound on the diameter of topics, checked with networkx."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from greedy_reference import random_instances
from weft.errors import WeftError
from weft.model.instance import instance_from_pairs
from weft.model.overlay import overlay_from_links, undirected
from weft.overlays.catalog import design
from weft.overlays.diameter import within_diameter
from weft.overlays.verify import topic_violations
from weft.workloads.catalog import generate


def pairs(overlay):
    return set(zip(*(ends.tolist() for ends in undirected(overlay)), strict=True))


def diameter(instance, overlay):
    graph = nx.Graph(pairs(overlay))
    graph.add_nodes_from(range(instance.nodes))
    found = 0
    for topic in range(instance.topics):
        part = graph.subgraph(instance.subscribers[topic].tolist())
        found = max([found, *(nx.diameter(part.subgraph(one)) for one in nx.connected_components(part))])
    return found


@given(
    random_instances(st.integers(2, 24), st.integers(1, 8), 0.2, 0.5, 0.9),
    st.integers(2, 6),
    st.sampled_from(["gm", "dc", "dcbc"]),
    st.integers(0, 2**16),
)
@settings(deadline=None, max_examples=60)
def test_no_topic_is_longer(instance, bound, name, seed):
    plain, made = design(instance, name, seed=seed), design(instance, name, seed=seed, diameter=bound)
    assert topic_violations(instance, made) == []
    assert diameter(instance, made) <= bound
    assert pairs(plain) <= pairs(made)
    assert len(pairs(made)) == len(pairs(plain)) + made.meta["links_for_diameter"]
    if diameter(instance, plain) <= bound:
        assert pairs(made) == pairs(plain)


@pytest.mark.parametrize(("bound", "more"), [(2, 7), (3, 6), (4, 2), (6, 1), (9, 0)])
def test_a_chain_gets_as_few_links_as_its_middle_allows(bound, more):
    """A chain of ten, whose second node is its middle, as the first of those with two links."""
    instance = instance_from_pairs(np.arange(10), np.zeros(10, int))
    chain = overlay_from_links(10, np.arange(9), np.arange(1, 10))
    made = within_diameter(instance, chain, bound)
    assert diameter(instance, made) <= bound
    assert made.meta["links_for_diameter"] == more


def test_parts_of_a_topic_that_is_not_connected_are_bounded_each_by_itself():
    instance = generate("zipf", nodes=40, topics=10, subscriptions=4, seed=1)
    made = design(instance, "gm", seed=1, average_degree=2.0, diameter=4)
    assert topic_violations(instance, made)


@pytest.mark.parametrize("bound", [1, 0, -3])
def test_a_bound_below_two_is_refused(bound):
    with pytest.raises(WeftError, match=rf"`diameter` {bound} is out of range"):
        design(generate("zipf", nodes=9, topics=5, subscriptions=2, seed=1), "gm", seed=1, diameter=bound)
