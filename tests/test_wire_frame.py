"""Frames between nodes and master: what is written is read, whatever the pieces; other bytes are one clear error."""

import dataclasses
import types
import typing
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.wire import content, frame, frame_codec
from weft.wire.content import Content
from weft.wire.frame_codec import KINDS, FrameReader, decode_body, encode, encode_body, passing_of
from weft.wire.frame_field import FrameError
from weft.wire.mqtt.property import Property

WIDTHS = {  # bits of integer fields that are not a number of 64
    "version": 8,  # of MQTT; elsewhere of more
    "hops": 8,
    "parts": 8,
    "options": 8,
    "attempt": 16,
    "received": 16,
    "node": 31,
    "sender": 31,
    "issuer": 31,
    "peer": 31,
    "peers": 31,
    "links": 31,
    "neighbours": 31,
    "way": 31,
    "target": 31,
    "source": 31,
    "owed": 31,
    "members": 31,
    "identifier": 31,
    "expiry": 32,
    "deliveries": 32,
    "part": 32,
    "round_trips": 31,
    "contents": 31,
    "had": 31,
    "given": 31,
    "rest": 31,
    "places": 31,
    "owner": 31,
    "rates": 64,
}


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
        int: st.integers(0, 2 ** WIDTHS.get(name, 64) - 1),
        bool: st.booleans(),
        str: st.text(max_size=8),
        bytes: st.binary(max_size=8),
        float: st.floats(allow_nan=False),
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
