"""Publications that a node has had: each is the first once, for as long as it may come again."""

import random
from math import inf

from weft.broker.publication import UNISSUED
from weft.node.seen import Seen, oldest_of


def test_what_came_lately_is_not_the_first():
    seen = Seen(memory=10.0)
    assert seen.is_first(b"one", 1.0)
    assert not seen.is_first(b"one", 5.0)
    assert not seen.is_first(b"one", 5.5)  # a half of the memory has been turned once
    assert not seen.is_first(b"one", 10.5)
    assert seen.is_first(b"one", 16.0)


def test_what_is_sent_again_is_known_until_its_issuer_does_not_send_it_any_more():
    seen = Seen(memory=10.0)
    assert [seen.take((1, 7, count), 0, 0.0) for count in (1, 2, 2, 3)] == [True, True, False, True]
    assert seen.take((1, 8, 2), 0, 0.0), "of another incarnation"
    assert not seen.take((1, 7, 2), 3, 5.1), "not forgotten at once"
    assert not seen.take((1, 7, 2), 3, 10.1)
    assert seen.take((1, 7, 2), 3, 10.2)
    assert not seen.take((1, 7, 3), 3, 10.3)
    assert not seen.take((1, 7, 2), 3, 15.0)
    seen.forget((1, 7, 3))
    seen.forget((5, 7, 3))
    assert seen.take((1, 7, 3), 3, 15.0)


def test_what_has_just_been_settled_is_known_also_where_the_clock_jumps():
    """An issuer may have forgotten in a crash that everybody has it."""
    seen = Seen(memory=10.0)
    assert seen.take((1, 7, 1), 1, 0.0)
    assert seen.take((1, 7, 2), 2, 600.0)
    assert not seen.take((1, 7, 1), 1, 600.1)


def test_nothing_stays_of_groups_that_nothing_comes_for_any_more():
    seen = Seen(memory=10.0)
    for group in range(100):
        assert seen.take((1, 1000 + group, group), group, 0.0, (1, 7))
    seen.prune(1.0)
    assert not seen.take((1, 1050, 50), 100, 2.0, (1, 7)), "nothing is forgotten at once"
    seen.prune(6.0)
    assert not seen.take((1, 1050, 50), 100, 6.0, (1, 7)), "but where it was below the floor at an earlier look"
    seen.prune(12.0)
    assert len(seen._taken) == 0
    assert seen.take((1, 1050, 50), 100, 13.0, (1, 7))


def test_what_may_come_again_is_not_forgotten_however_long_nothing_comes():
    seen = Seen(memory=10.0)
    assert seen.take((1, 1000, 5), 5, 0.0, (1, 7))
    for now in range(20, 1000, 20):
        seen.prune(float(now))
    assert not seen.take((1, 1000, 5), 5, 1000.0, (1, 7))


def test_what_a_session_was_given_is_left_until_a_time_after_it_cannot_come_again():
    seen = Seen(memory=10.0)
    seen.raise_floor((1, 7), 5)
    had = {(1, 7, 4): inf, (1, 7, 5): inf, (2, 7, 1): inf, (1, 7, 1): 80.0, (1, 7, 2): 90.0, (1, 7, 3): 91.0}
    assert seen.left_of(had, 100.0) == {(1, 7, 4): 100.0, (1, 7, 5): inf, (2, 7, 1): inf, (1, 7, 3): 91.0}


def test_what_nobody_has_issued_is_left_for_a_time():
    seen, origin = Seen(memory=10.0), (UNISSUED, 7, 1)
    assert seen.left_of({origin: inf}, 100.0) == {origin: 100.0}
    assert seen.left_of({origin: 100.0}, 109.0) == {origin: 100.0}
    assert seen.left_of({origin: 100.0}, 110.0) == {}


def test_the_oldest_of_every_issuer():
    assert set(oldest_of([(1, 7, 5), (1, 7, 3), (2, 7, 9), (1, 8, 4)])) == {(1, 7, 3), (2, 7, 9), (1, 8, 4)}
    assert oldest_of([]) == ()


def test_of_issuers_that_somebody_makes_up_no_more_is_remembered_than_there_may_be(monkeypatch):
    """One that may send all of it again for ever is no other; issuers that are heard of are not forgotten."""
    monkeypatch.setattr("weft.node.seen.MOST", 1000)
    monkeypatch.setattr("weft.node.seen.FLOORS", 300)
    seen, rest = Seen(60.0), random.Random(1)
    for number in range(5000):
        assert seen.take((rest.randrange(2**31), rest.randrange(2**64), 1), 0, 1.0)
        if number % 20 == 0:
            assert seen.take((1, 1, number), 0, 1.0)
        assert len(seen._taken) <= 1000 // 9
        assert len(seen._floors) <= 300
    assert not seen.take((1, 1, 4980), 0, 1.0)
    assert seen._size == sum(8 + len(taken.counts) for taken in seen._taken.values()) <= 1000
    for number in range(3000):
        assert seen.take((2, 2, number), 0, 1.0)
    assert not seen.take((2, 2, 2999), 0, 1.0)
    assert seen._size == sum(8 + len(taken.counts) for taken in seen._taken.values()) <= 1000
    for at in (100.0, 200.0, 300.0):
        seen.raise_floor((2, 2), 3000)
        seen.prune(at)
    assert (2, 2) not in seen._taken
    assert seen._size == sum(8 + len(taken.counts) for taken in seen._taken.values())
