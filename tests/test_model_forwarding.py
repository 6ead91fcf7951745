"""The readings of who may send where, and why one of the pairs does not route."""

from itertools import product

import pytest

from routing_oracle import READINGS
from weft.errors import WeftError
from weft.model.forwarding import AS_PRINTED, Forwarding


def test_the_default_is_what_the_papers_print() -> None:
    assert Forwarding() == AS_PRINTED == Forwarding("own", "clockwise", "own")
    assert AS_PRINTED.columns == {"links": "own", "distance": "clockwise", "pivots": "own"}


def test_the_tests_know_all_readings_that_route() -> None:
    found = []
    for links, distance, pivots in product(("own", "both"), ("clockwise", "absolute"), ("own", "neighbours")):
        try:
            found.append(Forwarding(links, distance, pivots))  # type: ignore[arg-type]
        except WeftError:
            assert (links, distance) == ("own", "absolute")
    assert len(found) == len(READINGS) == len(set(found) & set(READINGS)) == 6


@pytest.mark.parametrize("option", ["links", "distance", "pivots"])
def test_an_unknown_value_is_refused_by_its_name(option: str) -> None:
    with pytest.raises(WeftError, match=f"`{option}` two is unknown: choose ") as caught:
        Forwarding(**{option: "two"})  # type: ignore[arg-type]
    assert caught.value.options == (option,)


def test_over_own_fingers_the_absolute_distance_goes_in_circles() -> None:
    """Chord on 29 nodes, with fingers 1, 2, 4, 8 and 16 ahead: always the one that comes nearest to the
    target, of two as near the one before it.

    From 7 before the target a message passes it by one and goes on a step at a time, until it takes 16 and is where it
    has been.
    """

    def nearest(distance: int) -> int:
        left = [(distance - finger) % 29 for finger in (1, 2, 4, 8, 16)]
        return min(left, key=lambda ahead: (min(ahead, 29 - ahead), ahead))

    passed = [7]
    while (ahead := nearest(passed[-1])) not in passed:
        passed.append(ahead)
    assert passed == [7, 28, 27, 26, 25, 24, 23]
    assert ahead == 7
    with pytest.raises(WeftError, match="`distance` absolute needs `links` both") as caught:
        Forwarding(distance="absolute")
    assert caught.value.options == ("distance", "links")
