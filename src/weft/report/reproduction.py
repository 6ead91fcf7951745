"""The report of experiments: every table and figure of the papers beside ours, a page a paper, in one file."""

import base64
import csv
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from io import StringIO
from pathlib import Path
from typing import get_args

from weft.errors import WeftError
from weft.experiments.catalog import EXPERIMENTS
from weft.experiments.claim import Comparison, Verdict, reason_of
from weft.experiments.paper import Headline, Paper, papers
from weft.experiments.results import Figures, Results, figures_of
from weft.report.example import example_pictures
from weft.report.experiment import META, comparisons_of, read_experiment
from weft.report.markdown import HEADING, cells
from weft.report.page import figure, table, write_page
from weft.report.panel import draw_panel

PLURAL: Mapping[Verdict, str] = {"agrees": "agree", "differs": "differ", "cannot be compared": "cannot be compared"}
SHORT = 12  # tables of so many rows are open from the start


@dataclass(frozen=True)
class Done:
    """An experiment that was run."""

    results: Results
    figures: Figures
    comparisons: Sequence[Comparison]
    made: Mapping[str, str]  # with what

    @property
    def name(self) -> str:
        return self.results.experiment.name

    @property
    def verdicts(self) -> Counter[Verdict]:
        return Counter(comparison.verdict for comparison in self.comparisons)


def write_reproduction(folder: Path) -> Path:
    """Of all experiments whose results are in the folder."""
    done = {name: _read(name, folder / name) for name in EXPERIMENTS if (folder / name / META).is_file()}
    if not done:
        raise WeftError(f"{folder} has no results of experiments: make some with `weft experiment ... --out {folder}`.")
    chapters = {
        paper: parts
        for paper in papers()
        if (parts := [each for each in done.values() if each.results.experiment.paper == paper.key])
    }
    pages = [_summary(chapters, done), *(_chapter(paper, parts) for paper, parts in chapters.items())]
    path = folder / "report.html"
    write_page(path, "Weft beside the papers", "\n".join([_navigation(chapters), "<main>", *pages, "</main>"]))
    return path


def _read(name: str, folder: Path) -> Done:
    results = read_experiment(EXPERIMENTS[name], folder)
    figures = figures_of(results)
    made = json.loads((folder / META).read_text())["made"]
    return Done(results, figures, comparisons_of(results, figures), made)


def _navigation(chapters: Mapping[Paper, Sequence[Done]]) -> str:
    links = "".join(f'<a href="#{paper.key}">{escape(paper.name)}</a>' for paper in chapters)
    return f'<nav aria-label="Papers"><a href="#summary">Summary</a>{links}</nav>'


def _summary(chapters: Mapping[Paper, Sequence[Done]], done: Mapping[str, Done]) -> str:
    rows = [
        (f'<a href="#{paper.key}">{escape(paper.name)}</a>', str(len(parts)), *_tally(parts))
        for paper, parts in chapters.items()
    ]
    headlines = "".join(
        f'<li>{escape(sentence)} <a href="#{headline.experiment}">{headline.experiment}</a></li>'
        for paper in chapters
        for headline in paper.headlines
        if (sentence := _sentence(headline, done)) is not None
    )
    return f"""<section id="summary">
<p>{_in_words(done.values())} A number agrees within a tenth of the paper's, an order of systems when ours is the same,
a trend when three quarters of all pairs of points go its way. Where one differs, the experiment says by how much and,
as far as we know, why.</p>
<ul>{headlines}</ul>
{table(("", "experiments", "orders and trends", "numbers", "not compared", ""), rows)}
<h2>What it is about</h2>
{example_pictures()}
<p class="soft">{escape(_provenance(list(done.values())))}</p>
</section>"""


def _in_words(done: Iterable[Done]) -> str:
    shapes, numbers = _shapes_and_numbers(done)
    return f"Of the papers' orders and trends {_share(shapes)} hold here, and {_share(numbers)} numbers agree."


def _tally(parts: Sequence[Done]) -> tuple[str, ...]:
    shapes, numbers = _shapes_and_numbers(parts)
    both = shapes + numbers
    shares = "".join(f'<i style="flex: {both[verdict]}"></i>' for verdict in get_args(Verdict))
    left = both["cannot be compared"]
    return _share(shapes), _share(numbers), str(left or "-"), f'<div class="bar">{shares}</div>'


def _shapes_and_numbers(parts: Iterable[Done]) -> tuple[Counter[Verdict], Counter[Verdict]]:
    """The verdicts on orders and trends, and those on numbers and ranges."""
    shapes, numbers = Counter[Verdict](), Counter[Verdict]()
    for comparison in (comparison for done in parts for comparison in done.comparisons):
        (shapes if comparison.claim.is_order or comparison.claim.trend else numbers)[comparison.verdict] += 1
    return shapes, numbers


def _share(verdicts: Counter[Verdict]) -> str:
    compared = verdicts["agrees"] + verdicts["differs"]
    return f"{verdicts['agrees']:,} of {compared:,}" if compared else "-"


def _sentence(headline: Headline, done: Mapping[str, Done]) -> str | None:
    if headline.experiment not in done:
        return None
    ours = done[headline.experiment].figures.get((headline.metric, headline.system, headline.at))
    return None if ours is None else headline.sentence.format(ours=ours, paper=headline.paper)


def _provenance(parts: Sequence[Done]) -> str:
    """With what all of it was made, or the first and last of several."""
    made = sorted({", ".join(each.made.values()) for each in parts})
    efforts = sorted({each.results.effort for each in parts})
    return f"Made with --{' and --'.join(efforts)}: {made[0]}{f' to {made[-1]}' if len(made) > 1 else ''}."


def _chapter(paper: Paper, parts: Sequence[Done]) -> str:
    return f"""<section id="{paper.key}">
<h2>{escape(paper.name)}</h2>
<p>{escape(paper.about)}</p>
{"".join(map(_article, parts))}
</section>"""


def _article(done: Done) -> str:
    results = done.results
    panels = "".join(
        figure(draw_panel(results, panel, done.figures, f"{done.name}-{number}"))
        for number, panel in enumerate(results.experiment.panels)
    )
    points = "".join(f"<li>{escape(point.label)}: {escape(point.about)}</li>" for point in results.points)
    repetitions = "one seed" if results.seeds == 1 else f"means over {results.seeds} seeds"
    told = ", ".join(part for part in (results.settings, repetitions) if part)
    return f"""<article id="{done.name}">
<h3>{escape(results.experiment.title)}</h3>
<div class="panels">{panels}</div>
{_verdicts(done)}
<details><summary>What was run</summary>
<p>{escape(told)}. {escape(results.experiment.note)}</p>
<ul>{points}</ul>
</details>
<p class="soft"><code>weft experiment {done.name} --{results.effort} --out experiments</code> · {_download(done)}</p>
</article>"""


def _verdicts(done: Done) -> str:
    if not done.comparisons:
        return "<p>There are no stated figures to compare with.</p>"
    counts = done.verdicts
    told = ", ".join(
        _coloured(f"{counts[verdict]} {PLURAL[verdict]}", verdict) for verdict in get_args(Verdict) if counts[verdict]
    )
    opened = " open" if len(done.comparisons) <= SHORT else ""
    rows = table(HEADING, map(_row, done.comparisons))
    parts = [f"<details{opened}><summary>The paper and ours: {told}</summary>{rows}</details>"]
    reason = reason_of(done.results.experiment)
    if reason and counts["differs"]:
        parts.append(f"<p>Why it differs: {escape(reason)}</p>")
    if done.results.errors:
        parts.append(f"<p>{len(done.results.errors)} of {len(done.results.rows)} runs failed.</p>")
    return "".join(parts)


def _row(comparison: Comparison) -> list[str]:
    *others, verdict = cells(comparison)
    return [*map(escape, others), _coloured(verdict, comparison.verdict)]


def _coloured(text: str, verdict: Verdict) -> str:
    return f'<span class="{verdict.split()[0]}">{escape(text)}</span>'


def _download(done: Done) -> str:
    """The figures as CSV, inside the page."""
    buffer = StringIO()
    writer = csv.writer(buffer)
    writer.writerow(("metric", "system", "at", "x", "ours", "paper"))
    writer.writerows(_values(done))
    data = base64.b64encode(buffer.getvalue().encode()).decode()
    return f'<a download="{done.name}.csv" href="data:text/csv;base64,{data}">{done.name}.csv</a>'


def _values(done: Done) -> Iterator[tuple[object, ...]]:
    x = {point.label: point.x for point in done.results.points}
    stated = {
        (each.claim.metric, each.claim.systems[0], each.claim.at): each.claim.value
        for each in done.comparisons
        if each.claim.value is not None
    }
    for (metric, system, at), ours in done.figures.items():
        yield metric, system, at, x.get(at), ours, stated.get((metric, system, at))
