"""The text of filters against direct evaluation by a second reading of the grammar, and what is wrong with a text."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.errors import WeftError
from weft.model.content import Content, Filter, covers, intersects, matches
from weft.model.expression import parse_filter
from weft.model.matching import Index

NUMBERS = ["0", "-1.5", "2", "3e0", "1e300"]
TEXTS = ["", "a", "ab", "b", "eu/", "eu/fra"]
NAMES = ["x", "y", "a.b"]

names = st.sampled_from(NAMES)
words = st.sampled_from(NUMBERS) | st.sampled_from(TEXTS).map(lambda text: f'"{text}"')
comparisons = st.one_of(
    st.tuples(names, st.sampled_from(["=", "!=", "<", "<=", ">", ">="]), words),
    st.tuples(names, st.just("in"), st.lists(words, min_size=1, max_size=3).map(tuple)),
    st.tuples(names, st.just("^"), st.sampled_from(TEXTS).map(lambda text: f"'{text}'")),
)
trees = st.recursive(
    comparisons,
    lambda inner: st.tuples(st.just("not"), inner) | st.tuples(inner, st.sampled_from(["and", "or"]), inner),
    max_leaves=6,
)
values = st.sampled_from([float(word) for word in NUMBERS]) | st.sampled_from([*TEXTS, "eu0", "aa", "c"])
contents = st.builds(Content, st.sampled_from(["quote", "news"]), st.dictionaries(names, values, max_size=3))


def text_of(tree):
    match tree:
        case ("not", inner):
            return f"not ({text_of(inner)})"
        case (str(name), "in", options):
            return f"{name} in ({', '.join(options)})"
        case (str(name), str(sign), str(word)):
            return f"{name} {sign} {word}"
        case (left, joint, right):
            return f"({text_of(left)}) {joint} ({text_of(right)})"


def value_of(word):
    return word[1:-1] if word[0] in "\"'" else float(word)


def holds(tree, content):
    """What the grammar says, evaluated as it stands."""
    match tree:
        case ("not", inner):
            return not holds(inner, content)
        case (str(name), str(sign), word):
            return name in content and compares(content[name], sign, word)
        case (left, "and", right):
            return holds(left, content) and holds(right, content)
        case (left, "or", right):
            return holds(left, content) or holds(right, content)


def compares(value, sign, word):
    if sign == "in":
        return value in [value_of(each) for each in word]
    other = value_of(word)
    if sign == "^":
        return isinstance(value, str) and value.startswith(other)
    if sign in ("=", "!="):
        return (value == other) == (sign == "=")
    if isinstance(value, str) != isinstance(other, str):
        return False
    return {"<": value < other, "<=": value <= other, ">": value > other, ">=": value >= other}[sign]


@settings(deadline=None, max_examples=400)
@given(trees, st.lists(contents, min_size=1, max_size=12))
def test_a_filter_matches_what_its_text_says(tree, said):
    wanted = parse_filter("quote", text_of(tree))
    for content in said:
        assert matches(wanted, content) == (content.kind == "quote" and holds(tree, content.values))


@settings(deadline=None, max_examples=200)
@given(st.lists(trees, min_size=1, max_size=8), st.lists(contents, min_size=1, max_size=12))
def test_the_index_finds_unions_of_conjunctions(many, said):
    wanted = [parse_filter("quote", text_of(tree)) for tree in many]
    found = Index(wanted).match(said)
    assert found == [[n for n, each in enumerate(wanted) if matches(each, content)] for content in said]


@settings(deadline=None, max_examples=300)
@given(trees, trees, st.lists(contents, min_size=1, max_size=30))
def test_intersecting_errs_towards_yes_and_covering_towards_no(one, other, said):
    left, right = (parse_filter("quote", text_of(tree)) for tree in (one, other))
    for content in said:
        if matches(left, content) and matches(right, content):
            assert intersects(left, right)
        if matches(right, content) and not matches(left, content):
            assert not covers(left, right)
    assert covers(left, left)


@pytest.mark.parametrize(
    ("text", "yes", "no"),
    [
        ("", {}, None),
        ("x = 1 or x = 2 and y = 3", {"x": 1}, {"x": 2}),
        ("(x = 1 or x = 2) and y = 3", {"x": 2, "y": 3}, {"x": 1}),
        ("not x = 1 and y = 1", {"y": 1}, {"x": 1, "y": 1}),
        ("NOT (x = 1 Or y = 1)", {}, {"y": 1}),
        ("not not x = 1", {"x": 1}, {}),
        (r'x = "say \"hi\"\\"', {"x": 'say "hi"\\'}, {"x": "say"}),
        ("x = 'it''s' or x = 'b'", None, None),
        ("`in` = 1 and `odd name` ^ 'a'", {"in": 1, "odd name": "ab"}, {"in": 1}),
        ("sensor.temp>=-1.5e1", {"sensor.temp": -15}, {"sensor.temp": -16}),
        ('x >= "b"', {"x": "b"}, {"x": 5}),
        ("x != 1", {"x": "1"}, {}),
        ("x = 1 or not x = 1", {}, None),
    ],
)
def test_precedence_quotes_and_names(text, yes, no):
    if yes is None and no is None:
        with pytest.raises(WeftError, match="is not understood"):
            parse_filter("c", text)
        return
    wanted = parse_filter("c", text)
    assert matches(wanted, Content("c", yes))
    assert no is None or not matches(wanted, Content("c", no))


def test_what_differs_in_one_attribute_is_one_conjunction():
    many = " or ".join(f'(x = 1 and y = "{number}")' for number in range(500))
    assert len(parse_filter("c", many).conjunctions) == 1
    assert parse_filter("c", "x = 1 or not x = 1") == Filter("c", {})
    assert parse_filter("c", "x = 1 and x = 2") == Filter("c")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("price >", "it ends at character 8, where a number or a text should be"),
        ("price > high", "high stands at character 9, where a number or a text, in quotes should be"),
        ("(x = 1", "`\\)` should be"),
        ("x = 1 y = 2", "y stands at character 7, where `and`, `or` or the end should be"),
        ("x in ()", "\\) stands at character 7"),
        ("x ^ 3", "a text in quotes after"),
        ('"x" = 3', "where the name of an attribute"),
        ('x = "a', "opens a quote that is not closed, at character 5"),
        ("x = 1e999", "a number that is not that large"),
        ("x = 5apples", "5apples cannot be read"),
        ("x is 5", "is stands at character 3, where a comparison after x"),
        ("not " * 70 + "x = 1", "go deeper than 64"),
        ("x = 1 or " * 9000 + "x = 1", "characters, and 65,536 at most"),
        (" or ".join(f"(x = {n} and y = {n})" for n in range(65)), "65 conjunctions .* divide it"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(text, problem):
    with pytest.raises(WeftError, match=problem):
        parse_filter("c", text)
