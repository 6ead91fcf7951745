"""Nodes that acknowledge nothing: others go on publishing, and lose nothing that they were promised."""

from random import Random

import pytest

from weft.node.parameters import Parameters
from weft.sim.cluster.cluster import Cluster
from weft.sim.cluster.stranger import Connection, Stranger
from weft.wire import frame as w

WINDOW = 20  # publications under way until publishers wait
PROBLEM = "A node has not acknowledged {} publications of n0 in time: look at disks and logs."


class Miser(Stranger):
    """A node that does all that the master wants, holds all filters, and acknowledges nothing that it is sent."""

    def _hear_master(self, end: Connection, frames: list[w.Frame]) -> None:
        super()._hear_master(end, frames)
        for frame in frames:
            if isinstance(frame, w.Peers | w.Tables | w.Filters | w.Way):
                end.say(w.Applied(frame.version))
            elif isinstance(frame, w.Welcome):
                end.say(w.Interest(1, (w.Held("#", 1, True),)))


@pytest.fixture
def world() -> Cluster:
    made = Cluster(3, seed=3, network=Parameters(window=WINDOW))
    made.start()
    return made


def published(world: Cluster, count: int) -> tuple[int, list[bytes]]:
    """How many of so many are acknowledged, and what a reader at another node gets."""
    reader, writer = world.client("reader", 1, clean=False), world.client("writer", 0)
    world.subscribe(reader, "t", 1)
    for number in range(count):
        writer.publish("t", b"%d" % number, 1)
        if number % WINDOW == WINDOW - 1:
            world.wait(20.0)
    return sum(one.acknowledged is not None for one in writer.said), [one.payload for one in reader.got]


def test_a_node_that_acknowledges_nothing_stops_nobody_for_long(world: Cluster) -> None:
    evil = Miser(world, "evil", False, Random(1))
    world.strangers["evil"] = evil
    evil.start()
    world.wait(8.0)
    acknowledged, got = published(world, 8 * WINDOW)
    assert acknowledged == 8 * WINDOW
    assert set(got) == {b"%d" % number for number in range(8 * WINDOW)}
    status = world.direction.master.status()
    assert [node["state"] for node in status["nodes"]] == ["up"] * 4
    assert status["problems"] == [PROBLEM.format(8 * WINDOW)]
    evil.stop()
    world.wait(5.0)
    world.direction.master.membership.dismiss(world.direction.master.network.roster.named("evil"), True)
    world.wait(60.0)
    debts = world.nodes[0].node.debts
    assert (debts.late, debts.under_way, debts.open_bytes, debts.owed_bytes) == (0, 0, 0, 0)
    world.check_invariants()


def test_a_node_with_a_full_disk_stops_nobody_for_long_and_gets_all_of_it(world: Cluster) -> None:
    held_up = world.client("held up", 2, clean=False)
    world.subscribe(held_up, "t", 1)
    world.nodes[2].disk.capacity = world.nodes[2].disk.used
    acknowledged, _ = published(world, 8 * WINDOW)
    assert acknowledged == 8 * WINDOW
    world.nodes[2].disk.capacity = None
    world.wait(60.0)
    assert {one.payload for one in held_up.got} == {b"%d" % number for number in range(8 * WINDOW)}
    debts = world.nodes[0].node.debts
    assert (debts.late, debts.under_way, debts.open_bytes, debts.owed_bytes) == (0, 0, 0, 0)
    world.check_invariants()


def test_what_is_not_acknowledged_is_kept_within_the_bounds_of_what_is_owed() -> None:
    world = Cluster(3, seed=3, network=Parameters(window=WINDOW, owed_messages=50))
    world.start()
    held_up = world.client("held up", 2, clean=False)
    world.subscribe(held_up, "t", 1)
    world.nodes[2].disk.capacity = world.nodes[2].disk.used
    assert published(world, 8 * WINDOW)[0] == 8 * WINDOW
    debts = world.nodes[0].node.debts
    assert len(debts) <= 50 + WINDOW
    assert debts.dropped == 8 * WINDOW - len(debts)
