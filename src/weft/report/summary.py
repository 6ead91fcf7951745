"""The reproduction as a page of Markdown: what came out as a whole, then all that the papers state, beside ours."""

from collections.abc import Iterator, Mapping, Sequence
from math import log
from statistics import fmean
from typing import get_args

from weft.experiments.catalog import EXPERIMENTS
from weft.experiments.engine.claim import Cause, remarks
from weft.experiments.engine.paper import Landmark, Paper
from weft.experiments.engine.results import figures_of
from weft.report.done import TALLY, Done, causes, in_words, provenance, scores, sections, sentence_of
from weft.report.markdown import MOST_COLUMNS, claims_table, matrix, number, settings, table

HOW = """A number agrees within a tenth of the paper's and on its side of "no difference"; bounds are as the words have
them; an order agrees when ours is the same, a trend when three quarters of all pairs of points follow it. The score is
of one reading for all of a paper, the one that its words favour first. Rows that another row repeats and rows that any
system fulfils are marked and not counted. What does not agree has its cause: our data, our reading, the paper against
itself, or unknown."""


def reproduction_page(chapters: Mapping[Paper, Sequence[Done]]) -> str:
    done = {each.name: each for parts in chapters.values() for each in parts}
    headlines = [sentence_of(headline, done) for paper in chapters for headline in paper.headlines]
    parts = [
        "# Weft beside the papers",
        provenance(done.values()),
        _not_run(done),
        "\n".join(f"- **{paper.name}**: {paper.believe}" for paper in chapters if paper.believe),
        in_words(chapters),
        table(TALLY, [row for paper, parts in chapters.items() for row in scores(paper, parts)]),
        HOW,
        table(("what does not agree, by cause", *get_args(Cause)), map(_causes, chapters.items())),
        "\n".join(f"- {sentence}" for sentence in headlines if sentence),
    ]
    for paper, experiments in chapters.items():
        parts += [f"## {paper.name}", paper.about, *_readings(paper), *_errors(paper, experiments)]
        parts += [*_landmarks(paper, done), *_sections(paper)]
        for each in experiments:
            parts += _experiment(paper, each)
    return "\n\n".join(part for part in parts if part) + "\n"


def _not_run(done: Mapping[str, Done]) -> str:
    """The experiments of the catalog that the page has not."""
    missing = ", ".join(f"`{name}`" for name in EXPERIMENTS if name not in done)
    return f"Not run since the code was last changed: {missing}." if missing else ""


def _causes(chapter: tuple[Paper, Sequence[Done]]) -> tuple[str, ...]:
    found = causes(*chapter)
    return (chapter[0].name, *(f"{found[cause]}" if found[cause] else "-" for cause in get_args(Cause)))


def _readings(paper: Paper) -> Iterator[str]:
    if paper.readings:
        yield table(("reading", "the paper's words"), [(each.name, each.words) for each in paper.readings])


def _sections(paper: Paper) -> Iterator[str]:
    if paper.sections:
        heading = ("section", "sentences that state something", "judged", "why not the others")
        yield table(heading, sections(paper))


def _landmarks(paper: Paper, done: Mapping[str, Done]) -> Iterator[str]:
    """The landmarks by every reading, and how near each reading is to the paper's numbers as a whole."""
    rows = [each for each in paper.landmarks if each.experiment in done]
    if rows:
        heading = ("reading", *(each.what for each in rows))
        stated = [("the paper", *(each.paper for each in rows)), ("apart", *(each.independent for each in rows))]
        yield table(heading, [*stated, *(_by(reading.name, rows, done) for reading in paper.readings)])


def _by(reading: str, rows: Sequence[Landmark], done: Mapping[str, Done]) -> tuple[str, ...]:
    figures = [figures_of(done[each.experiment].results, reading) for each in rows]
    keys = [(each.metric, each.system, each.at) for each in rows]
    return (reading, *(number(own[key]) if key in own else "-" for own, key in zip(figures, keys, strict=True)))


def _errors(paper: Paper, parts: Sequence[Done]) -> Iterator[str]:
    """How far the numbers are from the paper's, by reading: the mean of the logarithms of ours over the paper's."""
    if len(paper.readings) > MOST_COLUMNS - 1:
        rows = [(each.name, *_error(each.name, parts)) for each in paper.readings]
        yield table(("reading", "numbers", "within a tenth", "mean abs. log error", "of them paths", "error"), rows)


def _error(reading: str, parts: Sequence[Done]) -> tuple[str, ...]:
    compared = [
        (comparison.claim.metric, comparison.ratio, comparison.verdict == "agrees")
        for done in parts
        for comparison in done.scored(reading)
        if comparison.ratio is not None and comparison.ratio > 0
    ]
    paths = [ratio for metric, ratio, _ in compared if "path" in metric]
    agree = sum(agrees for _, _, agrees in compared)
    return (
        *(f"{len(compared)}", f"{agree}", _log_error([ratio for _, ratio, _ in compared])),
        *(f"{len(paths)}", _log_error(paths)),
    )


def _log_error(ratios: Sequence[float]) -> str:
    return number(fmean(abs(log(ratio)) for ratio in ratios)) if ratios else "-"


def _experiment(paper: Paper, done: Done) -> Iterator[str]:
    yield f"### {done.results.experiment.title}"
    yield f"`weft experiment {done.name} --{done.results.effort}`. {settings(done.results)}"
    if done.comparisons:
        yield claims_table(_shown(paper, done))
    else:
        for metric in dict.fromkeys(panel.metric for panel in done.results.experiment.panels):
            yield f"{metric}:"
            yield matrix(done.results, done.figures, metric)
    yield from remarks(done.results.experiment, done.comparisons)
    if done.results.errors:
        yield f"{len(done.results.errors)} of {len(done.results.rows)} runs failed."


def _shown(paper: Paper, done: Done) -> Mapping[str, Sequence]:  # type: ignore[type-arg]
    hidden = {reading.name for reading in paper.readings if not reading.shown}
    return {name: found for name, found in done.by_reading.items() if name not in hidden}
