"""The verdict: gains and prices in words, rounded honestly."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.overlays.catalog import BUILDERS
from weft.report.verdict import as_much, less_or_more, percent, verdict
from weft.report.words import OVERLAYS


def evaluation(messages: int, path: float, busiest: int, router: str = "weave", overlay: str = "swico-sl") -> Any:
    figures = {"router": router, "overlay": overlay, "publications": 10, "deliveries": 100, "messages": messages}
    return {**figures, "average_path": path, "times": None, "load": {"sent": {"maximum": busiest}}}


def meta(connections: int) -> Any:
    return {"quality": {"degree": {"maximum": connections}}}


def test_the_verdict_has_the_price_beside_the_gain() -> None:
    both = {"overlay": evaluation(310, 2.0, 42), "baseline": evaluation(1000, 5.8, 20, "scribe", "random")}
    found = verdict(both, {"overlay": meta(34), "baseline": meta(27)})
    assert found.sentence == (
        "69 % fewer messages between brokers, paths 2.9 times shorter, the busiest broker sends 2.1 times as much, "
        "at most 34 connections a broker."
    )
    assert [finding.sign for finding in found.findings] == ["gain", "gain", "price", "price"]
    assert found.findings[0].beside == "310 instead of 1,000"
    assert found.baseline == "a meeting broker for each topic (Scribe) on random links"


def test_bytes_are_told_where_sizes_are_known() -> None:
    both = {
        "overlay": {**evaluation(310, 2.0, 42), "bytes": 500},
        "baseline": {**evaluation(310, 2, 42), "bytes": 1000},
    }
    found = verdict(both, {"overlay": meta(1), "baseline": meta(3)}).findings[1]
    assert (found.text, found.beside, found.sign) == (
        "50 % fewer bytes between brokers",
        "500 instead of 1,000",
        "gain",
    )


def test_publications_for_nobody_are_no_proof() -> None:
    nobody = {**evaluation(0, 0.0, 0), "deliveries": 0}
    found = verdict({"overlay": nobody, "baseline": nobody}, {"overlay": meta(1), "baseline": meta(1)})
    assert found.proof == "10 publications were for nobody but who published them: nothing was to be carried."


def test_a_design_that_loses_is_told_so() -> None:
    both = {"overlay": evaluation(1100, 5.0, 10), "baseline": evaluation(1000, 4.0, 10)}
    found = verdict(both, {"overlay": meta(1), "baseline": meta(3)})
    assert [finding.text for finding in found.findings] == [
        "10 % more messages between brokers",
        "paths 1.2 times longer",
        "the busiest broker sends as much",
        "at most 1 connection a broker",
    ]
    assert [finding.sign for finding in found.findings] == ["price", "price", "same", "gain"]


def test_nothing_to_compare_with_is_no_division() -> None:
    assert less_or_more(3, 0, "fewer", "more") == "3 instead of no"
    assert less_or_more(0, 0, "fewer", "more") == "as many"
    assert as_much(5, 0) == "5 where the baseline's sends nothing"
    found = verdict(
        {"overlay": evaluation(0, 0.0, 0), "baseline": evaluation(0, 0.0, 0)},
        dict.fromkeys(("overlay", "baseline"), meta(0)),
    )
    assert {finding.sign for finding in found.findings} == {"same"}


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.69, "69 %"),
        (0.997, "99.7 %"),
        (0.99996, "99.996 %"),
        (0.004, "0.4 %"),
        (1, "100 %"),
        (0, "0 %"),
        (0.5, "50 %"),
    ],
)
def test_per_cents_are_rounded_honestly(share: float, text: str) -> None:
    assert percent(share) == text


@given(st.integers(1, 10_000), st.integers(1, 10_000))
def test_a_difference_is_never_rounded_away(ours: int, theirs: int) -> None:
    text = less_or_more(ours, theirs, "fewer", "more")
    assert ("fewer" in text) == (ours < theirs)
    assert (text == "as many") == (ours == theirs)
    assert not text.startswith(("0 %", "100 %", "1.0 "))


def test_every_overlay_has_words() -> None:
    assert set(BUILDERS) == set(OVERLAYS)
