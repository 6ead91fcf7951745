"""A little of `make fuzz`: each target takes what it is given, and the fuzzer notices a reader that does not."""

import pytest

from fuzzing import targets
from fuzzing.__main__ import fuzz
from fuzzing.targets import TARGETS, Target
from weft.sim.cluster import stranger
from weft.wire import frame as w
from weft.wire.frame_codec import BETWEEN_NODES, FROM_MASTER, KINDS, TO_MASTER
from weft.wire.mqtt import parser


@pytest.mark.parametrize("name", TARGETS)
def test_changed_bytes_are_taken_or_refused_in_order(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert fuzz(name, 0, range(300)) == 0, capsys.readouterr().out


@pytest.mark.parametrize("name", TARGETS)
def test_examples_themselves_are_taken(name: str) -> None:
    """Unless the reader that an example comes to is one for others."""
    taken = 0
    for example in TARGETS[name].examples:
        try:
            TARGETS[name].read(example)
            taken += 1
        except TARGETS[name].allowed:
            continue
    assert taken > 0


@pytest.mark.parametrize(
    ("kinds", "examples"),
    [
        (TO_MASTER, targets.NODES_WORDS),
        (TO_MASTER, stranger.TO_MASTER),
        (FROM_MASTER, targets.MASTERS_WORDS),
        (BETWEEN_NODES, targets.PEERS_WORDS),
        (BETWEEN_NODES, stranger.TO_PEERS),
    ],
)
def test_every_frame_has_an_example(kinds: frozenset[int], examples: list[w.Frame]) -> None:
    """A frame that is new is said by fuzzers, and by strange nodes of the simulation, as the others are."""
    said = {type(one) for one in examples}
    inside = {w.FetchSession, w.SessionComing, w.SessionMoved, w.SessionTaken, w.SessionClaimed}  # of Routed
    apart = {w.Join, w.Leaving} if examples is stranger.TO_MASTER else {w.Passing} if kinds is BETWEEN_NODES else set()
    known = {made for number, (made, _) in KINDS.items() if number in kinds}
    assert known - said <= inside | apart


def test_a_reader_that_trusts_its_input_is_noticed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    trusting = Target([b"\x02ab"], lambda data: data[1 + data[0]], (ValueError,), 1.0)
    monkeypatch.setitem(TARGETS, "trusting", trusting)
    assert fuzz("trusting", 0, range(100)) > 0
    assert "IndexError" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["mqtt", "broker"])
def test_a_defect_that_only_ends_a_connection_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def defect(*_: object) -> None:
        raise ZeroDivisionError

    for kind in parser._DECODERS:
        monkeypatch.setitem(parser._DECODERS, kind, defect)
    assert fuzz(name, 0, range(100)) > 0
