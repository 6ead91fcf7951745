"""Frames between nodes and master: what is written is read, whatever the pieces; other bytes are one clear error."""

import dataclasses
import types
import typing
from contextlib import suppress
from dataclasses import replace
from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.wire import content, frame, frame_codec
from weft.wire.content import Content
from weft.wire.frame_codec import KINDS, FrameReader, decode_body, encode, encode_body, passing_of
from weft.wire.frame_field import FrameError
from weft.wire.mqtt.property import Property

HUGE = 2**64 - 1
NODES = [
    "node",
    "sender",
    "peer",
    "peers",
    "links",
    "neighbours",
    "way",
    "target",
    "source",
    "owed",
    "rest",
    "places",
    "owner",
]
COUNTED = ["plan", "sequence", "count", "claim", "floor", "had", "given", "contents", "counters", "ranges"]
MOST = {  # of integer fields; of others all that 64 bits can say
    **dict.fromkeys(NODES, 2**31 - 1),
    **dict.fromkeys(COUNTED, 2**31 - 1),  # issuers stand among them
    "version": 5,
    "hops": 255,
    "parts": 255,
    "options": 2,
    "attempt": 2**16 - 1,
    "received": 2**16 - 1,
    "issuer": 2**32 - 1,
    "members": 2**31,
    "identifier": 268_435_455,
    "expiry": 2**32 - 1,
    "deliveries": 2**32 - 1,
    "part": 2**20,
    "round_trips": 2**31 - 1,
    "rates": 2**40,
    "token": 2**62,
    "ring_id": 2**63,
    "ring_size": 2**63,
    "source_ring_id": 2**63,
    "low": 2**63,
    "high": 2**63,
}
LEAST = {"version": 3, "members": 1, "ring_size": 1}
FILTERS = ["filter", "removed", "filters", "others"]  # fields that have filters


def texts(name):
    if name in FILTERS:
        return st.sampled_from(["a", "a/+", "$share/g/#"])
    return st.text("a/ä", min_size=1, max_size=8) if name == "name" else st.text(max_size=8)


def values(hint, name):
    """Any value that a field may have, by its type."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is tuple and arguments[-1] is Ellipsis:
        return st.lists(values(arguments[0], name), max_size=3).map(tuple)
    if origin is tuple:
        return st.tuples(*(values(one, name) for one in arguments))
    if origin is types.UnionType:
        return st.one_of(*(values(one, name) for one in arguments))
    if hint is type(None):
        return st.none()
    if dataclasses.is_dataclass(hint):
        return instances(hint)
    if hint is frame.Role:
        return st.sampled_from(frame.Role)
    plain = {
        int: st.integers(LEAST.get(name, 0), MOST.get(name, HUGE)),
        bool: st.booleans(),
        str: texts(name),
        bytes: st.binary(max_size=8),
        float: st.floats(0, 86_400_000),
    }
    return plain[hint]


@st.composite
def messages(draw):
    one = draw(plain_message)
    if one.form is not frame.Form.ENTERING:
        one.way = ()
    if one.form is not frame.Form.RANGED:
        one.low = one.high = 0
    if not one.kept:
        one.attempt = one.floor = 0
    return one


def instances(made):
    if made is frame.Message:
        return messages()
    hints = typing.get_type_hints(made)
    return st.builds(made, **{name: values(hint, name) for name, hint in hints.items()})


plain_message = st.builds(
    frame.Message,
    **{
        name: st.sampled_from(frame.Form) if hint is frame.Form else values(hint, name)
        for name, hint in typing.get_type_hints(frame.Message).items()
    },
)
frames = st.one_of(*(instances(made) for made, _ in KINDS.values()))


def test_every_frame_has_a_number():
    known = {one for one in vars(frame).values() if isinstance(one, type) and issubclass(one, frame.Frame)}
    assert {made for made, _ in KINDS.values()} == known - {frame.Frame}


@given(frames)
def test_what_is_written_is_read(one):
    assert decode_body(encode_body(one)) == one


OWNED = frame.Owned("c", 1, 5, (frame.Subscribed("a", 1, 1),))
MESSAGE = frame.Message(frame.Form.RANGED, 1, 2, 3, 4, 1, b"", True)
TOO_MUCH = [  # what would be counted on from, added to others or divided by, beyond its range
    frame.Ping(HUGE),
    frame.Join("a", 1, 1, "h:1", (), HUGE),
    frame.Join("a", 1, 1, "h:1", (), 0, sequence=HUGE),
    frame.Join("a", 1, 1, "h:1", (), 0, links=(2**31,)),
    frame.Join("a", 1, 1, "h:1", (), 0, owned=(replace(OWNED, claim=HUGE),)),
    frame.Join("a", 1, 1, "h:1", (), 0, owned=(replace(OWNED, version=77),)),
    frame.Interest(HUGE),
    frame.Interest(1, (frame.Held("$share/g/a", 0, False),)),
    frame.Interest(1, (frame.Held("a/#/b", 1, False),)),
    frame.SessionOwned(replace(OWNED, subscriptions=(frame.Subscribed("a", 3),))),
    frame.SessionOwned(replace(OWNED, subscriptions=(frame.Subscribed("a", 1, 2**31),))),
    frame.SessionEnded("c", HUGE),
    frame.Applied(HUGE),
    frame.LinkLost(2**32 - 1),
    frame.LinkMade(1, nan),
    frame.LinkMade(1, inf),
    frame.LinkMade(1, -1.0),
    frame.Measured((("a", HUGE, 1),)),
    frame.Measured((), ((1, nan),)),
    frame.Measured((), (), (("connected", HUGE),)),
    frame.Traced(1, 2, 3, nan, 4),
    frame.SessionGathered("c" * 200_000, 1),
    frame.Welcome(1, 1, 0, "c"),
    frame.Peers(HUGE, 1, 1, ()),
    frame.Peers(1, 1, 0, ()),
    frame.Tables(HUGE, ()),
    frame.Filters(1, (frame.Listed("$share/g/a", (frame.Holder(1, 1, 0),)),)),
    frame.SessionAt(1, HUGE),
    frame.Trace(1, "a/#"),
    frame.InPlace(HUGE),
    frame.Carry((replace(MESSAGE, count=HUGE),)),
    frame.Carry((replace(MESSAGE, floor=HUGE),)),
    frame.Carry((replace(MESSAGE, high=HUGE),)),
    frame.Acked(((1, HUGE),)),
    frame.FetchSession("c", 1, HUGE, False, True),
    frame.SessionMoved("c", 1, 2**32 - 1, True, ()),
    frame.RetainedSync((), ((1, 2, HUGE, b""),), False),
]


@pytest.mark.parametrize("one", TOO_MUCH, ids=lambda one: type(one).__name__)
def test_a_number_beyond_its_range_is_not_read(one):
    """What is read may be counted on from, and written again, without another look."""
    with pytest.raises(FrameError):
        decode_body(encode_body(one))


@pytest.mark.parametrize(("issued", "life"), [(nan, None), (inf, None), (-1.0, None), (0.0, nan), (0.0, inf)])
def test_a_time_that_there_is_not_is_not_read(issued, life):
    data = content.encode(Content(b"a", b"", issued=issued, life=life))
    for read in (content.check, content.decode):
        with pytest.raises(FrameError):
            read(data)


@given(st.lists(frames, max_size=4), st.data())
def test_frames_may_come_in_any_pieces(sent, data):
    whole = b"".join(map(encode, sent))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=6)))
    reader, got = FrameReader(), []
    for start, end in zip([0, *cuts], [*cuts, len(whole)], strict=True):
        got += reader.feed(whole[start:end])
    assert got == sent


@given(st.one_of(instances(frame.Passing), frames), st.data())
def test_a_message_is_alone_where_it_is_all_that_is_read(one, data):
    whole = bytearray(encode(one))
    if data.draw(st.booleans()):
        whole[data.draw(st.integers(0, min(11, len(whole) - 1)))] ^= data.draw(st.integers(1, 255))
    whole = bytes(whole) + data.draw(st.sampled_from((b"", b"", b"\0", encode(one))))
    try:
        found = FrameReader().feed(whole)
    except FrameError:
        found = []
    is_lone = len(found) == 1 and isinstance(found[0], frame.Passing) and len(encode(found[0])) == len(whole)
    assert FrameReader().is_lone(whole) == is_lone
    if is_lone:
        assert passing_of(whole) == found[0]


def test_a_message_behind_half_a_frame_is_not_alone():
    reader, lone = FrameReader(), encode(frame.Passing(1, False, b"x" * 40))
    assert reader.is_lone(lone)
    reader.feed(encode(frame.Ping(1))[:-1])
    assert not reader.is_lone(lone)


@given(st.binary(max_size=200))
def test_any_bytes_are_frames_or_one_clear_error(data):
    with suppress(FrameError):
        FrameReader().feed(data)


@given(frames, st.data())
def test_a_frame_with_a_changed_byte_is_a_frame_or_one_clear_error(one, data):
    body = bytearray(encode_body(one))
    body[data.draw(st.integers(0, len(body) - 1))] ^= data.draw(st.integers(1, 255))
    with suppress(FrameError):
        decode_body(bytes(body))


@given(frames, st.integers(1, 5))
def test_a_frame_that_is_cut_short_is_an_error(one, missing):
    body = encode_body(one)
    if missing < len(body):
        with pytest.raises(FrameError):
            decode_body(body[:-missing])


def test_a_frame_with_bytes_too_many_is_an_error():
    with pytest.raises(FrameError, match="1 bytes too many"):
        decode_body(encode_body(frame.Ping(1)) + b"\0")


def test_a_length_that_no_frame_has_is_an_error_before_the_frame_has_come():
    with pytest.raises(FrameError, match="no connection of Weft's"):
        FrameReader().feed(b"GET / HTTP/1.1\r\n")
    with pytest.raises(FrameError, match="no connection of Weft's"):
        FrameReader().feed(b"\0\0\0\0")


def test_an_unknown_kind_is_an_error():
    with pytest.raises(FrameError, match="unknown kind 255"):
        decode_body(b"\xff")


def test_a_content_on_several_trees_is_written_once():
    body = bytes(1000)
    twice = frame.Carry(tuple(frame.Message(frame.Form.WOVEN, topic, 1, 2, 3, 1, body) for topic in (5, 6)))
    assert len(encode_body(twice)) < 1100
    got = decode_body(encode_body(twice))
    assert got == twice
    assert got.messages[0].content is got.messages[1].content


def test_topics_are_numbers_of_eight_bytes_that_everybody_computes():
    assert frame.topic_of("news/today") == 0x68131FBFB0EA8015
    assert frame.topic_of("a") != frame.topic_of("b")
    assert frame.topic_of(frame.ALL_NODES) == frame.EVERYBODY


contents = st.builds(
    Content,
    name=st.text(min_size=1, max_size=8).map(str.encode),
    payload=st.binary(max_size=20),
    qos=st.integers(0, 2),
    retain=st.booleans(),
    properties=st.sampled_from([{}, {Property.CONTENT_TYPE: "x", Property.USER_PROPERTY: (("a", "b"), ("a", "c"))}]),
    life=st.none() | st.floats(0, 1e9),
    publisher=st.text(max_size=8),
    issued=st.floats(0, 1e10),
)


@given(contents)
def test_a_content_is_read_as_it_was_written(one):
    assert content.decode(content.encode(one)) == one


@given(contents, st.data())
def test_a_changed_content_is_a_content_or_one_clear_error(one, data):
    body = bytearray(content.encode(one))
    body[data.draw(st.integers(0, len(body) - 1))] ^= data.draw(st.integers(1, 255))
    changed = bytes(body)[: data.draw(st.integers(0, len(body)))]
    assert is_readable(content.check, changed) == is_readable(content.decode, changed) or content.is_run(changed)


def is_readable(read, data):
    try:
        read(data)
    except FrameError:
        return False
    return True


@given(st.binary(max_size=8), st.text(max_size=8), st.integers(0, 60), st.data())
def test_a_run_that_passes_the_check_can_be_read(name, publisher, at, data):
    body = bytearray(content.encode_run(content.Run(b"packets", 1, name, publisher), 3.0))
    body[at % len(body)] ^= data.draw(st.integers(0, 255))
    changed = bytes(body)[: data.draw(st.integers(1, len(body)))]
    if is_readable(content.check, changed):
        assert is_readable(content.decode_run if content.is_run(changed) else content.decode, changed)


def test_a_frame_that_is_too_long_is_not_written():
    with pytest.raises(ValueError, match="longer than"):
        encode(frame.SessionMoved("c", 1, 0, True, (bytes(frame_codec.FRAME_BYTES),)))


def test_no_frame_says_that_somebody_is_the_master() -> None:
    hello = encode(frame.Hello(frame.VERSION, "c", frame.Role.NODE, "x", frame.MASTER))
    with pytest.raises(FrameError, match=f"has the number {frame.MASTER}"):
        FrameReader().feed(hello)
