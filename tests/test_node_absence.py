"""Nodes that are down: what they are owed, for how long, and what follows when they are back."""

from unittest.mock import Mock, call

import pytest

from weft.broker.deadline import Deadlines
from weft.node.absence import Absences
from weft.node.atlas import Atlas
from weft.wire.frame import Back, Down, Removed

SECONDS = 3.0


class Surroundings:
    def __init__(self) -> None:
        self.atlas, self.deadlines, self.others = Atlas(), Deadlines(), Mock()
        others = self.others
        parts = (others.debts, others.destinations, others.attempts, others.moving)
        self.absences = Absences(self.atlas, self.deadlines, *parts, SECONDS)

    def run(self, until: int) -> None:
        for now in range(until + 1):
            self.deadlines.run(float(now))

    def is_owed(self, *names: str) -> list[bool]:
        return [bool(self.atlas.owed(name)) for name in names]


@pytest.fixture
def around() -> Surroundings:
    return Surroundings()


def test_a_node_that_may_be_cut_off_is_owed_all_and_later_only_what_outlives_connections(around: Surroundings) -> None:
    around.absences.note_down(Down(7, 70, ("kept",), ("brief",)), 0.0)
    assert around.is_owed("kept", "brief", "other") == [True, True, False]
    assert around.atlas.places[7] == 70
    around.others.destinations.forget.assert_called_once_with()
    around.run(2)
    assert around.is_owed("kept", "brief") == [True, True]
    around.others.debts.forgive.assert_not_called()
    around.run(3)
    assert around.is_owed("kept", "brief") == [True, False]
    node, wants = around.others.debts.forgive.call_args.args
    assert (node, wants("kept"), wants("brief")) == (7, True, False)
    assert around.others.destinations.forget.call_count == 2
    assert around.deadlines.next() is None


def test_who_is_named_again_is_waited_for_anew(around: Surroundings) -> None:
    around.absences.note_down(Down(7, 70, (), ("brief",)), 0.0)
    around.run(2)
    around.absences.note_down(Down(7, 70, (), ("brief",)), 2.0)
    around.run(4)
    assert around.is_owed("brief") == [True]
    around.run(5)
    assert around.is_owed("brief") == [False]


def test_who_is_back_is_paid_and_not_forgiven(around: Surroundings) -> None:
    around.absences.note_down(Down(7, 70, ("kept",), ("brief",)), 0.0)
    around.absences.note_back(Back(7, 71), 1.5)
    assert around.is_owed("kept", "brief") == [False, False]
    assert around.atlas.places[7] == 71
    assert around.others.attempts.pay.call_args == call(7, 1.5)
    assert around.others.moving.come_back.call_args == call(7, 1.5)
    assert around.others.destinations.forget.call_count == 2
    around.run(9)
    around.others.debts.forgive.assert_not_called()


def test_what_a_node_that_is_removed_was_owed_is_issued_once_more(around: Surroundings) -> None:
    around.absences.note_down(Down(7, 70, ("kept",), ()), 0.0)
    assert around.deadlines.next() is None
    around.absences.note_removed(Removed(7), 1.0)
    assert around.is_owed("kept") == [False]
    assert 7 not in around.atlas.places
    assert around.others.attempts.pay.call_args == call(7, 1.0)
    assert around.others.moving.remove.call_args == call(7)
    assert around.others.destinations.forget.call_count == 2


def test_who_is_not_named_any_more_has_come_back_meanwhile(around: Surroundings) -> None:
    for node in (7, 8):
        around.absences.note_down(Down(node, 10 * node, ("kept",), ()), 0.0)
    around.absences.begin()
    around.absences.note_down(Down(8, 80, ("kept",), ()), 5.0)
    around.absences.complete(6.0)
    assert set(around.atlas.down) == {8}
    assert around.others.attempts.pay.call_args_list == [call(7, 6.0)]
    assert around.atlas.places == {7: 70, 8: 80}
