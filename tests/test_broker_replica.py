"""Retained messages of a network: nodes that have heard the same agree, in whatever order they heard it."""

from hypothesis import given
from hypothesis import strategies as st

from weft.broker.publication import Publication
from weft.broker.replica import TOMBSTONE, Replica


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
    assert replica.latest("a") is gone
    replica.bury(1001.0 + TOMBSTONE)
    assert replica.latest("a") is None
    assert replica.latest("b") is kept
    assert known(replica) == {b"b": kept.stamp()}
