"""What a paper says of an experiment, and whether our figures agree.

A claim states a number, a range, an order of systems, how far one is above another (a gap), or where a system's
figures go along the axis; it stands in papers/*.toml with the section it was taken from. A number, range or gap agrees
within a tenth, or the tolerance that stands there; an order when ours is the same; a trend when three quarters of all
pairs of points follow it, and "flat" when the highest point is within the tolerance of the lowest. What is claimed of
each point has to hold at all of them.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from typing import Any, Literal

from weft.experiments.engine.experiment import EACH, MEAN, Experiment
from weft.experiments.engine.paper import statements_of
from weft.experiments.engine.results import Figures

TOLERANCE = 0.1

Trend = Literal["up", "down", "flat"]
Verdict = Literal["agrees", "differs", "cannot be compared"]


@dataclass(frozen=True)
class Claim:
    section: str
    metric: str
    at: str  # label of a point, MEAN or EACH
    systems: tuple[str, ...]  # one; several where their order is claimed, the lowest first; two for a gap
    low: float = math.nan  # of the range; the same as high where the paper gives a number
    high: float = math.nan
    trend: Trend | None = None  # along the axis; `at` is then MEAN
    tolerance: float = TOLERANCE  # of a number, range, gap, or flat trend

    @property
    def is_gap(self) -> bool:
        return len(self.systems) == 2 and not math.isnan(self.low)

    @property
    def is_order(self) -> bool:
        return len(self.systems) > 1 and not self.is_gap

    @property
    def value(self) -> float | None:
        return self.low if self.low == self.high else None


@dataclass(frozen=True)
class Comparison:
    claim: Claim
    ours: tuple[float, ...]  # of the systems; none where a run failed or the point was left out
    verdict: Verdict
    sentence: str = ""  # where it does not agree

    @property
    def ratio(self) -> float | None:
        return self.ours[0] / self.claim.value if self.ours and self.claim.value else None


def claims_of(experiment: Experiment) -> list[Claim]:
    stated = statements_of(experiment.paper)[experiment.name]
    return [claim for table in stated.get("tables", []) for claim in _of_table(table)] + [
        _claim(claim) for claim in stated.get("claims", [])
    ]


def remarks(experiment: Experiment, comparisons: Sequence[Comparison]) -> list[str]:
    """What the experiment found, and why ours is otherwise where it is: a paragraph each."""
    stated = statements_of(experiment.paper)[experiment.name]
    found = stated.get("finding", "").strip()
    differs = any(comparison.verdict == "differs" for comparison in comparisons)
    why = stated.get("because", "").strip() if differs else ""
    return [text for text in (found, why and f"Why it differs: {why}") if text]


def _of_table(table: Mapping[str, Any]) -> Iterator[Claim]:
    for system, values in table["values"].items():
        for at, value in zip(table["at"], values, strict=True):
            yield Claim(table["section"], table["metric"], at, (system,), value, value)


def _claim(stated: Mapping[str, Any]) -> Claim:
    tolerance = stated.get("tolerance", TOLERANCE)
    if "trend" in stated:
        where = stated["section"], stated["metric"], MEAN
        return Claim(*where, (stated["system"],), trend=stated["trend"], tolerance=tolerance)
    where = stated["section"], stated["metric"], stated["at"]
    if "order" in stated:
        return Claim(*where, tuple(stated["order"]))
    low, high = stated.get("range") or (stated["value"], stated["value"])
    systems = tuple(stated["gap"]) if "gap" in stated else (stated["system"],)
    return Claim(*where, systems, float(low), float(high), tolerance=tolerance)


def compare(claim: Claim, figures: Figures, axis: Sequence[str]) -> Comparison:
    """The axis: the labels of its points, in order."""
    if claim.at == EACH:
        return _compare_each(claim, figures, axis)
    ours = tuple(
        figures[claim.metric, system, claim.at]
        for system in claim.systems
        if (claim.metric, system, claim.at) in figures
    )
    if len(ours) < len(claim.systems):
        return Comparison(claim, (), "cannot be compared", "Not run at this scale, or its run failed.")
    if claim.trend is not None:
        return _compare_trend(claim, [figures[claim.metric, claim.systems[0], at] for at in axis])
    if claim.is_order:
        return _compare_order(claim, ours)
    figure = ours[1] - ours[0] if claim.is_gap else ours[0]
    if figure < claim.low * (1 - claim.tolerance):
        return Comparison(claim, (figure,), "differs", f"{1 - figure / claim.low:.0%} lower than stated.")
    if figure > claim.high * (1 + claim.tolerance):
        return Comparison(claim, (figure,), "differs", f"{figure / claim.high - 1:.0%} higher than stated.")
    return Comparison(claim, (figure,), "agrees")


def _compare_each(claim: Claim, figures: Figures, axis: Sequence[str]) -> Comparison:
    """The first point where it differs; else the last."""
    found = [compare(replace(claim, at=at), figures, axis) for at in axis]
    for verdict in ("cannot be compared", "differs"):
        for at, comparison in zip(axis, found, strict=True):
            if comparison.verdict == verdict:
                return replace(comparison, claim=claim, sentence=f"At {at}: {comparison.sentence}")
    return replace(found[-1], claim=claim)


def _compare_order(claim: Claim, ours: tuple[float, ...]) -> Comparison:
    swapped = [pair for pair, (low, high) in zip(pairwise(claim.systems), pairwise(ours), strict=True) if low > high]
    if not swapped:
        return Comparison(claim, ours, "agrees")
    return Comparison(claim, ours, "differs", f"Here {swapped[0][1]} is lower than {swapped[0][0]}.")


def _compare_trend(claim: Claim, along: Sequence[float]) -> Comparison:
    """Whether three quarters of all pairs of points follow the trend, or all points are alike."""
    ends = along[0], along[-1]
    if claim.trend == "flat":
        spread = max(along) / min(along) - 1 if min(along) > 0 else math.inf
        if spread <= claim.tolerance:
            return Comparison(claim, ends, "agrees")
        return Comparison(claim, ends, "differs", f"Our highest point is {spread:.0%} above the lowest.")
    rises = sum((later > earlier) - (later < earlier) for earlier, later in combinations(along, 2))
    expected = rises if claim.trend == "up" else -rises
    agrees = 4 * expected >= len(along) * (len(along) - 1)
    sentence = "" if agrees else f"Ours does not go {claim.trend} along the axis."
    return Comparison(claim, ends, "agrees" if agrees else "differs", sentence)
