"""What sessions were given: remembered while it may come again, offered to those who may have missed it."""

from types import SimpleNamespace

import pytest

from weft.broker.deadline import Deadlines
from weft.broker.effect import ArrivedAgain
from weft.broker.publication import Publication
from weft.node.record import Forgotten, Had
from weft.node.session_memory import FORGOTTEN, SessionMemory

LINGER = 10.0


class Surroundings:
    """Sessions of a broker, all of whose publications may be forgotten but those counted below 10."""

    def __init__(self) -> None:
        self.sessions: list[SimpleNamespace] = []
        self.waiting: set[str] = set()  # clients of whose sessions parts are elsewhere
        self.deadlines = Deadlines()
        self.kept: list[Forgotten] = []
        self.offered: list[ArrivedAgain] = []
        seen = SimpleNamespace(left_of=lambda had, now: {one: None for one in had if one[2] < 10})
        self.memory = SessionMemory(
            SimpleNamespace(sessions=lambda: self.sessions),  # type: ignore[arg-type]
            seen,  # type: ignore[arg-type]
            SimpleNamespace(clients=lambda: self.waiting),  # type: ignore[arg-type]
            *(self.deadlines, LINGER, lambda event, now: self.offered.append(event), self.kept.append),
        )

    def session(self, client: str, counts: range, persistent: bool = True) -> SimpleNamespace:
        had = {(1, 2, number): None for number in counts}
        made = SimpleNamespace(client=client, had=had, persistent=persistent)
        self.sessions.append(made)
        return made

    def newcomers(self, now: float) -> set[str]:
        """Clients that are offered what comes again."""
        self.offered.clear()
        self.memory.offer(Publication(b"a", b"x", number=5), now)
        assert all(event.publication.number == 0 for event in self.offered)
        return set(self.offered[0].clients) if self.offered else set()


@pytest.fixture
def around() -> Surroundings:
    return Surroundings()


def test_what_comes_again_is_offered_to_who_may_have_been_on_its_way(around: Surroundings) -> None:
    assert around.newcomers(0.0) == set()
    around.memory.note_arrival("came", 0.0)
    around.memory.restore(["restored"], 0.0)
    around.waiting.add("waits")
    assert around.newcomers(0.0) == {"came", "restored", "waits"}
    around.memory.prune(9.9)
    around.deadlines.run(9.9)
    assert around.newcomers(9.9) == {"came", "restored", "waits"}
    around.memory.prune(10.0)
    around.deadlines.run(10.0)
    assert around.newcomers(10.0) == {"waits"}


def test_a_session_forgets_when_nothing_old_can_come_with_it(around: Surroundings) -> None:
    settled, came, waits = (around.session(client, range(5, 15)) for client in ("settled", "came", "waits"))
    around.memory.note_arrival("came", 0.0)
    around.waiting.add("waits")
    around.memory.prune(1.0)
    assert [len(one.had) for one in (settled, came, waits)] == [5, 10, 10]
    around.memory.prune(10.0)
    assert [len(one.had) for one in (settled, came, waits)] == [5, 5, 10]


@pytest.mark.parametrize(("persistent", "count"), [(True, 1), (False, 0)])
def test_the_journal_is_told_when_much_has_been_forgotten(around: Surroundings, persistent: bool, count: int) -> None:
    session = around.session("c", range(9, 10 + FORGOTTEN - 1), persistent)
    around.memory.prune(0.0)
    assert around.kept == []
    session.had[1, 2, 99] = None
    around.memory.prune(1.0)
    assert around.kept == [Forgotten("c", ((1, 2, 9),))] * count
    session.had[1, 2, 99] = None
    around.memory.prune(2.0)
    assert len(around.kept) == count, "it is counted anew"


def test_what_persistent_sessions_were_given_outlives_a_crash(around: Surroundings) -> None:
    around.session("c", range(2))
    around.session("brief", range(2), persistent=False)
    around.session("nothing", range(0))
    assert around.memory.records() == [Had("c", ((1, 2, 0), (1, 2, 1)))]
