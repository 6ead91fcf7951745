import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.errors import WeftError
from weft.model.latency import ConstantLatency, CoordinateLatency, MatrixLatency, read_latency
from weft.overlays.broker_tree import NO_PARENT, ROOT, BrokerTree, Neighbourhood, broker_tree

# 0 - 1 - 3
#  \     \
#   2     4
SMALL = BrokerTree(np.array([NO_PARENT, 0, 0, 1, 3], np.int32), np.ones((5, 5)))


def plane(hosts, seed):
    return CoordinateLatency(np.random.default_rng(seed).uniform(0, 100, size=(hosts, 2)))


def test_a_small_tree():
    assert SMALL.depths.tolist() == [0, 1, 1, 2, 3]
    assert SMALL.top.tolist() == [0, 1, 2]
    assert SMALL.rooted_at(3).tolist() == [1, 3, 0, NO_PARENT, 3]
    assert list(SMALL.links()) == [(0, 1), (0, 2), (1, 3), (3, 4)]


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 30), st.integers(1, 5), st.integers(0, 99), st.data())
def test_it_is_the_shortest_path_tree_of_near_hosts(hosts, nearest, seed, data):
    brokers = data.draw(st.integers(2, hosts))
    latency = plane(hosts, seed)
    tree = broker_tree(latency, Neighbourhood(brokers, nearest), seed)
    graph = near_hosts(latency, nearest)
    named = host_of_brokers(tree, latency)
    hops = nx.single_source_shortest_path_length(graph, named[ROOT])
    assert sorted(hops[host] for host in named) == sorted(hops.values())[:brokers]
    for host, length in nx.single_source_dijkstra_path_length(graph.subgraph(named), named[ROOT]).items():
        assert delay_from_root(tree, named.index(host)) == pytest.approx(length)


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 25), st.integers(0, 99), st.data())
def test_it_is_the_shortest_path_tree_of_all_latencies(hosts, seed, data):
    """Latencies that break the triangle inequality, so that detours pay."""
    brokers = data.draw(st.integers(2, hosts))
    matrix = np.random.default_rng(seed).uniform(1, 100, size=(hosts, hosts)) ** 2
    tree = broker_tree(MatrixLatency(matrix + matrix.T), Neighbourhood(brokers), seed)
    graph = nx.Graph()
    graph.add_weighted_edges_from((u, v, tree.delays[u, v]) for u in range(brokers) for v in range(u))
    for broker, length in nx.single_source_dijkstra_path_length(graph, ROOT).items():
        assert delay_from_root(tree, broker) == pytest.approx(length)


def test_which_hosts_are_brokers_is_drawn():
    """A walk over a full matrix has no order of its own: not always the first hosts."""
    latency = plane(50, 1)
    hosts = {
        host for seed in range(20) for host in host_of_brokers(broker_tree(latency, Neighbourhood(10), seed), latency)
    }
    assert len(hosts) > 40


def delay_from_root(tree, broker):
    delay = 0.0
    while broker != ROOT:
        delay += tree.delays[tree.parents[broker], broker]
        broker = tree.parents[broker]
    return delay


def near_hosts(latency, nearest):
    hosts = np.arange(latency.nodes)
    delays = latency.round_trip(hosts[:, None], hosts) / 2
    whole = nx.Graph()
    whole.add_weighted_edges_from((u, v, delays[u, v]) for u in hosts for v in hosts[:u])
    graph = nx.minimum_spanning_tree(whole)
    for host in hosts:
        others = sorted(set(hosts) - {host}, key=lambda other, host=host: delays[host, other])
        graph.add_weighted_edges_from((host, other, delays[host, other]) for other in others[:nearest])
    return graph


def host_of_brokers(tree, latency):
    """Rows of distances name the hosts: on a plane no two are alike."""
    hosts = np.arange(latency.nodes)
    delays = latency.round_trip(hosts[:, None], hosts) / 2
    for root in hosts:
        named = [int(np.argmin(np.abs(delays[root] - delay))) for delay in tree.delays[ROOT]]
        if np.array_equal(delays[np.ix_(named, named)], tree.delays):
            return named
    raise AssertionError("no hosts have these delays")


@pytest.mark.parametrize("nearest", [None, 3])
def test_the_seed_chooses_the_root(nearest):
    trees = [broker_tree(plane(40, 1), Neighbourhood(20, nearest), seed) for seed in (1, 1, 2)]
    assert np.array_equal(trees[0].delays, trees[1].delays)
    assert np.array_equal(trees[0].parents, trees[1].parents)
    assert not np.array_equal(trees[0].delays, trees[2].delays)


def test_hosts_without_distance_are_linked_too():
    tree = broker_tree(MatrixLatency(np.zeros((6, 6))), Neighbourhood(6, 1), 0)
    assert tree.depths.max() >= 1
    assert (tree.delays == 0).all()


@pytest.mark.parametrize("brokers", [1, 11])
def test_too_many_brokers_are_named(brokers):
    with pytest.raises(WeftError, match=f"{brokers} brokers are out of range: give 2 to 10"):
        broker_tree(ConstantLatency(10), Neighbourhood(brokers), 0)


def test_planetlab_makes_no_star(data):
    latency = read_latency(data / "latency" / "planetlab-490.txt.gz")
    trees = [broker_tree(latency, Neighbourhood(200), seed) for seed in range(5)]
    assert all(1.9 < tree.depths.mean() < 3.2 for tree in trees)
    assert all(10 <= len(tree.top) <= 76 for tree in trees)
    narrow = broker_tree(latency, Neighbourhood(200, 3), 1)
    assert 3 < narrow.depths.mean() < 8
    assert 5 < len(narrow.top) < 30
