"""Retained messages of nodes that were away: after an exchange of digests both have the latest."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.broker.deadline import Deadlines
from weft.broker.publication import Publication
from weft.broker.replica import PARTS, Replica
from weft.node import retention as module
from weft.node.atlas import Atlas
from weft.node.effect import MASTER, Tell
from weft.node.outbox import Outbox
from weft.node.retention import Retention
from weft.wire.frame import RetainedDigest, RetainedSync

SAID = st.lists(st.tuples(st.sampled_from(["a", "b", "c/d"]), st.integers(1, 3)), max_size=5)


def publication(name: str, issued: int, payload: bytes = b"x") -> Publication:
    made = Publication(name.encode(), payload, 0, retain=True)
    made.issued, made.origin = float(issued), (1, 2, issued)
    return made


class End:
    """A node, as far as retained messages go."""

    def __init__(self, *said: tuple[str, int]) -> None:
        self.replica, self.atlas, self.outbox = Replica(), Atlas(), Outbox()
        self.retained: list[Publication] = []
        self.atlas.up.add(1)
        self.deadlines = Deadlines()
        self.retention = Retention(self.replica, self.atlas, self.outbox, self.deadlines, self._retain)
        for name, issued in said:
            if self.replica.is_news(one := publication(name, issued)):
                self.replica.note(one)

    def _retain(self, one: Publication, now: float) -> None:
        self.retained.append(one)
        self.replica.note(one)

    def told(self) -> list[Tell]:
        """What it says until it has no more to say."""
        self.run()
        return self.outbox.flush()  # type: ignore[return-value]

    def run(self) -> None:
        while (due := self.deadlines.next()) is not None:
            self.deadlines.run(due)

    def hear(self, frame: RetainedDigest | RetainedSync) -> None:
        if isinstance(frame, RetainedDigest):
            self.retention.answer(1, frame, 0.0)
        else:
            self.retention.take(1, frame, 0.0)

    def known(self) -> dict[bytes, tuple[float, int, int]]:
        return {one.topic: one.stamp() for part in range(PARTS) for one in self.replica.of_part(part)}


def exchanged(one: End, other: End) -> list[RetainedDigest | RetainedSync]:
    """All frames between two, from when the first compares."""
    one.retention.compare_with(1)
    frames, here, there = [], one, other
    while told := here.told():
        frames += [each.frame for each in told]
        for each in told:
            there.hear(each.frame)
        here, there = there, here
    return frames


@given(SAID, SAID)
def test_both_have_the_latest_afterwards_and_hear_of_nothing_twice(here: list, there: list) -> None:
    one, other = End(*here), End(*there)
    latest = End(*here, *there).known()
    before = one.known(), other.known()
    frames = exchanged(one, other)
    assert one.known() == other.known() == latest
    assert len(frames) <= 3
    for end, known in zip((one, other), before, strict=True):
        assert {each.topic for each in end.retained} == {name for name in latest if latest[name] != known.get(name)}
        assert len(end.retained) == len({each.topic for each in end.retained})


def test_who_agrees_says_no_more() -> None:
    assert len(exchanged(End(("a", 1)), End(("a", 1)))) == 1


def test_a_digest_of_another_length_is_not_answered() -> None:
    end = End(("a", 1))
    end.retention.answer(1, RetainedDigest((0,) * (PARTS - 1)), 0.0)
    assert end.told() == []


def large(names: int, size: int = 40) -> End:
    """A node with long messages, several of them in a part."""
    end = End()
    for number in range(names):
        end.replica.note(publication(f"t/{number}", 1, bytes(size)))
    return end


@pytest.mark.parametrize("first", [0, 1])
def test_what_is_large_comes_in_several_frames(first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever of the two compares first, and where one part alone is longer than a frame."""
    monkeypatch.setattr(module, "FRAME", 100)
    ends = large(800), End(("t/1", 3), ("other", 2))
    latest = End(("t/1", 3), ("other", 2)).known() | {
        name: stamp for name, stamp in ends[0].known().items() if name != b"t/1"
    }
    frames = exchanged(ends[first], ends[1 - first]) + exchanged(ends[1 - first], ends[first])
    assert ends[0].known() == ends[1].known() == latest
    synced = [frame for frame in frames if isinstance(frame, RetainedSync)]
    assert len(synced) > 100
    assert max(sum(len(one[3]) for one in frame.contents) for frame in synced) < 400
    assert exchanged(*ends)[1:] == []


def test_a_peer_is_given_a_frame_when_its_link_has_taken_the_one_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """One answer at a time, however often it compares."""
    monkeypatch.setattr(module, "FRAME", 100)
    end = large(50)
    for _ in range(5):
        end.retention.answer(1, RetainedDigest((0,) * PARTS), 0.0)
    assert len(end.outbox.flush()) == 1
    end.atlas.congested.add(1)
    for _ in range(5):
        end.deadlines.run(end.deadlines.next() or 0.0)
    assert end.outbox.flush() == []
    end.atlas.congested.discard(1)
    assert sum(len(each.frame.contents) for each in end.told()) > 45  # type: ignore[union-attr]
    end.retention.answer(1, RetainedDigest((0,) * PARTS), 0.0)
    end.atlas.up.discard(1)
    end.run()
    end.outbox.flush()
    end.retention.answer(1, RetainedDigest((0,) * PARTS), 0.0)
    assert end.outbox.flush() == [], "it is not linked"


def test_peers_are_compared_with_in_turn_and_the_master_never() -> None:
    end = End()
    end.atlas.up.clear()
    end.retention.compare()
    assert end.told() == []
    end.atlas.up.add(1)
    end.atlas.up |= {3, MASTER, 2}
    for _ in range(6):
        end.retention.compare()
    assert sorted(each.peer for each in end.told()) == [1, 1, 2, 2, 3, 3]
    end.retention.compare_with_all()
    assert [each.peer for each in end.told()] == [1, 2, 3]
