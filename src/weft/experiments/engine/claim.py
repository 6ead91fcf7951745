"""What a paper says of an experiment, and whether our figures agree.

A claim is a sentence of a paper as data, in papers/*.toml, with the section that it was taken from. It is about a
figure: of one system, of how far one is above another (a gap), of how far several are apart (a spread), or of the part
that one has in what another gains (a share). Of that figure it states a number, bounds, or where it goes along the
axis; or it states the order of several systems.

- A number agrees within a tenth of it, or the tolerance that stands there, and on the paper's side of "no difference":
  where the paper is 4 % above the baseline, 2 % below it is no agreement.
- Bounds are as the words have them: "more than 3.3 times" does not hold at 3.29. A range is widened by the tolerance
  that stands there only ("roughly").
- A trend agrees when three quarters of all pairs of points follow it, and "flat" when the highest point is within the
  tolerance of the lowest. A valley falls to a point inside the axis and rises from there. Logarithmic growth is fitted
  better by a + b ln x than by a + b x; at SLOPE the figure is the exponent of a power law fitted to the points, at
  CHANGE the last point's figure over the first's.
- What is claimed of each point has to hold at all of them.

What has the paper's direction but another size says so, and everything that does not agree has its cause.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise, product
from statistics import fmean
from typing import Any, Literal

from weft.experiments.engine.experiment import CHANGE, EACH, MEAN, SLOPE, Experiment, Metric, Point
from weft.experiments.engine.paper import statements_of
from weft.experiments.engine.results import Figures

TOLERANCE = 0.1
SIDE = 0.01  # a paper's figure so near to "no difference" is on neither side of it

Of = Literal["one", "gap", "spread", "share"]
Trend = Literal["up", "down", "flat", "not up", "valley", "peak", "logarithmic"]
Verdict = Literal["agrees", "right direction, other size", "differs", "cannot be compared"]
Cause = Literal["our data", "our reading", "the paper against itself", "unknown"]


@dataclass(frozen=True)
class Claim:
    section: str
    metric: str
    at: str  # label of a point, MEAN, LOWEST, HIGHEST, SLOPE, CHANGE or EACH
    systems: tuple[str, ...]  # one; several where their order is claimed, the lowest first; what a figure is made of
    low: float = math.nan  # of the range; the same as high where the paper gives a number
    high: float = math.nan
    trend: Trend | None = None  # along the axis; `at` is then MEAN
    tolerance: float = TOLERANCE  # of a number, bound or flat trend
    of: Of = "one"  # of a share: the systems but the last have the part, the lowest of them; the last has the whole
    start: str | None = None  # of a share: the system that gains nothing; none: 1
    neutral: float | None = None  # the figure that means "no difference"
    lowest_with: str | None = None  # the metric whose lowest point is beside this one's
    words: str = ""  # of the paper
    trivial: bool = False  # true of any system that is not broken
    counted: bool = True  # no row that stands elsewhere too
    cause: Cause = "unknown"  # if it does not agree

    @property
    def is_order(self) -> bool:
        return len(self.systems) > 1 and self.of == "one"

    @property
    def is_shape(self) -> bool:
        return self.is_order or self.trend is not None or self.lowest_with is not None

    @property
    def is_bound(self) -> bool:
        """Whether it is "more than" or "less than"."""
        return math.isinf(self.low) != math.isinf(self.high)

    @property
    def value(self) -> float | None:
        return self.low if self.low == self.high else None

    @property
    def scores(self) -> bool:
        return self.counted and not self.trivial

    def is_beside(self, value: float) -> bool:
        """Whether a figure is on the side of "no difference" that the paper states."""
        if self.neutral is None:
            return True
        if self.low > self.neutral + SIDE:
            return value > self.neutral
        return value < self.neutral if self.high < self.neutral - SIDE else True


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
    common = {key: stated[key] for key in ("cause", "counted") if key in stated}
    tables = (claim for table in stated.get("tables", []) for claim in _of_table(common | table))
    claims = (claim for given in stated.get("claims", []) for claim in _of_claim(common | given))
    return [replace(claim, neutral=_neutral(claim, experiment.metrics)) for claim in (*tables, *claims)]


def remarks(experiment: Experiment, comparisons: Sequence[Comparison]) -> list[str]:
    """What the experiment found, and why ours is otherwise where it is: a paragraph each."""
    stated = statements_of(experiment.paper)[experiment.name]
    found = stated.get("finding", "").strip()
    other = any(comparison.verdict in ("differs", "right direction, other size") for comparison in comparisons)
    why = stated.get("because", "").strip() if other else ""
    return [text for text in (found, why and f"Why it differs: {why}") if text]


def _neutral(claim: Claim, metrics: Mapping[str, Metric]) -> float | None:
    """The figure that means "no difference"; of a share half, since the words say which of two has more."""
    if claim.at == SLOPE or claim.is_shape:
        return None
    if claim.at == CHANGE:
        return 1.0
    return {"gap": 0.0, "spread": 0.0, "share": 0.5}.get(claim.of, metrics[claim.metric].neutral)


def _of_table(table: Mapping[str, Any]) -> Iterator[Claim]:
    for system, values in table["values"].items():
        for at, value in zip(table["at"], values, strict=True):
            yield _made(table, (system,), at, low=value, high=value, tolerance=table.get("tolerance", TOLERANCE))


def _of_claim(stated: Mapping[str, Any]) -> Iterator[Claim]:
    """A row for each system and each place, where several are listed."""
    if "order" in stated:
        for at in _listed(stated.get("at", MEAN)):
            yield _made(stated, tuple(stated["order"]), at)
        return
    of: Of = next((of for of in ("gap", "spread", "share") if of in stated), "one")
    groups = [tuple(stated[of])] if of != "one" else [(each,) for each in _listed(stated["system"])]
    for systems, at in product(groups, _listed(stated.get("at", MEAN))):
        yield _made(stated, systems, at, of=of, **_stated(stated))


def _stated(given: Mapping[str, Any]) -> dict[str, Any]:
    """What is stated of the figure."""
    if "trend" in given:
        return {"trend": given["trend"], "tolerance": given.get("tolerance", TOLERANCE)}
    if "lowest_with" in given:
        return {"lowest_with": given["lowest_with"]}
    if "value" in given:
        value = float(given["value"])
        return {"low": value, "high": value, "tolerance": given.get("tolerance", TOLERANCE)}
    low, high = given.get("range") or (given.get("above", -math.inf), given.get("below", math.inf))
    return {"low": float(low), "high": float(high), "tolerance": given.get("tolerance", 0.0)}


def _made(given: Mapping[str, Any], systems: tuple[str, ...], at: str, **stated: Any) -> Claim:
    kept = {key: given[key] for key in ("words", "trivial", "counted", "cause", "start") if key in given}
    return Claim(given["section"], given["metric"], at, systems, **stated, **kept)


def _listed(given: str | list[str]) -> list[str]:
    return [given] if isinstance(given, str) else given


def compare(claim: Claim, figures: Figures, points: Sequence[Point]) -> Comparison:
    """The points: those of the axis, in order."""
    axis = [point.label for point in points]
    if claim.at == EACH:
        return _compare_each(claim, figures, points)
    if claim.is_order:
        ours = [figures.get((claim.metric, system, claim.at)) for system in claim.systems]
        known = tuple(figure for figure in ours if figure is not None)
        return _compare_order(claim, known) if len(known) == len(ours) else _missing(claim)
    if claim.trend is None and claim.lowest_with is None and claim.at not in (SLOPE, CHANGE):
        figure = _figure(claim, claim.metric, claim.at, figures)
        return _missing(claim) if figure is None else _compare_number(claim, figure)
    along = _along(claim, claim.metric, axis, figures)
    if len(along) < len(axis) or len(axis) < 2:
        return _missing(claim)
    if claim.at == CHANGE:
        return _compare_number(claim, along[-1] / along[0]) if along[0] else _missing(claim)
    if claim.at == SLOPE:
        return _compare_slope(claim, points, along)
    if claim.lowest_with is not None:
        other = _along(claim, claim.lowest_with, axis, figures)
        return _compare_lowest(claim, axis, along, other) if len(other) == len(axis) else _missing(claim)
    return _compare_trend(claim, points, along)


def _missing(claim: Claim) -> Comparison:
    return Comparison(claim, (), "cannot be compared", "Not run at this scale, or its run failed.")


def _figure(claim: Claim, metric: str, at: str, figures: Figures) -> float | None:
    """The figure that the claim is about."""
    found = [figures.get((metric, system, at)) for system in claim.systems]
    ours = [figure for figure in found if figure is not None]
    if len(ours) < len(found):
        return None
    if claim.of == "gap":
        return ours[1] - ours[0]
    if claim.of == "spread":
        return max(ours) - min(ours)
    if claim.of == "share":
        return _share(claim, ours, 1.0 if claim.start is None else figures.get((metric, claim.start, at)))
    return ours[0]


def _share(claim: Claim, ours: Sequence[float], start: float | None) -> float | None:
    if start is None or start == ours[-1]:
        return None
    return (start - min(ours[:-1])) / (start - ours[-1])


def figure_of(claim: Claim, figures: Figures) -> float | None:
    """The figure that a claim of one point is about."""
    return _figure(claim, claim.metric, claim.at, figures)


def _along(claim: Claim, metric: str, axis: Sequence[str], figures: Figures) -> list[float]:
    found = (_figure(claim, metric, at, figures) for at in axis)
    return [figure for figure in found if figure is not None]


def _compare_number(claim: Claim, figure: float) -> Comparison:
    if figure < claim.low - claim.tolerance * abs(claim.low):
        sentence = f"{_apart(claim.low - figure, claim.low)} lower than stated."
    elif figure > claim.high + claim.tolerance * abs(claim.high):
        sentence = f"{_apart(figure - claim.high, claim.high)} higher than stated."
    elif claim.is_bound and figure in (claim.low, claim.high):
        return Comparison(claim, (figure,), "differs", "Ours is at the bound, and not beyond it.")
    elif not claim.is_beside(figure):
        return Comparison(claim, (figure,), "differs", f"On the other side of {claim.neutral:g}.")
    else:
        return Comparison(claim, (figure,), "agrees")
    directed = claim.neutral is not None and claim.is_beside(figure) and _has_side(claim)
    return Comparison(claim, (figure,), "right direction, other size" if directed else "differs", sentence)


def _apart(distance: float, stated: float) -> str:
    return f"{distance / abs(stated):.0%}" if stated else f"{distance:.3g}"


def _has_side(claim: Claim) -> bool:
    """Whether the paper's figure is on a side of "no difference" at all."""
    neutral = claim.neutral
    return neutral is not None and (claim.low > neutral + SIDE or claim.high < neutral - SIDE)


def _compare_each(claim: Claim, figures: Figures, points: Sequence[Point]) -> Comparison:
    """The first point where it differs most; else the last."""
    found = [compare(replace(claim, at=point.label), figures, points) for point in points]
    worst: tuple[Verdict, ...] = ("cannot be compared", "differs", "right direction, other size")
    for verdict in worst:
        for point, comparison in zip(points, found, strict=True):
            if comparison.verdict == verdict:
                return replace(comparison, claim=claim, sentence=f"At {point.label}: {comparison.sentence}")
    return replace(found[-1], claim=claim)


def _compare_order(claim: Claim, ours: tuple[float, ...]) -> Comparison:
    swapped = [pair for pair, (low, high) in zip(pairwise(claim.systems), pairwise(ours), strict=True) if low > high]
    if not swapped:
        return Comparison(claim, ours, "agrees")
    return Comparison(claim, ours, "differs", f"Here {swapped[0][1]} is lower than {swapped[0][0]}.")


def _compare_slope(claim: Claim, points: Sequence[Point], along: Sequence[float]) -> Comparison:
    steps = [point.x for point in points if point.x is not None]
    if len(steps) < len(along) or min(*steps, *along) <= 0:
        return _missing(claim)
    slope, _ = _fitted([math.log(x) for x in steps], [math.log(y) for y in along])
    return _compare_number(claim, slope)


def _compare_lowest(claim: Claim, axis: Sequence[str], along: Sequence[float], other: Sequence[float]) -> Comparison:
    """Whether the lowest points of two metrics are neighbours at least."""
    ours, theirs = (min(range(len(axis)), key=each.__getitem__) for each in (along, other))
    if abs(ours - theirs) <= 1:
        return Comparison(claim, (along[ours],), "agrees")
    sentence = f"Ours is lowest at {axis[ours]}, and {claim.lowest_with} at {axis[theirs]}."
    return Comparison(claim, (along[ours],), "differs", sentence)


def _compare_trend(claim: Claim, points: Sequence[Point], along: Sequence[float]) -> Comparison:
    ends = along[0], along[-1]
    sentence = _against(claim, points, along)
    return Comparison(claim, ends, "differs" if sentence else "agrees", sentence)


def _against(claim: Claim, points: Sequence[Point], along: Sequence[float]) -> str:
    """What speaks against the trend; nothing where the figures follow it."""
    if claim.trend == "flat":
        spread = max(along) / min(along) - 1 if min(along) > 0 else math.inf
        return "" if spread <= claim.tolerance else f"Our highest point is {spread:.0%} above the lowest."
    if claim.trend == "not up":
        return "Ours goes up along the axis." if _follows(along) else ""
    if claim.trend in ("valley", "peak"):
        return _against_extreme(claim.trend, points, along)
    if claim.trend == "logarithmic":
        return _against_logarithm(points, along)
    agrees = _follows(along if claim.trend == "up" else [-figure for figure in along])
    return "" if agrees else f"Ours does not go {claim.trend} along the axis."


def _follows(along: Sequence[float]) -> bool:
    """Whether three quarters of all pairs of points rise."""
    rises = sum((later > earlier) - (later < earlier) for earlier, later in combinations(along, 2))
    return 4 * rises >= len(along) * (len(along) - 1)


def _against_extreme(trend: Trend, points: Sequence[Point], along: Sequence[float]) -> str:
    sign = 1 if trend == "valley" else -1
    signed = [sign * figure for figure in along]
    extreme = min(range(len(signed)), key=signed.__getitem__)
    if extreme in (0, len(along) - 1):
        return f"Ours is {'lowest' if sign > 0 else 'highest'} at an end, {points[extreme].label}."
    before, after = [-figure for figure in signed[: extreme + 1]], signed[extreme:]
    return "" if _follows(before) and _follows(after) else "Ours goes up and down more than once."


def _against_logarithm(points: Sequence[Point], along: Sequence[float]) -> str:
    steps = [point.x for point in points if point.x is not None and point.x > 0]
    if not _follows(along):
        return "Ours does not go up along the axis."
    if len(steps) < 3 or len(steps) < len(along):
        return "There are too few points to fit."
    logarithm, line = _fitted([math.log(x) for x in steps], along), _fitted(steps, along)
    return "" if logarithm[1] <= line[1] else "A straight line fits ours better than a logarithm."


def _fitted(xs: Sequence[float], ys: Sequence[float]) -> tuple[float, float]:
    """Slope of the least squares, and their sum."""
    x, y = fmean(xs), fmean(ys)
    slope = sum((a - x) * (b - y) for a, b in zip(xs, ys, strict=True)) / sum((a - x) ** 2 for a in xs)
    return slope, sum((b - y - slope * (a - x)) ** 2 for a, b in zip(xs, ys, strict=True))
