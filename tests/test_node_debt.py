"""What an issuer still owes: the lowest number that it may send again."""

import pytest

from weft.broker.publication import Publication
from weft.node.debt import Debts
from weft.node.parameters import DEFAULT


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
