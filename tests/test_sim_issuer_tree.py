import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from routing_oracle import ring_instance, ring_overlay
from weft.errors import WeftError
from weft.model.publication import Publications
from weft.sim.bulk import evaluate
from weft.sim.issuer_tree import average_path
from weft.trees.weave import mesh_of, weave
from weft.workloads.publication import publications


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10**6), st.integers(2, 25))
def test_paths_are_the_shortest_among_members_and_shared_trees_have_no_shorter(seed, nodes):
    instance, overlay = ring_instance(seed, nodes, 3, 0.4), ring_overlay(seed, nodes, nodes)
    if not instance.subscriptions:
        return
    trees, mesh = weave(instance, overlay), mesh_of(overlay)
    said = publications(instance, 30, seed)
    graph = nx.Graph(zip(overlay.sources.tolist(), overlay.targets.tolist(), strict=True))
    hops = deliveries = 0
    for topic, issuer in zip(said.topics.tolist(), said.nodes.tolist(), strict=True):
        lengths = nx.single_source_shortest_path_length(graph.subgraph(trees.tables(topic)), issuer)
        hops += sum(lengths[node] for node in instance.subscribers[topic].tolist())
        deliveries += len(instance.subscribers[topic]) - 1
    found = average_path(instance, mesh, trees, said)
    assert found == pytest.approx(hops / max(deliveries, 1))
    assert found <= evaluate(instance, overlay, "weave", said).average_path + 1e-9


def test_issuers_must_subscribe():
    instance, overlay = ring_instance(1, 10, 1, 0.3), ring_overlay(1, 10, 10)
    other = next(node for node in range(10) if node not in instance.subscribers[0])
    with pytest.raises(WeftError, match="let subscribers publish"):
        average_path(
            instance, mesh_of(overlay), weave(instance, overlay), Publications(np.int32([0]), np.int32([other]))
        )
