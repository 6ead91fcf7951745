"""What is to happen when."""

from weft.broker.deadline import JUMP, Deadlines


def test_actions_come_in_the_order_of_their_times_and_then_in_that_of_asking() -> None:
    deadlines, done = Deadlines(), []
    for time, name in ((2.0, "c"), (1.0, "a"), (1.0, "b")):
        deadlines.at(time, lambda now, name=name: done.append((name, now)))
    assert deadlines.next() == 1.0
    deadlines.run(0.9)
    assert done == []
    deadlines.run(1.5)
    assert done == [("a", 1.5), ("b", 1.5)]
    deadlines.run(2.0)
    assert done[2:] == [("c", 2.0)]
    assert deadlines.next() is None


def test_a_wait_is_not_over_where_the_clock_has_jumped() -> None:
    deadlines, done = Deadlines(), []
    deadlines.after(5.0, done.append, 10.0)
    deadlines.run(15.0 + JUMP + 0.1)
    assert done == []
    deadlines.run(21.0)
    assert done == []
    deadlines.run(21.2)
    assert done == [21.2]
    deadlines.after(5.0, done.append, 30.0)
    deadlines.run(35.0 + JUMP)
    assert done[1:] == [35.0 + JUMP]
