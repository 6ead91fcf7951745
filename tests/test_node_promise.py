"""Promises are said when the disk knows, once to each who asks; records in frames, and in the journal."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from weft.node import record
from weft.node import trail as trails
from weft.node.promise import Promises
from weft.wire.frame import Frame, SessionGathered, SessionTaken

Said = list[tuple[int, int, Frame]]


def promises(synced: int) -> tuple[Promises, Said]:
    said: Said = []
    return Promises(synced, lambda node, ring_id, frame: said.append((node, ring_id, frame))), said


def taken(client: str, token: int = 0) -> SessionTaken:
    return SessionTaken(client, token)


def test_what_the_disk_knows_is_said_at_once() -> None:
    made, said = promises(5)
    made.make(5, 1, 10, taken("a"))
    assert said == [(1, 10, taken("a"))]
    made.make(6, 1, 10, taken("b"))
    assert len(said) == 1
    assert list(made) == [taken("b")]


def test_promises_are_kept_in_order_as_the_disk_gets_on() -> None:
    made, said = promises(0)
    for position, client in ((1, "a"), (2, "b"), (4, "c")):
        made.make(position, 1, 10, taken(client))
    made.sync(3)
    assert [frame.client for _, _, frame in said] == ["a", "b"]
    made.sync(4)
    assert [frame.client for _, _, frame in said] == ["a", "b", "c"]
    assert list(made) == []
    assert made.synced == 4


def test_a_promise_that_is_repeated_takes_the_place_of_the_one_before() -> None:
    made, said = promises(0)
    made.make(1, 1, 10, taken("a", 1))
    made.make(2, 1, 11, taken("a", 2))
    made.make(2, 2, 20, taken("a", 1))
    made.make(2, 1, 11, SessionGathered("a", 3))
    made.make(2, 1, 11, taken("a", 3), which=1)
    made.sync(1)
    assert said == []
    made.sync(9)
    assert said == [
        (1, 11, taken("a", 2)),
        (2, 20, taken("a", 1)),
        (1, 11, SessionGathered("a", 3)),
        (1, 11, taken("a", 3)),
    ]


@given(st.lists(st.integers(0, 3 * trails.PART // 2).map(bytes), max_size=5))
def test_records_come_in_frames_of_a_size_and_in_order(records: list[bytes]) -> None:
    parts = list(trails._parts(tuple(records)))
    assert [one for _, _, some in parts for one in some] == records
    assert [number for number, _, _ in parts] == list(range(len(parts)))
    assert [last for _, last, _ in parts] == [False] * (len(parts) - 1) + [True]
    for _, _, some in parts:
        assert sum(map(len, some[:-1])) <= trails.PART, "the last one may be too large"
    for (_, _, some), (_, _, more) in pairwise(parts):
        assert sum(map(len, some)) > trails.PART
        assert more


def test_records_of_a_node_are_read_as_they_were_written() -> None:
    written = [
        record.Started(1, 2),
        record.Settled(((1, 2), (5, 9))),
        record.Fetching("c", -1, 3, ("a", "b/#"), 5),
        record.Fetching("c", 1, 3, None, clean=True),
        record.Fetched("c", 4),
        record.Given("c", 4, 5, (b"x", b""), ((1, 2, 3),), ((4, 5, ("a",)),), ("a",), 9),
        record.GivenUp("c"),
        record.Owing(7, ((1, 2),), ("$share/g/a",)),
        record.Had("c", ((1, 2, 3), (4, 5, 6))),
        record.Claimed("c", 8),
        record.Forgotten("c", ((1, 2, 3),)),
        record.NotHad("c", ((1, 2, 3),)),
    ]
    assert [record.decode(record.encode(one)) for one in written] == written
    assert {type(one) for one in written} == {made for made, _ in record.KINDS.values()}
