"""Parts of sessions that wait at other nodes: when they are asked for, and until when."""

from dataclasses import replace
from itertools import count
from types import SimpleNamespace

import pytest

from weft.broker.deadline import Deadlines
from weft.node.atlas import Atlas, absence_of
from weft.node.fetch import Fetch, Fetches, filters_of
from weft.node.record import Fetched, Fetching
from weft.wire.frame import FetchSession, Frame, SessionMoved

PATIENCE = 2.0
MOVING = 7.0


class FakeBroker:
    def __init__(self) -> None:
        self.position = 0
        self.filters: dict[str, set[str]] = {}  # by client

    def session(self, client: str) -> SimpleNamespace | None:
        return SimpleNamespace(subscriptions=self.filters[client]) if client in self.filters else None


class Surroundings:
    def __init__(self) -> None:
        self.broker, self.atlas, self.deadlines = FakeBroker(), Atlas(), Deadlines()
        self.sent: list[tuple[int, int, Frame]] = []
        self.kept: list[Fetching | Fetched] = []
        self.here: set[str] = set()
        self.fetches = Fetches(
            *(self.broker, self.atlas, self.deadlines, PATIENCE, MOVING, count(1)),  # type: ignore[arg-type]
            *({"c": 7}.__getitem__, self.here.__contains__, lambda *said: self.sent.append(said), self.kept.append),
        )

    def begin(self, node: int = 4, known: frozenset[str] | None = frozenset()) -> Fetch:
        return self.fetches.begin("c", node, 40, known)

    def asked(self) -> list[int]:
        """Tokens of the questions since the last time."""
        tokens = [frame.token for _, _, frame in self.sent if isinstance(frame, FetchSession)]
        self.sent.clear()
        return tokens


@pytest.fixture
def around() -> Surroundings:
    return Surroundings()


def moved(part: int, last: bool, *records: bytes) -> SessionMoved:
    return SessionMoved("c", 1, part, last, records, ((1, 1, 1),) if last else (), ())


def test_a_session_is_whole_when_all_parts_have_come_in_whatever_order() -> None:
    for order in ((0, 1, 2), (2, 1, 0), (1, 2, 0), (2, 0, 1)):
        fetch = Fetch("c", 4, 40, None)
        parts = [moved(0, False, b"a"), moved(1, False, b"b"), moved(2, True, b"c")]
        *before, whole = [fetch.add(parts[place]) for place in order]
        assert before == [None, None]
        assert whole == SessionMoved("c", 1, 0, True, (b"a", b"b", b"c"), ((1, 1, 1),), ())


def test_a_node_is_asked_when_the_disk_knows_that_the_session_comes(around: Surroundings) -> None:
    around.broker.position = 3
    fetch = around.begin()
    assert around.kept == [Fetching("c", 4, 40, ())]
    around.fetches.ask(fetch, 0.0)
    around.fetches.sync(2, 0.1)
    assert around.asked() == []
    around.here.add("c")
    around.fetches.sync(3, 0.2)
    assert around.sent == [(4, 40, FetchSession("c", 1, 7, False, True))]
    around.fetches.sync(4, 0.3)
    assert around.asked() == [1], "once"


def test_who_does_not_answer_is_asked_again_and_who_goes_on_answering_is_not(around: Surroundings) -> None:
    fetch = around.begin()
    around.fetches.ask(fetch, 0.0)
    around.deadlines.run(1.9)
    assert around.asked() == [1]
    around.deadlines.run(2.0)
    assert around.asked() == [2]
    fetch.add(moved(0, False))
    around.deadlines.run(4.0)
    assert around.asked() == []
    around.deadlines.run(6.0)
    assert around.asked() == [3]
    assert fetch.add(replace(moved(1, True), token=3)) is None, "another answer comes whole"
    around.fetches.end(fetch)
    around.deadlines.run(99.0)
    assert around.asked() == []
    assert around.kept[-1] == Fetched("c", 4)


def test_answers_to_earlier_questions_do_until_one_has_come(around: Surroundings) -> None:
    """A node that is farther away than the patience for it would never be heard otherwise."""
    fetch = around.begin()
    assert not fetch.is_answered_by(replace(moved(0, True), token=0))
    around.fetches.ask(fetch, 0.0)
    around.deadlines.run(2.0)
    assert around.asked() == [1, 2]
    answers = [replace(moved(0, True), token=token) for token in (1, 2, 3)]
    assert [fetch.is_answered_by(one) for one in answers] == [True, True, False]
    around.fetches.ask_again(fetch, 2.5)
    assert around.asked() == [3]
    assert [fetch.is_answered_by(one) for one in answers] == [False, False, True]


def test_a_question_that_was_asked_anew_is_looked_after_alone(around: Surroundings) -> None:
    fetch = around.begin()
    around.fetches.ask(fetch, 0.0)
    around.fetches.retry(1.0)
    assert around.asked() == [1, 2]
    around.deadlines.run(2.0)
    assert around.asked() == []
    around.deadlines.run(3.0)
    assert around.asked() == [3]


def test_a_node_that_is_down_is_asked_when_it_is_back(around: Surroundings) -> None:
    around.atlas.down[4] = absence_of(40, ())
    around.fetches.ask(around.begin(4), 0.0)
    around.begin(5)
    assert around.asked() == []
    del around.atlas.down[4]
    around.fetches.come_back(4, 1.0)
    assert [node for node, _, _ in around.sent] == [4]
    around.fetches.retry(1.5)
    assert [node for node, _, _ in around.sent] == [4, 4, 5]


def test_what_waits_at_a_node_that_is_removed_is_lost(around: Surroundings) -> None:
    around.begin(4)
    around.begin(5)
    around.fetches.remove(4)
    assert [fetch.node for fetch in around.fetches] == [5]
    assert around.kept[-1] == Fetched("c", 4)


def test_nobody_is_asked_before_filters_are_in_place(around: Surroundings) -> None:
    fetches = [around.begin(4), around.begin(5)]
    for fetch in fetches:
        fetch.is_held_up = True
    around.fetches.end(fetches[0])
    around.fetches.come_back(5, 0.0)
    around.fetches.retry(0.0)
    assert around.sent == []
    assert around.fetches.is_unasked("c")
    around.fetches.put_in_place(fetches, 1.0)
    assert [node for node, _, _ in around.sent] == [5]
    assert not around.fetches.is_unasked("c")
    assert fetches[1].awaited > 1.0


def test_a_session_that_has_ended_here_ends_wherever_more_of_it_waits(around: Surroundings) -> None:
    taken, other = around.begin(4), around.begin(5)
    taken.is_taken = True
    assert around.fetches.missing("c") == [other]
    around.fetches.end_session("c")
    assert list(around.fetches) == [other]
    assert around.kept[-1] == Fetching("c", 5, 40, (), 7, clean=True)
    around.fetches.ask(other, 0.0)
    assert around.sent[0][2] == FetchSession("c", 1, 7, True, False)
    assert around.kept[-1] == Fetching("c", 5, 40, (), 7, clean=True), "also after a restart"
    around.fetches.restore(around.kept[-1:])
    assert [(one.clean, one.claim) for one in around.fetches] == [(True, 7)]


def test_filters_that_a_client_had_when_it_was_let_in_are_known(around: Surroundings) -> None:
    waiting, other = around.begin(4, known=None), around.begin(5, known=frozenset("z"))
    around.broker.filters["c"] = {"b", "a"}
    around.fetches.note_client("c")
    assert (waiting.known, other.known) == ({"a", "b"}, {"z"})
    assert around.kept[2:] == [Fetching("c", 4, 40, ("a", "b"))]
    around.broker.filters["c"] = {"d"}
    around.fetches.note_client("c")
    assert waiting.known == {"a", "b"}
    assert filters_of(None) == frozenset()


def test_what_is_here_is_asked_for_again_until_the_other_node_has_nothing(around: Surroundings) -> None:
    fetch = around.begin(4, known=frozenset("a"))
    around.fetches.ask(fetch, 0.0)
    around.broker.filters["c"], around.broker.position = {"b"}, 5
    around.fetches.ask_again(fetch, 1.0)
    assert fetch.known == {"a", "b"}
    assert around.kept[-1] == Fetching("c", 4, 40, ("a", "b"))
    assert around.fetches.missing("c") == []
    assert around.asked() == [1], "the disk is to know first"
    around.fetches.sync(5, 1.0)
    assert around.asked() == [2]


def test_fetches_outlive_a_crash(around: Surroundings) -> None:
    around.begin(4, known=frozenset("ab"))
    again = Surroundings()
    again.fetches.restore(around.fetches.records())  # type: ignore[arg-type]
    assert again.fetches.clients() == {"c"}
    assert list(again.fetches) == list(around.fetches)
    assert again.fetches.get("c", 4) == around.fetches.get("c", 4)
    assert again.fetches.get("c", 5) is None
    assert again.fetches.of("d") == []


def test_a_client_waits_for_a_session_from_when_it_could_be_asked_for(around: Surroundings) -> None:
    fetch = around.begin()
    fetch.is_held_up = True
    around.fetches.ask(fetch, 1.0)
    assert fetch.awaited == 0.0
    around.fetches.put_in_place([fetch], 4.0)
    assert fetch.awaited == 4.0 + MOVING
    around.fetches.retry(6.0)
    assert fetch.awaited == 4.0 + MOVING, "it is asked again, and awaited no longer"
