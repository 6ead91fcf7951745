from sys import maxunicode

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from test_model_content import contents, filters
from weft.model import matching
from weft.model.content import Content, Filter, between, matches, prefix
from weft.model.matching import Index, Matcher


def expected(numbered, content):
    return sorted(number for number, wanted in numbered.items() if matches(wanted, content))


@settings(deadline=None, max_examples=300)
@given(st.lists(filters, max_size=12), st.lists(contents, min_size=1, max_size=8))
def test_the_index_finds_what_matches(wanted, said):
    found = [sorted(positions) for positions in Index(wanted).match(said)]
    assert found == [expected(dict(enumerate(wanted)), content) for content in said]


@pytest.mark.parametrize("buckets", [2, 3, 256])
def test_many_filters_share_words_and_buckets(monkeypatch, buckets):
    monkeypatch.setattr(matching, "BUCKETS", buckets)
    rng = np.random.default_rng(1)
    wanted = [interval_filter(rng) for _ in range(700)]
    said = [Content(f"class {rng.integers(4)}", {"x": rng.integers(30), "y": rng.uniform(0, 30)}) for _ in range(100)]
    index = Index(wanted)
    assert [sorted(positions) for positions in index.match(said)] == [
        expected(dict(enumerate(wanted)), content) for content in said
    ]
    points = index.lines.kinds(said), index.lines.points(said)
    for indexed, compared in zip(index.match_points(*points), index.compare_points(*points), strict=True):
        np.testing.assert_array_equal(indexed, compared)


def test_texts_are_found_by_their_beginnings():
    last = chr(maxunicode)
    beginnings = ["", "a", "ab", f"a{last}", last]
    wanted = [Filter("c", {"x": prefix(text)}) for text in beginnings]
    said = [
        Content("c", {"x": text}) for text in ("", "a", "aa", "ab", "abz", "ac", "b", f"a{last}", f"a{last}b", last)
    ]
    found = [sorted(positions) for positions in Index(wanted).match(said)]
    assert found == [expected(dict(enumerate(wanted)), content) for content in said]
    assert found[4] == [0, 1, 2]


def test_numbers_are_found_in_ranges_that_are_open_at_either_end():
    wanted = [Filter("c", {"x": one}) for one in (between(), between(high=5), between(low=5), between(4, 6))]
    said = [Content("c", {"x": value}) for value in (4, 5, 7, "text")] + [Content("c", {"y": 5})]
    found = [sorted(positions) for positions in Index(wanted).match(said)]
    assert found == [[0, 1, 3], [0, 1, 2, 3], [0, 2], [], []]


def interval_filter(rng):
    ends = np.sort(rng.integers(0, 30, (2, 2)), axis=1).tolist()
    attributes = {attribute: between(*pair) for attribute, pair in zip("xy", ends, strict=True) if rng.random() < 0.9}
    return Filter(f"class {rng.integers(4)}", attributes)


@settings(deadline=None, max_examples=100)
@given(st.data())
def test_filters_come_and_go(data):
    matcher, numbered = Matcher(), {}
    for number in range(data.draw(st.integers(0, 200))):
        wanted = Filter(f"class {number % 3}", {"x": between(number % 7, number % 11 + 7)})
        matcher.add(number, wanted)
        numbered[number] = wanted
        if number % 40 == 0:
            check(matcher, numbered)
        if number % 5 == 0:
            gone = data.draw(st.sampled_from(sorted(numbered)))
            matcher.remove(gone)
            del numbered[gone]
    check(matcher, numbered)


def check(matcher, numbered):
    said = [Content(f"class {kind}", {"x": x}) for kind in range(4) for x in (0, 5, 8, 17)]
    assert [sorted(numbers) for numbers in matcher.match(said)] == [expected(numbered, content) for content in said]
    assert len(matcher) == len(numbered)
