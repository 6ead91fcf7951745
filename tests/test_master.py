"""The master: after any changes nodes know what they must, told in the right order."""

import math
from dataclasses import replace
from math import inf
from random import Random

import networkx as nx
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from master_world import CLUSTER, MasterWorld
from weft.live.log import LONGEST
from weft.master.applying import LEASE, VERSIONED, Applying
from weft.master.bulletin import Bulletin
from weft.master.changes import Changes as ChangesToTell
from weft.master.effect import Asked, ClockRead, Closed, Proved
from weft.master.master import Master
from weft.master.parameters import Parameters
from weft.master.quality import Quality
from weft.master.traffic import Traffic
from weft.wire import frame as w

FILTERS = ["a", "b", "c/d", "c/+", "c/#", "$share/g/a"]


class Changes(RuleBasedStateMachine):
    """Nodes come, go, fail, return and subscribe in any order; between the steps all becomes quiet."""

    def __init__(self):
        super().__init__()
        self.world, self.count, self.away = MasterWorld(), 0, []

    @rule(delay=st.sampled_from([0.0, 0.01, 0.06, 0.5]))
    def change_the_pace(self, delay):
        self.world.delay = delay

    def any_node(self, data):
        return self.world.nodes[data.draw(st.sampled_from(sorted(self.world.nodes)))]

    @rule(filters=st.sets(st.sampled_from(FILTERS)), many=st.integers(1, 6))
    def join(self, filters, many):
        for _ in range(many if len(self.world.nodes) < 30 else 0):
            self.count += 1
            self.world.join(f"n{self.count}", *sorted(filters), persistent=self.count % 2 == 0, wait=False)

    @precondition(lambda self: self.world.nodes)
    @rule(data=st.data(), pattern=st.sampled_from(FILTERS))
    def subscribe(self, data, pattern):
        self.world.subscribe(self.any_node(data), pattern)

    @precondition(lambda self: self.world.nodes)
    @rule(data=st.data())
    def unsubscribe(self, data):
        node = self.any_node(data)
        self.world.unsubscribe(node, data.draw(st.sampled_from(sorted(node.held) or FILTERS)))

    @precondition(lambda self: self.world.nodes)
    @rule(data=st.data(), pattern=st.sampled_from(FILTERS[:5]))
    def find_way(self, data, pattern):
        self.world.say(self.any_node(data), w.FindWay(pattern))

    @precondition(lambda self: self.world.nodes)
    @rule(data=st.data())
    def forget_ways(self, data):
        node = self.any_node(data)
        if node.ways:
            forgotten = data.draw(st.sets(st.sampled_from(sorted(node.ways))))
            node.ways = {pattern: way for pattern, way in node.ways.items() if pattern not in forgotten}
            self.world.say(node, w.ForgetWays(tuple(sorted(forgotten))))

    @precondition(lambda self: self.world.nodes)
    @rule(data=st.data())
    def fail(self, data):
        node = self.any_node(data)
        self.world.fail(node)
        self.away.append((node.name, node.number))

    @precondition(lambda self: self.world.nodes)
    @rule(data=st.data())
    def leave(self, data):
        node = self.any_node(data)
        kept = [one for one in self.world.master.network.directory.sessions.values() if one.owned.expiry]
        has_sessions = any(node.number in (one.node, *one.rest) for one in kept)
        self.world.leave(node)
        if has_sessions or any(held.persistent for held in node.held.values()):
            self.away.append((node.name, node.number))

    @precondition(lambda self: self.away)
    @rule()
    def come_back(self):
        name, number = self.away.pop()
        assert self.world.join(name, "a", incarnation=self.count, wait=False).number in (number, w.NOBODY)

    @precondition(lambda self: self.world.nodes)
    @rule(data=st.data())
    def reconnect(self, data):
        node = self.any_node(data)
        if node.number != w.NOBODY:
            self.world.reconnect(node)

    @precondition(lambda self: self.world.nodes)
    @rule(data=st.data(), client=st.sampled_from("cd"), change=st.sampled_from(["own", "claim", "gather", "end"]))
    def change_a_session(self, data, client, change):
        node, sessions = self.any_node(data), self.world.master.network.directory.sessions
        claim = sessions[client].claim if client in sessions else 0
        if node.number == w.NOBODY:
            return
        match change:
            case "own":
                self.world.say(node, w.SessionOwned(w.Owned(client, 60, 4, (w.Subscribed("a", 1),), claim)))
            case "claim":
                self.world.say(node, w.FindSession(client, 1))
            case "gather":
                for other in sessions[client].rest if client in sessions else ():
                    self.world.say(node, w.SessionGathered(client, other))
            case "end":
                self.world.say(node, w.SessionEnded(client, claim))

    @invariant()
    def nodes_know_what_they_must(self):
        self.world.run(20.0)
        self.world.check()
        down = {number for name, number in self.away if self.world.master.network.roster.called(name)}
        for node in self.world.nodes.values():
            assert set(node.down) == down


TestChanges = Changes.TestCase
TestChanges.settings = settings(max_examples=40, stateful_step_count=20, deadline=None)


def network(count, *filters, **more):
    world = MasterWorld(**more)
    for place in range(count):
        world.join(f"n{place}", *filters, wait=False)
    world.run(10.0)
    return world


def test_five_hundred_nodes_that_join_at_once_are_one_change_of_the_plan():
    world = network(500)
    world.check()
    assert all(
        len([frame for frame in node.told if isinstance(frame, w.Welcome)]) == 1 for node in world.nodes.values()
    )
    assert max(len(node.links) for node in world.nodes.values()) <= 27
    assert max(len([one for one in node.told if isinstance(one, w.Peers)]) for node in world.nodes.values()) == 1


def test_nodes_that_join_within_a_moment_are_gathered():
    world = MasterWorld(Parameters(automatic=False, gather=0.05))
    one = world.join("one", wait=False)
    world.run(0.04)
    assert not any(isinstance(frame, w.Welcome) for frame in one.told)
    two = world.join("two", wait=False)
    world.run(0.02)
    assert [sum(isinstance(frame, w.Peers) for frame in node.told) for node in (one, two)] == [1, 1]


def test_who_is_left_alone_before_any_link_was_up_is_a_network_of_its_own():
    world = MasterWorld(delay=9.0)
    one, two = world.join("one", "a", wait=False), world.join("two", wait=False)
    world.run(0.1)
    assert world.master.network.woven == set()
    world.leave(two)
    world.run(0.1)
    assert world.master.network.woven == {one.number}
    assert one.tables == {w.topic_of("a"): frozenset(), w.EVERYBODY: frozenset()}


def test_links_that_take_the_place_of_a_lost_node_are_told_at_once():
    world = network(24)
    lost = world.nodes["n7"]
    world.fail(lost)
    for number in world.master.network.placed:
        node = world.by_number(number)
        assert node.peers.keys() - {lost.number} >= world.master.network.plan.peers(number) - {lost.number}


def test_who_owns_a_link_is_told_where_the_link_stays():
    network_ = network(6).master.network
    owner, peer = next((one, other) for one, others in network_.plan.fingers.items() for other in others)
    network_.plan.fingers[owner].discard(peer)
    network_.plan.pointing[peer].discard(owner)
    network_.plan.spare.add((min(owner, peer), max(owner, peer)))
    network_.rewire(0.0)
    assert network_.changes.rewired == {owner}
    assert ("fingers", owner) in network_.changes.records


def test_a_number_is_kept_by_name_and_never_given_to_another():
    world = MasterWorld()
    first = world.join("one").number
    world.leave(world.nodes["one"])
    assert world.join("two").number != first
    assert world.join("one", number=first).number == first
    world.restart()
    assert world.join("three").number not in (first, world.nodes["two"].number)


def test_a_subscription_is_in_place_when_everybody_has_applied_it():
    world = network(5)
    one, *others = world.nodes.values()
    world.deaf = {node.name for node in others}
    world.subscribe(one, "x/#")
    assert one.in_place == 0
    for node in others[1:]:
        world.say(node, w.Applied(node.versions[-1]))
    assert one.in_place == 0
    world.say(others[0], w.Applied(others[0].versions[-1]))
    assert one.in_place == 1


def test_a_node_that_fails_is_waited_for_by_no_subscription():
    world = network(4)
    one, two, *_ = world.nodes.values()
    world.deaf = {two.name}
    world.subscribe(one, "x/#")
    world.fail(two)
    world.run(2.0)
    assert one.in_place == 1


def test_what_waits_for_a_node_that_is_not_there_is_never_due():
    applying = Applying()
    applying.ask(1, 1)
    applying.told({}, 1, {1}, 0.0)
    assert applying.deadlines({1}) == [-inf]
    assert applying.deadlines({2}) == []


def test_what_a_lost_node_has_not_applied_is_in_place_when_its_lease_has_ended():
    applying = Applying()
    applying.lend(1, 10.0)
    applying.forget(1, 11.0, in_order=False)
    applying.ask(2, 5)
    applying.told({}, 1, {2}, 0.0)
    assert applying.deadlines({2}) == [10.0 + LEASE]
    assert applying.in_place({2}, 9.9 + LEASE) == []
    assert applying.in_place({2}, 10.0 + LEASE) == [(2, 5)]


def test_what_others_have_asked_stays_when_a_node_is_forgotten():
    applying = Applying()
    applying.ask(1, 4)
    applying.ask(2, 5)
    applying.forget(1, 0.0, in_order=True)
    applying.told({}, 1, {1, 2}, 0.0)
    assert applying.in_place({1, 2}, 0.0) == [(2, 5)]


def test_what_a_node_asked_before_it_joined_again_is_never_in_place():
    """A node that was restarted would take the sequence for one of its own, of something else."""
    world = network(4)
    one, two, *_ = world.nodes.values()
    world.deaf = {two.name}
    world.subscribe(one, "x/#")
    before = two.versions[-1]
    again = world.join(one.name, incarnation=one.incarnation, number=one.number)
    for version in (before, two.versions[-1]):
        world.say(two, w.Applied(version))
    assert [frame for frame in again.told if isinstance(frame, w.InPlace)] == [w.InPlace(0)]


def test_a_node_may_return_when_all_others_have_applied_that_it_was_gone():
    applying = Applying()
    assert applying.may_return(1, 0.0)
    applying.told({2: [w.Tables(3, ())], 4: [w.Tables(3, ())]}, 3, {1, 2, 4}, 0.0)
    applying.forget(1, 0.0, in_order=True)
    assert not applying.may_return(1, 0.0)
    applying.told({2: [w.Tables(4, ())], 3: [w.Tables(4, ())]}, 4, {2, 3, 4}, 0.0)
    applying.applied(2, 3, 0.0)
    applying.applied(3, 4, 0.0)
    applying.applied(4, 3, 0.0)
    assert not applying.may_return(1, 0.0)
    applying.told({3: [w.Tables(5, ())]}, 5, {2, 3, 4}, 0.0)
    applying.applied(2, 4, 0.0)
    assert applying.may_return(1, 0.0)


def test_nobody_waits_to_return_for_a_node_that_is_gone_itself():
    applying = Applying()
    applying.forget(1, 0.0, in_order=True)
    applying.told({2: [w.Tables(1, ())]}, 1, {2}, 0.0)
    assert not applying.may_return(1, 0.0)
    applying.forget(2, 0.0, in_order=False)
    assert applying.may_return(1, 0.0)


def test_a_node_returns_when_one_that_may_not_have_heard_has_no_lease_any_more():
    """A node that is lost may go on by its tables of before, and what it issues is not in doubt."""
    applying = Applying()
    applying.lend(2, 0.0)
    applying.lend(3, 0.5)
    applying.forget(1, 1.0, in_order=True)
    applying.told({2: [w.Tables(1, ())], 3: [w.Tables(1, ())]}, 1, {2, 3}, 0.0)
    applying.applied(3, 1, 0.0)
    for lost in (2, 3):
        applying.forget(lost, 1.0, in_order=False)
    assert not applying.may_return(1, LEASE - 0.1)
    assert applying.may_return(1, LEASE), "the other had heard of it"


def test_a_node_returns_when_those_that_were_lost_before_it_have_no_lease_any_more():
    applying = Applying()
    for node in (1, 2):
        applying.lend(node, 0.0)
        applying.forget(node, 1.0, in_order=False)
    applying.told({}, 1, set(), 0.0)
    assert not applying.may_return(1, LEASE - 0.1)
    assert applying.may_return(1, LEASE)
    alone = Applying()
    alone.lend(1, 0.0)
    alone.forget(1, 1.0, in_order=False)
    alone.told({}, 1, set(), 0.0)
    assert alone.may_return(1, 1.0), "its own lease does not count"


def test_a_node_that_was_gone_has_no_place_before_all_others_know():
    world = network(6, "a")
    lost, deaf, *_ = world.nodes.values()
    world.subscribe(lost, "a", persistent=True)
    world.deaf = {deaf.name}
    world.fail(lost)
    world.run(0.5)
    again = world.join(lost.name, "a", incarnation=lost.incarnation, number=lost.number)
    assert again.peers == {}
    assert all(other.down == {lost.number: ("a",)} for other in world.nodes.values() if other is not again)
    world.deaf = set()
    world.say(deaf, w.Applied(deaf.versions[-1]))
    world.run(1.0)
    assert again.peers
    assert all(other.down == {} for other in world.nodes.values())
    world.check()


def test_everybody_answers_that_a_node_is_down():
    """Nodes do so where no table has changed, too: who has not heard of it owes it nothing."""
    world = network(40)
    lost = world.nodes["n3"]
    world.subscribe(lost, "a", persistent=True)
    for node in world.nodes.values():
        node.told.clear()
    world.fail(lost)
    world.run(2.0)
    for node in world.nodes.values():
        kinds = [type(one) for one in node.told]
        assert set(VERSIONED) & set(kinds[kinds.index(w.Down) :])


def test_a_master_that_is_restored_late_waits_from_then_on():
    world = network(2)
    again = Master(Parameters(automatic=False, making=3.0), CLUSTER, 0.0)
    again.restore(list(world.store.values()), 50.0)
    assert again.next_deadline() == 53.0


def test_nothing_is_left_to_tell_a_node_that_is_gone():
    changes = ChangesToTell(answered={1: {7}}, woven_in={1})
    changes.tell(1, w.Leave())
    changes.tell_late(1, w.Leave())
    changes.forget(1)
    assert changes == ChangesToTell()


def test_who_grows_a_tree_is_told_that_it_is_safe():
    world = network(6, "a")
    node = world.join("new", "a")
    grown = [frame for other in world.nodes.values() if other is not node for frame in other.told[-6:]]
    tables = [table for frame in grown if isinstance(frame, w.Tables) and not frame.whole for table in frame.tables]
    assert any(table.topic == w.topic_of("a") and table.safe for table in tables)


@pytest.mark.parametrize(
    ("before", "after", "safe"),
    [
        ({1: {2}, 2: {1}}, {2: {1, 3}, 3: {2}}, True),  # it grows
        ({1: {2}, 2: {1, 3}, 3: {2}}, {3: None, 2: {1}}, True),  # it shrinks
        ({1: {2}, 2: {1, 3}, 3: {2}}, {3: None, 2: {1}, 1: {2}}, True),  # a table is told again
        ({1: {2}, 2: {1, 3}, 3: {2}}, {1: {3}, 2: None, 3: {1}}, False),  # another way
        ({1: {2}, 2: {1, 3}, 3: {2}}, {2: None, 3: None, 1: set()}, False),  # 3 has but one who is gone too
        ({1: {2}, 2: {1}}, {1: {2}, 2: {1}}, True),
    ],
)
def test_a_tree_is_safe_that_only_grows_or_only_shrinks(before, after, safe):
    bulletin = Bulletin(MasterWorld().master.network)
    for node, peers in before.items():
        bulletin._remember(node, 7, frozenset(peers))
    assigned = {node: None if peers is None else frozenset(peers) for node, peers in after.items()}
    assert bulletin._is_safe(7, assigned) == safe


def test_nobody_lists_a_filter_that_is_held_no_more():
    world = network(3)
    one, two, three = world.nodes.values()
    for node in (one, two):
        world.subscribe(node, "c/#", "$share/g/a")
    for node in (one, two):
        assert set(three.filters) == {"c/#", "$share/g/a"}
        world.unsubscribe(node, "c/#", "$share/g/a")
    assert one.filters == two.filters == three.filters == {}


def test_who_mends_a_tree_is_told_that_it_is_not_safe():
    world = network(12, "a")
    tables = {node.number: node.tables[w.topic_of("a")] for node in world.nodes.values()}
    middle = max(world.nodes.values(), key=lambda node: len(tables[node.number]))
    for node in world.nodes.values():
        node.told.clear()
    world.fail(middle)
    told = [frame for node in world.nodes.values() for frame in node.told if isinstance(frame, w.Tables)]
    changed = [table for frame in told for table in frame.tables if table.topic == w.topic_of("a")]
    assert changed
    assert not any(table.safe for table in changed)


def test_a_link_stays_until_those_that_take_its_place_are_up():
    world = network(40)
    world.delay = 0.5
    before = {name: set(node.links) for name, node in world.nodes.items()}
    for place in range(40, 60):
        world.join(f"n{place}", wait=False)
    world.run(0.4)
    assert all(before[name] <= world.nodes[name].links for name in before)
    world.run(10.0)
    world.check()
    assert not all(before[name] <= world.nodes[name].links for name in before)


def test_down_comes_before_tables_without_a_node_and_back_behind_tables_with_it():
    world = network(6, "a")
    lost = world.nodes["n3"]
    for node in world.nodes.values():
        node.told.clear()
    lost.held = {"a": w.Held("a", 1, True)}
    world.subscribe(lost, "a", persistent=True)
    world.fail(lost)
    world.run(2.0)
    neighbour = next(node for node in world.nodes.values() if any(isinstance(one, w.Tables) for one in node.told))
    kinds = [type(one) for one in neighbour.told]
    assert kinds.index(w.Down) < kinds.index(w.Tables)
    assert neighbour.down == {lost.number: ("a",)}
    for node in world.nodes.values():
        node.told.clear()
    world.join("n3", "a", incarnation=lost.incarnation, number=lost.number)
    world.check()
    for node in world.nodes.values():
        if node.name != "n3":
            kinds = [type(one) for one in node.told]
            assert w.Tables not in kinds[kinds.index(w.Back) :] or kinds.index(w.Back) > kinds.index(w.Tables)
            assert node.down == {}


def test_who_is_back_is_told_of_with_the_place_that_it_has_now():
    """A design has moved the node in the same moment."""
    world = network(3, "a")
    network_ = world.master.network
    node = world.nodes["n1"].number
    network_.changes.tell_late(0, w.Back(node, 12345))
    network_.changes.tell_late(0, w.Confirmed(7))
    told = Bulletin(network_).issue(network_.changes)
    assert told[0][-2:] == [w.Back(node, network_.roster[node].ring_id), w.Confirmed(7)]


def test_a_node_has_a_moment_to_come_back_before_it_counts_as_failed():
    world = network(4)
    node = world.nodes["n1"]
    world.handle(Closed(node.connection))
    world.run(0.5)
    assert all(other.down == {} for other in world.nodes.values())
    world.reconnect(node)
    world.run(5.0)
    world.check()
    assert not any(isinstance(one, w.Down) for other in world.nodes.values() for one in other.told)


def test_a_node_on_another_connection_is_told_its_number_and_place_again():
    world = network(3)
    node = world.nodes["n1"]
    number, place = node.number, node.ring_id
    node.told.clear()
    world.reconnect(node)
    assert [(one.node, one.ring_id) for one in node.told if isinstance(one, w.Welcome)] == [(number, place)]


def test_a_node_that_a_neighbour_has_lost_just_before_its_connection_ended_has_failed():
    world = network(5, "a")
    node, neighbour = world.nodes["n1"], world.nodes["n2"]
    world.say(neighbour, w.LinkLost(node.number))
    world.run(0.5)
    assert all(other.down == {} for other in world.nodes.values())
    world.handle(Closed(node.connection))
    world.run(0.1)
    assert node.number in world.nodes["n0"].down


def test_a_link_that_was_lost_long_ago_does_not_hurry_the_end_of_a_node():
    world = network(5, "a")
    node, neighbour = world.nodes["n1"], world.nodes["n2"]
    world.say(neighbour, w.LinkLost(node.number))
    world.run(2.0)
    world.handle(Closed(node.connection))
    world.run(0.5)
    assert all(other.down == {} for other in world.nodes.values())


def test_many_who_subscribe_at_once_are_one_bulletin_with_the_same_result():
    world, other = network(8), network(8)
    said = [(f"n{n % 8}", f"t/{n // 3}", 1 + n // 8) for n in range(96)]
    world.say_together(
        (world.nodes[name], w.Interest(sequence, (w.Held(topic, 1, False),), ())) for name, topic, sequence in said
    )
    for name, topic, sequence in said:
        other.say(other.nodes[name], w.Interest(sequence, (w.Held(topic, 1, False),), ()))
    for one in world.nodes.values():
        assert one.in_place == 12
        assert sum(isinstance(frame, w.Tables) for frame in one.told) == 2  # when it joined, and now
        assert one.tables == other.nodes[one.name].tables


def test_a_question_of_a_node_is_answered_with_others_and_what_ends_one_is_not_put_off():
    world = network(3, "a")
    one, two, three = world.nodes.values()
    world.say_together([(one, w.FindWay("a")), (two, w.FindSession("c", 7)), (three, w.Leaving())])
    assert one.ways["a"].is_held
    assert w.SessionAt(7, 1) in two.told
    assert three.connection in world.closed


def test_trees_in_parts_are_joined_when_a_link_comes_back():
    world = network(2, "a")
    one, two = world.nodes.values()
    for node, peer in ((one, two), (two, one)):
        node.links.discard(peer.number)
        world.say(node, w.LinkLost(peer.number))
    assert world.ask("status")["parted_topics"] == ["a"]
    assert one.tables[w.topic_of("a")] == frozenset()
    world.link(one)
    world.run(1.0)
    world.check()
    assert world.ask("status")["parted_topics"] == []


def test_a_node_that_comes_back_at_once_without_its_disk_joins_anew():
    world = network(5, "a")
    node = world.nodes["n3"]
    for other in world.nodes.values():
        other.links.discard(node.number)
    world.handle(Closed(node.connection))
    node.incarnation, node.links, node.tables, node.held = 77, set(), {}, {}
    world.reconnect(node)
    world.run(5.0)
    world.check()
    assert any(isinstance(frame, w.Down) for frame in world.nodes["n1"].told)


def test_a_node_goes_back_to_its_place_on_the_ring():
    world = network(8, "a")
    node = world.nodes["n4"]
    before = node.ring_id
    world.subscribe(node, "a", persistent=True)
    world.fail(node)
    world.run(3.0)
    assert world.join("n4", "a", incarnation=9, number=node.number).ring_id == before


def test_sessions_are_found_and_claimed():
    world = network(3)
    one, two, three = world.nodes.values()
    owned = w.Owned("client", 100, 4, (w.Subscribed("a", 1),))
    world.say(one, w.SessionOwned(owned))
    world.say(two, w.FindSession("client", 7))
    first, second, third = ((node.number, node.ring_id, True) for node in (one, two, three))
    assert two.told[-1] == w.SessionAt(7, 1, one.number, (first,), owned)
    world.say(two, w.SessionGathered("client", one.number))
    world.say(three, w.FindSession("client", 8))
    assert three.told[-1] == w.SessionAt(8, 2, two.number, (second,), owned)
    world.say(one, w.SessionEnded("client", 2))  # it is not its any more
    world.say(one, w.FindSession("client", 9))
    assert one.told[-1] == w.SessionAt(9, 3, three.number, (third, second), owned)
    world.say(one, w.FindSession("stranger", 10))
    assert one.told[-1] == w.SessionAt(10, 4)


def test_a_session_does_not_end_by_what_its_node_had_before_it_claimed_it():
    """The node has lost with its power that it had claimed the session, and gives away what it had before."""
    world = network(2)
    one, two = world.nodes.values()
    owned = w.Owned("client", 100, 4, (w.Subscribed("a", 1),))
    world.say(two, w.SessionOwned(owned))
    world.say(one, w.FindSession("client", 7))
    world.say(one, w.SessionEnded("client", 0))
    world.say(one, w.FindSession("client", 8))
    assert one.told[-1] == w.SessionAt(8, 2, two.number, ((two.number, two.ring_id, True),), owned)
    world.say(one, w.SessionEnded("client", 2))
    world.say(one, w.FindSession("client", 9))
    assert one.told[-1] == w.SessionAt(9, 3)


def test_who_has_not_heard_the_answer_to_a_claim_is_told_again():
    """The node's connection was lost, or its claim with its power."""
    world = network(2)
    one, two = world.nodes.values()
    owned = w.Owned("client", 100, 4, (w.Subscribed("a", 1),))
    world.say(one, w.SessionOwned(owned))
    world.say(two, w.FindSession("client", 7))
    world.say(two, w.SessionOwned(w.Owned("client", 100, 4)))  # it has let the client in alone
    world.reconnect(two)  # without the session
    world.say(two, w.FindSession("client", 8))
    assert two.told[-1] == w.SessionAt(8, 2, one.number, ((one.number, one.ring_id, True),), owned)
    world.say(two, w.SessionGathered("client", one.number))
    world.say(two, w.FindSession("client", 9))
    assert two.told[-1] == w.SessionAt(9, 3, two.number, (), owned)


def test_who_had_a_session_says_what_it_is_like_until_its_owner_does():
    """The owner may have asked late, for a client that has gone, and not want it."""
    world = network(3)
    one, two, three = world.nodes.values()
    world.say(one, w.SessionOwned(w.Owned("client", 100, 4)))
    world.say(two, w.FindSession("client", 7))
    changed = w.Owned("client", 100, 4, (w.Subscribed("a", 1),))
    world.say(one, w.SessionOwned(changed, whole=False))
    first, second, _ = places = [(node.number, node.ring_id, True) for node in (one, two, three)]
    world.say(three, w.FindSession("client", 8))
    assert three.told[-1] == w.SessionAt(8, 2, one.number, (second, first), changed)
    owned = w.Owned("client", 100, 4, (w.Subscribed("b", 1),), claim=2)
    world.say(three, w.SessionOwned(owned))
    world.say(one, w.SessionOwned(changed))  # too late
    world.say(two, w.FindSession("client", 9))
    assert two.told[-1] == w.SessionAt(9, 3, three.number, (places[2], first), owned)


def test_what_counts_of_a_session_is_where_its_client_was_let_in():
    """Though its node, which was without the master, has not heard yet that it owns the session."""
    world = network(3)
    one, two, three = world.nodes.values()
    owned = w.Owned("client", 100, 4)
    world.say(one, w.SessionOwned(owned))
    world.say(two, w.FindSession("client", 7, is_in=True))
    world.say(three, w.FindSession("client", 8))
    first, second = ((node.number, node.ring_id, True) for node in (one, two))
    assert three.told[-1] == w.SessionAt(8, 2, two.number, (second, first), replace(owned, claim=1))
    changed = w.Owned("client", 100, 4, (w.Subscribed("a", 1),), claim=1)
    world.say(two, w.SessionOwned(changed))
    world.say(one, w.SessionOwned(owned))
    world.say(one, w.FindSession("client", 9))
    assert one.told[-1].session == changed


def test_an_owner_says_what_a_session_is_like_though_another_has_claimed_it_for_nothing_since():
    """The later claim of two that have parts of it counts."""
    world = network(3)
    one, two, three = world.nodes.values()
    world.say(one, w.SessionOwned(w.Owned("client", 100, 4)))
    world.say(two, w.FindSession("client", 7))
    world.say(three, w.FindSession("client", 8))  # for a client that has gone: it says nothing
    changed = w.Owned("client", 100, 4, (w.Subscribed("a", 1),), claim=1)
    world.say(two, w.SessionOwned(changed))
    world.say(one, w.SessionOwned(w.Owned("client", 100, 4)))
    world.say(one, w.FindSession("client", 9))
    assert (one.told[-1].owner, one.told[-1].session) == (two.number, changed)


def test_a_node_that_has_not_claimed_a_session_changes_nothing_of_it():
    """The client came while the master was gone; so did the owner."""
    world = network(2)
    one, two = world.nodes.values()
    owned = w.Owned("client", 100, 4, (w.Subscribed("a", 1),))
    world.say(one, w.SessionOwned(owned))
    place = (one.number, one.ring_id, False)
    world.fail(one)
    world.run(5.0)
    world.say(two, w.SessionOwned(w.Owned("client", 100, 4, (w.Subscribed("b", 1),))))
    world.say(two, w.FindSession("client", 7))
    assert two.told[-1] == w.SessionAt(7, 1, one.number, (place,), owned)


def test_a_change_of_a_session_leaves_its_other_subscriptions():
    world = network(2)
    one, two = world.nodes.values()
    world.say(one, w.SessionOwned(w.Owned("c", 9, 4, (w.Subscribed("a", 1), w.Subscribed("b", 1)))))
    world.say(one, w.SessionOwned(w.Owned("c", 9, 4, (w.Subscribed("d", 1),)), whole=False, removed=("a",)))
    world.say(two, w.FindSession("c", 1))
    assert [each.filter for each in two.told[-1].session.subscriptions] == ["b", "d"]


def test_a_restarted_master_goes_on_with_the_same_plan_and_trees():
    world = network(12, "a", "b")
    world.subscribe(world.nodes["n3"], "c/#")
    before = {name: (dict(node.tables), node.ring_id, set(node.links)) for name, node in world.nodes.items()}
    world.restart()
    for node in list(world.nodes.values()):
        world.reconnect(node)
    world.run(20.0)
    world.check()
    assert {name: (dict(node.tables), node.ring_id, set(node.links)) for name, node in world.nodes.items()} == before


def test_a_master_that_has_lost_its_store_learns_everything_from_the_nodes():
    world = network(9, "a")
    numbers = {name: node.number for name, node in world.nodes.items()}
    world.restart(lost=True)
    for node in list(world.nodes.values()):
        world.reconnect(node)
    world.run(20.0)
    world.check()
    assert {name: node.number for name, node in world.nodes.items()} == numbers


def test_a_restarted_master_gives_up_on_nodes_that_do_not_come():
    world = network(5, "a")
    gone = world.nodes.pop("n2")
    world.restart()
    for node in list(world.nodes.values()):
        node.links.discard(gone.number)
        world.reconnect(node)
    world.run(30.0)
    world.check()
    assert all(gone.number in node.down for node in world.nodes.values())


# Bad surroundings


def test_two_nodes_with_the_same_name():
    world = network(3)
    second = world.join("n1", address="elsewhere:1", incarnation=5)
    assert second.refused == (
        "There is a node called n1 already, at n1:7000: give this one, at elsewhere:1, another name."
    )
    world.nodes["n1"] = next(node for node in world.connections.values() if node.name == "n1")
    world.check()


@pytest.mark.parametrize(
    ("hello", "sentence"),
    [
        (
            w.Hello(w.VERSION, "other", w.Role.NODE, "x"),
            (
                f"x belongs to cluster other, this master to {CLUSTER}: give it its own master's address. If that one "
                "is lost, start `weft master` as cluster other on an empty folder and keep x's."
            ),
        ),
        (
            w.Hello(99, CLUSTER, w.Role.NODE, "x"),
            "x speaks version 99 of the protocol and the master version 2: run the same version of Weft everywhere.",
        ),
    ],
)
def test_a_node_of_another_cluster_or_version(hello, sentence):
    world = network(2)
    stranger = world.connect("x", hello)
    assert stranger.refused == sentence
    assert len(sentence) < LONGEST, "what to do may not be cut out in the log"
    assert stranger.connection in world.closed
    world.check()


def test_a_node_with_a_certificate_speaks_for_itself_only():
    world = network(2)
    for name, sentence in (
        ("y", "x has said that it is y: a node can speak for itself only."),
        ("", "A node needs a name: give it one."),
    ):
        node = world.connect("x")
        world.handle(Proved(node.connection, "x"))
        world.say(node, w.Join(name, 1, w.NOBODY, "x:7000", (), 0))
        assert node.refused == sentence
    world.check()


def test_a_clock_that_is_an_hour_off():
    world = network(2)
    node = world.nodes["n1"]
    for _ in range(2):
        world.handle(ClockRead(node.connection, world.now + 3600))
    notes = [note for note in world.notes if note.event == "clock_apart"]
    assert [note.detail for note in notes] == [
        "The clock of n1 is 3,600 s ahead of the master's: set it, for the newest retained message is told by clocks."
    ]
    assert notes[0].detail in world.ask("status")["problems"]
    world.handle(ClockRead(node.connection, world.now + 3))
    assert world.ask("status")["problems"] == []


def test_a_clock_that_is_told_before_its_node_joins():
    """Nodes that have just said Hello do so, and have little reason to tell it again."""
    world = network(2)
    node = world.connect("late")
    world.handle(ClockRead(node.connection, world.now - 3600))
    world.nodes["late"] = node
    world.say_join(node)
    world.run(1.0)
    assert [sentence[:35] for sentence in world.ask("status")["problems"]] == ["The clock of late is 3,600 s behind"]


def test_an_address_that_others_cannot_reach():
    world = network(3, "a")
    node = world.join("far", "a", reachable=False, wait=False)
    world.run(10.0)
    assert node.refused.startswith("far cannot be reached at far:7000 by other nodes (n")
    del world.nodes["far"]
    world.check()
    assert world.ask("status")["links"] == 3
    assert world.ask("status")["problems"] == []


@pytest.mark.parametrize("is_gone", [False, True])
def test_nothing_is_told_of_the_clock_of_a_node_that_could_not_join(is_gone):
    """A node is refused for its address, or gone before it has got its place."""
    world = network(3)
    node = world.join("far", reachable=False, wait=False)
    world.handle(ClockRead(node.connection, world.now + 3600))
    if is_gone:
        world.fail(node)
    world.run(10.0)
    assert world.ask("status")["problems"] == []


def test_a_frame_before_hello_is_refused():
    world = MasterWorld()
    node = world.connect("x", w.Join("x", 1, -1, "", (), 0))
    assert node.refused == "A node says Hello and Join before anything else."


# Re-design


def clusters(count=24, groups=4):
    """Nodes whose interests have nothing to do with the order in which they come."""
    world = MasterWorld(Parameters(automatic=False, fall=0.01))
    for place in range(count):
        world.join(f"n{place:02}", wait=False)
    world.run(5.0)
    for place in range(count):
        group = place * 7 % count % groups
        world.subscribe(world.nodes[f"n{place:02}"], *(f"g{group}/{topic}" for topic in range(6)))
    world.run(5.0)
    world.check()
    return world


def test_a_design_is_forecast_and_then_put_in_place_link_by_link():
    world = clusters()
    before = world.ask("status")["relays_a_delivery"]
    links = {name: set(node.links) for name, node in world.nodes.items()}
    forecast = world.ask("redesign")
    assert not forecast["applied"]
    assert forecast["relays_a_delivery"]["now"] == before
    assert forecast["relays_a_delivery"]["then"] < before / 2
    assert {name: set(node.links) for name, node in world.nodes.items()} == links
    done = world.ask("redesign", proposal=forecast["proposal"])
    assert done["applied"]
    world.run(0.1)
    assert all(links[name] <= node.links for name, node in world.nodes.items()), "made before broken"
    world.run(20.0)
    world.check()
    now = world.ask("status")
    assert now["relays_a_delivery"] == pytest.approx(forecast["relays_a_delivery"]["then"])
    assert now["relays_a_delivery_designed"] == now["relays_a_delivery"]
    assert now["links"] == forecast["links"]
    opened = {
        (a, b) for a, peers in ((node.number, node.links) for node in world.nodes.values()) for b in peers if a < b
    }
    was = {(world.nodes[name].number, peer) for name, peers in links.items() for peer in peers}
    assert len({each for each in opened if each not in was}) == forecast["links_to_open"]


def successors_are_fingers(world):
    """Whether a publication can go round the ring, as nodes know it."""
    nodes = list(world.nodes.values())
    for node in nodes:
        after = min((one for one in nodes if one is not node), key=lambda one: (one.ring_id - node.ring_id) % 2**62)
        if after.number not in node.links or not node.peers[after.number].is_finger:
            return False
    return True


def test_the_ring_is_whole_at_every_step_of_a_design(monkeypatch):
    monkeypatch.setattr("weft.master.engine.KEEPING", -1.0)  # another ring, whatever that gains
    world = clusters()
    world.delay = 0.5
    places = {name: node.ring_id for name, node in world.nodes.items()}
    world.ask("redesign", proposal=world.ask("redesign")["proposal"])
    steps = 0
    while world.master.designing.redesign.stage != "none":
        assert successors_are_fingers(world)
        world.run(0.2)
        steps += 1
    assert steps > 5
    assert successors_are_fingers(world)
    assert {name: node.ring_id for name, node in world.nodes.items()} != places
    world.check()


def test_a_restarted_master_keeps_a_design():
    world = clusters()
    world.ask("redesign", proposal=world.ask("redesign")["proposal"])
    world.run(20.0)
    before = {name: (set(node.links), node.ring_id, dict(node.tables)) for name, node in world.nodes.items()}
    world.restart()
    for node in list(world.nodes.values()):
        world.reconnect(node)
    world.run(20.0)
    world.check()
    assert {name: (set(node.links), node.ring_id, dict(node.tables)) for name, node in world.nodes.items()} == before
    assert world.ask("status")["relays_a_delivery_designed"] == world.ask("status")["relays_a_delivery"]


def test_nodes_that_come_and_fail_while_a_design_is_put_in_place():
    world = clusters()
    world.deaf = set()
    forecast = world.ask("redesign")
    world.nodes["n05"].reachable = False  # so that not all links come up
    world.ask("redesign", proposal=forecast["proposal"])
    world.join("late", "g0/1", wait=False)
    world.run(0.2)
    world.fail(world.nodes["n07"])
    world.fail(world.nodes["n05"])
    world.run(30.0)
    world.check()
    assert world.master.designing.redesign.stage == "none"


def test_the_master_designs_by_itself_when_relays_are_many_and_rests_after():
    world = clusters()
    world.master.network.parameters = Parameters(rest=5.0, review=1.0, fall=0.01)
    world.run(120.0)
    designs = [note for note in world.notes if note.event == "redesigned"]
    assert len(designs) == 1
    world.check()


@pytest.mark.parametrize(
    ("designed", "now", "has_fallen"),
    [
        (None, Quality(0.5, 9.0, 1, 2.0), False),  # as much as it may
        (None, Quality(0.51, 9.0, 1, 2.0), True),
        (None, Quality(0.5, 9.0, 1, 2.01), True),
        (Quality(0.25, 3.0, 1, 1.5), Quality(0.75, 6.0, 1, 2.5), False),
        (Quality(0.25, 3.0, 1, 1.5), Quality(0.76, 6.0, 1, 2.5), True),
        (Quality(0.25, 3.0, 1, 1.5), Quality(0.75, 6.1, 1, 2.5), True),
        (Quality(0.25, 3.0, 1, 1.5), Quality(0.75, 6.0, 1, 2.51), True),
    ],
)
def test_quality_has_fallen_where_it_is_worse_by_more_than_was_set(designed, now, has_fallen, monkeypatch):
    world = network(4)
    world.master.network.parameters = Parameters(fall=0.5, uneven=2.0, longer=1.0)
    monkeypatch.setattr(world.master.network.judgement, "quality", lambda: now)
    world.master.designing.designed = designed
    assert world.master.designing.has_fallen() == has_fallen


def test_a_design_that_gains_too_little_is_not_put_in_place_nor_made_again():
    world = network(24)
    chance = Random(1)
    for topic in range(200):
        for holder in chance.sample(range(24), 3):
            world.subscribe(world.nodes[f"n{holder}"], f"t{topic}")
    world.master.network.parameters = Parameters(rest=5.0, review=1.0, fall=0.01, gain=1.0)
    world.run(120.0)
    assert [note.event for note in world.notes if "design" in note.event] == ["design_without_gain"]


def test_a_way_that_a_lost_link_has_cut_is_told_anew():
    world = network(12)
    holder, asker = world.nodes["n0"], world.nodes["n7"]
    world.subscribe(holder, "a")
    world.say(asker, w.FindWay("a"))
    before = asker.ways["a"].peers
    first = world.by_number(before[0])
    asker.links.discard(first.number)
    first.links.discard(asker.number)
    world.say(asker, w.LinkLost(first.number))
    assert asker.ways["a"].peers != before
    assert asker.ways["a"].peers[-1] == holder.number


def test_what_a_node_does_not_want_to_know_any_more_it_is_not_told():
    world = network(4)
    holder, asker = world.nodes["n0"], world.nodes["n3"]
    for pattern in "ab":
        world.say(asker, w.FindWay(pattern))
    assert not asker.ways["a"].is_held
    world.say(asker, w.ForgetWays(("a", "never asked")))
    world.subscribe(holder, "a", "b")
    assert [asker.ways[pattern].is_held for pattern in "ab"] == [False, True]
    world.say(asker, w.FindWay("a"))
    assert asker.ways["a"].is_held


def test_of_what_a_node_wanted_to_know_nothing_is_kept_when_it_joins_again():
    world = network(3)
    holder, asker = world.nodes["n0"], world.nodes["n2"]
    world.say(asker, w.FindWay("a"))
    asker.ways.clear()
    world.reconnect(asker)
    world.subscribe(holder, "a")
    assert asker.ways == {}


def test_what_a_node_wants_to_know_is_bounded(monkeypatch):
    monkeypatch.setattr("weft.master.bulletin.WAYS", 3)
    monkeypatch.setattr("weft.master.bulletin.WAYS_BYTES", 10)
    world = network(3)
    asker = world.nodes["n2"]
    for pattern in ("a", "x" * 11, "b", "a", "c", "d"):
        world.say(asker, w.FindWay(pattern))
    assert sorted(asker.ways) == ["a", "b", "c"]
    world.say(asker, w.ForgetWays(("b",)))
    world.say(asker, w.FindWay("d"))
    assert sorted(asker.ways) == ["a", "b", "c", "d"]


def test_status_names_what_is_wrong():
    world = network(4, "a")
    world.subscribe(world.nodes["n2"], "a", persistent=True)
    world.fail(world.nodes["n2"])
    world.run(3.0)
    status = world.ask("status")
    assert status["problems"] == ["n2 is down since 2027-01-15 08:00:10 UTC."]
    assert [node["filters_owed"] for node in status["nodes"] if node["name"] == "n2"] == [1]


def test_leaving_ends_a_debt_only_when_told_to():
    world = network(4, "a")
    world.subscribe(world.nodes["n2"], "a", persistent=True)
    world.fail(world.nodes["n2"])
    world.run(3.0)
    assert "is down, and its sessions hold 1 filters" in world.ask("leave", node="n2")["error"]
    assert world.ask("leave", node="n2", forget=True)["forgotten"]
    assert all(node.down == {} for node in world.nodes.values())
    assert "There is no node 'n2'" in world.ask("leave", node="n2")["error"]
    world.ask("leave", node="n1")
    world.run(2.0)
    world.check()


@pytest.mark.parametrize(
    ("request_", "options", "sentence"),
    [
        ("explain", {}, "The request has no topic: give one."),
        ("trace", {"node": "n0"}, "The request has no topic: give one."),
        ("trace", {"node": "n0", "topic": 7}, "The request has no topic: give one."),
        ("trace", {"node": "n0", "topic": "a/#"}, "'a/#' is no topic to publish on: give one without `+` and `#`."),
        ("leave", {"node": None}, "The request has no node: give one."),
        ("redesign", {"proposal": "x"}, "That design is out of date: ask for another."),
        ("apply", {}, "The overlay has no ring: design one that has, such as swico-even."),
        (
            "apply",
            {"ring_ids": [0, 1], "sources": "ab", "targets": [1]},
            "The request has no overlay: give ring_ids, sources and targets, lists of numbers.",
        ),
        (
            "apply",
            {"ring_ids": [0, 1], "sources": [0], "targets": [2]},
            "The overlay names nodes that it does not have: it has 2.",
        ),
        (
            "apply",
            {"ring_ids": [0, 1], "sources": [0], "targets": [1]},
            "The overlay was not made for a snapshot of this network: give the instance that it is of.",
        ),
        (
            "apply",
            {"ring_ids": [0, 1], "sources": [0], "targets": [1], "names": ["n0", "x"]},
            (
                "The overlay is of 2 nodes and the network has 2; n1 is in one of them only: take another snapshot, "
                "and design for that."
            ),
        ),
    ],
)
def test_a_request_that_makes_no_sense_is_answered_with_a_sentence(request_, options, sentence):
    assert network(2).ask(request_, **options)["error"] == sentence


def test_who_goes_before_it_has_got_its_place_leaves_nothing():
    world = MasterWorld()
    world.join("a", "x")
    hasty = world.join("hasty", "x", wait=False)
    world.handle(Closed(hasty.connection))
    world.nodes.pop("hasty")
    world.run(1.0)
    assert [node["name"] for node in world.ask("status")["nodes"]] == ["a"]
    assert [note.node for note in world.notes] == ["a"]
    world.join("hasty", "x")
    assert [node["name"] for node in world.ask("status")["nodes"]] == ["a", "hasty"]
    assert not world.nodes["hasty"].refused


def test_groups_of_a_topic_are_explained_with_the_nodes_of_their_members():
    world = MasterWorld()
    world.join("b", "$share/g/x/+")
    world.join("a", "$share/g/x/+", "x/1")
    assert world.ask("explain", topic="x/1")["shared"] == [{"filter": "$share/g/x/+", "nodes": ["b", "a"]}]


def test_a_tree_is_explained_hop_by_hop():
    world = network(10)
    for name in ("n1", "n7", "n8"):
        world.subscribe(world.nodes[name], "c/#")
    world.subscribe(world.nodes["n2"], "c/d")
    told = world.ask("explain", topic="c/d")
    assert [tree["filter"] for tree in told["trees"]] == ["c/#", "c/d"]
    members = told["trees"][0]["members"]
    assert {member["node"] for member in members if not member["relay"]} == {"n1", "n7", "n8"}
    assert members[0]["from"] is None
    assert all(member["from"] is not None for member in members[1:])
    assert "neither a topic nor a filter" in world.ask("explain", topic="a/#/b")["error"]


def test_a_trace_is_told_with_times():
    world = network(3)
    one, two, _ = world.nodes.values()
    world.handle(Asked(99, "trace", {"node": "n0", "topic": "a"}))
    token = one.told[-1].token
    world.say(one, w.Traced(token, w.NOBODY, 0, 10.0, 0))
    world.say(two, w.Traced(token, one.number, 1, 10.002, 3))
    world.run(2.0)
    assert [(step["node"], step["milliseconds"]) for step in world.answers[99]["steps"]] == [("n0", 0.0), ("n1", 2.0)]


def paths_from_the_publisher(is_known):
    """Hops from a node to all others, who subscribe after it, where the master knows that it publishes or not."""
    world = MasterWorld()
    nodes = [world.join(f"n{number}") for number in range(16)]
    world.subscribe(nodes[5], "a")
    if is_known:
        world.say(nodes[5], w.Measured((("a", 9, 900),)))
    for node in nodes:
        world.subscribe(node, "a")
    tree = world.master.network.loom.tree(w.topic_of("a"))
    return sum(nx.single_source_shortest_path_length(nx.Graph(tree), nodes[5].number).values())


def test_trees_are_short_for_those_who_publish():
    assert paths_from_the_publisher(is_known=True) < paths_from_the_publisher(is_known=False)


def test_a_design_has_those_who_publish_in_their_trees():
    """A node that subscribes to nothing publishes on a topic that has been subscribed to before."""
    world = clusters()
    asker = world.join("asker")
    world.say(asker, w.Measured((("g0/1", 9, 900),)))
    topic = w.topic_of("g0/1")
    assert asker.number not in world.master.network.loom.tree(topic)
    forecast = world.ask("redesign")
    world.ask("redesign", proposal=forecast["proposal"])
    world.run(20.0)
    world.check()
    tree = nx.Graph(world.master.network.loom.tree(topic))
    assert world.master.network.loom.root(topic) == asker.number
    assert world.ask("explain", topic="g0/1")["trees"][0]["root"] == "asker"
    hops = nx.single_source_shortest_path_length(tree, asker.number)
    assert sum(hops.values()) / (len(hops) - 1) < 1.7
    assert world.ask("status")["relays_a_delivery"] == pytest.approx(forecast["relays_a_delivery"]["then"])
    for _ in range(20):
        world.run(10.0)
        world.say(asker, w.Measured())
    assert world.master.network.traffic.publishers == {}
    world.ask("redesign", proposal=world.ask("redesign")["proposal"])
    world.run(20.0)
    assert nx.utils.graphs_equal(nx.Graph(world.master.network.loom.tree(topic)), tree), "it may publish again"


def test_the_master_designs_by_itself_when_publishers_are_far_and_rests_after():
    """Everybody publishes on topics that others have subscribed to before."""
    world = network(16)
    chance = Random(1)
    for topic in range(60):
        for holder in chance.sample(range(16), 6):
            world.subscribe(world.nodes[f"n{holder}"], f"t{topic}")
    assert world.ask("status")["hops"] == 0
    for number in range(16):
        world.say(world.nodes[f"n{number}"], w.Measured(tuple((f"t{topic}", 1, 9) for topic in range(number, 60, 16))))
    before = world.ask("status")["hops"]
    forecast = world.ask("redesign")["hops"]
    assert before == forecast["now"] > 1.5 > forecast["then"] >= 1
    world.master.network.parameters = Parameters(rest=5.0, review=1.0, fall=9.0)
    world.run(120.0)
    assert [note.event for note in world.notes if note.event == "redesigned"] == ["redesigned"]
    now = world.ask("status")
    assert now["hops"] == now["hops_designed"] == pytest.approx(forecast["then"])
    world.check()


def test_who_publishes_what_is_forgotten_in_time():
    traffic, share = Traffic(), 1 - math.exp(-1 / 10)  # of a second in the mean of ten
    traffic.measure(1, w.Measured((("a", 4, 40), ("b", 2, 20))), 1.0)
    traffic.measure(2, w.Measured((("a", 8, 80),)), 1.0)
    assert traffic.publishers == {
        "a": {1: pytest.approx(4 * share), 2: pytest.approx(8 * share)},
        "b": {1: pytest.approx(2 * share)},
    }
    assert traffic.by_filter() == pytest.approx({"a": 12 * share, "b": 2 * share})
    traffic.forget(2)
    traffic.measure(1, w.Measured((("b", 2, 20),)), 2.0)
    rest = share * (1 - share)
    assert traffic.publishers == {"a": {1: pytest.approx(4 * rest)}, "b": {1: pytest.approx(2 * rest + 2 * share)}}
    for now in range(3, 100):
        traffic.measure(1, w.Measured((("c", 3, 30),)), float(now))
    assert traffic.publishers["c"][1] == pytest.approx(3, abs=0.01)
    for now in range(100, 300):
        traffic.measure(1, w.Measured(), float(now))
    assert traffic.publishers == traffic.by_filter() == {}
