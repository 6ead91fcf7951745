"""The reproduction as a page of Markdown: what came out as a whole, then all that the papers state, beside ours."""

from collections.abc import Iterator, Mapping, Sequence

from weft.experiments.engine.claim import remarks
from weft.experiments.engine.paper import Paper
from weft.report.done import TALLY, Done, in_words, provenance, sentence_of, tally
from weft.report.markdown import HEADING, cells, matrix, settings, table


def reproduction_page(chapters: Mapping[Paper, Sequence[Done]]) -> str:
    done = {each.name: each for parts in chapters.values() for each in parts}
    headlines = [sentence_of(headline, done) for paper in chapters for headline in paper.headlines]
    parts = [
        "# Weft beside the papers",
        provenance(done.values()),
        in_words(done.values()),
        "\n".join(f"- {sentence}" for sentence in headlines if sentence),
        table(TALLY, [(paper.name, *tally(parts)) for paper, parts in chapters.items()]),
    ]
    for paper, experiments in chapters.items():
        parts += [f"## {paper.name}", paper.about]
        for each in experiments:
            parts += _experiment(each)
    return "\n\n".join(parts) + "\n"


def _experiment(done: Done) -> Iterator[str]:
    yield f"### {done.results.experiment.title}"
    yield f"`weft experiment {done.name} --{done.results.effort}`. {settings(done.results)}"
    if done.comparisons:
        yield table(HEADING, map(cells, done.comparisons))
    else:
        for metric in dict.fromkeys(panel.metric for panel in done.results.experiment.panels):
            yield f"{metric}:"
            yield matrix(done.results, done.figures, metric)
    yield from remarks(done.results.experiment, done.comparisons)
    if done.results.errors:
        yield f"{len(done.results.errors)} of {len(done.results.rows)} runs failed."
