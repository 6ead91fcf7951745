"""Filters among subscriptions: which they are, against the definition a text at a time, and what they stand for."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.model.topic import is_wild, matches
from weft.model.wildcard import are_filters, expanded, is_expanded, known_topics, plain_filter

TEXTS = st.lists(st.sampled_from(["a", "+", "#", "/", "\0", "$", "é\n"])).map("".join)
TEXTS = st.tuples(st.sampled_from(["", "$share/", "$share/g/", "$share", "$queue/"]), TEXTS).map("".join)


@given(st.lists(TEXTS))
def test_filters_are_known_alike_one_by_one_and_in_arrays(texts: list[str]) -> None:
    assert are_filters(pa.array(texts, pa.string())).to_pylist() == [is_expanded(text) for text in texts]


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("a/+", True),
        ("#", True),
        ("+/b/#", True),
        ("$share/g/a", True),
        ("$queue/a/#", True),
        ("a/b", False),
        ("C++", False),
        ("#jazz", False),
        ("a#", False),
        ("#/a", False),
        ("$share/g", False),
        ("$share/g/", False),
        ("$share/+/a", False),
        ("$share//+", False),
        ("", False),
    ],
)
def test_what_is_no_filter_of_mqtt_is_a_name(text: str, is_one: bool) -> None:
    assert is_expanded(text) == is_one == are_filters(pa.array([text])).to_pylist()[0]


LEVELS = st.lists(st.sampled_from(["a", "b", "$s", ""]), min_size=1, max_size=3).map("/".join)


@given(st.lists(LEVELS.filter(bool), unique=True), st.lists(st.sampled_from(["#", "+", "a/#", "+/b", "a", "$s/+"])))
def test_a_filter_stands_for_the_topics_that_it_matches(topics: list[str], filters: list[str]) -> None:
    place, names, unmatched = expanded(pa.array(filters, pa.string()), topics)
    expected = [(at, name) for at, text in enumerate(filters) for name in topics if matches(text, name)]
    assert sorted(zip(place.tolist(), names.to_pylist(), strict=True)) == sorted(expected)
    assert set(unmatched) == set(filters) - {filters[at] for at, _ in expected}


def test_topics_are_known_by_a_list_and_by_those_who_subscribe_to_them() -> None:
    assert known_topics(["x"], ["b", "a/+", "$share/g/c", "$SYS/y", "C++"]) == ["b", "c", "x"]
    assert plain_filter("$queue/a") == "a"
    assert is_wild("a/+")
