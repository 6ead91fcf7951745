"""What publications contain, and what advertisements and subscriptions say about it.

A filter is a conjunction: a class of content, and at most one predicate an attribute. No predicate is empty, and
attributes are independent, so that one filter covers another, or intersects it, exactly when its predicates do.
A predicate on an attribute that the content lacks does not hold. What a filter does not mention may be there.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf, isfinite

from weft.errors import WeftError

Value = int | float | str


@dataclass(frozen=True, slots=True)
class Range:
    """Numbers from low to high, both included; infinite where it is open."""

    low: float = -inf
    high: float = inf

    def __post_init__(self) -> None:
        if not self.low <= self.high:
            raise WeftError(f"A range from {self.low} to {self.high} holds no number: give the lower one first.")


@dataclass(frozen=True, slots=True)
class OneOf:
    values: frozenset[Value]

    def __post_init__(self) -> None:
        if not self.values or not all(isinstance(value, str) or isfinite(value) for value in self.values):
            raise WeftError("A set of values must have at least one, and only finite numbers and text.")


@dataclass(frozen=True, slots=True)
class Prefix:
    """Text that starts so."""

    text: str


Predicate = Range | OneOf | Prefix


def equal(value: Value) -> OneOf:
    return OneOf(frozenset((value,)))


@dataclass(frozen=True, slots=True)
class Filter:
    kind: str  # the paper's class, or type
    predicates: Mapping[str, Predicate]  # by attribute


@dataclass(frozen=True, slots=True)
class Advertisement:
    number: int  # unique among all
    filter: Filter
    priority: bool = False  # high: what is said under it has a broker's capacity before all else


@dataclass(frozen=True, slots=True)
class Subscription:
    number: int  # unique among all
    filter: Filter


@dataclass(frozen=True, slots=True)
class Content:
    kind: str
    values: Mapping[str, Value]  # by attribute

    def __post_init__(self) -> None:
        for attribute, value in self.values.items():
            if not isinstance(value, str) and not isfinite(value):
                raise WeftError(f"The attribute {attribute} is {value}: give a finite number, or text.")


def matches(wanted: Filter, content: Content) -> bool:
    return wanted.kind == content.kind and all(
        attribute in content.values and _holds(predicate, content.values[attribute])
        for attribute, predicate in wanted.predicates.items()
    )


def covers(wide: Filter, narrow: Filter) -> bool:
    """All content that matches the narrow one matches the wide one."""
    return wide.kind == narrow.kind and all(
        attribute in narrow.predicates and _contains(predicate, narrow.predicates[attribute])
        for attribute, predicate in wide.predicates.items()
    )


def intersects(one: Filter, other: Filter) -> bool:
    """Some content matches both."""
    return one.kind == other.kind and all(
        _overlap(predicate, other.predicates[attribute])
        for attribute, predicate in one.predicates.items()
        if attribute in other.predicates
    )


def _holds(predicate: Predicate, value: Value) -> bool:
    match predicate:
        case Range(low, high):
            return not isinstance(value, str) and low <= value <= high
        case OneOf(values):
            return value in values
        case Prefix(text):
            return isinstance(value, str) and value.startswith(text)


def _contains(wide: Predicate, narrow: Predicate) -> bool:
    match wide, narrow:
        case _, OneOf(values):
            return all(_holds(wide, value) for value in values)
        case OneOf(values), Range(low, high):
            return low == high and low in values
        case Range(), Range():
            return wide.low <= narrow.low and narrow.high <= wide.high
        case Prefix(), Prefix():
            return narrow.text.startswith(wide.text)
    return False


def _overlap(one: Predicate, other: Predicate) -> bool:
    match one, other:
        case OneOf(values), _:
            return any(_holds(other, value) for value in values)
        case _, OneOf(values):
            return any(_holds(one, value) for value in values)
        case Range(), Range():
            return max(one.low, other.low) <= min(one.high, other.high)
        case Prefix(), Prefix():
            return one.text.startswith(other.text) or other.text.startswith(one.text)
    return False
