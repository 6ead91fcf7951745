"""A node and the master: when it joins, what it says and hears then, and how it leaves."""

from dataclasses import replace
from types import SimpleNamespace
from unittest.mock import Mock, call

import pytest

from weft.broker.deadline import Deadlines
from weft.node.atlas import Atlas
from weft.node.effect import MASTER, Left, Named, Tell, Turned
from weft.node.identity import Identity
from weft.node.outbox import Outbox
from weft.node.parameters import Parameters
from weft.node.registration import Registration
from weft.wire.frame import NOBODY, Held, Join, Leave, Leaving, Refused, Welcome

IDENTITY = Identity("n5", "cluster", 77, address="n5:7000", listeners=("n5:1883",))
WELCOME = Welcome(5, 50, 100, "cluster")


class Surroundings:
    def __init__(self, identity: Identity = IDENTITY, position: int = 3) -> None:
        self.atlas, self.outbox, self.deadlines, self.others = Atlas(), Outbox(), Deadlines(), Mock()
        held = {"a": SimpleNamespace(members=2, persistent=1), "b": SimpleNamespace(members=1, persistent=0)}
        self.broker = SimpleNamespace(position=position, held=lambda: held, sessions=lambda: ["session"])
        self.issuer = SimpleNamespace(node=None)
        others = self.others
        others.directory.owned.side_effect = lambda session: f"owned {session}"
        others.directory.sequence = 9
        self.registration = Registration(
            *(lambda: identity, self.broker, self.issuer, self.atlas, others.carrier),  # type: ignore[arg-type]
            *(others.directory, self.outbox, self.deadlines, Parameters(settling=2.0, leaving=4.0)),
            *(others.issuing, others.fetches, others.assignments, others.changed),
        )


@pytest.fixture
def around() -> Surroundings:
    made = Surroundings()
    made.atlas.up |= {MASTER, 3, 2}
    made.atlas.version = 6
    return made


def joined(around: Surroundings) -> list[Join]:
    return [each.frame for each in around.outbox.flush() if isinstance(each, Tell) and isinstance(each.frame, Join)]


def test_a_node_says_all_that_it_holds_when_it_joins(around: Surroundings) -> None:
    around.registration.find_master()
    held = (Held("a", 2, True), Held("b", 1, False))
    assert joined(around) == [
        Join("n5", 77, NOBODY, "n5:7000", ("n5:1883",), 6, held, ("owned session",), (2, 3), 9)  # type: ignore[arg-type]
    ]


def test_a_node_joins_when_its_journal_knows_that_it_has_started(around: Surroundings) -> None:
    around.broker.position = 4
    around.registration.start()
    around.registration.find_master()
    around.registration.sync(3)
    assert joined(around) == []
    around.registration.sync(4)
    assert len(joined(around)) == 1
    around.registration.sync(5)
    assert joined(around) == [], "once"
    around.registration.find_master()
    assert len(joined(around)) == 1


def test_a_node_without_a_link_to_the_master_does_not_join(around: Surroundings) -> None:
    around.atlas.up.clear()
    around.broker.position = 4
    around.registration.start()
    around.registration.sync(4)
    assert joined(around) == []


def test_a_node_gets_its_number_with_the_first_welcome(around: Surroundings) -> None:
    assert around.issuer.node == 0
    assert around.others.carrier.name.call_args == call(NOBODY, 77)
    around.registration.be_welcome(WELCOME, 1.0)
    assert (around.atlas.node, around.atlas.ring_id, around.atlas.ring_size) == (5, 50, 100)
    assert around.issuer.node == 5
    assert around.others.carrier.name.call_args == call(5, 77)
    assert around.outbox.flush() == [Named(5)]
    around.registration.be_welcome(replace(WELCOME, ring_id=60), 2.0)
    assert around.outbox.flush() == []
    assert around.atlas.ring_id == 60


def test_all_is_assigned_and_asked_anew_after_a_welcome(around: Surroundings) -> None:
    around.others.reset_mock()
    around.registration.be_welcome(WELCOME, 1.0)
    assert around.others.method_calls == [
        call.assignments.begin(),
        call.carrier.name(5, 77),
        call.carrier.rewire(1.0),
        call.changed(),
        call.issuing.ask_again(1.0),
    ]
    around.deadlines.run(2.9)
    around.others.fetches.retry.assert_not_called()
    around.deadlines.run(3.0)
    around.others.fetches.retry.assert_called_once_with(3.0)


def test_who_is_refused_or_sent_away_is_turned_away(around: Surroundings) -> None:
    around.registration.be_refused(Refused("why"), 0.0)
    around.registration.be_sent_away(Leave(), 0.0)
    assert around.outbox.flush() == [Turned("why"), Turned("The master has told this node to leave.")]


def test_a_node_leaves_when_all_is_said_or_has_had_its_time(around: Surroundings) -> None:
    around.registration.leave()
    assert around.outbox.flush() == []
    around.registration.stop(1.0)
    around.deadlines.run(4.9)
    assert around.outbox.flush() == []
    assert around.registration.is_stopping
    around.deadlines.run(5.0)
    assert around.outbox.flush() == [Tell(MASTER, Leaving()), Left()]
    around.registration.leave()
    assert around.outbox.flush() == [], "once"


def test_a_node_leaves_without_a_word_where_nobody_hears() -> None:
    around = Surroundings()
    around.registration.stop(1.0)
    around.registration.leave()
    assert around.outbox.flush() == [Left()]
