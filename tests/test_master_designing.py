"""When a design is wanted, what becomes of it, and how it is put in place."""

import pytest

from master_world import MasterWorld
from weft.master.designing import SMALL
from weft.master.effect import Asked, Closed, Designed, DesignFailed, StartDesign
from weft.master.engine import design_here
from weft.master.network import Network
from weft.master.parameters import Parameters
from weft.master.quality import Quality
from weft.master.redesign import Proposal, Stage, _is_in_order
from weft.master.ring import SIZE

OFTEN = Parameters(rest=5.0, review=1.0)


def network(count: int, parameters: Parameters = OFTEN, **more: float) -> MasterWorld:
    world = MasterWorld(parameters, **more)
    for number in range(count):
        world.join(f"n{number}", wait=False)
    return world


def fallen(world: MasterWorld, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Let the quality have fallen; when designs are wanted, and not made."""
    wanted: list[float] = []
    monkeypatch.setattr(world.master.designing, "has_fallen", lambda: True)
    monkeypatch.setattr(world.master.designing, "want", lambda _: wanted.append(world.now))
    return wanted


# When one is wanted


def test_a_design_is_wanted_when_the_network_has_rested(monkeypatch: pytest.MonkeyPatch) -> None:
    world = network(SMALL)
    wanted = fallen(world, monkeypatch)
    world.run(1.0)
    changed_at = world.master.network.changed_at
    world.run(9.0)
    assert 5.0 <= wanted[0] - changed_at < 6.0
    world.join("late", wait=False)
    came = world.now
    wanted.clear()
    world.run(10.0)
    assert 5.0 <= wanted[0] - came < 6.1


def test_a_network_is_looked_at_from_time_to_time(monkeypatch: pytest.MonkeyPatch) -> None:
    world = network(SMALL, Parameters(rest=0.0, review=3.0))
    began = world.now
    wanted = fallen(world, monkeypatch)
    world.run(10.0)
    assert [at - began for at in wanted] == [3.0, 6.0, 9.0]


def test_one_that_was_wanted_is_waited_for_and_rested_after(monkeypatch: pytest.MonkeyPatch) -> None:
    world = network(SMALL)
    monkeypatch.setattr(world.master.designing, "has_fallen", lambda: True)
    started: list[tuple[int, float]] = []
    carry_out = world._carry_out

    def never_made(effects: list[object]) -> None:
        started.extend((each.number, world.now) for each in effects if isinstance(each, StartDesign))
        carry_out([each for each in effects if not isinstance(each, StartDesign)])

    monkeypatch.setattr(world, "_carry_out", never_made)
    world.run(30.0)
    assert len(started) == 1
    world.handle(DesignFailed(started[0][0], "no memory"))
    world.run(1.5)
    assert len(started) == 2, "it has rested since it was wanted"
    world.handle(DesignFailed(started[1][0], "no memory"))
    world.run(30.0)
    assert 5.0 <= started[2][1] - started[1][1] < 6.1
    assert [note.detail for note in world.notes if note.event == "design_failed"] == ["no memory", "no memory"]


@pytest.mark.parametrize("why", ["few nodes", "not automatic", "a node is coming", "one is being put in place"])
def test_no_design_is_wanted(why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    automatic = why != "not automatic"
    world = network(SMALL - 1 if why == "few nodes" else SMALL, Parameters(rest=5.0, review=1.0, automatic=automatic))
    wanted = fallen(world, monkeypatch)
    world.run(1.0)
    if why == "a node is coming":
        monkeypatch.setattr(world.master.membership, "pending", [0])
    if why == "one is being put in place":
        monkeypatch.setattr(world.master.designing.redesign, "stage", Stage.MAKING)
        monkeypatch.setattr(world.master.designing.redesign, "go_on", lambda _: False)
    world.run(20.0)
    assert wanted == []


def test_a_failure_is_told_to_who_asked() -> None:
    world = network(2)
    world.run(1.0)
    effects = world.master.handle(Asked(9, "redesign", {}), world.now)
    (start,) = [each for each in effects if isinstance(each, StartDesign)]
    world.handle(DesignFailed(start.number, "no memory"))
    assert world.answers == {9: {"error": "no memory"}}
    lonely = network(1)
    lonely.run(1.0)
    assert lonely.ask("redesign") == {"error": "There is nothing to design: the network has fewer than two nodes."}


def test_a_design_is_out_of_date_when_there_is_a_later_one() -> None:
    world = network(5, Parameters(automatic=False))
    world.run(1.0)
    first, second = world.ask("redesign")["proposal"], world.ask("redesign")["proposal"]
    assert world.ask("redesign", proposal=first) == {"error": "That design is out of date: ask for another."}
    done = world.ask("redesign", proposal=second)
    assert done["applied"]
    assert world.ask("redesign", proposal=second) == {
        "error": "A re-design is being put in place: wait until it is done."
    }


# What it gains


@pytest.mark.parametrize(
    ("relays", "hops", "gain"),
    [
        ((0.4, 0.3), (0.0, 0.0), 0.25),
        ((0.0, 0.1), (2.0, 1.0), 0.5),
        ((0.4, 0.3), (2.0, 1.0), 0.5),
        ((0.0, 0.0), (0.0, 0.0), 0.0),
        ((0.2, 0.4), (1.0, 1.1), -0.1),
    ],
)
def test_a_design_gains_the_share_of_relays_or_hops_that_it_spares(
    relays: tuple[float, float], hops: tuple[float, float], gain: float
) -> None:
    before, after = (Quality(relays[at], 1.0, 0, hops[at]) for at in (0, 1))
    assert Proposal({}, (), frozenset(), {}, 0, 0, 0, before, after).gain == pytest.approx(gain)


@pytest.mark.parametrize(
    ("ring_ids", "is_in_order"),
    [
        ([0, 1, 2], True),
        ([2, 0, 1], True),
        ([SIZE - 1, 3, 9], True),
        ([1, 0, 2], False),
        ([0, -1, 2], False),
        ([-1, 0, 2], False),
        ([0, 0, 2], True),
    ],
)
def test_a_ring_is_the_same_wherever_it_begins(ring_ids: list[int], is_in_order: bool) -> None:
    assert _is_in_order(ring_ids) == is_in_order


# How it is put in place


def stages(world: MasterWorld, seconds: float) -> list[tuple[float, str]]:
    """When each stage began, from now on."""
    began, found = world.now, []
    for _ in range(round(seconds / 0.1)):
        stage = str(world.master.designing.redesign.stage)
        if not found or found[-1][1] != stage:
            found.append((round(world.now - began, 1), stage))
        world.run(0.1)
    return found


def with_another_plan(delay: float, unreachable: str = "") -> MasterWorld:
    """A network whose new plan has another ring and many other links, and is about to be put in place."""
    world = network(24, Parameters(automatic=False, making=3.0, settling=5.0))
    world.run(3.0)
    names = [f"n{number * 7 % 24}" for number in range(24)]
    answer = world.ask(
        "apply",
        names=names,
        ring_ids=list(range(24)),
        ring_size=24,
        sources=list(range(24)),
        targets=[*range(1, 24), 0],
    )
    world.delay = delay
    if unreachable:
        world.nodes[unreachable].reachable = False
    world.ask("redesign", proposal=answer["proposal"])
    return world


def test_a_design_settles_when_all_its_links_are_up() -> None:
    world = with_another_plan(delay=0.5)
    links = {name: set(node.links) for name, node in world.nodes.items()}
    assert [stage for _, stage in stages(world, 4.0)] == ["making links", "settling"]
    assert all(links[name] <= node.links for name, node in world.nodes.items()), "links of before stay"
    world.run(10.0)
    assert world.master.designing.redesign.stage is Stage.NONE
    assert not all(links[name] <= node.links for name, node in world.nodes.items())
    world.check()


def test_a_design_settles_without_links_that_do_not_come_up_in_time() -> None:
    world = with_another_plan(delay=0.1, unreachable="n3")
    found = stages(world, 12.0)
    assert [stage for _, stage in found] == ["making links", "settling", "none"]
    assert found[1][0] == pytest.approx(3.0, abs=0.2)
    assert found[2][0] == pytest.approx(8.0, abs=0.3)


def test_a_node_that_fails_ends_the_making_and_one_that_comes_waits_for_its_end() -> None:
    world = with_another_plan(delay=2.0)
    late = world.join("late", wait=False)
    world.run(1.0)
    assert late.ring_id == -1
    world.fail(world.nodes["n3"])
    assert world.master.designing.redesign.stage is Stage.SETTLING
    world.run(1.5)  # until links are up
    assert late.ring_id >= 0
    world.run(15.0)
    world.check()


def test_who_joins_while_a_design_settles_gets_its_place_at_once() -> None:
    world = with_another_plan(delay=0.1)
    world.run(1.0)
    assert world.master.designing.redesign.stage is Stage.SETTLING
    late = world.join("late", wait=False)
    world.run(0.5)
    assert late.ring_id >= 0
    world.run(15.0)
    world.check()


def test_a_design_for_nodes_some_of_whom_have_gone_and_others_come_since() -> None:
    world = network(20, Parameters(automatic=False))
    world.run(3.0)
    forecast = world.ask("redesign")
    world.leave(world.nodes["n3"])
    world.join("late", "a")
    world.run(1.0)
    assert world.ask("redesign", proposal=forecast["proposal"])["applied"]
    world.run(20.0)
    world.check()
    assert world.master.designing.redesign.stage is Stage.NONE


def test_a_network_that_nobody_comes_to_needs_no_look() -> None:
    world = MasterWorld(Parameters(automatic=False))
    assert world.master.next_deadline() is None
    assert MasterWorld(Parameters(review=7.0)).master.next_deadline() == world.now + 7.0


def test_what_was_measured_decides_which_trees_weigh_most() -> None:
    found = Network(Parameters(), "test")
    found.directory.welcome(0)
    assert found.judgement.rates([1, 2]) == {1: 1.0, 2: 1.0}


def test_a_node_that_is_away_for_a_moment_does_not_end_the_making() -> None:
    world = with_another_plan(delay=2.0)
    node = world.nodes["n3"]
    world.handle(Closed(node.connection))
    world.run(0.5)
    world.reconnect(node)
    assert world.master.designing.redesign.stage is Stage.MAKING
    world.run(15.0)
    world.check()


def clustered(parameters: Parameters | None = None) -> MasterWorld:
    """Nodes whose interests have nothing to do with the order in which they come."""
    world = MasterWorld(parameters or Parameters(automatic=False))
    for place in range(24):
        world.join(f"n{place}", wait=False)
    world.run(3.0)
    for place in range(24):
        group = place * 7 % 24 % 4
        world.subscribe(world.nodes[f"n{place}"], *(f"g{group}/{topic}" for topic in range(6)))
    world.run(0.5)
    return world


def test_a_forecast_is_of_the_moment_for_which_it_was_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Subscriptions that come and go while it is designed change neither of its two sides."""
    quiet, busy = clustered(), clustered()
    expected = quiet.ask("redesign")
    held: list[StartDesign] = []
    carry_out = busy._carry_out

    def made_later(effects: list[object]) -> None:
        held.extend(each for each in effects if isinstance(each, StartDesign))
        carry_out([each for each in effects if not isinstance(each, StartDesign)])

    monkeypatch.setattr(busy, "_carry_out", made_later)
    busy.handle(Asked(77, "redesign", {}))
    for node in busy.nodes.values():
        busy.unsubscribe(node, *node.held)
    busy.subscribe(busy.nodes["n0"], "new/#")
    monkeypatch.undo()
    busy.handle(Designed(held[0].number, design_here(held[0].job)))
    forecast = busy.answers[77]
    assert forecast["relays_a_delivery"] == expected["relays_a_delivery"]
    assert forecast["hops"] == expected["hops"]
    assert forecast["busiest_node"] == expected["busiest_node"]
    assert forecast["relays_a_delivery"]["then"] < forecast["relays_a_delivery"]["now"]


def test_subscriptions_that_change_do_not_keep_a_design_from_being_put_in_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = clustered(Parameters(rest=5.0, review=1.0, fall=0.01))
    carry_out = world._carry_out

    def changed_meanwhile(effects: list[object]) -> None:
        if any(isinstance(each, StartDesign) for each in effects):
            monkeypatch.undo()
            for node in list(world.nodes.values()):
                world.unsubscribe(node, *[one for one in node.held if one.endswith(("/0", "/1", "/2"))])
        carry_out(effects)

    monkeypatch.setattr(world, "_carry_out", changed_meanwhile)
    world.run(120.0)
    assert "redesigned" in [note.event for note in world.notes]
