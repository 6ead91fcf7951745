"""What a paper says of an experiment, and whether our figures agree.

A claim states a number, a range, an order of systems, or where a system's figures go along the axis; it stands in
papers/*.toml with the section it was taken from. A number or range agrees within a tenth, or the tolerance that stands
there; an order when ours is the same; a trend when three quarters of all pairs of points follow it.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any, Literal

from weft.experiments.engine.experiment import MEAN, Experiment
from weft.experiments.engine.paper import statements_of
from weft.experiments.engine.results import Figures

TOLERANCE = 0.1

Trend = Literal["up", "down"]
Verdict = Literal["agrees", "differs", "cannot be compared"]


@dataclass(frozen=True)
class Claim:
    section: str
    metric: str
    at: str  # label of a point, or MEAN
    systems: tuple[str, ...]  # one; several where their order is claimed, the lowest first
    low: float = math.nan  # of the range; the same as high where the paper gives a number
    high: float = math.nan
    trend: Trend | None = None  # along the axis; `at` is then MEAN
    tolerance: float = TOLERANCE  # of a number or range

    @property
    def is_order(self) -> bool:
        return len(self.systems) > 1

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
    if "trend" in stated:
        return Claim(stated["section"], stated["metric"], MEAN, (stated["system"],), trend=stated["trend"])
    where = stated["section"], stated["metric"], stated["at"]
    if "order" in stated:
        return Claim(*where, tuple(stated["order"]))
    low, high = stated.get("range") or (stated["value"], stated["value"])
    tolerance = stated.get("tolerance", TOLERANCE)
    return Claim(*where, (stated["system"],), float(low), float(high), tolerance=tolerance)


def compare(claim: Claim, figures: Figures, axis: Sequence[str]) -> Comparison:
    """The axis: the labels of its points, in order."""
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
    if ours[0] < claim.low * (1 - claim.tolerance):
        return Comparison(claim, ours, "differs", f"{1 - ours[0] / claim.low:.0%} lower than stated.")
    if ours[0] > claim.high * (1 + claim.tolerance):
        return Comparison(claim, ours, "differs", f"{ours[0] / claim.high - 1:.0%} higher than stated.")
    return Comparison(claim, ours, "agrees")


def _compare_order(claim: Claim, ours: tuple[float, ...]) -> Comparison:
    swapped = [pair for pair, (low, high) in zip(pairwise(claim.systems), pairwise(ours), strict=True) if low > high]
    if not swapped:
        return Comparison(claim, ours, "agrees")
    return Comparison(claim, ours, "differs", f"Here {swapped[0][1]} is lower than {swapped[0][0]}.")


def _compare_trend(claim: Claim, along: Sequence[float]) -> Comparison:
    """Whether three quarters of all pairs of points follow the trend."""
    rises = sum((later > earlier) - (later < earlier) for earlier, later in combinations(along, 2))
    expected = rises if claim.trend == "up" else -rises
    agrees = 4 * expected >= len(along) * (len(along) - 1)
    sentence = "" if agrees else f"Ours does not go {claim.trend} along the axis."
    return Comparison(claim, (along[0], along[-1]), "agrees" if agrees else "differs", sentence)
