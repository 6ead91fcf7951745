"""Experiments that were run, by paper, and how they came out as a whole.

The score is stated for each reading of a paper as a whole: one setting for all that the paper states, and never the
better of two by row. Rows that stand elsewhere too, and those that any system fulfils, are shown and not counted.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from weft.errors import WeftError
from weft.experiments.catalog import EXPERIMENTS
from weft.experiments.engine.claim import Cause, Claim, Comparison, Verdict, claims_of, figure_of
from weft.experiments.engine.paper import Headline, Paper, papers
from weft.experiments.engine.results import Figures, Results, figures_by
from weft.report.experiment import META, comparisons_of, read_experiment

TALLY = (
    "",
    "reading",
    "orders and trends that hold",
    "numbers that agree",
    "right direction, other size",
    "differ",
    "not compared",
)
NOT_AGREED: tuple[Verdict, ...] = ("right direction, other size", "differs")


@dataclass(frozen=True)
class Done:
    """An experiment that was run."""

    results: Results
    figures: Figures
    by_reading: Mapping[str, Sequence[Comparison]]  # the first reading first
    made: Mapping[str, str]  # what it was made with

    @property
    def name(self) -> str:
        return self.results.experiment.name

    @property
    def comparisons(self) -> Sequence[Comparison]:
        """Comparisons by the first reading."""
        return next(iter(self.by_reading.values()))

    @property
    def verdicts(self) -> Counter[Verdict]:
        return Counter(comparison.verdict for comparison in self.comparisons)

    def scored(self, reading: str | None) -> Iterator[Comparison]:
        """What counts by this reading; where the experiment does not differ by it, by the first."""
        comparisons = self.by_reading.get(reading or "", self.comparisons)
        return (comparison for comparison in comparisons if comparison.claim.scores)


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
    made = json.loads((folder / META).read_text())["made"]
    figures = figures_by(results, results.experiment.readings[0])
    return Done(results, figures, comparisons_of(results), made)


def in_words(chapters: Mapping[Paper, Sequence[Done]]) -> str:
    """The score of all papers, each by its first reading."""
    verdicts = Counter(
        comparison.verdict
        for paper, parts in chapters.items()
        for done in parts
        for comparison in done.scored(_first(paper))
    )
    compared = verdicts.total() - verdicts["cannot be compared"]
    return (
        f"Of {compared:,} statements, each paper's by the reading that its words favour, {verdicts['agrees']:,} agree, "
        f"{verdicts['right direction, other size']:,} have the right direction and another size, and "
        f"{verdicts['differs']:,} differ."
    )


def _first(paper: Paper) -> str | None:
    return paper.readings[0].name if paper.readings else None


def scores(paper: Paper, parts: Sequence[Done]) -> list[tuple[str, ...]]:
    """The cells of TALLY, a row a reading."""
    return [(paper.name, *_score(reading, parts)) for reading in _readings(paper)]


def _readings(paper: Paper) -> tuple[str, ...]:
    return tuple(reading.name for reading in paper.readings) or ("as printed",)


def _score(reading: str, parts: Sequence[Done]) -> tuple[str, ...]:
    shapes, numbers = Counter[Verdict](), Counter[Verdict]()
    for comparison in (comparison for done in parts for comparison in done.scored(reading)):
        (shapes if comparison.claim.is_shape else numbers)[comparison.verdict] += 1
    both = shapes + numbers
    counts = (both[verdict] for verdict in (*NOT_AGREED, "cannot be compared"))
    return reading, _share(shapes), _share(numbers), *(f"{count:,}" if count else "-" for count in counts)


def _share(verdicts: Counter[Verdict]) -> str:
    compared = verdicts.total() - verdicts["cannot be compared"]
    return f"{verdicts['agrees']:,} of {compared:,}" if compared else "-"


def causes(paper: Paper, parts: Sequence[Done]) -> Counter[Cause]:
    """Why what does not agree by the first reading does not."""
    return Counter(
        comparison.claim.cause
        for done in parts
        for comparison in done.scored(_first(paper))
        if comparison.verdict in NOT_AGREED
    )


def sections(paper: Paper) -> list[tuple[str, ...]]:
    """A row a section: how many sentences it has, how many are judged, and why not the others."""
    claims = [claim for each in EXPERIMENTS.values() if each.paper == paper.key for claim in claims_of(each)]
    return [
        (each.section, f"{each.sentences}", f"{len(_judged_in(each.section, claims))}", each.why or "-")
        for each in paper.sections
    ]


def _judged_in(section: str, claims: Iterable[Claim]) -> set[str]:
    """The sentences of a section that are claims."""
    return {claim.words for claim in claims if claim.section == section and claim.counted}


def sentence_of(headline: Headline, done: Mapping[str, Done]) -> str | None:
    """The headline with our figure; none where it was not measured."""
    if headline.experiment not in done:
        return None
    found = done[headline.experiment]
    ours = figure_of(_claim_of(headline), found.figures)
    data = next((point.about for point in found.results.points if point.label == headline.at), headline.at)
    return None if ours is None else headline.sentence.format(ours=ours, paper=headline.paper, data=data)


def _claim_of(headline: Headline) -> Claim:
    if headline.share:
        return Claim("", headline.metric, headline.at, headline.share, of="share")
    return Claim("", headline.metric, headline.at, (headline.system,))


def provenance(parts: Iterable[Done]) -> str:
    """What all of it was made with, or the first and last of several."""
    parts = list(parts)
    made = sorted({", ".join(each.made.values()) for each in parts})
    efforts = sorted({each.results.effort for each in parts})
    return f"Made with --{' and --'.join(efforts)}: {made[0]}{f' to {made[-1]}' if len(made) > 1 else ''}."
