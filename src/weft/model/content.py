"""What publications contain, and what advertisements and subscriptions say about it.

A filter is a class of content and a union of conjunctions. A conjunction says of some attributes which values they may
have; what it does not mention may have any value, or none. The values that it allows one attribute are intervals, of
numbers and of texts, so that they can be joined, met and turned round, and each set of values is written in one form:

- numbers are those that 64 bits hold in floating point, which have a next one, so that all intervals are closed;
- texts are in the order of their code points, where the next one after a text is the text with a zero after it, so that
  all intervals are from a text up to another, without that, or without end; what starts with a prefix is such a one;
- an attribute may be absent, which satisfies no comparison, so that the opposite of any comparison allows it.

A filter without conjunctions matches nothing; one with an empty conjunction matches all content of its class.
Attributes of a conjunction are independent, so that two intersect exactly when all their attributes do. One filter
covers another if each conjunction of the other is inside one of its own: where only several of them together hold it,
the answer is no, which costs a place in an index and nothing else.
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite, nextafter
from sys import float_info, maxunicode

from weft.errors import WeftError

Value = int | float | str
Numbers = tuple[float, float]  # from the first to the second, both included
Texts = tuple[str, str | None]  # from the first up to the second, which is not included; None: without end

LARGEST = float_info.max
MOST_CONJUNCTIONS = 64  # of a filter


@dataclass(frozen=True, slots=True)
class Values:
    """The values that an attribute may have: intervals, ascending and apart, and whether it may have none."""

    numbers: tuple[Numbers, ...] = ()
    texts: tuple[Texts, ...] = ()
    absent: bool = False

    def __contains__(self, value: Value | None) -> bool:
        if value is None:
            return self.absent
        if isinstance(value, str):
            place = bisect_right(self.texts, value, key=lambda each: each[0]) - 1
            return place >= 0 and _is_below(value, self.texts[place][1])
        number = float(value)
        place = bisect_right(self.numbers, number, key=lambda each: each[0]) - 1
        return place >= 0 and number <= self.numbers[place][1]

    def __bool__(self) -> bool:
        return bool(self.numbers or self.texts or self.absent)

    def __and__(self, other: "Values") -> "Values":
        return Values(
            _common_numbers(self.numbers, other.numbers),
            _common_texts(self.texts, other.texts),
            self.absent and other.absent,
        )

    def __or__(self, other: "Values") -> "Values":
        return values_of(self.numbers + other.numbers, self.texts + other.texts, self.absent or other.absent)

    def __invert__(self) -> "Values":
        return Values(_other_numbers(self.numbers), _other_texts(self.texts), not self.absent)

    def __le__(self, other: "Values") -> bool:
        return self | other == other


def values_of(numbers: Iterable[Numbers], texts: Iterable[Texts], absent: bool = False) -> Values:
    """Values in intervals that may touch, overlap and come in any order; what is empty is left out."""
    apart: list[Numbers] = []
    for low, high in sorted(each for each in map(_finite, numbers) if each[0] <= each[1]):
        if apart and low <= nextafter(apart[-1][1], inf):
            apart[-1] = apart[-1][0], max(apart[-1][1], high)
        else:
            apart.append((float(low), float(high)))
    joined: list[Texts] = []
    for start, stop in sorted((each for each in texts if _is_below(*each)), key=lambda each: each[0]):
        if joined and not _is_below(joined[-1][1], start):
            joined[-1] = joined[-1][0], _later(joined[-1][1], stop)
        else:
            joined.append((start, stop))
    return Values(tuple(apart), tuple(joined), absent)


ALL_NUMBERS = Values(((-LARGEST, LARGEST),), ())
ALL_TEXTS = Values((), (("", None),))
ANY_VALUE = Values(ALL_NUMBERS.numbers, ALL_TEXTS.texts)
NONE_NEEDED = Values(ALL_NUMBERS.numbers, ALL_TEXTS.texts, absent=True)  # what says nothing of an attribute


def between(low: float = -inf, high: float = inf) -> Values:
    """Numbers from low to high, both included; infinite where it is open."""
    if not low <= high:
        raise WeftError(f"A range from {low} to {high} holds no number: give the lower one first.")
    return values_of([(low, high)], ())


def one_of(values: Iterable[Value]) -> Values:
    given = list(values)
    if not given or not all(isinstance(value, str) or isfinite(value) for value in given):
        raise WeftError("A set of values must have at least one, and only finite numbers and text.")
    numbers = [(value, value) for value in given if not isinstance(value, str)]
    return values_of(numbers, [(value, value + "\0") for value in given if isinstance(value, str)])


def equal(value: Value) -> Values:
    return one_of([value])


def prefix(text: str) -> Values:
    """Text that starts so."""
    rest = text.rstrip(chr(maxunicode))
    return Values((), ((text, rest[:-1] + chr(ord(rest[-1]) + 1) if rest else None),))


def below(value: Value) -> Values:
    """What is less than a value, of its kind."""
    if isinstance(value, str):
        return values_of((), [("", value)])
    return values_of([(-LARGEST, nextafter(value, -inf))], ())


def above(value: Value) -> Values:
    """What is more than a value, of its kind."""
    if isinstance(value, str):
        return Values((), ((value + "\0", None),))
    return values_of([(nextafter(value, inf), LARGEST)], ())


Conjunction = Mapping[str, Values]  # by attribute


@dataclass(frozen=True, init=False)
class Filter:
    kind: str  # the paper's class, or type
    conjunctions: tuple[Conjunction, ...]

    def __init__(self, kind: str, *conjunctions: Conjunction) -> None:
        if len(conjunctions) > MOST_CONJUNCTIONS:
            raise WeftError(
                f"A filter comes to {len(conjunctions)} conjunctions once OR and NOT are worked out, and there are "
                f"{MOST_CONJUNCTIONS} at most: divide it into several subscriptions."
            )
        object.__setattr__(self, "kind", kind)
        object.__setattr__(self, "conjunctions", conjunctions)


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
    return wanted.kind == content.kind and any(
        all(content.values.get(attribute) in values for attribute, values in conjunction.items())
        for conjunction in wanted.conjunctions
    )


def covers(wide: Filter, narrow: Filter) -> bool:
    """All content that matches the narrow one matches the wide one; no where that takes several conjunctions."""
    return wide.kind == narrow.kind and all(
        any(_inside(inner, outer) for outer in wide.conjunctions) for inner in narrow.conjunctions
    )


def intersects(one: Filter, other: Filter) -> bool:
    """Some content matches both."""
    return one.kind == other.kind and any(
        _meet(left, right) for left in one.conjunctions for right in other.conjunctions
    )


def _inside(inner: Conjunction, outer: Conjunction) -> bool:
    return all(attribute in inner and inner[attribute] <= values for attribute, values in outer.items())


def _meet(one: Conjunction, other: Conjunction) -> bool:
    return all(bool(one[attribute] & other[attribute]) for attribute in one.keys() & other.keys())


def _finite(ends: Numbers) -> Numbers:
    return max(ends[0], -LARGEST), min(ends[1], LARGEST)


def _is_below(text: str | None, stop: str | None) -> bool:
    """Whether a text, or an end, comes before an end."""
    return text is not None and (stop is None or text < stop)


def _earlier(one: str | None, other: str | None) -> str | None:
    return other if one is None else one if other is None else min(one, other)


def _later(one: str | None, other: str | None) -> str | None:
    return None if one is None or other is None else max(one, other)


def _common_numbers(some: Sequence[Numbers], others: Sequence[Numbers]) -> tuple[Numbers, ...]:
    """What two rows of intervals share, by one walk along both."""
    common, one, other = [], 0, 0
    while one < len(some) and other < len(others):
        low, high = max(some[one][0], others[other][0]), min(some[one][1], others[other][1])
        if low <= high:
            common.append((low, high))
        if some[one][1] < others[other][1]:
            one += 1
        else:
            other += 1
    return tuple(common)


def _common_texts(some: Sequence[Texts], others: Sequence[Texts]) -> tuple[Texts, ...]:
    common, one, other = [], 0, 0
    while one < len(some) and other < len(others):
        (start, stop), (start_2, stop_2) = some[one], others[other]
        low, high = max(start, start_2), _earlier(stop, stop_2)
        if _is_below(low, high):
            common.append((low, high))
        if stop == high:
            one += 1
        else:
            other += 1
    return tuple(common)


def _other_numbers(numbers: Sequence[Numbers]) -> tuple[Numbers, ...]:
    ends = [-inf, *(end for pair in numbers for end in pair), inf]
    gaps = [(nextafter(low, inf), nextafter(high, -inf)) for low, high in zip(ends[::2], ends[1::2], strict=True)]
    return tuple((low, high) for low, high in gaps if low <= high)


def _other_texts(texts: Sequence[Texts]) -> tuple[Texts, ...]:
    starts: list[str | None] = ["", *(stop for _, stop in texts)]
    stops = [*(start for start, _ in texts), None]
    return tuple(
        (start, stop) for start, stop in zip(starts, stops, strict=True) if start is not None and _is_below(start, stop)
    )
