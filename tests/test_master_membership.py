"""Nodes that come, stay, fail and leave: who is refused, what is waited for, and for how long."""

import pytest

from master_world import CLUSTER, FakeNode, MasterWorld
from weft.master.effect import Asked, ClockRead, Closed, Proved
from weft.master.parameters import Parameters
from weft.master.roster import State
from weft.wire import frame as w
from weft.wire.lease import LEASE


def network(count: int, *filters: str, persistent: bool = False) -> MasterWorld:
    world = MasterWorld()
    for number in range(count):
        world.join(f"n{number}", *filters, persistent=persistent, wait=False)
    world.run(5.0)
    return world


def events(world: MasterWorld, name: str) -> list[tuple[str, str]]:
    """Notes of a kind: which node, and what of it."""
    return [(note.node, note.detail) for note in world.notes if note.event == name]


def kinds(node: FakeNode) -> list[type[w.Frame]]:
    return [type(frame) for frame in node.told]


# Coming


@pytest.mark.parametrize(
    ("address", "is_taken"),
    [
        *(("host:1", True), ("host:65535", True), ("::1:7000", True)),
        *(("host:0", False), ("host:65536", False), ("host:x", False), (":7000", False), ("host", False), ("", False)),
    ],
)
def test_nodes_take_links_at_a_host_and_a_port(address: str, is_taken: bool) -> None:
    node = MasterWorld().join("x", address=address)
    sentence = f"x takes links at {address!r}, which is no HOST:PORT: give it such an address."
    assert node.refused == ("" if is_taken else sentence)


@pytest.mark.parametrize("name", ["node 1", "Knoten-ä", "n" * 255])
def test_names_of_nodes_can_be_seen(name: str) -> None:
    assert MasterWorld().join(name).refused == ""


@pytest.mark.parametrize("name", ["a\nb", "\t", "   ", " a", "a ", "\x1b[2J", "n" * 256])
def test_a_name_that_would_break_a_table_is_refused(name: str) -> None:
    world = MasterWorld()
    rest = "give up to 255 characters that can be seen, without a space at either end."
    assert world.join(name).refused == f"{name[:255]!r} is no name of a node: {rest}"
    assert world.ask("status")["nodes"] == []


@pytest.mark.parametrize(
    ("hello", "sentence"),
    [
        (w.Hello(w.VERSION, "", w.Role.NODE, "x"), ""),
        (w.Hello(w.VERSION, CLUSTER, w.Role.NODE, "x"), ""),
        (w.Hello(w.VERSION, CLUSTER, w.Role.MASTER, "x"), "Only nodes connect here; operators ask over HTTP."),
    ],
)
def test_a_greeting_is_answered_to_nodes_alone(hello: w.Hello, sentence: str) -> None:
    node = MasterWorld().connect("x", hello)
    assert node.refused == sentence
    if not sentence:
        assert node.told == [w.Hello(w.VERSION, CLUSTER, w.Role.MASTER)]


@pytest.mark.parametrize(("proved", "is_taken"), [(None, True), ("x", True), ("y", False)])
def test_a_greeting_by_another_name_than_the_certificate_has_is_refused(proved: str | None, is_taken: bool) -> None:
    world = MasterWorld()
    if proved is not None:
        world.handle(Proved(1, proved))
    node = world.connect("x")
    assert node.refused == ("" if is_taken else "x has shown the certificate of y: give it its own.")


def test_who_was_refused_has_to_greet_again() -> None:
    world = MasterWorld()
    node = world.join("x", address="nowhere")
    world.say(node, w.Join("x", 1, w.NOBODY, "x:7000", (), 0))
    assert node.refused == "A node says Hello and Join before anything else."


def test_a_node_on_another_connection_is_not_harmed_by_the_end_of_the_old_one() -> None:
    world = network(3)
    node = world.nodes["n1"]
    old = node.connection
    world.reconnect(node)
    assert world.closed == [old]
    world.handle(Closed(old))
    world.run(5.0)
    assert events(world, "failed") == []
    assert events(world, "returned") == [("n1", "")]
    world.check()


def test_a_node_of_the_same_name_elsewhere_is_taken_only_when_the_first_is_gone() -> None:
    world = network(3)
    first = world.nodes["n1"]
    for other in ({"address": "n1:7001"}, {"incarnation": 2}):
        assert "There is a node called n1 already" in world.join("n1", wait=False, **other).refused
    world.nodes["n1"] = first
    world.fail(first)
    again = world.join("n1", address="n1:7001", incarnation=2)
    assert again.number == first.number
    assert world.master.network.roster[again.number].address == "n1:7001"
    world.check()


def test_the_plan_has_at_least_the_version_that_a_node_knows() -> None:
    world = MasterWorld()
    node = world.connect("x")
    world.nodes["x"] = node
    world.say(node, w.Join("x", 1, w.NOBODY, "x:7000", (), 41))
    world.run(1.0)
    assert min(node.versions) > 41


def test_filters_that_a_node_holds_no_more_when_it_comes_back_are_gone() -> None:
    world = network(3, "a", "b/#")
    node = world.nodes["n1"]
    node.held = {"a": node.held["a"]}
    world.handle(Closed(node.connection))
    world.reconnect(node)
    world.run(1.0)
    world.check()
    assert world.master.network.directory.holders["b/#"] == {0, 2}


def test_a_lost_link_is_told_by_who_comes_back_without_it() -> None:
    world = network(3, "a")
    node, other = world.nodes["n1"], world.nodes["n2"]
    node.links.discard(other.number)
    world.reconnect(node)
    between = (node.number, other.number)
    assert between not in world.master.network.made
    assert between in world.master.network.links
    assert (0, node.number) in world.master.network.made


def test_what_a_node_has_said_before_it_joined_is_in_place_when_it_is_woven_in() -> None:
    world = network(2)
    assert world.join("x", "a", sequence=5).in_place == 5


# A restart


def test_a_restarted_master_plans_when_everybody_is_back() -> None:
    world = network(3, "a")
    world.restart()
    for name in ("n0", "n1"):
        world.reconnect(world.nodes[name])
    world.run(0.5)
    assert world.master.network.placed == set()
    world.reconnect(world.nodes["n2"])
    world.run(0.0)
    assert world.master.network.placed == {0, 1, 2}
    world.run(1.0)
    world.check()


def test_a_restarted_master_plans_without_those_who_are_late_and_gives_them_up_later() -> None:
    world = network(3, "a")
    lost = world.nodes.pop("n2")
    world.restart()
    for node in list(world.nodes.values()):
        node.links.discard(lost.number)
        world.reconnect(node)
    world.run(2.9)
    assert world.master.network.placed == set()
    world.run(0.2)
    assert world.master.network.placed == {0, 1}
    assert events(world, "failed") == []
    world.run(0.8)
    assert events(world, "failed") == []
    world.run(0.2)
    assert events(world, "failed") == [("n2", "")]


def test_a_master_without_a_past_waits_for_nobody() -> None:
    world = MasterWorld()
    world.restart()
    assert world.master.next_deadline() is None


# Links that do not come up


def test_a_link_that_does_not_come_up_is_told_once_and_is_a_problem_until_it_does() -> None:
    world = network(3)
    one, other = world.nodes["n1"], world.nodes["n2"]
    one.links.discard(other.number)
    other.links.discard(one.number)
    for node, peer in ((one, other), (other, one)):
        world.say(node, w.LinkLost(peer.number))
    world.run(2.9)
    assert events(world, "unreachable") == []
    world.run(10.0)
    sentence = "n1 has no link with n2 at n2:7000: see whether it can reach that address."
    assert events(world, "unreachable") == [("n2", sentence)]
    assert world.ask("status")["problems"] == [sentence]
    world.link(one)
    world.run(0.1)
    assert world.ask("status")["problems"] == []
    world.check()


def test_problems_of_a_node_are_gone_with_it() -> None:
    world = network(3)
    one, other = world.nodes["n1"], world.nodes["n2"]
    one.links.discard(other.number)
    other.links.discard(one.number)
    world.say(one, w.LinkLost(other.number))
    world.handle(ClockRead(other.connection, world.now + 90))
    world.run(5.0)
    assert len(world.ask("status")["problems"]) == 2
    world.leave(other)
    assert world.ask("status")["problems"] == []


def test_who_cannot_be_reached_keeps_its_debts_and_is_refused() -> None:
    world = network(3, "a")
    far = world.join("far", "a", persistent=True, reachable=False, wait=False)
    world.run(10.0)
    assert far.refused == (
        "far cannot be reached at far:7000 by other nodes (n0, n1, n2): give an address for links that they can "
        "reach, and open its port."
    )
    assert world.master.network.roster.called("far").state is State.DOWN
    assert all(node.down == {far.number: ("a",)} for node in world.nodes.values() if node is not far)
    near = world.join("near", "a", reachable=False, wait=False)
    world.run(10.0)
    assert near.refused
    assert world.master.network.roster.called("near") is None


def test_the_first_of_nodes_that_cannot_reach_each_other_is_a_network_of_its_own() -> None:
    world = MasterWorld()
    nodes = [world.join(f"n{number}", reachable=False, wait=False) for number in range(3)]
    world.run(10.0)
    assert [bool(node.refused) for node in nodes] == [False, True, True]
    assert world.master.network.woven == {nodes[0].number}


def test_what_a_node_knew_before_it_was_restarted_is_relied_on_until_its_lease_has_ended() -> None:
    world = network(3)
    node = world.nodes["n1"]
    world.say(node, w.Confirm(1))
    for other in world.nodes.values():
        other.links.discard(node.number)
    node.incarnation, node.links = 77, set()
    world.handle(Closed(node.connection))
    world.reconnect(node)
    world.subscribe(world.nodes["n0"], "x/#")
    world.run(LEASE - 0.1)
    assert world.nodes["n0"].in_place == 0
    world.run(0.2)
    assert world.nodes["n0"].in_place == 1


def test_everybody_hears_that_links_do_not_join_all_nodes_before_all_else() -> None:
    world = network(2, "a")
    one, two = world.nodes.values()
    for node, peer in ((one, two), (two, one)):
        node.links.discard(peer.number)
        world.say(node, w.LinkLost(peer.number))
    for node in (one, two):
        node.told.clear()
    world.subscribe(one, "b")
    assert one.told[0] == two.told[0] == w.Parted()
    world.say(one, w.Confirm(7))
    assert w.Confirmed(7) not in one.told
    world.link(one)
    world.run(1.0)
    one.told.clear()
    world.subscribe(one, "c")
    world.say(one, w.Confirm(8))
    assert one.told[-1] == w.Confirmed(8)
    assert w.Parted() not in one.told


# Going


def test_who_is_down_is_told_with_its_place_and_what_its_clients_held() -> None:
    world = network(3)
    node = world.nodes["n1"]
    world.subscribe(node, "kept", persistent=True)
    world.subscribe(node, "not/kept", "nor/this")
    world.fail(node)
    down = w.Down(node.number, node.ring_id, ("kept",), ("nor/this", "not/kept"))
    assert down in world.nodes["n0"].told
    assert down in world.join("late").told


def test_an_operator_has_a_node_leave() -> None:
    world = network(3, "a", persistent=True)
    answer = world.ask("leave", node="n1")
    assert answer == {"node": "n1", "forgotten": False, "filters_owed": 1}
    assert world.master.network.roster.called("n1").state is State.DOWN
    assert events(world, "left") == [("n1", "")]
    answer = world.ask("leave", node="n2", forget=True)
    assert answer == {"node": "n2", "forgotten": True, "filters_owed": 1}
    assert world.master.network.roster.called("n2") is None
    again = world.join("n2", "a", persistent=True)
    world.ask("leave", node="n2")
    assert world.master.network.roster.called("n2").number == again.number, "who comes back is not forgotten"


def test_a_node_without_debts_that_has_gone_may_leave_at_once() -> None:
    world = network(3, "a")
    node = world.nodes.pop("n1")
    for other in world.nodes.values():
        other.links.discard(node.number)
    world.handle(Closed(node.connection))
    assert world.ask("leave", node="n1") == {"node": "n1", "forgotten": False, "filters_owed": 0}
    assert world.master.network.roster.called("n1") is None
    world.run(5.0)
    assert events(world, "failed") == []
    world.check()


def test_a_node_that_is_expected_after_a_restart_may_be_forgotten() -> None:
    world = network(3, "a")
    gone = world.nodes.pop("n2")
    world.restart()
    assert world.ask("leave", node="n2")["filters_owed"] == 0
    for node in list(world.nodes.values()):
        node.links.discard(gone.number)
        world.reconnect(node)
    world.run(10.0)
    assert events(world, "failed") == []
    assert world.master.network.roster.called("n2") is None
    world.check()


def test_who_had_a_place_before_and_goes_again_before_it_has_one_is_still_known() -> None:
    world = network(3, "a", persistent=True)
    node = world.nodes["n1"]
    world.fail(node)
    world.run(3.0)
    again = world.join("n1", "a", persistent=True, incarnation=2, wait=False)
    world.nodes.pop("n1")
    world.handle(Closed(again.connection))
    world.run(3.0)
    assert world.master.network.roster.called("n1").number == node.number
    assert world.master.network.directory.owed(node.number) == ("a",)


def test_a_lost_node_is_not_missed_any_more_when_it_is_back() -> None:
    world = network(4, "a")
    node = world.nodes["n1"]
    world.fail(node)
    again = world.join("n1", "a", incarnation=2, wait=False)
    world.run(0.5)
    world.handle(Closed(again.connection))
    world.run(0.6)
    assert events(world, "failed") == [("n1", "")], "it has a moment to come back"


# Clocks


@pytest.mark.parametrize(
    ("ahead", "sentence"),
    [
        (60.0, None),
        (-60.0, None),
        (61.0, "The clock of n1 is 61 s ahead of the master's: "),
        (-61.0, "The clock of n1 is 61 s behind the master's: "),
    ],
)
def test_a_clock_may_be_a_minute_off(ahead: float, sentence: str | None) -> None:
    world = network(2)
    world.handle(ClockRead(world.nodes["n1"].connection, world.now + ahead))
    end = "set it, for the newest retained message is told by clocks."
    assert events(world, "clock_apart") == ([] if sentence is None else [("n1", sentence + end)])


def test_the_clock_of_a_stranger_is_not_looked_at() -> None:
    world = network(2)
    stranger = world.connect("x")
    for connection in (stranger.connection, 999):
        world.handle(ClockRead(connection, world.now + 3600))
    assert events(world, "clock_apart") == []


# One change for many


def test_links_that_come_up_are_gathered_for_the_trees() -> None:
    world = MasterWorld(Parameters(automatic=False, gather=0.05), delay=0.01)
    for number in range(4):
        world.join(f"n{number}", "a", wait=False)
    world.run(10.0)
    for node in world.nodes.values():
        assert kinds(node).count(w.Tables) == 1
        assert kinds(node).count(w.Peers) == 1


def test_a_question_is_answered_beside_what_else_is_asked() -> None:
    world = network(2)
    world.handle(Asked(7, "status", {}))
    assert world.answers[7]["cluster"] == CLUSTER


@pytest.mark.parametrize("is_empty", [False, True])
def test_others_hear_that_a_node_has_lost_its_disk_before_they_hear_that_it_is_back(is_empty: bool) -> None:
    """What they owe it, it was to send after sessions that have left it: they send it to everybody."""
    world = network(4, "a", persistent=True)
    lost = world.nodes["n1"]
    world.fail(lost)
    world.run(5.0)
    for node in world.nodes.values():
        node.told.clear()
    incarnation = lost.incarnation + is_empty
    world.join("n1", incarnation=incarnation, number=w.NOBODY if is_empty else lost.number)
    world.run(5.0)
    for node in world.nodes.values():
        if node.name != "n1":
            told = [one for one in node.told if isinstance(one, w.Removed | w.Back) and one.node == lost.number]
            assert [type(one) for one in told] == ([w.Removed] if is_empty else []) + [w.Back]
