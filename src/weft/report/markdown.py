"""An experiment as a page of Markdown: the paper's figures beside ours, then all figures."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import get_args

from weft.experiments.engine.claim import Claim, Comparison, Verdict, remarks
from weft.experiments.engine.experiment import MEAN
from weft.experiments.engine.results import Figures, Results

MOST_COLUMNS = 6  # readings beside each other


def experiment_page(results: Results, figures: Figures, by_reading: Mapping[str, Sequence[Comparison]]) -> str:
    comparisons = next(iter(by_reading.values()))
    parts = [
        f"# {results.experiment.title}",
        settings(results),
        _listed(f"{point.label}: {point.about}" for point in results.points),
    ]
    if comparisons:
        parts += ["## The paper and ours", claims_table(by_reading)]
    parts += remarks(results.experiment, comparisons)
    if results.errors:
        parts.append(f"{len(results.errors)} of {len(results.rows)} runs failed:")
        parts.append(_listed(dict.fromkeys(results.errors)))
    parts.append("## All figures")
    for metric in results.experiment.reported:
        parts += [f"### {metric}", matrix(results, figures, metric)]
    return "\n\n".join(parts) + "\n"


def table(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heading, ["---"] * len(heading), *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def settings(results: Results) -> str:
    """What holds for every run."""
    repetitions = "one seed" if results.seeds == 1 else f"means over {results.seeds} seeds"
    text = ", ".join(part for part in (results.settings, repetitions) if part)
    return f"{text[0].upper()}{text[1:]}. {results.experiment.note}".rstrip()


def _listed(items: Iterable[str]) -> str:
    return "\n".join(f"- {item}" for item in items)


def claims_table(by_reading: Mapping[str, Sequence[Comparison]]) -> str:
    return table(*judged(by_reading))


def judged(by_reading: Mapping[str, Sequence[Comparison]]) -> tuple[Sequence[str], list[tuple[str, ...]]]:
    """All that is stated, and ours by each reading; of many readings, how each comes out as a whole."""
    if len(by_reading) > MOST_COLUMNS:
        return ("reading", *get_args(Verdict)), [_whole(*read) for read in by_reading.items()]
    return _heading(by_reading), [_cells(row) for row in zip(*by_reading.values(), strict=True)]


def _whole(reading: str, comparisons: Sequence[Comparison]) -> tuple[str, ...]:
    verdicts = Counter(comparison.verdict for comparison in comparisons if not comparison.claim.trivial)
    return (reading, *(str(verdicts[verdict] or "-") for verdict in get_args(Verdict)))


def _heading(by_reading: Mapping[str, Sequence[Comparison]]) -> tuple[str, ...]:
    what = "where", "figure", "system", "at", "paper"
    if len(by_reading) == 1:
        return (*what, "ours", "ours / paper", "verdict", "cause")
    return (*what, *(cell for name in by_reading for cell in (f"ours, {name}", "verdict")), "cause")


def _cells(row: Sequence[Comparison]) -> tuple[str, ...]:
    """A claim, and what each reading makes of it."""
    claim = row[0].claim
    between = {"gap": " to ", "spread": " and ", "share": " of "}.get(claim.of, " < ")
    what = (claim.section, claim.metric, between.join(claim.systems), claim.at, _stated(claim))
    if len(row) == 1:
        ratio = "-" if row[0].ratio is None else f"{row[0].ratio:.2f}"
        return (*what, _ours_of(row[0]), ratio, _said(row[0]), _cause_of(row))
    return (*what, *(cell for each in row for cell in (_ours_of(each), _said(each))), _cause_of(row))


def _ours_of(comparison: Comparison) -> str:
    between = " to " if comparison.claim.trend else " < "
    return between.join(map(number, comparison.ours)) or "-"


def _said(comparison: Comparison) -> str:
    sentence = f"{comparison.verdict}: {comparison.sentence}" if comparison.sentence else comparison.verdict
    if comparison.claim.trivial:
        return f"{sentence} (trivial)"
    return sentence if comparison.claim.counted else f"{sentence} (not counted)"


def _cause_of(row: Sequence[Comparison]) -> str:
    """Why the first reading does not agree."""
    return row[0].claim.cause if row[0].verdict in ("differs", "right direction, other size") else "-"


TRENDS = {
    "up": "goes up",
    "down": "goes down",
    "flat": "stays",
    "not up": "does not go up",
    "valley": "falls, then rises",
    "peak": "rises, then falls",
    "logarithmic": "grows logarithmically",
}


def _stated(claim: Claim) -> str:
    if claim.is_order:
        return "in this order"
    if claim.trend is not None:
        return TRENDS[claim.trend]
    if claim.lowest_with is not None:
        return f"lowest where {claim.lowest_with} is"
    if claim.value is not None:
        return number(claim.value)
    if math.isinf(claim.high):
        return f"over {number(claim.low)}"
    return f"below {number(claim.high)}" if math.isinf(claim.low) else f"{number(claim.low)} to {number(claim.high)}"


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
