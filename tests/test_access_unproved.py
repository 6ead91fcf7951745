"""Connections that have yet to prove who they are: none of them keeps others out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.access.unproved import GIVEN, Unproved

NEAR, FAR, OTHER = "127.0.0.1", "192.0.2.1", "192.0.2.2"


def full(most: int = 8, host: str = NEAR) -> Unproved[int]:
    among = Unproved[int](most)
    for number in range(most):
        assert among.wait(0.0) == 0.0
        assert among.add(number, host, 0.0) is None
    return among


def test_where_there_is_no_place_whoever_has_waited_longest_goes() -> None:
    among = full()
    assert among.wait(0.25) == GIVEN - 0.25
    assert among.wait(GIVEN) == 0.0
    assert [among.add(number, FAR, GIVEN) for number in (8, 9)] == [0, 1]
    assert len(among) == 8


def test_who_has_proved_who_it_is_does_not_count() -> None:
    among = full()
    among.remove(3)
    among.remove(3)
    assert among.wait(0.0) == 0.0
    assert among.add(8, FAR, 0.0) is None
    assert among.wait(0.0) > 0.0
    assert among.oldest() == (0, 0.0)
    among.remove(0)
    assert among.oldest() == (1, 0.0)


def test_one_address_has_a_quarter() -> None:
    among = Unproved[str](8)
    assert [among.add(name, FAR, 0.0) for name in ("a", "b", "c")] == [None, None, "c"]
    assert among.add("d", OTHER, 0.0) is None
    assert among.add("e", FAR, GIVEN) == "a"
    assert len(among) == 3


@pytest.mark.parametrize("most", [1, 2, 3])
def test_one_place_is_for_anybody(most: int) -> None:
    assert Unproved[int](most).add(1, FAR, 0.0) is None


@given(st.lists(st.tuples(st.sampled_from([NEAR, FAR, OTHER, "2001:db8::1"]), st.floats(0, 3), st.booleans())))
def test_there_are_never_more_than_there_may_be(comings: list[tuple[str, float, bool]]) -> None:
    among, here, now = Unproved[int](8), dict[int, str](), 0.0
    for number, (host, later, leaves) in enumerate(comings):
        now += later
        if leaves and here:
            gone = next(iter(here))
            del here[gone]
            among.remove(gone)
        if among.wait(now):
            continue
        here[number] = host
        out = among.add(number, host, now)
        if out is not None:
            del here[out]
        assert len(among) == len(here) <= 8
        assert all(host == NEAR or sum(one == host for one in here.values()) <= 2 for host in here.values())
    for number in list(here):
        among.remove(number)
    assert not len(among)
    assert among._by_network == {}
