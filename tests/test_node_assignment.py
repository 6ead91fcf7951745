"""Assignments of the master: what a node does with links, tables, filters and ways that it is told."""

from types import SimpleNamespace
from unittest.mock import Mock, call

import pytest

from weft.broker.deadline import Deadlines
from weft.node.assignment import Assignments
from weft.node.atlas import Atlas
from weft.node.effect import MASTER, Link, Tell, Unlink
from weft.node.outbox import Outbox
from weft.wire.frame import (
    EVERYBODY,
    Confirm,
    Filters,
    InPlace,
    LinkMade,
    Listed,
    NeighbourInterests,
    Peer,
    Peers,
    Places,
    Table,
    Tables,
    Way,
)

SETTLING = 2.0


def peer(node: int) -> Peer:
    return Peer(node, f"n{node}", f"n{node}:1", 10 * node, True, True)


def peers(version: int, *nodes: int) -> Peers:
    return Peers(version, 90, 100, tuple(map(peer, nodes)))


class Surroundings:
    def __init__(self) -> None:
        self.atlas, self.outbox, self.deadlines, self.others = Atlas(), Outbox(), Deadlines(), Mock()
        others = self.others
        others.carrier.router.tables = {7: frozenset({1}), 8: frozenset({2})}
        others.grafting.table.side_effect = others.carrier.router.tables.get
        others.directory.unknown_topics.return_value = {3}
        self.reliance = SimpleNamespace(is_informed=False, lease=SimpleNamespace(ask=lambda now: 33))
        self.assignments = Assignments(
            *(self.atlas, others.carrier, self.outbox, self.deadlines, others.grafting, others.directory),
            *(self.reliance, others.issuing, others.attempts, others.admissions, others.absences),  # type: ignore[arg-type]
            *(others.retention, SETTLING, others.changed),
        )

    def is_applied(self, version: int, now: float) -> bool:
        """Whether a version is in place, and all that was worked out before forgotten."""
        applied = self.atlas.version == version and call(now) in self.others.attempts.hurry.call_args_list
        return applied and self.others.changed.called


@pytest.fixture
def around() -> Surroundings:
    return Surroundings()


def test_new_links_are_made_and_old_ones_end_when_all_have_heard(around: Surroundings) -> None:
    around.assignments.rewire(peers(1, 1, 2), 0.0)
    assert around.outbox.flush() == [Link(peer(1)), Link(peer(2))]
    assert around.is_applied(1, 0.0)
    assert around.others.carrier.rewire.call_args == call(0.0)
    around.assignments.rewire(peers(2, 2), 1.0)
    around.deadlines.run(2.9)
    assert around.outbox.flush() == []
    around.deadlines.run(3.0)
    assert around.outbox.flush() == [Unlink(1)]


def test_a_link_that_is_wanted_again_does_not_end(around: Surroundings) -> None:
    around.assignments.rewire(peers(1, 1), 0.0)
    around.assignments.rewire(peers(2), 1.0)
    around.assignments.rewire(peers(3, 1), 2.0)
    around.deadlines.run(9.0)
    assert Unlink(1) not in around.outbox.flush()


def test_the_master_hears_of_links_that_are_up_already(around: Surroundings) -> None:
    around.atlas.up |= {1}
    around.assignments.rewire(peers(1, 1, 2), 0.0)
    made = Tell(MASTER, LinkMade(1, 0.0))
    assert made in around.outbox.flush()
    around.assignments.rewire(peers(2, 1, 2), 0.0)
    assert around.outbox.flush() == []
    around.assignments.begin()
    assert around.others.absences.begin.call_count == 1
    around.assignments.rewire(peers(3, 1, 2), 0.0)
    assert around.outbox.flush() == [made], "it may not remember"
    around.assignments.rewire(peers(4, 1, 2), 0.0)
    assert around.outbox.flush() == []


def test_tables_are_assigned_as_they_are_told(around: Surroundings) -> None:
    around.assignments.put_tables(Tables(4, (Table(7, (1, 2), True), Table(8, None, False))), 1.0)
    assert around.others.grafting.assign.call_args_list == [
        call(7, frozenset({1, 2}), True, 1.0),
        call(8, None, False, 1.0),
    ]
    assert around.is_applied(4, 1.0)
    around.others.admissions.join.assert_not_called()
    assert around.outbox.flush() == []


def test_all_tables_at_once_take_the_place_of_those_before(around: Surroundings) -> None:
    around.assignments.put_tables(Tables(4, (Table(7, (1,), False), Table(9, (3,), False)), whole=True), 1.0)
    assert around.others.grafting.assign.call_args_list == [
        call(8, None, False, 1.0),
        call(9, frozenset({3}), False, 1.0),  # that of 7 is what it was
    ]
    around.others.admissions.join.assert_called_once_with(1.0)
    assert around.outbox.flush() == [Tell(MASTER, Confirm(33))]


def test_retained_messages_are_compared_when_all_have_the_tree_of_all_nodes(around: Surroundings) -> None:
    around.assignments.put_tables(Tables(4, (Table(7, (1, 2), True), Table(EVERYBODY, (1,), True))), 1.0)
    around.deadlines.run(2.9)
    around.others.retention.compare_with_all.assert_not_called()
    around.deadlines.run(3.0)
    around.others.retention.compare_with_all.assert_called_once_with()


def test_retained_messages_are_not_compared_for_other_trees(around: Surroundings) -> None:
    around.assignments.put_tables(Tables(4, (Table(7, (1, 2), True),)), 1.0)
    around.deadlines.run(9.0)
    around.others.retention.compare_with_all.assert_not_called()


def test_a_node_is_informed_when_it_has_heard_of_all_filters_and_tables(around: Surroundings) -> None:
    around.assignments.put_tables(Tables(1, (), whole=True), 0.0)
    assert not around.reliance.is_informed
    around.assignments.put_filters(Filters(2, (Listed("a/#"),)), 0.0)
    around.others.absences.complete.assert_not_called()
    around.assignments.put_filters(Filters(3, (Listed("b/#"),), (), whole=True), 5.0)
    assert around.others.absences.complete.call_args == call(5.0)
    assert not around.reliance.is_informed
    assert (around.atlas.wild.match("b/c"), around.atlas.wild.match("a/c")) == (["b/#"], [])
    assert around.is_applied(3, 5.0)
    around.assignments.put_filters(Filters(4, ()), 0.0)
    around.assignments.put_tables(Tables(5, ()), 0.0)
    assert around.reliance.is_informed


def test_a_way_is_learnt_and_versions_do_not_go_back(around: Surroundings) -> None:
    around.assignments.put_way(Way(6, "a", True, (1, 2)), 1.0)
    assert around.others.issuing.learn_way.call_args == call("a", True, (1, 2), 1.0)
    assert around.others.changed.called
    around.assignments.put_way(Way(5, "b", False, ()), 1.0)
    around.assignments.put_filters(Filters(4, ()), 1.0)
    assert around.atlas.version == 6


def test_places_and_interests_of_others_are_noted(around: Surroundings) -> None:
    around.assignments.note_places(Places(((1, 10), (2, 20))), 0.0)
    around.assignments.note_places(Places(((2, 21),)), 0.0)
    assert around.atlas.places == {1: 10, 2: 21}
    around.assignments.note_interests(NeighbourInterests(1, (7,)), 0.0)
    assert around.atlas.subscribes(1, 7)


def test_filters_that_all_know_need_no_grafts(around: Surroundings) -> None:
    around.assignments.note_in_place(InPlace(9), 1.0)
    assert around.others.directory.in_place.call_args == call(9, 1.0)
    assert around.others.grafting.settle.call_args == call({3}, 1.0)
