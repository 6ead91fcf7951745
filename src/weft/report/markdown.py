"""An experiment as a page of Markdown: the paper's figures beside ours, then all figures."""

import math
from collections.abc import Iterable, Sequence

from weft.experiments.engine.claim import Claim, Comparison, remarks
from weft.experiments.engine.experiment import MEAN
from weft.experiments.engine.results import Figures, Results

HEADING = ("where", "figure", "system", "at", "paper", "ours", "ours / paper", "verdict")


def experiment_page(results: Results, figures: Figures, comparisons: Sequence[Comparison]) -> str:
    parts = [
        f"# {results.experiment.title}",
        settings(results),
        _listed(f"{point.label}: {point.about}" for point in results.points),
    ]
    if comparisons:
        parts += ["## The paper and ours", table(HEADING, map(cells, comparisons))]
    parts += remarks(results.experiment, comparisons)
    if results.errors:
        parts.append(f"{len(results.errors)} of {len(results.rows)} runs failed:")
        parts.append(_listed(dict.fromkeys(results.errors)))
    parts.append("## All figures")
    for metric in results.experiment.reported:
        parts += [f"### {metric}", matrix(results, figures, metric)]
    return "\n\n".join(parts) + "\n"


def table(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heading, ["---"] * len(heading), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def settings(results: Results) -> str:
    """What holds for every run."""
    repetitions = "one seed" if results.seeds == 1 else f"means over {results.seeds} seeds"
    text = ", ".join(part for part in (results.settings, repetitions) if part)
    return f"{text[0].upper()}{text[1:]}. {results.experiment.note}".rstrip()


def _listed(items: Iterable[str]) -> str:
    return "\n".join(f"- {item}" for item in items)


def cells(comparison: Comparison) -> tuple[str, ...]:
    claim = comparison.claim
    between = " to " if claim.trend else " < "
    ours = between.join(map(number, comparison.ours)) or "-"
    verdict = f"{comparison.verdict}: {comparison.sentence}" if comparison.sentence else comparison.verdict
    systems = (" to " if claim.is_gap else " < ").join(claim.systems)
    ratio = "-" if comparison.ratio is None else f"{comparison.ratio:.2f}"
    return (claim.section, claim.metric, systems, claim.at, _stated(claim), ours, ratio, verdict)


def _stated(claim: Claim) -> str:
    if claim.is_order:
        return "in this order"
    if claim.trend is not None:
        return "stays" if claim.trend == "flat" else f"goes {claim.trend}"
    if claim.value is not None:
        return number(claim.value)
    return f"over {number(claim.low)}" if math.isinf(claim.high) else f"{number(claim.low)} to {number(claim.high)}"


def number(value: float) -> str:
    return f"{value:.3f}" if abs(value) < 10 else f"{value:.1f}"


def matrix(results: Results, figures: Figures, metric: str) -> str:
    labels = [point.label for point in results.points]
    if any(at == MEAN for _, _, at in figures):
        labels.append(MEAN)
    rows = (
        [system, *(number(figures[metric, system, at]) if (metric, system, at) in figures else "-" for at in labels)]
        for system in results.experiment.systems
        if any((metric, system, at) in figures for at in labels)
    )
    return table(["system", *labels], rows)
