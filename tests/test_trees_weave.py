"""Weave's trees against networkx, brute force over all trees and all sets of relays, and by hand."""

from dataclasses import replace
from functools import partial
from itertools import combinations

import networkx as nx
import numba
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from routing_oracle import ring_instance, ring_overlay
from weft.errors import WeftError
from weft.kernels.trees.party import empty_party, gather, needed_members
from weft.model.instance import instance_from_pairs
from weft.model.latency import CoordinateLatency
from weft.model.overlay import overlay_from_links
from weft.model.publisher import Publishers
from weft.overlays.catalog import BUILDERS, design
from weft.trees.weave import mesh_of
from weft.trees.weave import weave as weave_together

weave = partial(weave_together, load_weight=0)  # the best tree of every topic, whatever the others

TCOS = ["gm", "dc", "dcbc", "ring-per-topic"]


def graph_of(overlay):
    graph = nx.Graph()
    graph.add_nodes_from(range(overlay.nodes))
    graph.add_edges_from(zip(overlay.sources.tolist(), overlay.targets.tolist(), strict=True))
    return graph


def tree_of(trees, topic):
    tree = nx.Graph()
    for node, neighbours in trees.tables(topic).items():
        tree.add_node(node)
        tree.add_edges_from((node, other) for other in neighbours)
    return tree


def cost_of(tree, subscribers, weight=None):
    lengths = dict(nx.all_pairs_dijkstra_path_length(tree, weight=weight))
    return sum(lengths[v][w] for v, w in combinations(subscribers, 2))


def all_trees(graph):
    edges = list(graph.edges())
    for chosen in combinations(edges, len(graph) - 1):
        tree = nx.Graph(chosen)
        if len(tree) == len(graph) and nx.is_connected(tree):
            yield tree


def links(nodes, pairs):
    return overlay_from_links(nodes, *np.array(pairs).T)


def topic_of(subscribers, nodes):
    return instance_from_pairs(subscribers, np.zeros(len(subscribers), int), node_count=nodes)


@settings(deadline=None, max_examples=150)
@given(st.integers(0, 10**6), st.integers(1, 40), st.floats(0.02, 0.9), st.integers(2, 8), st.sampled_from([0, 0.5, 9]))
def test_every_topic_has_a_tree_of_links_without_idle_relays(seed, nodes, chance, fan_out, load_weight):
    instance, overlay = ring_instance(seed, nodes, 4, chance), ring_overlay(seed, nodes, 2 * nodes)
    trees, graph = weave(instance, overlay, fan_out=fan_out, load_weight=load_weight), graph_of(overlay)
    for topic in range(4):
        tree, subscribers = tree_of(trees, topic), set(instance.subscribers[topic].tolist())
        assert len(tree) == trees.sizes[topic]
        assert subscribers <= set(tree)
        assert not subscribers or nx.is_tree(tree)
        assert all(graph.has_edge(*edge) for edge in tree.edges())
        for relay in set(tree) - subscribers:
            rest = graph.subgraph(set(tree) - {relay})
            assert not nx.is_connected(rest)  # so it has two neighbours at least


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**6), st.integers(3, 12), st.integers(2, 5))
def test_relays_are_few(seed, nodes, subscribers):
    """Never more than by joining to the nearest part, again and again; and at most one more than the fewest here."""
    rng = np.random.default_rng(seed)
    overlay = ring_overlay(seed, nodes, nodes)
    graph = graph_of(overlay)
    own = rng.choice(nodes, min(subscribers, nodes), replace=False).tolist()
    relays = int(weave(topic_of(own, nodes), overlay).sizes[0]) - len(own)
    others = [node for node in range(nodes) if node not in own]
    fewest = next(
        count
        for count in range(len(others) + 1)
        if any(nx.is_connected(graph.subgraph([*own, *chosen])) for chosen in combinations(others, count))
    )
    assert fewest <= relays <= fewest + 1


def test_one_relay_joins_many_parts():
    """Node 0 is next to all of 1, 2, 3, 4; the ways over 5, 6, 7 join them in pairs."""
    pairs = [(0, 1), (0, 2), (0, 3), (0, 4), (5, 1), (5, 2), (6, 2), (6, 3), (7, 3), (7, 4)]
    trees = weave(topic_of([1, 2, 3, 4], 8), links(8, pairs))
    assert trees.tables(0) == {0: {1, 2, 3, 4}, 1: {0}, 2: {0}, 3: {0}, 4: {0}}


def test_far_parts_are_joined_by_a_shortest_way():
    path = [(i, i + 1) for i in range(9)] + [(0, 10), (10, 11), (11, 9)]
    assert set(weave(topic_of([0, 9], 12), links(12, path)).tables(0)) == {0, 10, 11, 9}


@settings(deadline=None, max_examples=150)
@given(st.integers(0, 10**6), st.integers(8, 40), st.integers(1, 6), st.booleans())
def test_two_far_parts_are_joined_by_the_cheapest_of_the_shortest_ways(seed, nodes, others, swapped):
    """The search from the few meets that from the many, wherever that is."""
    rng = np.random.default_rng(seed)
    graph = nx.random_regular_graph(3, nodes + nodes % 2, seed=seed)
    prices = rng.integers(0, 3, len(graph)).astype(float)
    many = list(nx.bfs_tree(graph, 0))[:others]  # connected
    assume(nx.is_connected(graph))
    far = [node for node in graph if min(nx.shortest_path_length(graph, node, one) for one in many) > 2]
    assume(far)
    one = far[int(rng.integers(len(far)))]
    subscribers = np.array([*many, one] if swapped else [one, *many], np.int32)
    mesh = mesh_of(links(len(graph), list(graph.edges())))
    party = empty_party(len(graph))
    count, parts = gather(mesh.neighbours.indptr, mesh.neighbours.indices, prices, party, subscribers)
    relays = party.members[len(subscribers) : count].tolist()
    ways = [way for member in many for way in nx.all_shortest_paths(graph, one, member)]
    fewest = min(map(len, ways))
    costs = [sum(prices[way[1:-1]]) for way in ways if len(way) == fewest]
    assert (parts, len(relays), sum(prices[relays])) == (1, fewest - 2, min(costs))


def plain_gather(graph, prices, subscribers):
    """Members by the greedy of party.py, as it is told there: what is next to what is looked up anew at every step."""
    members = list(subscribers)

    def parts():
        """Parts in the order of their first members."""
        found = [set(part) for part in nx.connected_components(graph.subgraph(members))]
        return sorted(found, key=lambda part: min(map(members.index, part)))

    def touched(node):
        return sum(not part.isdisjoint(graph[node]) for part in parts())

    def around(those):
        others = (other for node in members if node in those for other in sorted(graph[node]))
        return [other for other in dict.fromkeys(others) if other not in members]

    def bridge():
        smallest = min(parts(), key=len)
        rest, sums = set(members) - smallest, dict.fromkeys(smallest, 0.0)
        level, before = [node for node in members if node in smallest], {}
        while not any(rest & set(graph[node]) for node in level):
            reached = {}
            for node in level:
                for other in sorted(graph[node]):
                    cost = sums[node] + prices[other]
                    if other not in sums and other not in members and cost < reached.get(other, (np.inf,))[0]:
                        reached[other] = cost, node
            sums |= {other: cost for other, (cost, _) in reached.items()}
            before |= {other: node for other, (_, node) in reached.items()}
            level = list(reached)
        node = min((node for node in level if rest & set(graph[node])), key=sums.get)
        while node not in smallest:
            members.append(node)
            node = before[node]

    while len(parts()) > 1:
        largest = max(parts(), key=len)
        shared = {node: touched(node) for node in around(set(members) - largest)}
        shared = {node: count for node, count in shared.items() if count > 1}
        for node in sorted(shared, key=lambda node: -shared[node] / (1 + prices[node])):
            if len(parts()) < 2:
                break
            if touched(node) == shared[node]:
                members.append(node)
        if not shared:
            bridge()
    for relay in members[: len(subscribers) - 1 : -1]:
        others = [node for node in members if node != relay]
        if len(others) > len(subscribers) and nx.is_connected(graph.subgraph(others)):
            members.remove(relay)
    return set(members)


@settings(deadline=None, max_examples=150)
@given(st.integers(0, 10**6), st.integers(10, 60), st.integers(2, 12), st.sampled_from([1, 3, 100]))
def test_members_are_those_of_the_plain_greedy(seed, nodes, subscribers, dearest):
    """One party for several topics, as in a task: nothing is left in it from the one before."""
    rng = np.random.default_rng(seed)
    graph = nx.gnm_random_graph(nodes, nodes, seed=seed)
    graph.add_edges_from((node, (node + 1) % nodes) for node in range(nodes))
    prices = rng.integers(0, dearest, nodes).astype(float)
    mesh, party = mesh_of(links(nodes, list(graph.edges()))), empty_party(nodes)
    for _ in range(4):
        own = rng.choice(nodes, min(subscribers, nodes), replace=False).astype(np.int32)
        count, _ = gather(mesh.neighbours.indptr, mesh.neighbours.indices, prices, party, own)
        assert set(party.members[:count].tolist()) == plain_gather(graph, prices, own.tolist())
        party.slots[:] = -1


def test_a_party_of_many_trees_remembers_nothing_of_them():
    """Trees of one graph, between them 255 of another: the last byte of their numbers is the same."""
    rng, nodes, elsewhere = np.random.default_rng(8), 100, np.array([100, 140, 190], np.int32)
    graph = nx.disjoint_union(*(nx.random_regular_graph(3, nodes, seed=seed) for seed in (8, 9)))
    mesh, used = mesh_of(links(2 * nodes, list(graph.edges()))), empty_party(2 * nodes)

    def members(party, subscribers):
        count, _ = gather(mesh.neighbours.indptr, mesh.neighbours.indices, np.zeros(2 * nodes), party, subscribers)
        party.slots[:] = -1
        return party.members[:count].tolist()

    for _ in range(20):
        own = np.array(
            nx.maximal_independent_set(graph.subgraph(range(nodes)), seed=int(rng.integers(99)))[:4], np.int32
        )
        assert members(used, own) == members(empty_party(2 * nodes), own)
        for _ in range(255):
            assert len(members(used, elsewhere)) > 3


@settings(deadline=None, max_examples=100)
@given(st.integers(0, 10**6), st.integers(2, 30))
def test_needed_members_are_the_cut_vertices(seed, nodes):
    graph = nx.gnm_random_graph(nodes, nodes // 2, seed=seed)
    graph.add_edges_from((node, seed % node if node > 1 else 0) for node in range(1, nodes))
    everyone = np.random.default_rng(seed).permutation(nodes).astype(np.int32)
    mesh, party = mesh_of(links(nodes, list(graph.edges()))), empty_party(nodes)
    count, _ = gather(mesh.neighbours.indptr, mesh.neighbours.indices, np.zeros(nodes), party, everyone)
    needed = needed_members(mesh.neighbours.indptr, mesh.neighbours.indices, party, count)
    assert set(everyone[needed].tolist()) == set(nx.articulation_points(graph))


@pytest.mark.parametrize("timed", [False, True])
def test_the_ring_by_which_nodes_are_named_makes_no_difference(timed):
    instance, overlay = ring_instance(6, 200, 60, 0.05), ring_overlay(6, 200, 300)
    latency = CoordinateLatency(np.random.default_rng(6).random((200, 2))) if timed else None
    publisher = Publishers(np.arange(60, dtype=np.int32), np.arange(60, dtype=np.int32), np.arange(60) + 1.0)
    instance = replace(instance, given_publishers=publisher)
    shuffled = np.random.default_rng(7).permutation(200)
    one, other = (weave_together(instance, replace(overlay, ring_ids=ids), latency=latency) for ids in (None, shuffled))
    for name in ("indptr", "members", "parents"):
        assert np.array_equal(getattr(one, name), getattr(other, name))


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10**6), st.integers(3, 6))
def test_paths_are_nearly_the_shortest_of_all_trees(seed, nodes):
    """Exact for most; never a tenth above. All subscribe, so that there is nothing but the form of the tree."""
    graph = nx.gnm_random_graph(nodes, min(nodes + 3, nodes * (nodes - 1) // 2), seed=seed)
    graph.add_edges_from((i, i + 1) for i in range(nodes - 1))
    everyone = list(range(nodes))
    tree = tree_of(weave(topic_of(everyone, nodes), links(nodes, list(graph.edges()))), 0)
    best = min(cost_of(tree, everyone) for tree in all_trees(graph))
    assert cost_of(tree, everyone) <= 1.1 * best


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10**6), st.integers(3, 6))
def test_paths_from_a_known_publisher_count_as_well(seed, nodes):
    """The publisher is linked with one subscriber. Its paths weigh as much as if all subscribers published twice."""
    graph = nx.gnm_random_graph(nodes, min(nodes + 3, nodes * (nodes - 1) // 2), seed=seed)
    graph.add_edges_from((i, i + 1) for i in range(nodes - 1))
    everyone, entry = list(range(nodes)), seed % nodes
    instance = topic_of(everyone, nodes + 1)
    publisher = Publishers(np.array([nodes], np.int32), np.array([0], np.int32), np.array([3.0]))
    overlay = links(nodes + 1, [*graph.edges(), (nodes, entry)])
    tree = tree_of(weave(replace(instance, given_publishers=publisher), overlay), 0)

    def cost(tree):
        return cost_of(tree, everyone) + nodes * sum(nx.single_source_shortest_path_length(tree, entry).values())

    assert cost(tree) <= 1.1 * min(cost(tree) for tree in all_trees(graph))


def test_a_known_publisher_moves_the_middle_of_the_tree():
    """A ring of nine: the tree is cut opposite to the middle, which is where the publisher comes in."""
    ring = [(i, (i + 1) % 9) for i in range(9)]
    for entry in range(9):
        publisher = Publishers(np.array([9], np.int32), np.array([0], np.int32), np.array([1.0]))
        instance = replace(topic_of(list(range(9)), 10), given_publishers=publisher)
        tree = tree_of(weave(instance, links(10, [*ring, (9, entry)])), 0)
        assert max(nx.single_source_shortest_path_length(tree, entry).values()) == 4


def test_a_tree_is_better_than_one_from_the_best_connected_member():
    """A grid with a star at one corner."""
    graph = nx.convert_node_labels_to_integers(nx.grid_2d_graph(5, 9))
    graph.add_edges_from((0, node) for node in range(45, 51))
    everyone = list(graph)
    tree = tree_of(weave(topic_of(everyone, 51), links(51, list(graph.edges()))), 0)
    assert cost_of(tree, everyone) < 0.95 * cost_of(nx.bfs_tree(graph, 0).to_undirected(), everyone)


@pytest.mark.parametrize("fan_out", [2, 3, 5, 20])
def test_fan_out_is_bounded_where_others_can_take_over(fan_out):
    """Everyone can in a complete graph."""
    nodes = 20
    trees = weave(
        topic_of(list(range(nodes)), nodes), links(nodes, list(combinations(range(nodes), 2))), fan_out=fan_out
    )
    degrees = [len(neighbours) for neighbours in trees.tables(0).values()]
    assert max(degrees) == min(fan_out, nodes - 1)


@pytest.mark.parametrize("fan_out", [4, 5])
def test_a_member_that_is_full_but_not_crowded_keeps_its_neighbours(fan_out):
    """A wheel of four spokes: its hub has as many neighbours as are allowed, and any other tree is longer."""
    wheel = [(0, 1), (0, 2), (0, 3), (0, 4), (1, 2), (2, 3), (3, 4), (4, 1)]
    trees = weave(topic_of(list(range(5)), 5), links(5, wheel), fan_out=fan_out)
    assert trees.tables(0)[0] == {1, 2, 3, 4}


def test_members_with_one_link_only_stay_where_they_are():
    star = [(0, i) for i in range(1, 10)]
    trees = weave(topic_of(list(range(10)), 10), links(10, star), fan_out=2)
    assert len(trees.tables(0)[0]) == 9


def time_against_roots(seed, nodes):
    """The sum of all ways in a tree woven by latencies, against those from the best root and from an ordinary one."""
    rng = np.random.default_rng(seed)
    overlay = ring_overlay(seed, nodes, nodes)
    latency = CoordinateLatency(rng.random((nodes, 2)))
    graph, everyone = graph_of(overlay), list(range(nodes))
    for v, w in graph.edges():
        graph[v][w]["time"] = float(latency.round_trip(np.array([v]), np.array([w]))[0])
    tree = graph.edge_subgraph(tree_of(weave(topic_of(everyone, nodes), overlay, latency=latency), 0).edges())
    assert nx.is_tree(tree)
    ways = [
        cost_of(
            nx.Graph((v, path[-2], {"time": graph[v][path[-2]]["time"]}) for v, path in paths.items() if v != root),
            everyone,
            "time",
        )
        for root, paths in nx.all_pairs_dijkstra_path(graph, weight="time")
    ]
    cost = cost_of(tree, everyone, "time")
    return cost / min(ways), cost / np.median(ways)


def test_with_latencies_trees_are_short_in_time():
    """Few roots are tried, and the busy are spared, so that a tree may be longer than the best of all; it seldom is."""
    best, ordinary = np.array([time_against_roots(seed, 3 + seed % 23) for seed in range(60)]).T
    assert best.max() <= 1.15
    assert best.mean() <= 0.99
    assert ordinary.max() <= 1.0001


def test_the_number_of_threads_makes_no_difference():
    instance, overlay = ring_instance(3, 300, 100, 0.1), ring_overlay(3, 300, 300)
    threads = numba.get_num_threads()
    two = weave(instance, overlay)
    numba.set_num_threads(1)
    one = weave(instance, overlay)
    numba.set_num_threads(threads)
    for name in ("indptr", "members", "parents"):
        assert np.array_equal(getattr(one, name), getattr(two, name))


@pytest.mark.parametrize("name", list(BUILDERS))
def test_every_overlay_can_be_woven_and_topic_connected_ones_without_relays(name):
    instance = ring_instance(4, 60, 12, 0.15)
    trees = weave(instance, design(instance, name, seed=4))
    relays = trees.sizes.sum() - instance.subscriptions
    assert relays == 0 or name not in TCOS
    assert relays > 0 or name not in ("chord", "random")


def test_entries_count_every_neighbour_of_every_table():
    instance, overlay = ring_instance(5, 30, 6), ring_overlay(5, 30, 30)
    trees = weave(instance, overlay)
    counted = np.zeros(30, int)
    for topic in range(6):
        for node, neighbours in trees.tables(topic).items():
            counted[node] += len(neighbours)
    assert trees.entries.tolist() == counted.tolist()


def test_an_overlay_in_parts_is_an_error():
    with pytest.raises(WeftError, match="subscribers of topic 0 in 2 parts that no links join: design another"):
        weave(topic_of([0, 3], 4), links(4, [(0, 1), (2, 3)]))


def test_a_fan_out_below_two_is_an_error():
    with pytest.raises(WeftError, match="fan-out of 1 is too small"):
        weave(topic_of([0, 1], 2), links(2, [(0, 1)]), fan_out=1)
