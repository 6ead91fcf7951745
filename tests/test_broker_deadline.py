"""What is to happen when."""

import random

from weft.broker.deadline import JUMP, Deadlines
from weft.broker.keyed_heap import KeyedHeap


def test_actions_come_in_the_order_of_their_times_and_then_in_that_of_asking() -> None:
    deadlines, done = Deadlines(), []
    timer = deadlines.timer(lambda key, now: done.append((key, now)))
    for time, name in ((2.0, "c"), (1.0, "a"), (1.0, "b")):
        timer.at(time, name)
    assert deadlines.next() == 1.0
    deadlines.run(0.9)
    assert done == []
    deadlines.run(1.5)
    assert done == [("a", 1.5), ("b", 1.5)]
    deadlines.run(2.0)
    assert done[2:] == [("c", 2.0)]
    assert deadlines.next() is None


def test_a_kind_has_one_deadline_for_each_key_the_one_that_was_set_last() -> None:
    deadlines, done = Deadlines(), []
    one, other = (deadlines.timer(lambda key, now, kind=kind: done.append((kind, key, now))) for kind in "ab")
    one.at(1.0, "x")
    one.at(3.0, "x")
    other.at(2.0, "x")
    other.at(1.0, "y")
    other.drop("y")
    other.drop("never set")
    assert "x" in one
    assert "y" not in other
    deadlines.run(5.0)
    assert done == [("b", "x", 5.0), ("a", "x", 5.0)]
    assert "x" not in one


def test_a_wait_is_not_over_where_the_clock_has_jumped() -> None:
    deadlines, done = Deadlines(), []
    timer = deadlines.timer(lambda _, now: done.append(now))
    timer.after(5.0, "", 10.0)
    deadlines.run(15.0 + JUMP + 0.1)
    assert done == []
    deadlines.run(21.0)
    assert done == []
    deadlines.run(21.2)
    assert done == [21.2]
    timer.after(5.0, "", 30.0)
    deadlines.run(35.0 + JUMP)
    assert done[1:] == [35.0 + JUMP]
    timer.after(5.0, "", 40.0)
    timer.at(41.0)
    deadlines.run(50.0)
    assert done[2:] == [50.0]


def test_deadlines_that_are_set_anew_or_dropped_leave_nothing() -> None:
    deadlines = Deadlines()
    timer = deadlines.timer(lambda key, now: None)
    for number in range(10_000):
        timer.at(1e9 + number, "renewed")
        timer.after(1e9, number, 0.0)
        timer.drop(number)
        deadlines.check_invariants()
    assert len(deadlines) == 1


def test_a_heap_of_keys_gives_what_sorting_would() -> None:
    draw = random.Random(1)
    for _ in range(50):
        heap: KeyedHeap[int] = KeyedHeap()
        ranks: dict[int, tuple[int, int]] = {}
        for serial in range(200):
            key = draw.randrange(20)
            if draw.random() < 0.6:
                heap.put(key, rank := draw.randrange(10))
                ranks[key] = rank, serial
            elif draw.random() < 0.5:
                heap.remove(key)
                ranks.pop(key, None)
            elif ranks:
                first = min(ranks, key=ranks.__getitem__)
                assert heap.lowest() == ranks[first][0]
                assert heap.pop() == first
                del ranks[first]
            heap.check_invariants()
            assert len(heap) == len(ranks)
        while ranks:
            first = min(ranks, key=ranks.__getitem__)
            assert heap.pop() == first
            del ranks[first]
        assert heap.lowest() is None
