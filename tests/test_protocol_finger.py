import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.protocol.finger import Finger, FingerTable


@st.composite
def tables(draw):
    size = draw(st.integers(1, 50))
    own, *others = draw(st.permutations(range(size)).map(lambda ids: ids[:8]))
    return FingerTable(own, size, [Finger(peer, ring_id) for peer, ring_id in enumerate(others)])


@given(tables(), st.data())
def test_towards_is_the_nearest_finger_that_does_not_pass(table, data):
    target = data.draw(st.integers(0, table.ring_size - 1))
    way = [f for f in table.fingers if table.distance(f.ring_id) <= table.distance(target)]
    assert table.towards(target) == max(way, key=lambda f: table.distance(f.ring_id), default=None)


@given(tables(), st.data())
def test_between_has_the_fingers_of_a_range_nearest_first(table, data):
    near = data.draw(st.integers(1, table.ring_size))
    far = data.draw(st.integers(near, table.ring_size))
    expected = sorted(d for f in table.fingers if near <= (d := table.distance(f.ring_id)) < far)
    assert [table.distance(f.ring_id) for f in table.between(near, far)] == expected


@given(tables())
def test_the_successor_comes_first(table):
    table.check_invariants()
    if table.fingers:
        assert table.distance(table.successor.ring_id) == min(table.distance(f.ring_id) for f in table.fingers)


@pytest.mark.parametrize("ids", [[3], [5, 5]])
def test_two_nodes_in_one_place_break_the_invariants(ids):
    with pytest.raises(AssertionError, match="itself, or two"):
        FingerTable(3, 10, [Finger(peer, ring_id) for peer, ring_id in enumerate(ids)]).check_invariants()
