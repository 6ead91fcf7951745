"""The loom: after any changes every publication comes to every subscriber exactly once, over the tables handed out."""

from dataclasses import dataclass

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from routing_oracle import ring_instance, ring_overlay
from weft.errors import WeftError
from weft.model.instance import instance_from_pairs
from weft.model.overlay import overlay_from_links
from weft.protocol.loom import Assignment, Loom
from weft.protocol.router import Assigned, Deliver, Directed, Publication, Published, Received, Send
from weft.protocol.shared_tree import SharedTree
from weft.protocol.weave import Patience, Weave
from weft.trees.weave import mesh_of, weave

TOPICS = 3


def loom_of(instance, overlay, fan_out=4, publishers=lambda _: {}):
    trees = weave(instance, overlay, fan_out=fan_out)
    return Loom(instance, mesh_of(overlay).neighbours, trees, fan_out, publishers=publishers)


def line(nodes, subscribers):
    """A loom over the links 0-1-2-... and one topic."""
    overlay = overlay_from_links(nodes, range(nodes - 1), range(1, nodes))
    return loom_of(instance_from_pairs(subscribers, [0] * len(subscribers), node_count=nodes), overlay)


@dataclass
class Members:
    """Subscribers as the loom knows them; there is no ring to ask about."""

    loom: Loom

    def subscribes(self, node, topic):
        return node in self.loom.subscribers(topic)

    def nearest_subscriber(self, topic):
        raise AssertionError("nobody should fall back")


def sent_by(nodes, loom):
    """Messages of every publication to all neighbours in the tree but one."""
    return {
        node: sum(len(loom.table(node, topic)) - 1 for topic in range(TOPICS) if loom.table(node, topic) is not None)
        for node in nodes
    }


def reachable(links, node):
    graph = nx.Graph([(one, other) for one, others in links.items() for other in others])
    graph.add_nodes_from(links)
    return nx.node_connected_component(graph, node)


class Changes(RuleBasedStateMachine):
    """The nodes know no more than the tables that they were given, and are relied on at once: all is quiet between."""

    @initialize(seed=st.integers(0, 10**6), nodes=st.integers(2, 14))
    def start(self, seed, nodes):
        instance, overlay = ring_instance(seed, nodes, TOPICS, 0.3), ring_overlay(seed, nodes, nodes)
        self.publishers, self.said, self.next_node = {}, 0, nodes
        self.loom = loom_of(instance, overlay, publishers=lambda topic: self.publishers.get(topic, {}))
        members = Members(self.loom)
        self.nodes = {
            node: Weave(node, members, None, self.loom.tables(node), Patience(settling=0.0)) for node in range(nodes)
        }

    def hand_out(self, assignments):
        for each in assignments:
            assert self.nodes[each.node].tables.get(each.topic) != each.neighbours, "handed out in vain"
            self.nodes[each.node].handle(Assigned(each.topic, each.neighbours), 0.0)

    def any_node(self, data, label="node"):
        return data.draw(st.sampled_from(sorted(self.nodes)), label=label)

    @rule(data=st.data(), topic=st.integers(0, TOPICS - 1))
    def subscribe(self, data, topic):
        self.hand_out(self.loom.subscribe(self.any_node(data), topic))

    @rule(data=st.data(), topic=st.integers(0, TOPICS - 1))
    def unsubscribe(self, data, topic):
        self.hand_out(self.loom.unsubscribe(self.any_node(data), topic))

    @rule(data=st.data(), topics=st.sets(st.integers(0, TOPICS - 1)))
    def join(self, data, topics):
        peers = data.draw(st.sets(st.sampled_from(sorted(self.nodes)), min_size=1, max_size=4))
        node, self.next_node = self.next_node, self.next_node + 1
        self.nodes[node] = Weave(node, Members(self.loom), None, {}, Patience(settling=0.0))
        self.hand_out(self.loom.join(node, peers, topics))

    @precondition(lambda self: len(self.nodes) > 2)
    @rule(data=st.data())
    def leave(self, data):
        node = self.any_node(data)
        self.hand_out(self.loom.leave(node))
        assert self.nodes.pop(node).tables == {}

    @precondition(lambda self: len(self.nodes) > 2)
    @rule(data=st.data())
    def fail(self, data):
        node = self.any_node(data)
        self.nodes.pop(node)
        self.hand_out(self.loom.fail(node))

    @rule(data=st.data())
    def disconnect(self, data):
        node = self.any_node(data)
        if self.loom.links[node]:
            self.hand_out(self.loom.disconnect(node, data.draw(st.sampled_from(sorted(self.loom.links[node])))))

    @rule(data=st.data())
    def connect(self, data):
        node, peer = self.any_node(data), self.any_node(data, "peer")
        if node != peer:
            self.hand_out(self.loom.connect(node, peer))

    @rule(
        data=st.data(), topic=st.integers(0, TOPICS - 1), rates=st.lists(st.sampled_from([1.0, 2.0, 99.0]), max_size=2)
    )
    def hear_who_publishes(self, data, topic, rates):
        self.publishers[topic] = {self.any_node(data): rate for rate in rates}

    @rule(data=st.data(), topic=st.integers(0, TOPICS - 1))
    def adopt(self, data, topic):
        """A tree from elsewhere, with nodes and links that are not there, or not whole."""
        pairs = [(node, peer) for node in sorted(self.nodes) for peer in sorted(self.loom.links[node])]
        tree = nx.Graph(data.draw(st.lists(st.sampled_from(pairs), max_size=6)) if pairs else [])
        tree = nx.Graph(nx.minimum_spanning_edges(tree, data=False))
        tree.add_edge(data.draw(st.sampled_from(sorted(self.nodes))), 10**6)
        self.hand_out(self.loom.adopt(topic, {node: set(tree[node]) for node in tree}))

    @rule(data=st.data())
    def connect_all(self, data):
        pairs = [(one, other) for one in sorted(self.nodes) for other in sorted(self.nodes) if one < other]
        self.hand_out(self.loom.connect_all(data.draw(st.lists(st.sampled_from(pairs), max_size=3)) if pairs else []))

    @invariant()
    def tables_are_those_of_the_loom(self):
        for node, router in getattr(self, "nodes", {}).items():
            router.check_invariants()
            assert router.tables == self.loom.tables(node)

    @invariant()
    def trees_are_trees_of_links_and_of_no_idle_relays(self):
        for topic in range(TOPICS) if hasattr(self, "nodes") else ():
            tables = {node: router.tables[topic] for node, router in self.nodes.items() if topic in router.tables}
            tree = nx.Graph([(node, peer) for node, peers in tables.items() for peer in peers])
            tree.add_nodes_from(tables)
            assert all(node in tables[peer] and peer in self.loom.links[node] for node, peer in tree.edges())
            wanted = self.loom.subscribers(topic) | {self.loom.root(topic)} - {None}
            assert all(tree.degree(node) > 1 for node in tables if node not in wanted)
            overlay = nx.Graph([(node, peer) for node, peers in self.loom.links.items() for peer in peers])
            overlay.add_nodes_from(self.loom.links)
            apart = sum(bool(part & wanted) for part in nx.connected_components(overlay))
            assert not tables or nx.is_forest(tree)
            assert nx.number_connected_components(tree) == apart
            assert (topic in self.loom.parted) == (apart > 1)

    @invariant()
    def everyone_is_served_once(self):
        for topic in range(TOPICS) if hasattr(self, "nodes") else ():
            subscribers = self.loom.subscribers(topic)
            if topic in self.loom.parted or not subscribers:
                continue
            for issuer in subscribers:
                assert sorted(self.served(issuer, topic)) == sorted(subscribers - {issuer})

    @invariant()
    def what_nodes_send_is_counted(self):
        if hasattr(self, "nodes"):
            assert self.loom.load == sent_by(self.nodes, self.loom)

    @rule(data=st.data(), topic=st.integers(0, TOPICS - 1))
    def publish_without_a_table(self, data, topic):
        """Publish by the way that the loom tells: everyone is served, once."""
        node, subscribers = self.any_node(data), self.loom.subscribers(topic)
        way = self.loom.way(node, topic)
        tree = {other for other, router in self.nodes.items() if topic in router.tables}
        assert (way == ()) == (node in tree or not reachable(self.loom.links, node) & tree)
        if way and topic not in self.loom.parted:
            assert way[-1] in tree
            assert not tree & {node, *way[:-1]}
            self.nodes[node].handle(Directed(topic, way), 0.0)
            assert sorted(self.served(node, topic)) == sorted(subscribers)

    def served(self, issuer, topic):
        """Everybody's clients that are given a publication; every message must be the first of its receiver."""
        self.said += 1
        publication = Publication(issuer, self.said, topic)
        agenda, seen, served = [(issuer, Published(publication))], {issuer}, []
        while agenda:
            node, event = agenda.pop()
            for effect in self.nodes[node].handle(event, 0.0):
                match effect:
                    case Send(peer, message):
                        assert peer not in seen
                        seen.add(peer)
                        agenda.append((peer, Received(node, message)))
                    case Deliver():
                        served.append(node)
        return served


Changes.TestCase.settings = settings(deadline=None, max_examples=60, stateful_step_count=20)
TestChanges = Changes.TestCase


class CrowdedChanges(RuleBasedStateMachine):
    """All nodes are linked with each other, so that there is always somebody with room: the bound holds for ever."""

    fan_out = 3

    @initialize(seed=st.integers(0, 10**6), nodes=st.integers(4, 14))
    def start(self, seed, nodes):
        pairs = np.array([(a, b) for a in range(nodes) for b in range(a)]).T
        instance, overlay = ring_instance(seed, nodes, TOPICS, 0.5), overlay_from_links(nodes, *pairs)
        self.loom = loom_of(instance, overlay, self.fan_out)

    @rule(data=st.data(), topic=st.integers(0, TOPICS - 1), kind=st.sampled_from(["subscribe", "unsubscribe"]))
    def change(self, data, topic, kind):
        getattr(self.loom, kind)(data.draw(st.sampled_from(sorted(self.loom.links))), topic)

    @precondition(lambda self: len(self.loom.links) > 3)
    @rule(data=st.data())
    def fail(self, data):
        self.loom.fail(data.draw(st.sampled_from(sorted(self.loom.links))))

    @invariant()
    def bounds_are_kept(self):
        for topic in range(TOPICS) if hasattr(self, "loom") else ():
            tables = [self.loom.table(node, topic) for node in self.loom.links]
            assert max((len(table) for table in tables if table is not None), default=0) <= self.fan_out

    @invariant()
    def what_nodes_send_is_counted(self):
        if hasattr(self, "loom"):
            assert self.loom.load == sent_by(self.loom.links, self.loom)


CrowdedChanges.TestCase.settings = settings(deadline=None, max_examples=60, stateful_step_count=30)
TestCrowdedChanges = CrowdedChanges.TestCase


@settings(deadline=None, max_examples=200)
@given(st.integers(0, 10**6), st.integers(4, 11), st.integers(2, 4))
def test_parts_are_joined_by_the_fewest_relays_with_room_and_of_these_the_cheapest(seed, nodes, fan_out):
    """A star, or a single node, and a node apart from it in a random overlay; against all paths between them."""
    rng = np.random.default_rng(seed)
    overlay = nx.gnp_random_graph(nodes, 0.4, seed=seed)
    load = {node: float(rng.integers(5)) for node in range(nodes)}
    centre, other = rng.choice(nodes, 2, replace=False).tolist()
    leaves = [node for node in overlay[centre] if node != other][: int(rng.integers(5))]
    tree = SharedTree({centre: set(leaves), other: set(), **{leaf: {centre} for leaf in leaves}})
    members, star = set(tree.tables), nx.star_graph([centre, *leaves])
    means = {node: sum(nx.single_source_shortest_path_length(star, node).values()) / len(star) for node in star}

    def ways(most):
        free = [node for node in overlay if node not in members or len(tree.tables[node]) < most]
        starts = [node for node in free if node in members and node != other]
        between = [node for node in free if node not in members]
        return [
            (len(way), pytest.approx(sum(load[node] for node in way) + means[start]))
            for start in starts
            for way in nx.all_simple_paths(overlay.subgraph([*between, start, other]), start, other)
        ]

    best = min(ways(fan_out) or ways(10**9), key=lambda way: (way[0], way[1].expected), default=None)
    within = bool(ways(fan_out))
    before = {node: set(peers) for node, peers in tree.tables.items()}
    links = {node: set(overlay[node]) for node in overlay}
    assert tree.join(links, load.__getitem__, fan_out) == (best is not None)
    if best is not None:
        new = {node for node in tree.tables if tree.tables[node] != before.get(node, set())}
        start = next(node for node in new if node in star)
        assert (len(new), sum(load[node] for node in new) + means[start]) == best
    assert not within or all(
        len(peers) <= max(fan_out, len(before.get(node, ()))) for node, peers in tree.tables.items()
    )


def test_a_change_picks_the_member_that_sends_least():
    """Nodes 0 and 1 are both next to node 4; node 0 is busy with another topic."""
    overlay = overlay_from_links(7, [0, 0, 1, 0, 0], [1, 4, 4, 5, 6])
    loom = loom_of(instance_from_pairs([0, 1, 0, 5, 6], [0, 0, 1, 1, 1], node_count=7), overlay)
    assert loom.load[0] > loom.load[1]
    assert loom.subscribe(4, 0) == [Assignment(1, 0, frozenset({0, 4})), Assignment(4, 0, frozenset({1}))]


def test_rates_say_who_sends_least():
    """Node 0 sends to more, node 1 far more often."""
    overlay = overlay_from_links(8, [0, 0, 1, 0, 0, 1, 1], [1, 4, 4, 5, 6, 6, 7])
    instance = instance_from_pairs([0, 1, 0, 5, 6, 1, 7, 6], [0, 0, 1, 1, 1, 2, 2, 2], node_count=8)
    trees = weave(instance, overlay)
    equal, often = (
        Loom(instance, mesh_of(overlay).neighbours, trees, 4, rates) for rates in (None, np.array([1, 1, 9.0]))
    )
    assert often.load[1] > often.load[0]
    assert [each.node for each in often.subscribe(4, 0)] == [0, 4]
    assert equal.load[0] == equal.load[1] == 1


def test_the_way_to_a_tree_ends_at_its_best_member():
    """Node 9 is next to both ends of a path and to its middle."""
    overlay = overlay_from_links(10, [0, 1, 2, 3, 9, 9, 9, 8], [1, 2, 3, 4, 0, 2, 4, 9])
    loom = loom_of(instance_from_pairs(range(5), [0] * 5, node_count=10), overlay)
    assert loom.way(9, 0) == (2,)
    assert loom.way(8, 0) == (9, 2)
    assert loom.way(3, 0) == ()  # it is in the tree
    assert loom.way(7, 0) == ()  # no links
    with pytest.raises(WeftError, match="There is no node 77"):
        loom.way(77, 0)


def test_a_subscriber_next_to_the_tree_touches_two_tables():
    assert line(4, [0, 1]).subscribe(2, 0) == [Assignment(1, 0, frozenset({0, 2})), Assignment(2, 0, frozenset({1}))]


def test_a_far_subscriber_makes_relays_of_the_nodes_between():
    loom = line(5, [0])
    assert [each.node for each in loom.subscribe(3, 0)] == [0, 1, 2, 3]
    assert loom.subscribe(2, 0) == []  # a relay has its table already
    assert [each.node for each in loom.unsubscribe(3, 0)] == [2, 3]
    assert loom.unsubscribe(2, 0) == [Assignment(node, 0, frozenset() if node == 0 else None) for node in (0, 1, 2)]


def test_a_subscriber_in_the_middle_becomes_a_relay_at_no_cost():
    assert line(3, [0, 1, 2]).unsubscribe(1, 0) == []


def test_who_unsubscribes_is_gone_where_the_others_have_links():
    overlay = overlay_from_links(3, [0, 1, 0], [1, 2, 2])
    loom = loom_of(instance_from_pairs([0, 1, 2], [0] * 3), overlay)
    middle = next(node for node in range(3) if len(loom.table(node, 0)) == 2)
    assert {each.node: each.neighbours for each in loom.unsubscribe(middle, 0)}[middle] is None


def test_the_first_and_the_last_subscriber_touch_one_table():
    loom = line(3, [])
    assert loom.subscribe(1, 0) == [Assignment(1, 0, frozenset())]
    assert loom.unsubscribe(1, 0) == [Assignment(1, 0, None)]
    assert loom.unsubscribe(1, 0) == []


def test_a_change_touches_no_tables_of_other_topics():
    instance, overlay = ring_instance(7, 60, 10, 0.2), ring_overlay(7, 60, 60)
    loom = loom_of(instance, overlay)
    node = int(instance.subscribers[4][0])
    assert {each.topic for each in loom.unsubscribe(node, 4)} <= {4}
    concerned = {topic for topic in range(10) if loom.table(node, topic) is not None}
    assert {each.topic for each in loom.fail(node)} <= concerned


def test_a_topic_in_parts_is_joined_when_a_link_appears():
    loom = line(4, [0, 3])
    assert {each.node for each in loom.disconnect(1, 2)} == {0, 1, 2, 3}
    assert loom.parted == {0}
    assert {each.node for each in loom.connect(0, 3)} == {0, 3}
    assert loom.parted == set()


def test_a_new_topic_needs_no_announcement():
    assert line(2, [0]).subscribe(1, 99) == [Assignment(1, 99, frozenset())]


def test_who_leaves_and_comes_back_has_no_interests():
    loom = line(3, [0, 2])
    loom.leave(2)
    loom.join(2, [1], [])
    assert loom.interest(2) == set()
    assert loom.unsubscribe(2, 0) == []


def test_nodes_that_are_not_there_are_an_error():
    loom = line(2, [0])
    with pytest.raises(WeftError, match="There is no node 5"):
        loom.subscribe(5, 0)
    with pytest.raises(WeftError, match="There is no node 6"):
        loom.connect(0, 6)
    with pytest.raises(WeftError, match="Node 1 is there already"):
        loom.join(1, [0], [])


def test_fan_out_is_kept_where_there_is_a_choice():
    """Everyone is linked with everyone; nobody gets more than four neighbours, and paths stay short."""
    nodes = 30
    pairs = np.array([(a, b) for a in range(nodes) for b in range(a)]).T
    loom = loom_of(instance_from_pairs([0], [0], node_count=nodes), overlay_from_links(nodes, *pairs))
    for node in range(1, nodes):
        loom.subscribe(node, 0)
    degrees = [len(loom.table(node, 0)) for node in range(nodes)]
    assert max(degrees) <= 4
    tree = nx.Graph([(node, peer) for node in range(nodes) for peer in loom.table(node, 0)])
    assert nx.average_shortest_path_length(tree) < 6  # a chain has 10.3, which is what the load alone would make


@pytest.mark.parametrize("publishers", [{}, {5: 2.0, 17: 1.0, 33: 0.5, 99: 7.0}])
def test_mean_paths_are_those_of_networkx(publishers):
    """Two parts, of which publishers are in the first alone; node 99 is in neither."""
    graph = nx.random_labeled_tree(40, seed=3)
    graph.add_edges_from((node + 40, peer + 40) for node, peer in nx.random_labeled_tree(9, seed=4).edges())
    tree = SharedTree({node: set(graph[node]) for node in graph})
    means = tree.mean_paths(tree.parts(), publishers)
    for node in graph:
        lengths = nx.single_source_shortest_path_length(graph, node)
        weights = {other: publishers.get(other, 0.0) if publishers and node < 40 else 1.0 for other in lengths}
        mean = sum(weights[other] * length for other, length in lengths.items()) / sum(weights.values())
        assert means[node] == pytest.approx(mean)


def test_who_subscribes_is_joined_near_those_who_publish():
    """Nodes 0 to 4 are a chain; node 5 is next to all of them, and node 4 publishes."""
    overlay = overlay_from_links(6, [0, 1, 2, 3, 5, 5, 5, 5, 5], [1, 2, 3, 4, 0, 1, 2, 3, 4])
    instance = instance_from_pairs(range(5), [0] * 5, node_count=6)
    links, trees = mesh_of(overlay).neighbours, weave(instance, overlay)
    near = []
    for known in ({}, {4: 1.0}):
        loom = Loom(instance, links, trees, 64, None, 0.0, lambda _, known=known: known)
        loom.adopt(0, {0: {1}, 1: {0, 2}, 2: {1, 3}, 3: {2, 4}, 4: {3}})
        loom.subscribe(5, 0)
        near.append(loom.table(5, 0))
    assert near == [frozenset({2}), frozenset({4})]


def full_loom(nodes, publishers):
    """A loom of nodes that are all linked, whose one topic nobody subscribes to yet."""
    overlay = overlay_from_links(nodes, *zip(*((a, b) for a in range(nodes) for b in range(a)), strict=True))
    loom = loom_of(instance_from_pairs([], [], node_count=nodes, topic_count=1), overlay, 64, lambda _: publishers)
    loom.load_weight = 0.0
    return loom


def test_who_publishes_nearly_all_is_the_root_whether_it_subscribes_or_not():
    loom = full_loom(6, {5: 99.0, 4: 1.0})
    for node in (0, 1, 2):
        loom.subscribe(node, 0)
    assert loom.root(0) == 5
    assert loom.table(5, 0) == {0, 1, 2}
    assert loom.way(4, 0) == (5,)
    for node in (0, 1, 2):
        loom.unsubscribe(node, 0)
    assert loom.tree(0) == {}


def test_of_several_who_publish_none_is_the_root():
    loom = full_loom(6, {5: 1.0, 4: 1.0})
    loom.subscribe(0, 0)
    assert loom.root(0) is None
    assert set(loom.tree(0)) == {0}


def test_a_root_stays_while_nobody_is_known_to_publish_and_goes_when_another_does():
    publishers = {5: 1.0}
    loom = full_loom(6, publishers)
    loom.subscribe(0, 0)
    publishers.clear()
    loom.subscribe(1, 0)
    assert loom.table(5, 0) == {0, 1}
    publishers |= {4: 1.0, 5: 1.0}
    loom.subscribe(2, 0)
    assert loom.root(0) == 5
    publishers[5] = 0.1
    loom.subscribe(3, 0)
    assert loom.root(0) == 4
    assert set(loom.tree(0)) == {0, 1, 2, 3, 4}
    publishers[5] = 0.9
    loom.unsubscribe(3, 0)
    assert loom.root(0) == 4
    publishers[5] = 1.1
    loom.subscribe(3, 0)
    assert loom.root(0) is None
    assert set(loom.tree(0)) == {0, 1, 2, 3}


def test_a_root_that_unsubscribes_keeps_its_table():
    loom = full_loom(6, {5: 1.0})
    for node in (5, 0, 1):
        loom.subscribe(node, 0)
    assert loom.unsubscribe(5, 0) == []
    assert loom.table(5, 0) == {0, 1}


def test_of_a_topic_that_nobody_subscribes_to_any_more_nothing_is_kept():
    def sizes():
        return {name: len(value) for name, value in vars(loom).items() if isinstance(value, dict | set)}

    loom = line(3, [0, 2])
    loom.subscribe(0, 99)
    loom.unsubscribe(0, 99)
    before = sizes()
    loom.join(7, [1], [])
    for topic in range(100, 150):
        assert loom.subscribe(0, topic)
        assert loom.subscribe(7, topic)
        assert loom.unsubscribe(0, topic)
        assert loom.way(2, topic)
        if topic % 2:
            assert loom.unsubscribe(7, topic)
        assert not loom.subscribers(999)
        assert not loom.tree(998)
        assert not loom.way(0, 997)
    loom.leave(7)
    assert sizes() == before
