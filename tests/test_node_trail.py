"""Sessions that have gone from a node: what is kept of them, what goes after them, and for how long."""

from types import SimpleNamespace

import pytest

from weft.broker import record as r
from weft.broker.deadline import Deadlines
from weft.broker.session import Receipt
from weft.node.atlas import Atlas
from weft.node.message import SESSION
from weft.node.promise import Promises
from weft.node.record import Given, GivenUp
from weft.node.trail import Trails
from weft.wire.frame import FetchSession, Form, Frame, Message, SessionComing, SessionMoved, SessionTaken

LINGER = 10.0
HAD = ((1, 1, 1), (1, 1, 2))
GIVEN = Given("c", 4, 40, (b"record",), HAD, ((5, 50, ("a",)),), ("a/#",))


class Surroundings:
    def __init__(self) -> None:
        self.here: dict[str, SimpleNamespace] = {}  # sessions
        self.broker = SimpleNamespace(position=7, session=self.here.get)
        self.atlas, self.deadlines = Atlas(), Deadlines()
        self.carried: list[tuple[int, Message, str]] = []
        self.sent: list[tuple[int, int, Frame]] = []
        self.kept: list[object] = []
        self.changes = 0
        self.promises = Promises(0, self._send)
        self.trails = Trails(
            self.broker,  # type: ignore[arg-type]
            self.atlas,
            SimpleNamespace(send_to=lambda *said: self.carried.append(said)),  # type: ignore[arg-type]
            *(self.deadlines, self.promises, LINGER, self._send, self.kept.append, self._change),
        )

    def _send(self, *said: object) -> None:
        self.sent.append(said)  # type: ignore[arg-type]

    def _change(self) -> None:
        self.changes += 1


@pytest.fixture
def around() -> Surroundings:
    made = Surroundings()
    made.trails.lay(GIVEN, {21: Receipt(3, 210), 22: Receipt(6, 220)}, {(9, 9, 1): 3, (9, 9, 2): 6}, 0.0)
    return made


def test_publications_go_after_a_session_that_wants_them(around: Surroundings) -> None:
    (trail,) = around.trails.matching("a/b")
    assert trail is around.trails.get("c")
    assert around.trails.matching("b") == []
    message = Message(Form.WOVEN, 7, 1, 2, 3, 0, b"")
    around.trails.send_after(message, trail)
    around.atlas.places[4] = 44
    around.trails.send_after(message, trail)
    assert around.carried == [(40, message, SESSION + "c"), (44, message, SESSION + "c")]
    around.here["c"] = SimpleNamespace(alone=True)
    assert around.trails.matching("a/b") == [trail], "its client is back, and its subscriptions are not"
    assert around.trails.leads_on("c")
    around.here["c"].alone = False
    assert around.trails.matching("a/b") == [], "it is back"
    assert not around.trails.leads_on("c")


def test_who_asks_is_told_what_was_given_when_the_disk_knows(around: Surroundings) -> None:
    around.trails.answer(6, 60, FetchSession("c", 8, 1, False, False))
    assert around.sent == [(6, 60, SessionComing("c", 8, (), False, ()))], "the disk knows nothing of it"
    around.promises.sync(6)
    assert len(around.sent) == 1
    around.promises.sync(7)
    assert around.sent[1:] == [(6, 60, SessionMoved("c", 8, 0, True, (b"record",), HAD, GIVEN.rest))]


@pytest.mark.parametrize(
    ("synced", "known", "whole", "sent"),
    [(3, ((21, 210),), False, ((9, 9, 1),)), (6, ((21, 210), (22, 220)), True, ((9, 9, 1), (9, 9, 2)))],
)
def test_what_the_disk_knows_already_is_told_at_once(
    around: Surroundings,
    synced: int,
    known: tuple[tuple[int, int], ...],
    whole: bool,
    sent: tuple[tuple[int, int, int], ...],
) -> None:
    around.promises.sync(synced)
    around.trails.answer(6, 60, FetchSession("c", 8, 1, False, False))
    assert around.sent == [(6, 60, SessionComing("c", 8, known, whole, sent))]


def test_nothing_is_announced_where_the_session_itself_can_go(around: Surroundings) -> None:
    around.promises.sync(7)
    around.trails.answer(6, 60, FetchSession("c", 8, 1, False, False))
    assert [type(frame) for _, _, frame in around.sent] == [SessionMoved]


def test_who_asks_for_what_has_not_gone_from_here_is_told_so(around: Surroundings) -> None:
    around.promises.sync(7)
    around.trails.answer(6, 60, FetchSession("d", 8, 1, False, False))
    assert around.sent == [(6, 60, SessionMoved("d", 8, 0, True, (), (), ()))]


def test_what_the_other_node_has_is_kept_no_more(around: Surroundings) -> None:
    around.trails.get("c").had[2, 2, 2] = None  # type: ignore[union-attr]
    around.trails.release(SessionTaken("c", 8))
    released = Given("c", 4, 40, (), (*HAD, (2, 2, 2)), (), ("a/#",))
    assert around.kept == around.trails.records() == [released]
    around.trails.release(SessionTaken("c", 8))
    around.trails.release(SessionTaken("d", 8))
    assert around.kept == [released]


def test_a_trail_ends_in_time_once_the_other_node_has_the_session(around: Surroundings) -> None:
    around.trails.release(SessionTaken("c", 8))
    around.deadlines.run(9.9)
    assert around.trails.get("c") is not None
    assert around.changes == 1
    around.deadlines.run(10.0)
    assert around.trails.get("c") is None
    assert around.kept[-1] == GivenUp("c")
    assert around.changes == 2
    around.trails.erase("c")
    assert around.changes == 2


def test_a_trail_stays_as_long_as_the_other_node_may_ask(around: Surroundings) -> None:
    around.deadlines.run(99.0)
    assert around.trails.get("c") is not None


def test_a_session_that_goes_again_has_another_trail(around: Surroundings) -> None:
    around.trails.release(SessionTaken("c", 8))
    around.trails.lay(Given("c", 5, 50, (), (), (), ()), {}, {}, 5.0)
    around.deadlines.run(10.0)
    assert around.trails.get("c") is not None
    around.deadlines.run(15.0)
    assert around.trails.get("c") is None


def test_trails_outlive_a_crash(around: Surroundings) -> None:
    noted = (r.encode(r.ReceiptNoted("c", 21, 210)), r.encode(r.ReceiptNoted("c", 22, 220, late=True)))
    given = Given("c", 4, 40, noted, HAD, (), ("a/#",))
    again = Surroundings()
    again.trails.restore([given], 0.0)
    trail = again.trails.get("c")
    assert trail is not None
    assert (trail.given, trail.received, trail.sent) == (given, {21: Receipt(0, 210)}, {})
    assert set(trail.had) == set(HAD)
    assert again.trails.matching("a/b") == [trail]
