"""What trees are worth, compared with publications that are followed one by one."""

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.master.quality import SAMPLED, Quality, Tree, hops_of, most_published, quality_of

NODES = 7


@st.composite
def trees(draw: st.DrawFn) -> Tree:
    """A tree over some of the nodes, whose ends subscribe or publish; its root may be a node outside."""
    members = draw(st.lists(st.integers(0, NODES - 1), min_size=1, max_size=NODES, unique=True))
    graph = nx.Graph()
    graph.add_node(members[0])
    for place in range(1, len(members)):
        graph.add_edge(members[place], members[draw(st.integers(0, place - 1))])
    ends = {node for node in graph if graph.degree(node) < 2}
    subscribers = ends | draw(st.sets(st.sampled_from(members)))
    root = draw(st.none() | st.sampled_from(members) | st.integers(NODES, NODES + 2))
    tables = {node: set(graph[node]) for node in members}
    if root is None or root in tables:
        return Tree(tables, subscribers, draw(st.integers(1, 3)), root)
    way = (*range(NODES + 3, NODES + 3 + draw(st.integers(0, 2))), draw(st.sampled_from(members)))
    return Tree(tables, subscribers, draw(st.integers(1, 3)), root, way)


def graph_of(tree: Tree) -> nx.Graph:
    graph = nx.Graph({node: list(peers) for node, peers in tree.tables.items()})
    nx.add_path(graph, (() if tree.root is None else (tree.root,)) + tree.way)
    return graph


@given(st.lists(trees(), max_size=4))
@settings(max_examples=150)
def test_quality_is_what_publications_meet_on_their_ways(many: list[Tree]) -> None:
    relays = deliveries = 0.0
    sent = dict.fromkeys(range(NODES), 0.0)
    hops: list[int] = []
    for tree in many:
        for node, peers in tree.tables.items():
            is_end = node in tree.subscribers or node == tree.root
            relays += 0 if is_end else tree.rate
            deliveries += tree.rate if is_end else 0
            sent[node] += tree.rate * (len(peers) - 1 if peers else 0)
        deliveries -= tree.rate  # who publishes is one of them
        if tree.root is not None:
            far = nx.single_source_shortest_path_length(graph_of(tree), tree.root)
            hops += [far[node] for node in tree.subscribers if node != tree.root] * int(tree.rate)
    mean = sum(sent.values()) / NODES
    busiest = max(sent, key=lambda node: (sent[node], -node)) if mean else -1
    quality = quality_of(many, NODES)
    assert quality == Quality(
        pytest.approx(relays / deliveries if deliveries else 0.0),
        pytest.approx(sent[busiest] / mean if mean else 0.0),
        busiest,
    )
    assert hops_of(many) == pytest.approx(sum(hops) / len(hops) if hops else 0.0)


def test_hops_are_those_of_the_topics_that_are_published_on_most() -> None:
    rates = {topic: float(topic % 7) for topic in range(2 * SAMPLED)}
    chosen = most_published({topic: Tree({}, (), rate) for topic, rate in rates.items()})
    expected = sorted(rates, key=lambda topic: (rates[topic], -topic))[-SAMPLED:]
    assert set(chosen) == set(expected)


def test_a_network_of_nobody_is_worth_nothing() -> None:
    assert quality_of([], 0) == Quality(0.0, 0.0, -1)
    assert Tree({1: {2}, 2: {1}}, (1, 2), 1.0).hops == []
