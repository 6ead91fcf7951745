from itertools import combinations, product
from math import inf, nan

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.errors import WeftError
from weft.model.content import Content, Filter, between, covers, equal, intersects, matches, one_of, prefix

NUMBERS = [0, 1, 2, 3]
TEXTS = ["", "a", "ab", "abc", "b"]
ALL_VALUES = [*NUMBERS, *TEXTS]

values = st.sampled_from(ALL_VALUES)
ranges = st.tuples(st.sampled_from([-inf, *NUMBERS]), st.sampled_from([*NUMBERS, inf])).filter(
    lambda ends: ends[0] <= ends[1]
)
predicates = st.one_of(
    ranges.map(lambda ends: between(*ends)),
    st.frozensets(values, min_size=1, max_size=3).map(one_of),
    st.sampled_from(TEXTS).map(prefix),
)
filters = st.builds(
    Filter, st.sampled_from(["news", "sport"]), st.dictionaries(st.sampled_from("xy"), predicates, max_size=2)
)
contents = st.builds(
    Content, st.sampled_from(["news", "sport"]), st.dictionaries(st.sampled_from("xy"), values, max_size=2)
)

# Predicates of the strategy that differ do so on one of these: halves lie inside ranges, "abx" has no equal in a set.
WITNESSES = [*ALL_VALUES, -0.5, 0.5, 1.5, 2.5, 3.5, "aa", "abx", "abcx", "bx", "c"]


def every_content():
    for kind in ("news", "sport"):
        yield Content(kind, {})
        for one in WITNESSES:
            yield Content(kind, {"x": one})
            yield Content(kind, {"y": one})
            for other in WITNESSES:
                yield Content(kind, {"x": one, "y": other})


EVERY_CONTENT = list(every_content())


@pytest.mark.parametrize(
    ("predicate", "yes", "no"),
    [
        (between(1, 2), [1, 1.5, 2], [0.9, 2.1, "1"]),
        (between(high=2), [-1e300, 2], [2.1]),
        (between(), [0, 1e300], ["0"]),
        (equal("a"), ["a"], ["ab", 1]),
        (one_of({1, "1"}), [1, 1.0, "1"], [2, "2"]),
        (prefix("ab"), ["ab", "abc"], ["a", "b", 1]),
    ],
)
def test_predicates_hold_for_what_they_say(predicate, yes, no):
    wanted = Filter("news", {"x": predicate})
    assert all(matches(wanted, Content("news", {"x": value, "y": 0})) for value in yes)
    assert not any(matches(wanted, Content("news", {"x": value, "y": 0})) for value in no)
    assert not matches(wanted, Content("sport", {"x": yes[0]}))
    assert not matches(wanted, Content("news", {"y": yes[0]}))


@settings(deadline=None, max_examples=300)
@given(filters, filters)
def test_covering_and_intersection_are_those_of_what_matches(one, other):
    matching_one = [matches(one, content) for content in EVERY_CONTENT]
    matching_other = [matches(other, content) for content in EVERY_CONTENT]
    pairs = list(zip(matching_one, matching_other, strict=True))
    assert covers(one, other) == all(wide or not narrow for wide, narrow in pairs)
    assert intersects(one, other) == any(left and right for left, right in pairs)


def every_predicate():
    yield from (between(low, high) for low in (-inf, *NUMBERS) for high in (*NUMBERS, inf) if low <= high)
    yield from (one_of(values) for size in (1, 2) for values in combinations(ALL_VALUES, size))
    yield from map(prefix, TEXTS)


def test_every_two_predicates_cover_and_intersect_by_what_they_hold_for():
    held = {
        predicate: {value for value in WITNESSES if matches(Filter("news", {"x": predicate}), content(value))}
        for predicate in every_predicate()
    }
    for one, other in product(held, held):
        filters = Filter("news", {"x": one}), Filter("news", {"x": other})
        assert covers(*filters) == (held[one] >= held[other]), filters
        assert intersects(*filters) == bool(held[one] & held[other]), filters


def content(value):
    return Content("news", {"x": value})


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: between(2, 1), "from 2 to 1 holds no number"),
        (lambda: between(nan, 1), "holds no number"),
        (lambda: one_of(()), "at least one"),
        (lambda: one_of({1, inf}), "only finite numbers"),
        (lambda: Content("news", {"x": inf}), "attribute x is inf: give a finite number"),
    ],
)
def test_what_matches_nothing_is_an_error(make, problem):
    with pytest.raises(WeftError, match=problem):
        make()
