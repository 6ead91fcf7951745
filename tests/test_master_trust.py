"""Words of a node that means no good: bounded in number and time; a defect costs it alone its connection."""

import pytest

from master_world import FakeNode, MasterWorld
from weft.master.applying import LEASE, PATIENCE
from weft.master.belief import BELIEVED, NUMBERS
from weft.master.effect import Asked, Heard, Proved, Revoked
from weft.master.master import Master
from weft.master.membership import BAN, LEAVING
from weft.master.operating import TRACES
from weft.master.roster import State
from weft.wire import frame as w

WHOLE = 2**62  # the most that a frame may have


def network(count: int, *filters: str) -> MasterWorld:
    world = MasterWorld()
    for number in range(count):
        world.join(f"n{number}", *filters, wait=False)
    world.run(5.0)
    return world


def join(world: MasterWorld, name: str, **more: object) -> FakeNode:
    """A node that says at once what it likes."""
    node = world.connect(name)
    said = {"node": w.NOBODY, "address": f"{name}:7000", "listeners": (), "plan": 0, **more}
    world.say(node, w.Join(name, 1, **said))
    return node


def is_working(world: MasterWorld) -> bool:
    """Whether others can subscribe, and what they hear can be written."""
    node = world.nodes["n0"]
    world.subscribe(node, f"new/{world.now}/#")
    world.run(1.0)
    return node.in_place == node.sequence and not node.refused


# Numbers


@pytest.mark.parametrize(
    "lie", [{"plan": WHOLE}, {"plan": BELIEVED + 1}, {"owned": (w.Owned("c", 5, 4, (), claim=WHOLE),)}]
)
def test_a_count_that_no_network_has_come_to_is_not_believed(lie: dict[str, object]) -> None:
    world = network(3)
    evil = join(world, "evil", **lie)
    assert evil.refused.startswith("It states the count")
    assert world.master.network.version < BELIEVED
    assert world.master.network.directory.claims < BELIEVED
    assert is_working(world)
    world.check()


def test_a_count_that_is_believed_ends_nothing() -> None:
    """Nor are others refused who state what it has led to."""
    world = network(3)
    world.nodes["evil"] = join(world, "evil", plan=BELIEVED, owned=(w.Owned("c", 5, 4, (), claim=BELIEVED),))
    world.run(1.0)
    assert world.master.network.version > BELIEVED
    for name in ("n1", "n2"):
        node = world.nodes[name]
        world.handle_closed(node)
        world.reconnect(node)
        world.say(node, w.FindSession("c", 1))
    world.run(1.0)
    assert is_working(world)
    world.check()


def test_a_session_is_not_claimed_by_a_number_that_nobody_has_given() -> None:
    world = network(3)
    world.say(world.nodes["n1"], w.SessionOwned(w.Owned("c", 5, 4, (), claim=WHOLE)))
    assert world.nodes["n1"].refused.startswith("It states the count")
    assert world.master.network.directory.claims == 0


def test_numbers_of_nodes_do_not_run_out() -> None:
    world = network(2)
    assert join(world, "evil", node=2**31 - 1).number < NUMBERS
    assert join(world, "other").number < NUMBERS


def test_what_is_measured_with_nobody_is_not_remembered() -> None:
    world = network(2)
    world.say(world.nodes["n0"], w.Measured((), tuple((1000 + peer, 1.0) for peer in range(50))))
    world.say(world.nodes["n0"], w.LinkMade(1000, 1.0))
    assert world.master.network.traffic.round_trips.keys() == {(0, 1)}
    assert world.master.network.said_up[0] == {1}


# Time


def test_a_node_that_answers_and_applies_nothing_holds_up_nobody_for_long() -> None:
    world = network(4)
    evil, here = world.nodes["n3"], world.nodes["n0"]
    world.deaf.add("n3")
    world.subscribe(here, "news/#")
    world.run(PATIENCE - 0.1)
    assert here.in_place < here.sequence
    del world.nodes["n3"]
    world.run(0.2)
    assert here.in_place == here.sequence
    assert evil.connection in world.closed
    sentence = "n3 has not applied for 5 s what it was told, though it answers: it is kept out for 5 s; see its log, "
    assert evil.refused == f"{sentence}or revoke its certificate."
    assert f"{sentence}or revoke its certificate." in world.ask("status")["problems"]
    assert [note.node for note in world.notes if note.event == "broken"] == ["n3"]
    for node in world.nodes.values():
        if evil.number in node.links:
            node.links.discard(evil.number)
            world.say(node, w.LinkLost(evil.number))
    world.run(10.0)
    world.check()


def test_who_relied_on_its_lease_may_do_so_until_that_ends() -> None:
    world = network(4)
    here = world.nodes["n0"]
    world.deaf.add("n3")
    world.subscribe(here, "news/#")
    world.run(PATIENCE - 0.5)
    world.say(world.nodes["n3"], w.Confirm(1))
    world.run(LEASE - 0.1)
    del world.nodes["n3"]
    assert here.in_place < here.sequence
    world.run(1.0)
    assert here.in_place == here.sequence


def test_a_node_that_comes_back_and_applies_nothing_is_kept_out_longer_each_time() -> None:
    world = network(4)
    evil, pauses = world.nodes["n3"], []
    world.deaf.add("n3")
    world.subscribe(world.nodes["n0"], "news/#")
    for _ in range(3):
        world.run(PATIENCE + 1.0)
        assert evil.refused
        begun, evil.refused = world.now - 1.0, ""
        world.reconnect(evil)
        while world.master.network.roster[evil.number].state is not State.UP and world.now < begun + 100:
            assert is_working(world)
        pauses.append(world.now - begun)
    assert [round(seconds / BAN) for seconds in pauses] == [1, 2, 4]


def test_who_applies_a_part_of_it_in_time_has_as_long_for_the_rest_and_no_longer() -> None:
    world = network(3)
    slow, here = world.nodes["n2"], world.nodes["n0"]
    world.deaf.add("n2")
    world.subscribe(here, "a/#")
    first = world.master.network.version
    world.run(PATIENCE - 0.5)
    world.subscribe(here, "b/#")
    world.run(0.2)
    world.say(slow, w.Applied(first))
    assert here.in_place == 1
    world.run(PATIENCE - 0.5)
    assert not slow.refused
    world.run(1.0)
    assert slow.refused


def test_a_master_that_was_busy_gives_nodes_as_long_again_once() -> None:
    world = network(3)
    slow = world.nodes["n2"]
    world.deaf.add("n2")
    world.subscribe(world.nodes["n0"], "a/#")
    for _ in range(2):
        assert not slow.refused
        world.now += PATIENCE + 3.0
        world.run(0.0)
    assert slow.refused


def test_a_node_that_is_told_to_leave_and_stays_is_put_out() -> None:
    world = network(3)
    evil = world.nodes["n2"]
    world.stubborn.add("n2")
    world.ask("leave", node="n2", forget=True)
    world.run(LEAVING - 3.0)
    assert not evil.refused
    world.run(3.0)
    assert "has not left" in evil.refused
    assert "n2" not in [node["name"] for node in world.ask("status")["nodes"]]
    world.reconnect(evil)
    world.run(1.0)
    assert world.master.network.roster.named("n2").state is State.JOINING


def test_a_session_that_its_owner_does_not_fetch_is_a_problem_to_look_at() -> None:
    """Which of the two does not do what it should, the master cannot tell."""
    world = network(3)
    sentence = "n1 has not fetched for a minute what n0 has of 1 sessions: see the logs of both."
    world.say(world.nodes["n0"], w.FindSession("c", 1))
    world.say(world.nodes["n0"], w.SessionOwned(w.Owned("c", 500, 5, (), claim=1)))
    world.say(world.nodes["n1"], w.FindSession("c", 1))
    world.run(59.0)
    assert world.ask("status")["problems"] == []
    world.run(2.0)
    assert world.ask("status")["problems"] == [sentence]
    world.say(world.nodes["n1"], w.SessionGathered("c", 0))
    assert world.ask("status")["problems"] == []


# One end alone


def test_a_link_is_there_when_both_ends_say_so() -> None:
    world = network(1)
    liar = world.join("liar", reachable=False, wait=False)
    world.run(0.5)
    world.say(liar, w.LinkMade(0, 0.1))
    world.run(0.5)
    assert world.master.network.made == set()
    assert liar.number not in world.master.network.woven
    world.say(world.nodes["n0"], w.LinkMade(liar.number, 0.0))
    world.run(0.5)
    assert world.master.network.made == {(0, liar.number)}


def test_a_link_that_a_node_has_had_before_it_joins_is_not_believed_of_it_alone() -> None:
    world = network(2)
    liar = join(world, "liar", links=(0, 1))
    world.nodes["liar"] = liar
    liar.reachable = False
    world.run(1.0)
    assert world.master.network.made == {(0, 1)}


# Queues


def test_what_waits_to_be_told_of_a_node_is_told_together() -> None:
    """However often it says that something has changed, and though it has no place yet."""
    world = network(2)
    evil = join(world, "evil")
    for sequence in range(1, 500):
        world.say(evil, w.Interest(sequence))
    assert len(world.master._applying._asked[world.master.network.roster.named("evil").number]) == 1
    assert len(world.master._applying._new) == 1


def test_a_certificate_has_one_connection_that_has_not_joined() -> None:
    world = network(2)
    for connection in range(100, 150):
        world.handle(Proved(connection, "evil"))
        world.handle(Heard(connection, w.Hello(w.VERSION, "", w.Role.NODE, "evil")))
    world.handle(Proved(200, "other"))
    assert [one for one in world.master.membership._connections if one >= 100] == [149, 200]
    assert world.closed == list(range(100, 149))
    world.handle(Heard(149, w.Join("evil", 1, w.NOBODY, "evil:7000", (), 0)))
    world.handle(Proved(300, "evil"))
    world.handle(Heard(300, w.Hello(w.VERSION, "", w.Role.NODE, "evil")))
    assert set(range(149, 301)) & set(world.master.membership._connections) == {149, 200, 300}


def test_nobody_makes_a_trace_longer_than_the_network_is_wide() -> None:
    world = network(3)
    world.handle(Asked(1, "trace", {"node": "n0", "topic": "t"}))
    for _ in range(200):
        world.say(world.nodes["n1"], w.Traced(1, 0, 1, world.now, 0))
    world.run(2.0)
    assert len(world.answers[1]["steps"]) == 30


def test_so_many_publications_are_traced_at_a_time() -> None:
    world = network(2)
    for ticket in range(TRACES + 1):
        world.handle(Asked(ticket, "trace", {"node": "n0", "topic": "t"}))
    assert "trace again" in world.answers[TRACES]["error"]
    world.run(2.0)
    assert "steps" in world.answers[0]


# Defects


def test_a_frame_that_meets_a_defect_costs_its_node_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise KeyError("gone")

    world = network(3)
    world.broken = True
    monkeypatch.setitem(Master._FRAMES, w.Measured, fail)
    node = world.nodes["n2"]
    world.say(node, w.Measured())
    assert node.refused == "What it says has met a defect of Weft: see the master's log."
    assert node.connection in world.closed
    (note,) = [note for note in world.notes if note.event == "defect"]
    assert note.detail.startswith("Measured: KeyError: 'gone' (test_master_trust.py:")
    world.reconnect(node)
    world.run(1.0)
    assert is_working(world)
    world.check()


def test_whoever_was_refused_is_nobody_on_that_connection() -> None:
    world = network(2)
    node = world.nodes["n1"]
    world.say(node, w.SessionOwned(w.Owned("c", 5, 4, (), claim=WHOLE)))
    world.say(node, w.Interest(1, (w.Held("a", 1, False),)))
    assert world.master.network.directory.held[node.number] == {}


# Certificates


def test_nodes_are_told_which_certificates_are_taken_no_more() -> None:
    """Others hear it when they come; of what is no news nobody hears again."""
    world = network(2)
    names = (("evil", 100.0),)
    for _ in range(2):
        world.handle(Revoked(names))
    late = world.join("late")
    for node in (*world.nodes.values(), late):
        assert [frame for frame in node.told if isinstance(frame, w.Revoked)] == [w.Revoked(names)]
    world.check()
