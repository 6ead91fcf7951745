import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from greedy_reference import random_instance, random_instances
from weft.errors import WeftError
from weft.model.instance import instance_from_pairs
from weft.model.overlay import overlay_from_links
from weft.overlays.verify import topic_violations


@given(
    instance=random_instances(st.integers(1, 20), st.integers(1, 8), 0.0, 0.2, 0.6, 1.0),
    seed=st.integers(0, 2**32),
    links=st.integers(0, 60),
)
@settings(deadline=None, max_examples=80)
def test_networkx_names_the_same_topics(instance, seed, links):
    ends = np.random.default_rng(seed).integers(instance.nodes, size=(links, 2))
    ends = ends[ends[:, 0] != ends[:, 1]]
    graph = nx.Graph(ends.tolist())
    graph.add_nodes_from(range(instance.nodes))
    told = topic_violations(instance, overlay_from_links(instance.nodes, ends[:, 0], ends[:, 1]))
    expected = []
    for topic in range(instance.topics):
        parts = nx.number_connected_components(graph.subgraph(instance.subscribers[topic].tolist()))
        if parts > 1:
            expected.append(f"Topic {topic} is in {parts} parts: ")
    assert [sentence[: sentence.index(":") + 2] for sentence in told] == expected


def test_the_two_nodes_named_are_not_connected():
    """Nodes 0-1 and 2-3 are apart on topic 1: node 4, which links them, does not subscribe to it."""
    instance = instance_from_pairs([0, 1, 2, 3, 4, 0, 4], [1, 1, 1, 1, 0, 0, 0])
    overlay = overlay_from_links(5, [0, 3, 0, 4], [1, 2, 4, 2])
    assert topic_violations(instance, overlay) == ["Topic 1 is in 2 parts: no path joins its subscribers 1 and 2."]


def test_an_overlay_of_other_nodes_is_refused():
    with pytest.raises(WeftError, match="do not match"):
        topic_violations(random_instance(1, 5, 2, 0.5), overlay_from_links(6, [0], [1]))
