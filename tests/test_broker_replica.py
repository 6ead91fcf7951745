"""Retained messages of a network: nodes that have heard the same agree, in whatever order they heard it."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.broker.publication import Publication
from weft.broker.replica import TOMBSTONE, Replica
from weft.wire.mqtt.property import Property


@st.composite
def publications(draw):
    one = Publication(draw(st.sampled_from([b"a", b"b", b"c/d"])), draw(st.sampled_from([b"", b"x"])), retain=True)
    one.issued = draw(st.sampled_from([1.0, 2.0]))
    one.origin = (draw(st.integers(0, 2)), 7, draw(st.integers(1, 3)))
    return one


def heard(said):
    replica = Replica()
    for one in said:
        if replica.is_news(one):
            replica.note(one)
    return replica


def known(replica):
    return {one.topic: one.stamp() for part in range(256) for one in replica.of_part(part)}


@given(st.lists(publications(), max_size=12, unique_by=lambda one: (one.topic, one.stamp())), st.randoms())
def test_the_order_in_which_news_comes_does_not_matter(said, random):
    one = heard(said)
    random.shuffle(said)
    other = heard(said)
    assert one.digests == other.digests
    assert known(one) == known(other)
    expected = {each.topic: max(both.stamp() for both in said if both.topic == each.topic) for each in said}
    assert known(one) == expected


@given(st.lists(publications(), max_size=8), st.lists(publications(), max_size=8))
def test_digests_tell_the_parts_that_differ(said, more):
    one, other = heard(said), heard(more)
    differing = one.differing(tuple(other.digests))
    for part in range(256):
        here = {each.topic: each.stamp() for each in one.of_part(part)}
        there = {each.topic: each.stamp() for each in other.of_part(part)}
        assert (part in differing) == (here != there)


def test_what_was_taken_away_is_remembered_for_a_day():
    gone = Publication(b"a", b"", retain=True)
    gone.issued = 1000.0
    kept = Publication(b"b", b"x", retain=True)
    kept.issued = 1000.0
    replica = heard([gone, kept])
    replica.bury(1000.0 + TOMBSTONE)
    assert replica.latest("a").stamp() == gone.stamp()
    replica.bury(1001.0 + TOMBSTONE)
    assert replica.latest("a") is None
    assert replica.latest("b") is kept
    assert known(replica) == {b"b": kept.stamp()}


def clear(number, name=None, issued=0.0):
    return Publication(name or b"%d" % number, b"", retain=True, issued=issued + number, origin=(0, 7, number))


def test_the_oldest_of_what_was_taken_away_is_forgotten_where_it_is_too_much(monkeypatch):
    monkeypatch.setattr("weft.broker.replica.TOMBSTONES", 10)
    replica = heard(clear(number) for number in (*range(5, 20), 1, 3))
    assert known(replica) == {b"%d" % number: (number, 0, number) for number in range(10, 20)}
    replica = heard(clear(number) for number in range(1000))
    assert len(known(replica)) == 10
    replica = heard(clear(number, b"same") for number in range(1000))
    assert known(replica) == {b"same": (999, 0, 999)}


def test_long_names_of_what_was_taken_away_are_bounded_by_their_bytes(monkeypatch):
    monkeypatch.setattr("weft.broker.replica.TOMBSTONES_BYTES", 1000)
    replica = heard(clear(number, b"%0100d" % number) for number in range(30))
    assert sorted(known(replica)) == [b"%0100d" % number for number in range(20, 30)]
    replica.note(replace(clear(50, b"%0100d" % 25), payload=b"there again"))
    replica.note(clear(51, b"%0100d" % 51))
    assert len(known(replica)) == 11


def test_nothing_is_remembered_of_what_was_taken_away_but_its_name_and_stamp():
    one = clear(1)
    one.properties, one.publisher = {Property.USER_PROPERTY: [("long", "x" * 10**6)]}, "somebody"
    replica = heard([one])
    kept = replica.latest("1")
    assert (kept.topic, kept.properties, kept.publisher, kept.stamp()) == (b"1", {}, "", one.stamp())


@given(st.lists(st.integers(0, 30), max_size=60), st.randoms())
def test_nodes_that_have_heard_the_same_keep_the_same_of_what_was_taken_away(numbers, random):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("weft.broker.replica.TOMBSTONES", 7)
        one, other = heard(map(clear, numbers)), Replica()
        for number in random.sample(numbers, len(numbers)):
            other.note(clear(number))
    assert one.digests == other.digests
    assert known(one) == known(other)
