"""The report of experiments: every table and figure of the papers beside ours, a page a paper, in one file."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import get_args

from weft.experiments.engine.claim import Verdict, remarks
from weft.experiments.engine.paper import Paper
from weft.model.storage import new_path
from weft.report.done import TALLY, Done, in_words, provenance, read_chapters, scores, sentence_of
from weft.report.example import example_pictures
from weft.report.markdown import judged, settings
from weft.report.page import download, figure, table, write_page
from weft.report.panel import draw_panel
from weft.report.summary import HOW, reproduction_page

PLURAL: Mapping[Verdict, str] = {
    "agrees": "agree",
    "right direction, other size": "have the right direction, but another size",
    "differs": "differ",
    "cannot be compared": "cannot be compared",
}
SHORT = 12  # tables of so many rows are open from the start


def write_reproduction(folder: Path) -> Path:
    """Report all experiments whose results are in the folder, as report.html and report.md."""
    chapters = read_chapters(folder)
    done = {each.name: each for parts in chapters.values() for each in parts}
    pages = [_summary(chapters, done), *(_chapter(paper, parts) for paper, parts in chapters.items())]
    path = folder / "report.html"
    write_page(path, "Weft beside the papers", "\n".join([_navigation(chapters), "<main>", *pages, "</main>"]))
    with new_path(folder / "report.md", force=True) as partial:
        partial.write_text(reproduction_page(chapters))
    return path


def _navigation(chapters: Mapping[Paper, Sequence[Done]]) -> str:
    links = "".join(f'<a href="#{paper.key}">{escape(paper.name)}</a>' for paper in chapters)
    return f'<nav aria-label="Papers"><a href="#summary">Summary</a>{links}</nav>'


def _summary(chapters: Mapping[Paper, Sequence[Done]], done: Mapping[str, Done]) -> str:
    rows = [row for paper, parts in chapters.items() for row in _scores(paper, parts)]
    believed = "".join(
        f"<li><b>{escape(paper.name)}</b>: {escape(paper.believe)}</li>" for paper in chapters if paper.believe
    )
    headlines = "".join(
        f'<li>{escape(sentence)} <a href="#{headline.experiment}">{headline.experiment}</a></li>'
        for paper in chapters
        for headline in paper.headlines
        if (sentence := sentence_of(headline, done)) is not None
    )
    return f"""<section id="summary">
<ul>{believed}</ul>
<p>{in_words(chapters)}</p>
{table((*TALLY, ""), rows)}
<p>{HOW}</p>
<ul>{headlines}</ul>
<h2>What it is about</h2>
{example_pictures()}
<p class="soft">{escape(provenance(done.values()))}</p>
</section>"""


def _scores(paper: Paper, parts: Sequence[Done]) -> Iterator[tuple[str, ...]]:
    """A row a reading, with a bar of the verdicts by the first."""
    verdicts = sum((each.verdicts for each in parts), Counter[Verdict]())
    shares = "".join(f'<i style="flex: {verdicts[verdict]}"></i>' for verdict in get_args(Verdict))
    bars = [f'<div class="bar">{shares}</div>']
    for name, *others in scores(paper, parts):
        link = f'<a href="#{paper.key}">{escape(name)}</a>'
        yield (link, *map(escape, others), bars.pop() if bars else "")


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
    return f"""<article id="{done.name}">
<h3>{escape(results.experiment.title)}</h3>
<div class="panels">{panels}</div>
{_verdicts(done)}
<details><summary>What was run</summary>
<p>{escape(settings(results))}</p>
<ul>{points}</ul>
</details>
<p class="soft"><code>weft experiment {done.name} --{results.effort} --out experiments</code> · {_download(done)}</p>
</article>"""


def _verdicts(done: Done) -> str:
    parts = [_stated(done)] if done.comparisons else []
    parts += [f"<p>{escape(remark)}</p>" for remark in remarks(done.results.experiment, done.comparisons)]
    if done.results.errors:
        parts.append(f"<p>{len(done.results.errors)} of {len(done.results.rows)} runs failed.</p>")
    return "".join(parts)


def _stated(done: Done) -> str:
    counts = done.verdicts
    verdicts = ", ".join(
        _coloured(f"{counts[verdict]} {PLURAL[verdict]}", verdict) for verdict in get_args(Verdict) if counts[verdict]
    )
    opened = " open" if len(done.comparisons) <= SHORT else ""
    heading, found = judged(done.by_reading)
    rows = table(heading, map(_row, found))
    return f"<details{opened}><summary>The paper and ours: {verdicts}</summary>{rows}</details>"


def _row(row: Sequence[str]) -> list[str]:
    """A claim; verdicts have their colour."""
    return [
        next((_coloured(cell, each) for each in get_args(Verdict) if cell.startswith(each)), escape(cell))
        for cell in row
    ]


def _coloured(text: str, verdict: Verdict) -> str:
    return f'<span class="{verdict.split()[0]}">{escape(text)}</span>'


def _download(done: Done) -> str:
    """The figures as CSV, inside the page."""
    return download(f"{done.name}.csv", [("metric", "system", "at", "x", "ours", "paper"), *_values(done)])


def _values(done: Done) -> Iterator[tuple[object, ...]]:
    x = {point.label: point.x for point in done.results.points}
    stated = {
        (each.claim.metric, each.claim.systems[0], each.claim.at): each.claim.value
        for each in done.comparisons
        if each.claim.value is not None
    }
    for (metric, system, at), ours in done.figures.items():
        yield metric, system, at, x.get(at), ours, stated.get((metric, system, at))
