import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.model.ring import clockwise, contains, phase, phase_count, width

sizes = st.integers(1, 2**62)


@given(st.data(), st.integers(1, 40))
def test_ranges_hold_just_the_identifiers_that_a_walk_meets(data: st.DataObject, size: int) -> None:
    low, high = data.draw(st.integers(0, size - 1)), data.draw(st.integers(0, size - 1))
    walk = [low]
    while (walk[-1] + 1) % size != high:
        walk.append((walk[-1] + 1) % size)
    assert width(low, high, size) == len(walk)
    assert [x for x in range(size) if contains(low, high, x, size)] == sorted(walk)


def test_a_range_from_a_node_to_itself_is_the_whole_ring() -> None:
    assert width(5, 5, 16) == 16
    assert all(contains(5, 5, x, 16) for x in range(16))


@given(st.lists(st.integers(1, 2**62 - 1), min_size=1))
def test_phase_is_the_floor_of_the_logarithm(distances: list[int]) -> None:
    expected = [max(i for i in range(63) if 2**i <= d) for d in distances]
    assert phase(np.array(distances)).tolist() == expected
    assert [phase(d) for d in distances] == expected


def test_every_phase_begins_at_its_power_of_two() -> None:
    powers = [2**i for i in range(63)]
    assert phase(np.array(powers)).tolist() == [phase(power) for power in powers] == list(range(63))
    assert phase(np.array(powers[1:]) - 1).tolist() == list(range(62))


def test_a_node_is_in_no_phase_of_itself() -> None:
    assert phase(0) == -1
    assert phase(np.array([0, 1])).tolist() == [-1, 0]


@pytest.mark.parametrize(("size", "phases"), [(1, 0), (2, 1), (3, 2), (4, 2), (5, 3), (16, 4), (17, 5), (1023, 10)])
def test_phases_of_a_full_ring_all_have_a_candidate(size: int, phases: int) -> None:
    assert phase_count(size) == phases
    assert {phase(d) for d in range(1, size)} == set(range(phases))


@given(st.data(), sizes)
def test_clockwise_distances_of_both_ways_add_up_to_the_ring(data: st.DataObject, size: int) -> None:
    a, b = data.draw(st.integers(0, size - 1)), data.draw(st.integers(0, size - 1))
    assert (a + clockwise(a, b, size)) % size == b
    assert clockwise(a, b, size) + clockwise(b, a, size) == (0 if a == b else size)
