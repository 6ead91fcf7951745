"""What an issuer still owes: the lowest number that it may send again."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.broker.publication import Publication
from weft.node.debt import Debts
from weft.node.parameters import DEFAULT, Parameters


def publication(count):
    return Publication(b"t", b"", 1, origin=(0, 1, count))


@pytest.mark.parametrize("order", [(1, 2, 3), (3, 1, 2), (2, 3, 1)])
def test_what_is_in_doubt_may_be_sent_again_in_whatever_order_it_came_to_be(order):
    debts = Debts(DEFAULT)
    made = {count: debts.add(publication(count), 0.0) for count in (1, 2, 3, 4)}
    for count in order:
        debts.doubt(made[count], 0.0)
    assert debts.floor(5) == 1
    assert [debt.count for debt in debts.doubted(2)] == [1, 2]
    debts.settle(made[1])
    debts.settle(made[2])
    assert debts.floor(5) == 3


def test_a_publisher_waits_for_what_not_all_have_that_are_there():
    debts, told = Debts(DEFAULT), []
    made = [debts.add(Publication(b"t", b"", 2, publisher="me", origin=(0, 1, count)), 0.0) for count in (1, 2, 3)]
    debts.doubt(made[0], 0.0)
    debts.owe(made[1], [7], 0.0)
    debts.add(publication(4), 0.0)
    assert debts.unsettled("me") == [made[2], made[0]]
    made[2].answers += [lambda: told.append("first"), lambda: told.append("second")]
    debts.settle(made[2])
    assert told == ["first", "second"]
    assert debts.unsettled("me") == [made[0]]


def many(parameters, count):
    debts = Debts(parameters)
    return debts, [debts.add(publication(number), float(number)) for number in range(1, count + 1)]


ACTIONS = st.tuples(
    st.sampled_from(["owe", "doubt", "doubted", "settle", "reopen", "forgive", "delay"]), st.integers(0, 9)
)


@given(st.lists(ACTIONS, max_size=30))
@settings(max_examples=60)
def test_what_is_kept_is_counted_whatever_becomes_of_it(actions):
    debts, made = many(DEFAULT, 6)
    nodes = {7, 8}
    for action, number in actions:
        debt = made[number % 6]
        if action in ("owe", "doubt") and debts.get(debt.count):
            debts.owe(debt, {7, 7 + number % 2}, 0.0) if action == "owe" else debts.doubt(debt, 0.0)
        elif action == "settle" and debt in list(debts):
            debts.settle(debt)
        elif action == "doubted":
            debts.doubted(2)
        elif action == "reopen":
            debts.reopen(7 + number % 2, 2)
        elif action == "forgive":
            debts.forgive(7 + number % 2)
        elif action == "delay":
            debts.delay(debt)
        kept = list(debts)
        open_ = [one for one in kept if debts.get(one.count) is one]
        owed = [one for one in kept if debts.kept(one.count) is one and one not in open_]
        late = [one for one in open_ if one.is_late]
        assert debts.late == len(late)
        assert not any(one.is_late for one in kept if one not in late)
        assert debts.open_bytes == sum(one.size() for one in open_ if one not in late)
        assert debts.owed_bytes == sum(one.size() for one in kept) - debts.open_bytes
        assert (len(debts), debts.under_way) == (len(kept), len(open_))
        assert debts.owed == {node: count for node in nodes if (count := sum(node in one.owed for one in owed))}
        assert debts.floor(99) == min((one.count for one in kept if one not in owed), default=99)
        assert [one.count for one in open_] == sorted(one.count for one in open_)


def test_publishers_wait_from_a_full_window_to_a_half_empty_one():
    debts, made = many(Parameters(window=4), 3)
    assert not debts.is_full()
    made.append(debts.add(publication(4), 0.0))
    assert debts.is_full()
    room = []
    for debt in made[:3]:
        debts.settle(debt)
        room.append((debts.is_full(), debts.has_room()))
    assert room == [(False, False), (False, True), (False, True)]
    size = made[0].size()
    for limit, full in ((2 * size + 1, False), (2 * size, True)):
        assert many(Parameters(window_bytes=limit), 2)[0].is_full() == full
    for limit, room_there in ((4 * size - 1, False), (4 * size, True)):
        assert many(Parameters(window_bytes=limit), 2)[0].has_room() == room_there


def test_the_oldest_is_dropped_where_too_much_is_owed_or_for_too_long():
    size = many(DEFAULT, 1)[1][0].size()
    for limits in ({"owed_messages": 2}, {"owed_bytes": 2 * size}):
        debts, made = many(Parameters(**limits), 3)
        for debt in made[:2]:
            debts.owe(debt, [7], 3.0)
        assert debts.dropped == 0
        debts.doubt(made[2], 3.0)
        assert (debts.dropped, [debt.count for debt in debts]) == (1, [2, 3])
        assert debts.take_settled() == [1]
        assert debts.take_settled() == []
    debts, made = many(Parameters(owed_age=10.0), 2)  # since 1.0 and 2.0
    debts.owe(made[0], [7], 10.9)
    assert debts.dropped == 0
    debts.owe(made[1], [7], 11.0)
    assert (debts.dropped, debts.owed) == (1, {7: 1})


def test_a_node_that_is_back_gets_the_oldest_first_and_alone():
    debts, made = many(DEFAULT, 3)
    debts.add(publication(4), 0.0, group="$share/g/t")
    for debt in (made[2], made[0], made[1]):
        debts.owe(debt, [7, 8], 0.0)
    debts.owe(debts.get(4), [7, 8], 0.0)
    assert [debt.count for debt in debts.reopen(7, 2)] == [1, 3]
    assert (made[0].owed, made[0].targets) == ({8}, {7})
    assert debts.owed == {7: 2, 8: 2}
    assert [(debt.count, debt.owed, debt.targets) for debt in debts.reopen(8, 9)] == [(2, {7}, {8}), (4, set(), set())]
    assert debts.owed == {}
    assert debts.reopen(9, 9) == []


def test_what_is_forgiven_is_settled_where_nobody_else_is_owed_it():
    debts, made = many(DEFAULT, 3)
    for debt, nodes in zip(made, ([7], [7, 8], [7]), strict=True):
        debts.owe(debt, nodes, 0.0)
    debts.forgive(7, but=lambda name: name == "t")
    assert debts.owed == {7: 3, 8: 1}
    debts.forgive(7, but=lambda name: name == "other")
    assert (debts.owed, debts.take_settled()) == ({8: 1}, [1, 3])
    debts.forgive(9)
    assert debts.owed == {8: 1}


def test_attempts_are_due_at_their_time_and_rest_when_they_have_failed():
    debts, made = many(DEFAULT, 3)
    made[0].due, made[1].due = 5.0, 6.0
    made[1].is_under_way = True
    assert [debt.count for debt in debts.resting()] == [1]
    assert [[debt.count for debt in debts.due(now)] for now in (4.9, 5.0, 6.0)] == [[], [1], [1, 2]]
    debts.doubt(made[1], 0.0)
    assert (made[1].due, made[1].is_under_way) == (None, False)
    made[0].is_under_way = True
    debts.owe(made[0], [7], 0.0)
    assert (made[0].due, made[0].is_under_way) == (None, False)
