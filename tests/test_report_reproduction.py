"""How experiments are told as a whole: what holds and what agrees is counted, and headlines have our figures."""

from dataclasses import replace
from pathlib import Path

import pytest

from weft.errors import WeftError
from weft.experiments.catalog import EXPERIMENTS
from weft.experiments.engine.claim import Claim, Comparison
from weft.experiments.engine.experiment import MEAN, Point
from weft.experiments.engine.paper import Headline, Paper, Words, papers
from weft.experiments.engine.results import Results
from weft.report.done import Done, causes, in_words, provenance, read_chapters, scores, sentence_of
from weft.report.markdown import table
from weft.report.summary import reproduction_page

NSMF = Paper("nsmf", "NSMF", "About it.", ())
NUMBER = Claim("5.1", "path ratio", MEAN, ("Chord",), 2, 2)
ORDER = Claim("5.2", "path ratio", MEAN, ("Chord", "GrSwico"))
TREND = Claim("5.3", "path ratio", MEAN, ("Chord",), trend="up")
COMPARISONS = [
    Comparison(NUMBER, (2.1,), "agrees"),
    Comparison(NUMBER, (3.0,), "right direction, other size", "50% higher than stated."),
    Comparison(replace(NUMBER, trivial=True), (2.0,), "agrees"),
    Comparison(replace(NUMBER, counted=False), (1.0,), "differs", "50% lower than stated."),
    Comparison(NUMBER, (), "cannot be compared", "Not run."),
    Comparison(ORDER, (1.0, 2.0), "agrees"),
    Comparison(TREND, (1.0, 2.0), "agrees"),
    Comparison(TREND, (2.0, 1.0), "differs", "Ours does not go up along the axis."),
]
MADE = {"date": "2026-11-15", "machine": "2 cores"}


def done(
    name: str = "nsmf-fig2",
    made: dict[str, str] = MADE,
    by_reading: dict[str, list[Comparison]] | None = None,
) -> Done:
    results = Results(EXPERIMENTS[name], "quick", [Point("V=1", "", 1)], 1, "10 publications a run", [])
    return Done(results, {("path ratio", "Chord", MEAN): 2.1}, by_reading or {"as printed": COMPARISONS}, made)


def test_orders_and_trends_are_counted_apart_from_numbers() -> None:
    assert scores(NSMF, [done(), done()]) == [("NSMF", "as printed", "4 of 6", "2 of 4", "2", "2", "2")]
    assert in_words({NSMF: [done()]}) == (
        "Of 5 statements, each paper's by the reading that its words favour, 3 agree, 1 have the right direction and "
        "another size, and 1 differ."
    )


def test_a_score_is_of_one_reading_for_all_of_a_paper() -> None:
    """Not the better of two by row; where an experiment knows no such reading it is the same by all."""
    paper = replace(NSMF, readings=(Words("own", "as printed"), Words("both", "the overlay is undirected")))
    turned = {
        "own": [Comparison(NUMBER, (2.0,), "agrees"), Comparison(ORDER, (2.0, 1.0), "differs")],
        "both": [Comparison(NUMBER, (9.0,), "differs"), Comparison(ORDER, (1.0, 2.0), "agrees")],
    }
    found = scores(paper, [done(by_reading=turned), done("nsmf-fig3")])
    assert [row[1:4] for row in found] == [("own", "2 of 4", "2 of 3"), ("both", "3 of 4", "1 of 3")]
    assert causes(paper, [done(by_reading=turned)]) == {"unknown": 1}


def test_a_headline_has_our_figure_or_is_left_out() -> None:
    told = {"nsmf-fig2": done()}
    headline = Headline("nsmf-fig2", "path ratio", MEAN, "{ours:.1f} hops (the paper: {paper})", "Chord", paper=2)
    assert sentence_of(headline, told) == "2.1 hops (the paper: 2)"
    assert sentence_of(headline, {}) is None
    assert sentence_of(replace(headline, at="V=7"), told) is None
    shared = replace(headline, system="", share=("Chord", "Chord"), sentence="{ours:.0%}")
    assert sentence_of(shared, told) == "100%"


@pytest.mark.parametrize(
    ("folders", "told"),
    [
        ({}, "On a generated social graph of 1,000 nodes like Facebook Pie on SWICO makes 27% of Scribe's relays"),
        ({"facebook": "there"}, "On a breadth-first sample of 1,000 nodes of ego-Facebook Pie on SWICO makes 27%"),
    ],
)
def test_a_headline_says_what_data_it_is_of(folders: dict[str, str], told: str) -> None:
    experiment = EXPERIMENTS["beaconvey-table3"]
    points = experiment.plan("quick", folders).points
    results = Results(experiment, "quick", points, 1, "", [])
    figures = {("overhead ratio", "BeaConvey(SL, Pie)", at): 0.27 for at in ("FB 1K", "FB 10K")}
    (paper,) = (paper for paper in papers() if paper.key == "beaconvey")
    done = {experiment.name: Done(results, figures, {"as printed": []}, MADE)}
    sentences = [sentence for headline in paper.headlines if (sentence := sentence_of(headline, done))]
    assert len(sentences) == 2  # 1K beside 10K
    assert sentences[0].startswith(told)


def test_it_is_told_with_what_it_was_made() -> None:
    later = done(made={"date": "2026-11-16", "machine": "2 cores"})
    assert provenance([done()]) == "Made with --quick: 2026-11-15, 2 cores."
    assert provenance([later, done()]) == "Made with --quick: 2026-11-15, 2 cores to 2026-11-16, 2 cores."


def test_the_page_has_every_statement() -> None:
    page = reproduction_page({replace(NSMF, believe="Believe it."): [done()]})
    assert "- **NSMF**: Believe it." in page
    assert "Not run since the code was last changed: `beaconvey-fig3`, " in page
    assert "`nsmf-fig2`," not in page
    for verdict in (
        "| agrees | - |",
        "| right direction, other size: 50% higher than stated. | unknown |",
        "| differs: 50% lower than stated. (not counted) |",
        "| agrees (trivial) |",
        "| cannot be compared: Not run. |",
    ):
        assert verdict in page
    assert "| 5.3 | path ratio | Chord | mean | goes up | 1.000 to 2.000 | - | agrees | - |" in page
    assert "Why it differs: " in page
    assert "`weft experiment nsmf-fig2 --quick`. 10 publications a run, one seed." in page


def test_what_nobody_stated_is_told_with_its_figures() -> None:
    results = Results(EXPERIMENTS["vitis-latency"], "quick", [Point("usual", "")], 1, "", [])
    ours = Done(results, {("time ratio", "n = 1", "usual"): 0.81}, {"as printed": []}, MADE)
    page = reproduction_page({Paper("vitis", "Vitis", "About it.", ()): [ours]})
    assert "time ratio:\n\n| system | usual |\n| --- | --- |\n| n = 1 | 0.810 |" in page
    assert "The latencies decide what n = 1 does" in page


def test_a_bar_within_a_cell_ends_no_cell() -> None:
    assert table(("law",), [("O(|V| log |V|)",)]).splitlines()[-1] == "| O(\\|V\\| log \\|V\\|) |"


def test_a_folder_without_experiments_is_told(tmp_path: Path) -> None:
    with pytest.raises(WeftError, match="has no results of experiments"):
        read_chapters(tmp_path)


@pytest.mark.parametrize("content", ["{", "{}", '{"points": [{}]}'])
def test_results_that_are_not_whole_are_told(tmp_path: Path, content: str) -> None:
    (tmp_path / "nsmf-fig2").mkdir()
    (tmp_path / "nsmf-fig2" / "experiment.json").write_text(content)
    with pytest.raises(WeftError, match="nsmf-fig2 does not hold whole results"):
        read_chapters(tmp_path)
