"""Clients that come to a node of a network: how long they wait for their sessions, and who goes first."""

from itertools import count
from types import SimpleNamespace

import pytest

from weft.broker.deadline import Deadlines
from weft.broker.effect import Admitted, Close, SessionGathered
from weft.node.admission import Admissions
from weft.node.atlas import Atlas, absence_of
from weft.node.effect import MASTER, Tell
from weft.node.outbox import Outbox
from weft.node.parameters import Parameters
from weft.node.record import Fetched, Fetching
from weft.wire.frame import NOBODY, FindSession

PATIENCE, MOVING = 2.0, 5.0


class FakeFetches:
    def __init__(self) -> None:
        self.open: list[SimpleNamespace] = []
        self.noted: list[str] = []

    def of(self, client: str) -> list[SimpleNamespace]:
        return [one for one in self.open if one.client == client]

    missing = of

    def is_unwritten(self, client: str) -> bool:
        return any(one.unwritten for one in self.of(client))

    def is_unasked(self, client: str) -> bool:
        return any(one.unasked for one in self.of(client))

    def note_client(self, client: str) -> None:
        self.noted.append(client)


class Surroundings:
    def __init__(self, joined: bool = True, linked: bool = True) -> None:
        self.sessions: dict[str, SimpleNamespace] = {}
        self.atlas, self.outbox, self.deadlines, self.fetches = Atlas(), Outbox(), Deadlines(), FakeFetches()
        self.happened: list[object] = []
        self.kept: list[object] = []
        self.admissions = Admissions(
            SimpleNamespace(session=self.sessions.get),  # type: ignore[arg-type]
            *(self.atlas, self.outbox, self.deadlines, Parameters(patience=PATIENCE, moving=MOVING)),
            *(self.fetches, count(1), lambda event, now: self.happened.append(event), self.kept.append),  # type: ignore[arg-type]
        )
        if linked:
            self.atlas.up.add(MASTER)
        if joined:
            self.admissions.join(0.0)

    def fetch(self, client: str, node: int, awaited: float = 0.0) -> None:
        self.fetches.open.append(
            SimpleNamespace(client=client, node=node, awaited=awaited, unwritten=False, unasked=False)
        )

    def admitted(self) -> list[int]:
        return [event.connection for event in self.happened if isinstance(event, Admitted)]


@pytest.fixture
def around() -> Surroundings:
    return Surroundings()


# The master is asked


def test_who_comes_waits_for_the_masters_answer_and_not_for_ever(around: Surroundings) -> None:
    """What waits here may be old while the master is there, and slow."""
    around.sessions["c"] = SimpleNamespace(alone=False, connection=None, subscriptions={"b": 1, "a": 1})
    around.admissions.connect(11, "c", False, 0.0)
    assert around.outbox.flush() == [Tell(MASTER, FindSession("c", 1))]
    assert around.admissions.is_here("c")
    around.deadlines.run(29.9)
    assert around.admitted() == []
    assert not around.sessions["c"].alone
    around.deadlines.run(30.0)
    assert around.admitted() == [11]
    assert around.sessions["c"].alone
    assert around.outbox.flush() == []
    assert around.kept == [Fetching("c", NOBODY, 0, ("a", "b"))]
    assert around.admissions.records() == around.kept
    assert around.fetches.noted == ["c"]


def test_filters_that_a_client_was_first_let_in_with_count_until_the_master_has_heard() -> None:
    around = Surroundings(linked=False)
    around.admissions.restore([Fetching("c", NOBODY, 0, ("a",))])
    around.sessions["c"] = SimpleNamespace(alone=False, connection=None, subscriptions={"a": 1, "b": 1})
    around.admissions.connect(11, "c", False, 0.0)
    assert around.admissions.records() == [Fetching("c", NOBODY, 0, ("a",))] * 2
    claim = around.admissions.take_answered(1)
    assert claim is not None
    assert claim.base == {"a"}


def test_filters_that_a_client_asks_for_again_where_it_was_let_in_alone_are_not_old() -> None:
    around = Surroundings(linked=False)
    around.sessions["c"] = SimpleNamespace(alone=False, connection=None, subscriptions={"a": 1, "b": 1})
    around.admissions.connect(11, "c", False, 0.0)
    around.kept.clear()
    around.admissions.note_subscription("c", "a", is_made=True)
    around.admissions.note_subscription("c", "new", is_made=True)
    around.admissions.note_subscription("d", "b", is_made=True)
    around.admissions.flush()
    assert around.kept == [Fetching("c", NOBODY, 0, ("b",))]
    around.admissions.note_subscription("c", "a", is_made=False)
    assert around.admissions.records() == [Fetching("c", NOBODY, 0, ("a", "b"))], "given up here, it does not come back"
    around.admissions.flush()
    around.sessions["c"].alone = False
    around.admissions.note_subscription("c", "a", is_made=True)
    around.admissions.flush()
    assert len(around.kept) == 2


def test_the_journal_is_told_once_of_many_filters_of_a_client_that_was_let_in_alone() -> None:
    around = Surroundings(linked=False)
    filters = {f"f{number}": 1 for number in range(9)}
    around.sessions["c"] = SimpleNamespace(alone=False, connection=None, subscriptions=filters)
    around.admissions.connect(11, "c", False, 0.0)
    around.kept.clear()
    for filter_ in filters:
        around.admissions.note_subscription("c", filter_, is_made=True)
    for _ in range(2):
        around.admissions.flush()
        assert around.kept == [Fetching("c", NOBODY, 0, ())]
    around.admissions.note_subscription("c", "f1", is_made=False)
    assert around.admissions.take_answered(1) is not None
    around.admissions.flush()
    assert len(around.kept) == 1, "it is not awaited any more"


def test_who_comes_before_the_node_has_found_the_master_waits_for_a_moment() -> None:
    around = Surroundings(joined=False, linked=False)
    around.admissions.connect(11, "c", False, 0.0)
    around.deadlines.run(1.9)
    assert around.admitted() == []
    around.deadlines.run(2.0)
    assert around.admitted() == [11]


def test_who_was_answered_is_not_let_in_alone(around: Surroundings) -> None:
    around.admissions.connect(11, "c", False, 0.0)
    claim = around.admissions.take_answered(1)
    assert claim is not None
    assert (claim.client, claim.connection) == ("c", 11)
    assert around.admissions.take_answered(1) is None
    around.deadlines.run(9.0)
    assert around.admitted() == []


@pytest.mark.parametrize("is_there", [False, True])
@pytest.mark.parametrize(("clean", "kept"), [(False, 1), (True, 0)])
def test_without_the_master_clients_are_in_at_once_and_their_sessions_are_claimed_later(
    clean: bool, kept: int, is_there: bool
) -> None:
    around = Surroundings(linked=False)
    around.admissions.connect(11, "c", clean, 0.0)
    assert around.admitted() == [11]
    assert around.kept == [Fetching("c", NOBODY, 0, ())] * kept
    around.sessions["c"] = SimpleNamespace(connection=11 if is_there else None, persistent=False)
    around.admissions.join(0.0)
    assert around.outbox.flush() == [Tell(MASTER, FindSession("c", 1, True, is_there))]


def test_a_node_that_has_never_joined_lets_clients_wait_for_a_moment() -> None:
    around = Surroundings(joined=False, linked=False)
    around.admissions.connect(11, "c", False, 0.0)
    assert around.outbox.flush() == []
    assert around.admitted() == []
    around.admissions.join(0.0)
    assert around.outbox.flush() == [Tell(MASTER, FindSession("c", 1))]


def test_all_who_wait_are_let_in_when_the_master_is_lost(around: Surroundings) -> None:
    for connection, client in ((11, "c"), (12, "d")):
        around.admissions.connect(connection, client, False, 0.0)
    around.admissions.lose_master(1.0)
    assert around.admitted() == [11, 12]
    around.deadlines.run(9.0)
    assert around.admitted() == [11, 12], "once"


def test_a_session_that_was_asked_for_stays_where_it_is_when_its_client_has_gone(around: Surroundings) -> None:
    """The client may be elsewhere by the time the master hears of it."""
    for connection, client in ((11, "c"), (12, "d"), (13, "d")):
        around.admissions.connect(connection, client, False, 0.0)
    around.admissions.forget(11)
    around.outbox.flush()
    around.admissions.join(0.0)
    assert around.outbox.flush() == [Tell(MASTER, FindSession("d", 3))]
    assert [around.admissions.take_answered(token) is not None for token in (1, 2, 3)] == [False, False, True]


def test_a_session_of_a_client_that_is_in_is_claimed(around: Surroundings) -> None:
    around.sessions["c"] = SimpleNamespace(connection=11)
    around.admissions.ask_for("c")
    assert around.kept == [Fetching("c", NOBODY, 0, ())]
    assert around.outbox.flush() == [Tell(MASTER, FindSession("c", 1, is_in=True))]
    early = Surroundings(joined=False)
    early.admissions.ask_for("c")
    assert early.outbox.flush() == []
    assert early.admissions.records() == [Fetching("c", NOBODY, 0, ())]


def test_a_node_is_about_to_claim_what_it_has_asked_for_or_whose_client_is_in() -> None:
    around = Surroundings(joined=False, linked=False)
    around.admissions.restore([Fetching(client, NOBODY, 0, ()) for client in ("c", "d")])
    around.sessions["c"] = SimpleNamespace(connection=11, persistent=False)
    around.sessions["d"] = SimpleNamespace(connection=None)
    assert around.admissions.is_to_claim("c")
    assert not around.admissions.is_to_claim("d")
    assert around.kept == [Fetched("d", NOBODY)]
    assert around.admissions.records() == [Fetching("c", NOBODY, 0, ())]
    assert not around.admissions.is_to_claim("e")
    around.admissions.join(0.0)
    around.sessions.clear()
    assert around.admissions.is_to_claim("c"), "the master was asked"


def test_a_session_that_has_ended_is_not_claimed_unless_it_is_to_end_elsewhere() -> None:
    around = Surroundings(linked=False)
    around.admissions.restore([Fetching(client, NOBODY, 0, ()) for client in ("c", "d")])
    around.admissions.connect(11, "c", True, 0.0)
    around.admissions.withdraw("c")
    assert around.kept == [Fetched("c", NOBODY)]
    around.admissions.join(0.0)
    around.admissions.withdraw("d")
    asked = [effect.frame for effect in around.outbox.flush() if isinstance(effect, Tell)]
    assert asked == [FindSession("d", 2, True, False), FindSession("c", 3, True, False)]
    assert around.kept == [Fetched("c", NOBODY)], "the master will answer"


def test_a_client_is_here_that_is_in_or_waits(around: Surroundings) -> None:
    assert not around.admissions.is_here("c")
    around.admissions.connect(11, "c", False, 0.0)
    assert around.admissions.is_here("c")
    assert not around.admissions.is_here("d")
    around.admissions.forget(11)
    assert not around.admissions.is_here("c")
    around.admissions.receive("c", 12, 0.0)
    assert around.admissions.is_here("c")
    around.admissions.forget(12)
    assert not around.admissions.is_here("c")
    around.sessions["c"] = SimpleNamespace(connection=None)
    assert not around.admissions.is_here("c")
    around.sessions["c"].connection = 13
    assert around.admissions.is_here("c")


# Letting in


def test_a_client_is_let_in_when_nothing_more_of_its_session_can_be_had(around: Surroundings) -> None:
    around.fetch("c", 4)
    around.admissions.receive("c", 11, 0.0)
    around.admissions.welcome("c", 1.0)
    assert around.happened == []
    around.atlas.down[4] = absence_of(40, ())
    around.admissions.welcome("c", 2.0)
    assert around.happened == [Admitted(11), SessionGathered("c")]
    around.deadlines.run(99.0)
    assert around.admitted() == [11]


def test_a_client_does_not_wait_for_ever_for_its_session_and_what_comes_for_it_waits_then(around: Surroundings) -> None:
    session = around.sessions["c"] = SimpleNamespace(persistent=True, gathering=False, connection=None)
    around.fetch("c", 4)
    around.admissions.receive("c", 11, 0.0)
    around.admissions.go_on_later("c", 0.0)  # and waits since the session was claimed
    around.deadlines.run(4.9)
    assert around.happened == []
    around.deadlines.run(5.0)
    assert around.happened == [Admitted(11)]
    assert session.gathering
    around.deadlines.run(9.9)
    around.fetches.open[0].unwritten = True
    around.deadlines.run(10.0)
    around.fetches.open[0].unwritten = False
    around.deadlines.run(14.9)
    assert around.happened == [Admitted(11)]
    around.deadlines.run(15.0)
    assert around.happened == [Admitted(11), SessionGathered("c")]


@pytest.mark.parametrize("what", ["unwritten", "unasked"])
def test_a_client_waits_for_what_keeps_its_node_from_asking_for_a_time(around: Surroundings, what: str) -> None:
    around.fetch("c", 4)
    setattr(around.fetches.open[0], what, True)
    around.admissions.receive("c", 11, 0.0)
    for now in range(30):
        around.deadlines.run(now)
    assert around.admitted() == []
    for now in range(30, 33):
        around.deadlines.run(now)
    assert around.admitted() == [11]


def test_a_client_does_not_wait_for_a_master_that_has_gone_to_put_its_filters_in_place(around: Surroundings) -> None:
    around.fetch("c", 4)
    around.fetches.open[0].unasked = True
    around.admissions.receive("c", 11, 0.0)
    around.atlas.up.discard(MASTER)
    around.deadlines.run(5.0)
    assert around.admitted() == [11]


def test_nothing_waits_for_a_session_that_is_not_kept(around: Surroundings) -> None:
    session = around.sessions["c"] = SimpleNamespace(persistent=False, gathering=False, connection=None)
    around.admissions.receive("c", 11, 0.0)
    around.deadlines.run(99.0)
    assert around.happened == [], "its clock has jumped"
    for now in (104.0, 199.0):
        around.deadlines.run(now)
    assert around.happened == [Admitted(11)]
    assert not session.gathering


def test_a_client_waits_longer_for_a_node_that_has_said_so(around: Surroundings) -> None:
    around.fetch("c", 4, awaited=8.0)
    around.admissions.receive("c", 11, 0.0)
    around.deadlines.run(5.0)
    around.deadlines.run(7.0)
    assert around.admitted() == []
    around.deadlines.run(9.0)
    assert around.admitted() == [11]


def test_of_two_who_come_under_one_name_the_later_goes_first(around: Surroundings) -> None:
    around.admissions.connect(11, "c", False, 0.0)
    around.outbox.flush()
    around.admissions.connect(12, "c", False, 0.0)
    assert around.outbox.flush() == [Close(11), Tell(MASTER, FindSession("c", 2))]
    around.admissions.receive("c", 13, 0.0)
    around.admissions.turn_away("c")
    assert around.outbox.flush() == [Close(12), Close(13)]
    around.deadlines.run(99.0)
    assert around.admitted() == []
