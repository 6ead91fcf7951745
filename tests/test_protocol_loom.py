"""The loom: after any changes every publication comes to every subscriber exactly once, over the tables handed out."""

from dataclasses import dataclass

import networkx as nx
import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from routing_oracle import ring_instance, ring_overlay
from weft.errors import WeftError
from weft.model.instance import instance_from_pairs
from weft.model.overlay import overlay_from_links
from weft.protocol.loom import Assignment, Loom
from weft.protocol.router import Assigned, Deliver, Publication, Published, Received, Send
from weft.protocol.weave import Patience, Weave
from weft.trees.weave import mesh_of, weave

TOPICS = 3


def loom_of(instance, overlay, fan_out=4):
    return Loom(instance, mesh_of(overlay).neighbours, weave(instance, overlay, fan_out=fan_out), fan_out)


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


class Changes(RuleBasedStateMachine):
    """The nodes know no more than the tables that they were given, and are relied on at once: all is quiet between."""

    @initialize(seed=st.integers(0, 10**6), nodes=st.integers(2, 14))
    def start(self, seed, nodes):
        instance, overlay = ring_instance(seed, nodes, TOPICS, 0.3), ring_overlay(seed, nodes, nodes)
        self.loom, self.said, self.next_node = loom_of(instance, overlay), 0, nodes
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
            assert all(tree.degree(node) > 1 for node in tables if node not in self.loom.subscribers(topic))
            overlay = nx.Graph([(node, peer) for node, peers in self.loom.links.items() for peer in peers])
            overlay.add_nodes_from(self.loom.links)
            apart = sum(bool(part & self.loom.subscribers(topic)) for part in nx.connected_components(overlay))
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
    """Everyone is linked with everyone; nobody gets more than four neighbours."""
    nodes = 30
    pairs = np.array([(a, b) for a in range(nodes) for b in range(a)]).T
    loom = loom_of(instance_from_pairs([0], [0], node_count=nodes), overlay_from_links(nodes, *pairs))
    for node in range(1, nodes):
        loom.subscribe(node, 0)
    assert max(len(loom.table(node, 0)) for node in range(nodes)) == 4
