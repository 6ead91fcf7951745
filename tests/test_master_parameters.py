"""What an operator may set of a master: the ends of every range, and what is beyond them."""

import pytest

from weft.errors import WeftError
from weft.master.parameters import Parameters

ANY_SECONDS = ("gather", "grace", "settling", "rest")
ABOVE_ZERO = ("making", "fall", "longer", "review")


@pytest.mark.parametrize(
    ("name", "value"),
    [*((name, 0.0) for name in ANY_SECONDS), ("fan_out", 2), ("uneven", 1.01), ("gain", 0.0), ("gain", 1.0)],
)
def test_what_just_fits_is_taken(name: str, value: float) -> None:
    assert getattr(Parameters(**{name: value}), name) == value  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        *((name, -0.01, "seconds from 0") for name in ANY_SECONDS),
        *((name, 0.0, "a number above 0") for name in ABOVE_ZERO),
        ("fan_out", 1, "2 or more"),
        ("uneven", 1.0, "a number above 1"),
        ("gain", -0.01, "a share from 0 to 1"),
        ("gain", 1.01, "a share from 0 to 1"),
    ],
)
def test_what_does_not_fit_is_refused(name: str, value: float, rule: str) -> None:
    with pytest.raises(WeftError, match=f"^`{name}` is {value}: give {rule}") as told:
        Parameters(**{name: value})  # type: ignore[arg-type]
    assert told.value.options == (name,)
