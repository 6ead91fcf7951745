from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from greedy_reference import random_instance
from weft.errors import WeftError
from weft.model.instance import instance_from_pairs
from weft.model.overlay import overlay_from_links
from weft.overlays.catalog import design
from weft.overlays.quality import (
    degrees,
    in_degrees,
    out_degrees,
    phases_of,
    quality,
    ring_violations,
    tcc_counts,
    tco_support_ratio,
    topic_diameters,
    topic_subgraph,
)


def random_overlay(seed, nodes, links):
    ends = np.random.default_rng(seed).integers(nodes, size=(links, 2))
    ends = np.unique(ends[ends[:, 0] != ends[:, 1]], axis=0)
    return overlay_from_links(nodes, ends[:, 0], ends[:, 1])


def topic_graphs(instance, overlay):
    graph = nx.Graph(zip(overlay.sources.tolist(), overlay.targets.tolist(), strict=True))
    graph.add_nodes_from(range(overlay.nodes))
    return [graph.subgraph(instance.subscribers[topic].tolist()) for topic in range(instance.topics)]


@given(
    seed=st.integers(0, 2**32),
    nodes=st.integers(1, 40),
    topics=st.integers(1, 10),
    density=st.sampled_from([0.0, 0.2, 0.6, 1.0]),
    links=st.integers(0, 120),
)
@settings(deadline=None, max_examples=80)
def test_networkx_agrees(seed, nodes, topics, density, links):
    instance, overlay = random_instance(seed, nodes, topics, density), random_overlay(seed + 1, nodes, links)
    graphs = topic_graphs(instance, overlay)
    subgraph = topic_subgraph(instance, overlay)
    counts = tcc_counts(instance, subgraph)
    assert counts.tolist() == [nx.number_connected_components(graph) for graph in graphs]
    assert topic_diameters(instance, subgraph).tolist() == [
        max((nx.diameter(graph.subgraph(part)) for part in nx.connected_components(graph)), default=0)
        for graph in graphs
    ]
    unlinked = sum(len(graph) for graph in graphs)
    connected = sum(len(graph) > 0 for graph in graphs)
    if unlinked > connected:
        expected = (unlinked - counts.sum()) / (unlinked - connected)
        assert tco_support_ratio(instance.subscriptions, counts) == pytest.approx(expected)
    else:
        assert tco_support_ratio(instance.subscriptions, counts) == 1.0


@given(st.integers(0, 2**32), st.integers(1, 40), st.integers(0, 120))
@settings(deadline=None, max_examples=40)
def test_degrees_are_those_of_networkx(seed, nodes, links):
    overlay = random_overlay(seed, nodes, links)
    directed = nx.DiGraph(zip(overlay.sources.tolist(), overlay.targets.tolist(), strict=True))
    directed.add_nodes_from(range(nodes))
    assert out_degrees(overlay).tolist() == [directed.out_degree(v) for v in range(nodes)]
    assert in_degrees(overlay).tolist() == [directed.in_degree(v) for v in range(nodes)]
    assert degrees(overlay).tolist() == [directed.to_undirected().degree(v) for v in range(nodes)]


@pytest.mark.parametrize(
    ("nodes", "close", "expected"), [(1, False, 0), (60, False, 59), (60, True, 30), (61, True, 30)]
)
def test_diameters_of_paths_and_circles(nodes, close, expected):
    instance = instance_from_pairs(np.arange(nodes), np.zeros(nodes, int))
    ends = np.arange(nodes if close else nodes - 1)
    overlay = overlay_from_links(nodes, ends, (ends + 1) % nodes)
    assert topic_diameters(instance, topic_subgraph(instance, overlay)).tolist() == [expected]


def test_the_report_of_a_triangle_with_a_tail():
    """0-1-2 are linked to each other and 2-3; topic 0 has all four, topic 1 the nodes 0 and 3, topic 2 nobody."""
    instance = instance_from_pairs([0, 1, 2, 3, 0, 3], [0, 0, 0, 0, 1, 1], topic_count=3)
    overlay = overlay_from_links(4, [0, 1, 2, 2, 3], [1, 2, 0, 3, 2])
    report = quality(instance, overlay)
    assert report["tco_support_ratio"] == 3 / 4
    assert (report["tccs"], report["connected_topics"], report["subscribed_topics"]) == (3, 1, 2)
    assert report["degree"] == {"minimum": 1, "average": 2.0, "maximum": 3}
    assert report["out_degree"] == {"minimum": 1, "average": 1.25, "maximum": 2}
    assert report["nodes_by_out_degree"] == {1: 3, 2: 1}
    assert report["nodes_by_in_degree"] == {1: 3, 2: 1}
    assert report["topic_diameter"] == {"minimum": 0, "average": 1.0, "maximum": 2}
    assert report["ring_violations"] == ["The overlay has no ring."]


def test_without_topics_there_is_nothing_to_connect():
    instance = instance_from_pairs([], [], node_count=3)
    report = quality(instance, design(instance, "swico-sl", seed=1))
    assert (report["tco_support_ratio"], report["tccs"], report["topic_diameter"]) == (1.0, 0, {})


def test_an_overlay_of_other_nodes_is_refused():
    with pytest.raises(WeftError, match="made for another instance"):
        quality(random_instance(1, 4, 2, 0.5), random_overlay(1, 5, 3))


class TestRingViolations:
    chord = design(random_instance(1, 20, 3, 0.5), "chord", seed=1)

    def test_chord_has_none(self):
        assert ring_violations(self.chord) == []

    def test_a_finger_in_another_phase(self):
        targets = self.chord.targets.copy()
        targets[1] = targets[2]  # of node 0: the finger of phase 2 in phase 1, too
        assert ring_violations(replace(self.chord, targets=targets)) == [
            f"The finger of node 0 to node {targets[2]} is in phase 2, not in 1.",
            "Node 0 has 0 fingers in phase 1 instead of one.",
            "Node 0 has 2 fingers in phase 2 instead of one.",
        ]

    def test_a_missing_finger(self):
        kept = np.arange(len(self.chord.sources)) != 7  # node 1, phase 2
        columns = {name: getattr(self.chord, name)[kept] for name in ("sources", "targets", "phases")}
        assert ring_violations(replace(self.chord, **columns)) == ["Node 1 has 0 fingers in phase 2 instead of one."]

    def test_fingers_in_whole_phases_only(self):
        """Phases 0 to 3 of 20 nodes are whole, and the last one, 4, is cut short."""
        whole = design(random_instance(1, 20, 3, 0.5), "chord", seed=1, phases="whole")
        assert ring_violations(whole) == []
        assert ring_violations(whole, "cut")[0] == "Node 0 has 0 fingers in phase 4 instead of one."
        assert ring_violations(self.chord, "whole")[0] == "Node 0 has 1 fingers in phase 4 instead of none."

    def test_of_an_overlay_that_says_nothing_the_fingers_tell(self):
        kept = self.chord.phases < 4
        columns = {name: getattr(self.chord, name)[kept] for name in ("sources", "targets", "phases")}
        foreign = replace(self.chord, **columns, meta={})
        assert (phases_of(foreign), ring_violations(foreign)) == ("whole", [])
        assert phases_of(replace(self.chord, meta={})) == "cut"

    def test_links_that_are_no_fingers_do_not_count(self):
        phases = np.full(len(self.chord.sources), -1, np.int32)
        assert (
            ring_violations(replace(self.chord, phases=phases))[0] == "Node 0 has 0 fingers in phase 0 instead of one."
        )

    def test_ids_that_are_not_dense(self):
        ring_ids = self.chord.ring_ids * 2
        gaps = replace(self.chord, ring_ids=ring_ids, ring_size=40)
        assert ring_violations(gaps) == ["The ring ids are not 0 to 19, each once."]

    def test_only_some_are_named(self):
        ring_ids = np.random.default_rng(2).permutation(20)
        assert 2 <= len(ring_violations(replace(self.chord, ring_ids=ring_ids))) <= 20
