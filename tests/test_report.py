import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.model.instance import instance_from_pairs
from weft.model.profile import profile, spread
from weft.model.publisher import Publishers
from weft.overlays.catalog import design
from weft.report import distribution
from weft.report.figure import ccdf, shares_with_at_least
from weft.report.page import comparison, facts, section, write_page
from weft.report.ring import telling_topic
from weft.sim.hop import journey


class Texts(HTMLParser):
    """The texts of a page, and whether its tags are closed in their order."""

    VOID = ("meta", "link", "br")
    LAX = ("tr", "th", "td", "html")

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, _: object) -> None:
        if tag not in (*self.VOID, *self.LAX):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in (*self.VOID, *self.LAX):
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.texts.append(data.strip())


def test_a_page_stands_alone_and_escapes_what_it_is_given(tmp_path: Path) -> None:
    figure = ccdf({"a < b": np.array([1, 2, 2, 0])}, "count")
    told = section("1 < 2", facts({"a_b": "<script>", "n": 12345, "yes": True, "of": {"x": 1.5}}))
    write_page(tmp_path / "p.html", "A & B", told + section("Figure", figure))
    page = (tmp_path / "p.html").read_text()
    assert page.count("<script") == 1  # our own
    assert "http" not in page.replace("http://www.w3.org", "")
    parsed = Texts(page)
    assert parsed.open == []
    assert {"A & B", "1 < 2", "a b", "<script>", "12,345", "yes", "x 1.5", "a < b"} <= set(parsed.texts)


def test_a_comparison_has_a_column_a_system() -> None:
    parsed = Texts(comparison({"one": {"x": 1, "y": 2}, "two": {"x": 3, "y": 4}}))
    assert parsed.texts == ["one", "two", "x", "1", "3", "y", "2", "4"]


def test_the_same_figure_is_the_same_text_on_another_day(monkeypatch: pytest.MonkeyPatch) -> None:
    def drawn(counts: list[int], day: int) -> str:
        monkeypatch.setenv("SOURCE_DATE_EPOCH", str(day * 86_400))
        return ccdf({"a": np.array(counts)}, "n")

    assert drawn([1, 5, 7], day=1) == drawn([1, 5, 7], day=2)
    assert drawn([1, 5, 7], day=1) != drawn([1, 5, 8], day=1)


@given(st.lists(st.integers(0, 9), max_size=30))
def test_a_distribution_has_the_share_that_is_as_large_for_every_count(counts: list[int]) -> None:
    values, shares = shares_with_at_least(np.array(counts, np.int64))
    positive = [count for count in counts if count > 0]
    assert values.tolist() == sorted(set(positive))
    assert shares.tolist() == pytest.approx([sum(v >= value for v in positive) / len(positive) for value in values])


def test_a_distribution_is_labelled_at_whole_values_and_with_the_shares_that_are_there() -> None:
    counts = np.repeat(np.arange(18), [1, 1, 2, 2, 4, 8, 15, 14, 15, 12, 10, 8, 4, 1, 1, 1, 1, 1])  # 15 % at most
    labels = re.findall(r">([\d.]+)( %)?<", distribution.spread({"ours": counts}, "hops", ""))
    assert all(label.isdecimal() for label, sign in labels if not sign)
    shares = [float(label) for label, sign in labels if sign]
    assert np.diff(shares) == pytest.approx(shares[1])


def test_a_profile_tells_both_sides() -> None:
    told = profile(instance_from_pairs([0, 0, 2], [0, 1, 1], node_count=4, topic_count=3))
    assert (told["nodes"], told["topics"], told["subscriptions"]) == (4, 3, 3)
    assert (told["nodes_without_topics"], told["topics_without_subscribers"]) == (2, 1)
    assert told["topics_of_a_node"] == {"mean": 0.75, "median": 0.5, "p99": 1.97, "maximum": 2}
    assert spread(np.array([], np.int64)) == {}


def test_the_drawn_topic_has_subscribers() -> None:
    crowd = instance_from_pairs(np.arange(50), np.ones(50, np.int64), topic_count=3)
    assert telling_topic(crowd) == (1, 0)


def test_the_drawn_publication_is_one_that_somebody_makes() -> None:
    """Topic 0 has a dozen subscribers, but topic 1 is published on, most by a node that does not subscribe."""
    given = instance_from_pairs([*range(12), 0, 1], [0] * 12 + [1, 1], node_count=14, topic_count=3)
    publishers = Publishers(*(np.array(ids, np.int32) for ids in ([0, 13, 2], [1, 1, 2])), np.array([1.0, 5.0, 9.0]))
    told = replace(given, given_publishers=publishers)
    assert telling_topic(told) == (1, 13)
    overlay = design(told, "chord", seed=1)
    assert journey(told, overlay, 1).issuer == 13
    assert journey(told, overlay, 0).issuer in range(12)  # nobody is known to publish
    silent = replace(given, given_publishers=replace(publishers, rates=np.zeros(3)))
    assert telling_topic(silent)[0] in (0, 1)
