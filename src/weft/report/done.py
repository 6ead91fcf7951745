"""Experiments that were run, by paper, and how they came out as a whole."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from weft.errors import WeftError
from weft.experiments.catalog import EXPERIMENTS
from weft.experiments.engine.claim import Comparison, Verdict
from weft.experiments.engine.paper import Headline, Paper, papers
from weft.experiments.engine.results import Figures, Results, figures_of
from weft.report.experiment import META, comparisons_of, read_experiment

TALLY = ("", "experiments", "orders and trends that hold", "numbers that agree", "not compared")


@dataclass(frozen=True)
class Done:
    """An experiment that was run."""

    results: Results
    figures: Figures
    comparisons: Sequence[Comparison]
    made: Mapping[str, str]  # what it was made with

    @property
    def name(self) -> str:
        return self.results.experiment.name

    @property
    def verdicts(self) -> Counter[Verdict]:
        return Counter(comparison.verdict for comparison in self.comparisons)


def read_chapters(folder: Path) -> dict[Paper, list[Done]]:
    """What the folder has of each paper."""
    done = [_read(name, folder / name) for name in EXPERIMENTS if (folder / name / META).is_file()]
    if not done:
        raise WeftError(f"{folder} has no results of experiments: run some into it with `weft experiment`.")
    return {
        paper: parts
        for paper in papers()
        if (parts := [each for each in done if each.results.experiment.paper == paper.key])
    }


def _read(name: str, folder: Path) -> Done:
    results = read_experiment(EXPERIMENTS[name], folder)
    figures = figures_of(results)
    made = json.loads((folder / META).read_text())["made"]
    return Done(results, figures, comparisons_of(results, figures), made)


def in_words(done: Iterable[Done]) -> str:
    shapes, numbers = _shapes_and_numbers(done)
    return f"Of the orders and trends that are stated {_share(shapes)} hold here, and {_share(numbers)} numbers agree."


def tally(parts: Sequence[Done]) -> tuple[str, ...]:
    """The cells of TALLY, without the first."""
    shapes, numbers = _shapes_and_numbers(parts)
    left = (shapes + numbers)["cannot be compared"]
    return str(len(parts)), _share(shapes), _share(numbers), str(left or "-")


def _shapes_and_numbers(parts: Iterable[Done]) -> tuple[Counter[Verdict], Counter[Verdict]]:
    """The verdicts on orders and trends, and those on numbers and ranges."""
    shapes, numbers = Counter[Verdict](), Counter[Verdict]()
    for comparison in (comparison for done in parts for comparison in done.comparisons):
        (shapes if comparison.claim.is_order or comparison.claim.trend else numbers)[comparison.verdict] += 1
    return shapes, numbers


def _share(verdicts: Counter[Verdict]) -> str:
    compared = verdicts["agrees"] + verdicts["differs"]
    return f"{verdicts['agrees']:,} of {compared:,}" if compared else "-"


def sentence_of(headline: Headline, done: Mapping[str, Done]) -> str | None:
    """The headline with our figure; none where it was not measured."""
    if headline.experiment not in done:
        return None
    ours = done[headline.experiment].figures.get((headline.metric, headline.system, headline.at))
    return None if ours is None else headline.sentence.format(ours=ours, paper=headline.paper)


def provenance(parts: Iterable[Done]) -> str:
    """What all of it was made with, or the first and last of several."""
    parts = list(parts)
    made = sorted({", ".join(each.made.values()) for each in parts})
    efforts = sorted({each.results.effort for each in parts})
    return f"Made with --{' and --'.join(efforts)}: {made[0]}{f' to {made[-1]}' if len(made) > 1 else ''}."
