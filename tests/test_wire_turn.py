"""What the master tells at a time, whatever reads make of it."""

from hypothesis import given
from hypothesis import strategies as st

from weft.wire import frame as w
from weft.wire.frame_codec import FrameReader, encode
from weft.wire.turn import TurnReader

TURNS = st.lists(st.lists(st.builds(w.InPlace, st.integers(0, 99)), max_size=3), max_size=5)


@given(TURNS, st.data())
def test_turns_are_handed_on_whole(turns: list[list[w.Frame]], data: st.DataObject) -> None:
    said = b"".join(encode(frame) for turn in turns for frame in (*turn, w.EndOfTurn()))
    reader, turn_reader = FrameReader(), TurnReader()
    got: list[list[w.Frame]] = []
    while said:
        size = data.draw(st.integers(1, len(said)))
        got.append(turn_reader.take(reader.feed(said[:size])))
        said = said[size:]
    ends = [sum(map(len, turns[:count])) for count in range(len(turns) + 1)]
    assert [frame for read in got for frame in read] == [frame for turn in turns for frame in turn]
    assert {sum(map(len, got[: read + 1])) for read in range(len(got))} <= set(ends)


def test_a_refusal_waits_for_nothing() -> None:
    reader = TurnReader()
    assert reader.take([w.InPlace(1), w.Refused("No.")]) == [w.Refused("No.")]


def test_nothing_of_before_a_refusal_is_handed_on_behind_it() -> None:
    reader = TurnReader()
    reader.take([w.InPlace(1), w.Refused("No.")])
    assert reader.take([w.InPlace(2), w.EndOfTurn()]) == [w.InPlace(2)]
