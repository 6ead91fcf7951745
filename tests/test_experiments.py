"""Experiments: the papers' claims fit what is measured, figures are those of the runs, and a tiny one runs whole."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import networkx as nx
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from weft.errors import WeftError
from weft.experiments.catalog import EXPERIMENTS, PAPERS, experiments_of
from weft.experiments.engine import claim as claim_module
from weft.experiments.engine import execution
from weft.experiments.engine.claim import Claim, Trend, claims_of, compare
from weft.experiments.engine.code import code_hash
from weft.experiments.engine.dataset import CRAWLS, Crawl, CrawlSample
from weft.experiments.engine.execution import JOURNAL, execute, files_in, journal_in, read_journal, require_variants
from weft.experiments.engine.experiment import (
    CHANGE,
    EACH,
    HIGHEST,
    LOWEST,
    MEAN,
    SLOPE,
    Effort,
    Experiment,
    Metric,
    Plan,
    Point,
    Reading,
)
from weft.experiments.engine.paper import ABOUT, Paper, papers, statements_of
from weft.experiments.engine.results import Results, figures_by, figures_of
from weft.experiments.papers.beaconvey import ALL_SYSTEMS, CRAWLS_OF
from weft.experiments.papers.nsmf import SYSTEMS
from weft.experiments.runs.input import CRAWL, SAMPLE, Input, Inputs, Scale, node_inputs
from weft.experiments.runs.routing import RoutingRun, System, plan_at, plan_by_readings, variants_of
from weft.model.instance import Instance
from weft.overlays.catalog import design
from weft.report.done import sections
from weft.report.experiment import read_experiment, write_experiment
from weft.sim.bulk import evaluate
from weft.workloads.catalog import generate
from weft.workloads.publication import publications
from weft.workloads.sample import Sampling, sample

TINY = Scale(publications=200, seeds=2, steps=(20, 40))
EFFORTS: tuple[Effort, ...] = ("quick", "full")
PAPERS_OWN = {
    *(f"beaconvey-table{number}" for number in (3, 4, 5)),
    *(f"beaconvey-fig{number}" for number in range(3, 9)),
    *(f"nsmf-fig{number}" for number in (2, 3)),
    "dc-table1",
    "dc-table2",
    *(f"dc-fig{number}" for number in (4, 5, 6, 7, 8, 9, "10a", "10b", "10c", 11)),
    *(f"popsub-fig3-{panels}" for panels in ("phi", "size", "subscriptions", "skew")),
    "popsub-fig4",
    *(f"vitis-fig{number}" for number in range(3, 8)),
}
STATED_NOWHERE = (
    "weave-overlays",
    "locality-designed",
    "popsub-choice-matrix",
    "popsub-choice-matrix-overloaded",
    "popsub-choice-nearest",
    "popsub-choice-nearest-overloaded",
    "popsub-choice-reading",
    "popsub-choice-reading-overloaded",
    "vitis-table",
    "vitis-trade",
    "vitis-latency",
    "vitis-failure",
    "beaconvey-fig3",
    "beaconvey-crawl-fig3",
    "swico-options",
    "degree-budget",
)


def test_every_table_and_figure_is_there() -> None:
    assert {experiment.name for experiment in experiments_of(["all"])} >= PAPERS_OWN


def test_an_experiment_is_wanted_once() -> None:
    assert [e.name for e in experiments_of(["nsmf-fig3", "nsmf-fig2", "nsmf-fig3"])] == ["nsmf-fig3", "nsmf-fig2"]
    with pytest.raises(WeftError, match="no experiment 'nsmf-fig9'"):
        experiments_of(["nsmf-fig9"])


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_claims_are_about_what_is_measured(name: str) -> None:
    experiment = EXPERIMENTS[name]
    claims = claims_of(experiment)
    given = dict.fromkeys(experiment.datasets, "there")
    plans = [experiment.plan(effort, folders) for effort in EFFORTS for folders in ({}, given)]
    labels = {
        MEAN,
        EACH,
        LOWEST,
        HIGHEST,
        SLOPE,
        CHANGE,
        *(at for each in experiment.readings for at in each.points),
        *(point.label for plan in plans for point in plan.points),
    }
    assert claims or name in STATED_NOWHERE
    for claim in claims:
        assert claim.metric in experiment.reported
        assert claim.at in labels
        assert {*claim.systems, claim.start or claim.systems[0]} <= set(experiment.systems)
        assert claim.section
        assert claim.is_shape or claim.low <= claim.high
        assert claim.lowest_with in (None, *experiment.reported)


FIVE = ("beaconvey", "dc", "nsmf", "popsub", "vitis")


@pytest.mark.parametrize("paper", [paper for paper in papers() if paper.key in FIVE], ids=lambda paper: paper.key)
def test_every_section_says_how_many_sentences_are_judged_and_why_not_all(paper: Paper) -> None:
    assert paper.believe
    rows = {section: (int(stated), int(judged), why) for section, stated, judged, why in sections(paper)}
    for section, (stated, judged, why) in rows.items():
        assert judged == stated or (judged < stated and why != "-"), section
    claims = [claim for each in EXPERIMENTS.values() if each.paper == paper.key for claim in claims_of(each)]
    assert {claim.section for claim in claims} <= set(rows)
    assert all(claim.words for claim in claims)


@pytest.mark.parametrize("paper", papers(), ids=lambda paper: paper.key)
def test_the_readings_of_an_experiment_are_those_of_its_paper(paper: Paper) -> None:
    """The order is the paper's: the one stands first which its words favour. PopSub's cross has its own."""
    names = [reading.name for reading in paper.readings] or ["as printed"]
    for experiment in EXPERIMENTS.values():
        if experiment.paper == paper.key and any(claim.counted for claim in claims_of(experiment)):
            ours = [reading.name for reading in experiment.readings]
            assert ours == [name for name in names if name in ours]


@pytest.mark.parametrize("paper", papers(), ids=lambda paper: paper.key)
def test_a_paper_tells_of_no_unknown_experiment(paper: Paper) -> None:
    named = {name for name, each in EXPERIMENTS.items() if each.paper == paper.key}
    assert set(statements_of(paper.key)) == {ABOUT, *named}
    for headline in paper.headlines:
        experiment = EXPERIMENTS[headline.experiment]
        assert headline.metric in experiment.reported
        assert {*headline.share} or {headline.system} <= set(experiment.systems)
        assert headline.sentence.format(ours=0.5, paper=0.5, data="a graph")


def test_a_module_of_papers_stands_beside_its_toml() -> None:
    assert [paper.key for paper in papers()] == sorted(Path(str(module.__file__)).stem for module in PAPERS)
    for module in PAPERS:
        assert {experiment.paper for experiment in module.EXPERIMENTS} == {Path(str(module.__file__)).stem}


def claim(low: float, high: float) -> Claim:
    return Claim("1", "path ratio", MEAN, ("A",), low, high)


@pytest.mark.parametrize(
    ("stated", "ours", "verdict", "sentence"),
    [
        (claim(2, 2), 2.1, "agrees", ""),
        (claim(2, 2), 2.3, "differs", "15% higher than stated."),
        (claim(2, 2), 1.5, "differs", "25% lower than stated."),
        (claim(3, math.inf), 1e6, "agrees", ""),
        (claim(3, math.inf), 2.4, "differs", "20% lower than stated."),
    ],
)
def test_a_figure_agrees_within_a_tenth(stated: Claim, ours: float, verdict: str, sentence: str) -> None:
    found = compare(stated, {("path ratio", "A", MEAN): ours}, [])
    assert (found.verdict, found.sentence) == (verdict, sentence)


def test_an_order_agrees_when_ours_is_the_same() -> None:
    order = Claim("1", "path ratio", MEAN, ("A", "B", "C"))
    ours = {("path ratio", system, MEAN): value for system, value in (("A", 1.0), ("B", 2.0), ("C", 3.0))}
    assert compare(order, ours, []).verdict == "agrees"
    swapped = compare(order, ours | {("path ratio", "C", MEAN): 1.5}, [])
    assert (swapped.verdict, swapped.sentence) == ("differs", "Here C is lower than B.")


ALONG = {
    ("path ratio", system, at): value
    for system, values in {"A": (1.0, 2.0, 3.0), "B": (1.5, 2.5, 5.0), "C": (1.6, 2.4, 6.0)}.items()
    for at, value in zip("xyz", values, strict=True)
}

XYZ = [Point(at, "", float(x)) for x, at in enumerate("xyz", 1)]


@pytest.mark.parametrize(
    ("stated", "verdict", "sentence"),
    [
        (Claim("1", "path ratio", EACH, ("A", "B")), "agrees", ""),
        (Claim("1", "path ratio", EACH, ("A", "B", "C")), "differs", "At y: Here C is lower than B."),
        (Claim("1", "path ratio", EACH, ("A", "D")), "cannot be compared", "At x: Not run"),
        (Claim("1", "path ratio", EACH, ("A",), 1, 3), "agrees", ""),
        (Claim("1", "path ratio", EACH, ("B",), 1, 3), "differs", "At z: 67% higher than stated."),
    ],
)
def test_what_is_claimed_of_each_point_has_to_hold_at_all(stated: Claim, verdict: str, sentence: str) -> None:
    found = compare(stated, ALONG, XYZ)
    assert found.verdict == verdict
    assert found.sentence.startswith(sentence)
    assert found.claim == stated


@pytest.mark.parametrize(
    ("at", "low", "high", "verdict"),
    [("x", 0.5, 0.5, "agrees"), ("z", 0.5, 0.5, "differs"), ("z", 1.5, 2.5, "agrees"), ("z", 3.0, 4.0, "differs")],
)
def test_a_gap_is_how_far_the_second_is_above_the_first(at: str, low: float, high: float, verdict: str) -> None:
    stated = Claim("1", "path ratio", at, ("A", "B"), low, high, of="gap")
    assert not stated.is_order
    found = compare(stated, ALONG, XYZ)
    assert (found.verdict, found.ours) == (verdict, (0.5 if at == "x" else 2.0,))


def test_what_was_not_measured_is_not_compared() -> None:
    assert compare(claim(1, 1), {}, []).verdict == "cannot be compared"


@pytest.mark.parametrize(
    ("trend", "ours", "verdict"),
    [
        ("up", (1, 2, 3, 4), "agrees"),
        ("up", (1, 3, 2, 4), "agrees"),  # five pairs of six
        ("up", (1, 4, 2, 3), "differs"),  # four
        ("up", (1, 2, 3, 4, 5, 6, 7, 0), "agrees"),  # 21 of 28: just three quarters
        ("down", (7, 6, 5, 4, 3, 2, 1, 8), "agrees"),
        ("up", (1, 2, 3, 4, 5, 7, 6, 0), "differs"),  # 20
        ("up", (2, 1, 4, 3), "differs"),
        ("up", (2, 2, 2), "differs"),
        ("down", (4, 3, 2, 1), "agrees"),
        ("down", (1, 2, 3, 4), "differs"),
        ("flat", (1.0, 1.09, 1.04), "agrees"),
        ("flat", (1.0, 1.2, 1.0), "differs"),
        ("flat", (0.0, 0.0, 0.1), "differs"),
    ],
)
def test_a_trend_agrees_when_most_pairs_go_its_way(trend: Trend, ours: tuple[float, ...], verdict: str) -> None:
    points, figures = along(ours)
    stated = Claim("1", "path ratio", MEAN, ("A",), trend=trend)
    found = compare(stated, figures, points)
    assert (found.verdict, found.ours) == (verdict, (ours[0], ours[-1]))


def along(ours: Sequence[float], system: str = "A") -> tuple[list[Point], dict[tuple[str, str, str], float]]:
    points = [Point(f"V={x}", "", float(x)) for x in range(1, len(ours) + 1)]
    return points, {("path ratio", system, point.label): value for point, value in zip(points, ours, strict=True)}


@pytest.mark.parametrize(
    ("given", "ours", "verdict", "sentence"),
    [
        ({"value": 1.04}, 1.06, "agrees", ""),
        ({"value": 1.04}, 0.98, "differs", "On the other side of 1."),
        ({"value": 1.004}, 0.99, "agrees", ""),  # the paper's is on no side
        ({"value": 1.5}, 1.2, "right direction, other size", "20% lower than stated."),
        ({"value": 1.0}, 1.2, "differs", "20% higher than stated."),  # "similar" has no direction
        ({"above": 3.3}, 3.29, "right direction, other size", "0% lower than stated."),
        ({"above": 3.3}, 3.31, "agrees", ""),
        ({"above": 1.0}, 1.0, "differs", "Ours is at the bound, and not beyond it."),
        ({"below": 0.12}, 0.121, "right direction, other size", "1% higher than stated."),
        ({"range": [1.29, 1.62]}, 1.63, "right direction, other size", "1% higher than stated."),
        ({"range": [1.29, 1.62], "tolerance": 0.1}, 1.63, "agrees", ""),
        ({"range": [0.6, 0.75]}, 1.1, "differs", "47% higher than stated."),
    ],
)
def test_the_side_of_no_difference_and_the_words_of_a_bound_are_judged(
    given: dict[str, Any], ours: float, verdict: str, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (claim,) = stated(monkeypatch, system="Chord", at=MEAN, **given)
    found = compare(claim, {("overhead ratio", "Chord", MEAN): ours}, [])
    assert (found.verdict, found.sentence) == (verdict, sentence)


def stated(monkeypatch: pytest.MonkeyPatch, **given: Any) -> list[Claim]:
    """The claims that a table of a toml makes."""
    table = {"section": "1", "metric": "overhead ratio", "words": "it is", **given}
    monkeypatch.setattr(
        claim_module, "statements_of", lambda _: {"nsmf-fig2": {"cause": "our data", "claims": [table]}}
    )
    return claims_of(EXPERIMENTS["nsmf-fig2"])


def test_a_sentence_on_several_systems_and_places_is_a_row_for_each(monkeypatch: pytest.MonkeyPatch) -> None:
    claims = stated(monkeypatch, system=["Chord", "RandomSW"], at=["V=1000", MEAN], above=1.0, trivial=True)
    assert [(claim.systems, claim.at) for claim in claims] == [
        (("Chord",), "V=1000"),
        (("Chord",), MEAN),
        (("RandomSW",), "V=1000"),
        (("RandomSW",), MEAN),
    ]
    assert {(claim.cause, claim.words, claim.scores) for claim in claims} == {("our data", "it is", False)}


def test_a_share_is_what_the_best_part_has_in_the_whole_gain() -> None:
    figures = {("m", system, "FB"): value for system, value in {"a": 0.5, "b": 0.6, "c": 0.2, "-": 0.8}.items()}
    share = Claim("1", "m", "FB", ("a", "b", "c"), 0.78, 0.78, of="share", neutral=0.5)
    assert compare(share, figures, []).ours == (pytest.approx(0.5 / 0.8),)
    assert compare(share, figures, []).verdict == "right direction, other size"
    assert compare(replace(share, start="-"), figures, []).ours == (pytest.approx(0.3 / 0.6),)


def test_a_spread_and_a_gap_may_have_a_trend() -> None:
    figures = {**along((1, 2, 3))[1], **along((2, 4, 7), "B")[1], **along((1.5, 1.5, 1.5), "C")[1]}
    wider = Claim("1", "path ratio", MEAN, ("A", "B"), trend="up", of="gap")
    assert compare(wider, figures, XYZ[:0] + along((1, 2, 3))[0]).ours == (1, 4)
    spread = Claim("1", "path ratio", MEAN, ("A", "B", "C"), trend="down", of="spread")
    found = compare(spread, figures, along((1, 2, 3))[0])
    assert (found.verdict, found.ours) == ("differs", (1, 5.5))


@pytest.mark.parametrize(
    ("trend", "ours", "verdict"),
    [
        ("logarithmic", [math.log(x) for x in range(1, 9)], "agrees"),
        ("logarithmic", [0.3 * x for x in range(1, 9)], "differs"),
        ("logarithmic", [-math.log(x) for x in range(1, 9)], "differs"),
        ("valley", (5, 3, 2, 4, 6), "agrees"),
        ("valley", (1, 3, 2, 4, 6), "differs"),
        ("valley", (5, 4, 3, 2, 1), "differs"),
        ("peak", (1, 3, 4, 2, 1), "agrees"),
        ("not up", (3, 2, 3, 2), "agrees"),
        ("not up", (1, 2, 3, 4), "differs"),
    ],
)
def test_shapes_of_growth_are_fitted(trend: Trend, ours: Sequence[float], verdict: str) -> None:
    points, figures = along(ours)
    assert compare(Claim("1", "path ratio", MEAN, ("A",), trend=trend), figures, points).verdict == verdict


@pytest.mark.parametrize(("power", "verdict"), [(2.0, "agrees"), (1.0, "differs")])
def test_a_slope_is_the_exponent_of_a_power_law(power: float, verdict: str) -> None:
    points, figures = along([7 * x**power for x in range(1, 6)])
    found = compare(Claim("1", "path ratio", SLOPE, ("A",), 2.0, 2.0), figures, points)
    assert (found.verdict, found.ours) == (verdict, (pytest.approx(power),))


@pytest.mark.parametrize(
    ("ours", "verdict"),
    [((10, 12, 8), "agrees"), ((10, 12, 9.9), "right direction, other size"), ((10, 12, 11), "differs")],
)
def test_a_change_is_of_the_last_point_against_the_first(ours: tuple[float, ...], verdict: str) -> None:
    points, figures = along(ours)
    stated = Claim("1", "path ratio", CHANGE, ("A",), 0.81, 0.81, neutral=1.0)
    assert compare(stated, figures, points).verdict == verdict


@pytest.mark.parametrize(("other", "verdict"), [((4, 1, 2, 3), "agrees"), ((4, 3, 2, 1), "differs")])
def test_two_figures_are_lowest_at_neighbours_at_least(other: tuple[float, ...], verdict: str) -> None:
    points, figures = along((3, 1, 2, 4))
    figures |= {("PN", "A", at): value for (_, _, at), value in zip(figures, other, strict=True)}
    assert compare(Claim("1", "path ratio", MEAN, ("A",), lowest_with="PN"), figures, points).verdict == verdict


def test_a_reading_has_its_own_rows_or_its_own_names() -> None:
    experiment = replace(EXPERIMENTS["nsmf-fig2"], readings=(Reading("own links"), Reading("both ways")))
    rows = [
        {**row(system, "V=1", 1, overhead), "reading": reading}
        for reading, chords in (("own links", 10.0), ("both ways", 30.0))
        for system, overhead in (("GrSwico", 10.0), ("Chord", chords))
    ]
    results = Results(experiment, "quick", [Point("V=1", "", 1)], 1, "", rows)
    by = {reading.name: figures_by(results, reading) for reading in experiment.readings}
    assert {name: found["overhead ratio", "Chord", "V=1"] for name, found in by.items()} == {
        "own links": 1.0,
        "both ways": 3.0,
    }
    renamed = Reading("own links", systems={"Chord": "GrSwico"}, points={"anywhere": "V=1"})
    assert figures_by(results, renamed)["overhead ratio", "Chord", "anywhere"] == 1.0


def row(system: str, at: str, seed: int, overhead: float | None) -> dict[str, object]:
    return {"system": system, "at": at, "seed": seed, "routing_overhead": overhead, "error": None}


def test_ratios_are_of_runs_with_the_same_seed() -> None:
    experiment = replace(
        EXPERIMENTS["nsmf-fig2"],
        systems=("GrSwico", "Chord"),
        panels=(EXPERIMENTS["nsmf-fig2"].panels[0],),
        extra_metrics=(),
    )
    points = [Point(f"V={x}", "", x) for x in (1, 2)]
    rows = [
        *(row("GrSwico", "V=1", seed, overhead) for seed, overhead in ((1, 10), (2, 100))),
        *(row("Chord", "V=1", seed, overhead) for seed, overhead in ((1, 20), (2, 100))),
        *(row("GrSwico", "V=2", seed, 10) for seed in (1, 2)),
        *(row("Chord", "V=2", seed, 20) for seed in (1, 2)),
    ]
    figures = figures_of(Results(experiment, "quick", points, 2, "", rows))
    assert figures["overhead ratio", "Chord", "V=1"] == 1.5
    assert figures["overhead ratio", "Chord", MEAN] == 1.75
    assert (figures["overhead ratio", "Chord", LOWEST], figures["overhead ratio", "Chord", HIGHEST]) == (1.5, 2.0)
    turned = replace(experiment, metrics={"overhead ratio": Metric("routing_overhead", relative=True, to="Chord")})
    assert figures_of(Results(turned, "quick", points, 2, "", rows))["overhead ratio", "GrSwico", "V=2"] == 0.5
    failed = [{**line, "error": "it broke"} if line["at"] == "V=2" else line for line in rows]
    figures = figures_of(Results(experiment, "quick", points, 2, "", failed))
    assert set(figures) == {("overhead ratio", system, "V=1") for system in ("GrSwico", "Chord")}


def test_a_run_measures_what_the_commands_do(tmp_path: Path) -> None:
    whole = generate("social", nodes=200, seed=5)
    whole.write(tmp_path / "whole")
    taken = sample(whole, Sampling(60, "bfs", 2))
    result = evaluate(taken, design(taken, "swico-l", seed=2), "scribe", publications(taken, 100, 2), seed=2)
    figures = RoutingRun(Input(SAMPLE, 60, folder=str(tmp_path / "whole")), "swico-l", "scribe", 100, 2).measure()
    assert (figures["messages"], figures["routing_overhead"]) == (result.messages, result.routing_overhead)
    assert (figures["average_path"], figures["subscriptions"]) == (result.average_path, taken.subscriptions)


def support(instance: Instance, links: list[tuple[int, int]]) -> float:
    """TcoSuppR by its definition."""
    graph = nx.Graph(links)
    topics = [nodes for nodes in map(instance.subscribers.__getitem__, range(instance.topics)) if len(nodes)]
    tccs = sum(nx.number_connected_components(graph.subgraph(nodes.tolist())) for nodes in topics)
    return (instance.subscriptions - tccs) / (instance.subscriptions - len(topics))


def test_runs_of_the_papers_have_whole_phases() -> None:
    """The phases on a ring of 7 nodes are {1}, {2, 3} and {4, 5, 6}, of which the last would go to 7."""
    plan = EXPERIMENTS["nsmf-fig2"].plan("quick", {})
    assert {("phases", "whole")} == {option for run in plan.every_run for option in run.options}  # type: ignore[attr-defined]
    figures = RoutingRun(Input("unif", 7, 100), "chord", "po", 10, 1, (("phases", "whole"),)).measure()
    instance = generate("unif", nodes=7, topics=100, seed=1)
    overlay = design(instance, "chord", seed=1)
    links = list(zip(overlay.sources.tolist(), overlay.targets.tolist(), overlay.phases.tolist(), strict=True))
    assert figures["tco_support_ratio"] == support(instance, [(u, v) for u, v, phase in links if phase < 2])
    assert figures["tco_support_ratio"] < support(instance, [(u, v) for u, v, _ in links])


@pytest.mark.parametrize("name", [name for name, each in EXPERIMENTS.items() if each.plan("quick", {}).variants])
def test_every_reading_of_a_paper_is_run_on_the_same_inputs(name: str) -> None:
    experiment = EXPERIMENTS[name]
    plan = experiment.plan("full", {})
    assert len(plan.variants) == (6 if experiment.paper == "nsmf" else 12)
    assert [variant.reading for variant in plan.variants] == [reading.name for reading in experiment.readings]
    assert experiment.readings[0].name == "as printed"
    assert next(iter(plan.variants.values())) == plan.runs
    for variant, runs in plan.variants.items():
        assert runs.keys() == plan.runs.keys()
        chosen, scribe = dict(variant.options), {"scribe", "iscribe"}
        for key, run in runs.items():
            first = plan.runs[key]
            assert isinstance(run, RoutingRun)
            assert isinstance(first, RoutingRun)
            assert (run.input, run.publications, run.router) == (first.input, first.publications, first.router)
            expected = chosen | ({"pivots": "own"} if run.router in scribe else {})
            assert run.forwarding.columns == {name: expected[name] for name in run.forwarding.columns}
            assert (run.overlay == "chord") <= (chosen["long"] == "chord")
            assert (("long", "random") in run.options) == (run.overlay == "swico-s" and chosen["long"] == "random")


def read_tiny(experiment: Experiment) -> Experiment:
    variants = variants_of(SYSTEMS, long=False)
    return replace(experiment, plan=lambda _, folders: plan_by_readings(TINY, node_inputs, variants, folders))


def test_rows_say_which_reading_they_are_of(spark: SparkSession, tmp_path: Path) -> None:
    journal_in(tmp_path)
    experiment = read_tiny(EXPERIMENTS["nsmf-fig2"])
    (results,) = execute(lambda: spark, [experiment], "quick", {}, tmp_path)
    write_experiment(results, tmp_path / "out")
    rows = pq.read_table(tmp_path / "out" / "results.parquet").to_pylist()
    assert {(row["reading"], row["links"], row["distance"], row["pivots"]) for row in rows} == {
        ("as printed", "own", "clockwise", "own"),
        ("links both ways", "both", "clockwise", "own"),
        ("links both ways, absolute", "both", "absolute", "own"),
    }
    assert read_experiment(experiment, tmp_path / "out") == results
    key = ("average path", "Chord", results.points[0].label)
    own = [row["average_path"] for row in rows if (row["system"], row["at"], row["links"]) == (*key[1:], "own")]
    assert figures_of(results)[key] == pytest.approx(sum(own) / len(own)) != figures_of(results, "links both ways")[key]
    (asked,) = execute(lambda: spark, [experiment], "quick", {}, tmp_path, options={"distance": "absolute"})
    assert {(row["reading"], row["pivots"]) for row in asked.rows} == {
        ("links both ways, absolute", "own"),
        ("links both ways, absolute, neighbours as pivots", "neighbours"),
    }


def test_an_experiment_without_fingers_takes_none_of_their_options() -> None:
    wanted = experiments_of(["nsmf-fig2", "vitis-fig3"])
    require_variants(wanted[:1], {"links": "both"})
    with pytest.raises(WeftError, match="vitis-fig3 takes no option `links`"):
        require_variants(wanted, {"links": "both"})
    with pytest.raises(WeftError, match="nsmf-fig2 is not run with `links` own, `distance` absolute"):
        require_variants(wanted[:1], {"links": "own", "distance": "absolute"})


def tiny(experiment: Experiment, systems: Mapping[str, System], inputs: Inputs = node_inputs) -> Experiment:
    plan = lambda _, folders: plan_at(TINY, inputs, systems, folders)  # noqa: E731
    return replace(experiment, plan=plan, readings=experiment.readings[:1])


def run_tiny(spark: SparkSession, experiments: list[Experiment], out: Path) -> list[Results]:
    journal_in(out)
    return execute(lambda: spark, experiments, "quick", {}, out)


def test_a_tiny_experiment_runs_whole(spark: SparkSession, tmp_path: Path) -> None:
    (results,) = run_tiny(spark, [tiny(EXPERIMENTS["nsmf-fig2"], SYSTEMS)], tmp_path)
    write_experiment(results, tmp_path / "out")
    rows = pq.read_table(tmp_path / "out" / "results.parquet").to_pylist()
    assert len(rows) == 2 * 3 * 2  # points, systems, seeds
    for line in rows:
        given = RoutingRun(
            Input(line["workload"], line["nodes"], line["topics"]),
            line["overlay"],
            line["router"],
            line["publications"],
            line["seed"],
        )
        again = given.measure()
        assert {name: line[name] for name in again if name != "design_seconds"} == {
            name: value for name, value in again.items() if name != "design_seconds"
        }
    table = (tmp_path / "out" / "table.md").read_text().splitlines()
    heads = [line for line in table if line.startswith("| where | figure | system | at | paper | ours |")]
    assert len(heads) == 1
    start = table.index(heads[0])
    claims = table[start + 2 : table.index("", start)]
    assert len(claims) == len(claims_of(results.experiment))
    assert all(line.count(" | ") == 8 for line in claims)
    assert sum("cannot be compared" in line for line in claims) == 3  # the paths at V=10000
    assert "</svg>" in (tmp_path / "out" / "figure.svg").read_text()
    assert read_experiment(results.experiment, tmp_path / "out") == results


def test_a_failed_run_is_told_and_stops_no_other(spark: SparkSession, tmp_path: Path) -> None:
    systems = {**SYSTEMS, "Chord": System("no-such-overlay", "po")}
    (results,) = run_tiny(spark, [tiny(EXPERIMENTS["nsmf-fig2"], systems)], tmp_path)
    assert len(results.errors) == 4
    write_experiment(results, tmp_path / "out")
    rows = pq.read_table(tmp_path / "out" / "results.parquet").to_pylist()
    assert {line["system"] for line in rows if line["error"]} == {"Chord"}
    assert all(line["messages"] > 0 for line in rows if not line["error"])
    text = (tmp_path / "out" / "table.md").read_text()
    assert "4 of 12 runs failed" in text
    assert "There is no overlay 'no-such-overlay'" in text


def count_runs(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Count the runs of every sweep from now on."""
    counts: list[int] = []
    original = execution.sweep

    def counting(session: SparkSession, work: Any, batches: Any, costs: Any, **options: Any) -> Any:
        counts.append(sum(map(len, batches)))
        return original(session, work, batches, costs, **options)

    monkeypatch.setattr(execution, "sweep", counting)
    return counts


def test_experiments_share_their_runs(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = count_runs(monkeypatch)
    both = [tiny(EXPERIMENTS[name], ALL_SYSTEMS) for name in ("beaconvey-fig4", "beaconvey-fig5")]
    first, second = run_tiny(spark, both, tmp_path)
    assert counts == [len(first.rows)]
    assert first.rows == second.rows


def test_a_stopped_experiment_continues(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = count_runs(monkeypatch)
    experiment = tiny(EXPERIMENTS["nsmf-fig2"], SYSTEMS)
    (whole,) = run_tiny(spark, [experiment], tmp_path)
    lines = (tmp_path / JOURNAL).read_text().splitlines(keepends=True)
    failed = json.loads(lines[1])
    failed["outcome"] |= {"figures": {}, "error": "it broke"}
    (tmp_path / JOURNAL).write_text(lines[0] + json.dumps(failed) + "\n" + lines[2][:-20])  # killed while it wrote
    (again,) = run_tiny(spark, [experiment], tmp_path)
    assert counts == [12, 11]
    varying = {"seconds", "design_seconds"}
    assert [{k: v for k, v in row.items() if k not in varying} for row in again.rows] == [
        {k: v for k, v in row.items() if k not in varying} for row in whole.rows
    ]
    run_tiny(spark, [experiment], tmp_path)
    assert counts == [12, 11]  # nothing is left to do
    journal_in(tmp_path, force=True)
    assert (tmp_path / JOURNAL).read_text() == ""


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("")
    with pytest.raises(WeftError, match="holds no experiments"):
        journal_in(tmp_path)


def test_data_is_ingested_once_and_sampled(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "social").mkdir()
    (tmp_path / "social" / "facebook_combined.txt").write_text(
        "".join(f"{i} {(i * 7 + 1) % 300}\n{i} {(i + 1) % 300}\n" for i in range(300))
    )

    def inputs(_: Scale, folders: Mapping[str, str]) -> list[tuple[Point, Input]]:
        return [(Point("FB", ""), Input(SAMPLE, 50, folder=folders["facebook"]))]

    experiment = replace(tiny(EXPERIMENTS["beaconvey-table5"], ALL_SYSTEMS, inputs), datasets=("facebook",))
    files = files_in(tmp_path, [experiment])
    journal_in(tmp_path / "out")
    made = []
    for _ in range(2):
        (results,) = execute(lambda: spark, [experiment], "quick", files, tmp_path / "out")
        assert results.errors == []
        made.append((tmp_path / "out" / "data" / "facebook" / "instance" / "meta.json").stat().st_mtime_ns)
    assert made[0] == made[1]


def test_crawls_are_generated_once_and_sampled_breadth_first(spark: SparkSession, tmp_path: Path) -> None:
    crawl = Crawl("facebook-crawl", 2_000)

    def plan(_: Effort, folders: Mapping[str, str]) -> Plan:
        given = Input(CRAWL, 100, like=crawl.like, folder=folders[CRAWLS], whole=crawl.nodes)
        runs = {(system, "FB", 1): RoutingRun(given, "chord", system, 20, 1) for system in ("po", "pie")}
        return Plan([Point("FB", "")], 1, runs, samples=(CrawlSample(crawl, 100, 1),))

    experiment = replace(EXPERIMENTS["beaconvey-crawl"], systems=("po", "pie"), plan=plan)
    journal_in(tmp_path)
    made = []
    for _ in range(2):
        (results,) = execute(lambda: spark, [experiment], "quick", {}, tmp_path)
        assert results.errors == []
        made.append([path.stat().st_mtime_ns for path in sorted(tmp_path.rglob("meta.json"))])
    assert made[0] == made[1]
    whole = generate("social", nodes=2_000, like=crawl.like, seed=1)
    assert results.rows[0]["subscriptions"] == sample(whole, Sampling(100, "bfs", 1)).subscriptions


def test_a_crawl_has_all_that_its_figures_need() -> None:
    for name in ("beaconvey-crawl", "beaconvey-crawl-fig3"):
        plan = EXPERIMENTS[name].plan("full", {CRAWLS: "there"})
        asked = {(run.input.like, run.input.nodes, run.seed) for run in plan.runs.values()}  # type: ignore[attr-defined]
        assert asked == {(each.crawl.like, each.nodes, each.seed) for each in plan.samples}
        assert {each.crawl for each in plan.samples} == set(CRAWLS_OF["full"].values())


def test_a_folder_without_the_files_is_told(tmp_path: Path) -> None:
    with pytest.raises(WeftError, match=r"has no facebook_combined\.txt\.gz"):
        files_in(tmp_path, [EXPERIMENTS["beaconvey-table3"]])
    assert files_in(tmp_path, [EXPERIMENTS["nsmf-fig2"]]) == {}


def test_generated_graphs_stand_in_for_the_data() -> None:
    plan = EXPERIMENTS["beaconvey-table5"].plan("quick", {"facebook": "there"})
    inputs = {at: run.input for (_, at, _), run in plan.runs.items() if isinstance(run, RoutingRun)}
    assert [(at, given.workload, given.nodes) for at, given in inputs.items()] == [
        ("FB 1K", SAMPLE, 1000),
        ("FB 10K", SAMPLE, 4039),
        ("TW 1K", "social", 1000),
        ("TW 10K", "social", 10000),
    ]
    assert plan.points[1].about == "all 4,039 nodes of ego-Facebook, which has no more"


def test_the_journal_knows_the_code_it_was_made_with(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment = tiny(EXPERIMENTS["nsmf-fig2"], SYSTEMS)
    runs = len(experiment.plan("quick", {}).runs)
    journal_in(tmp_path / "out")

    def lines() -> int:
        execute(lambda: spark, [experiment], "quick", {}, tmp_path / "out")
        return len((tmp_path / "out" / JOURNAL).read_text().splitlines())

    assert [lines(), lines()] == [runs, runs]
    monkeypatch.setattr(execution, "code_hash", lambda: "other")
    assert lines() == 2 * runs


def test_the_hash_of_the_code_is_that_of_its_files(tmp_path: Path) -> None:
    (tmp_path / "sim").mkdir()
    found = []
    for name, text in (("x.toml", "a = 1\n"), ("x.toml", "a = 2\n"), ("x.py", "a = 1\n"), ("x.py", "a = 2\n")):
        (tmp_path / "sim" / name).write_text(text)
        code_hash.cache_clear()
        found.append(code_hash(tmp_path))
    assert len(set(found)) == 4
    (tmp_path / "report").mkdir()
    (tmp_path / "report" / "y.py").write_text("b = 1\n")  # how figures are told changes none of them
    code_hash.cache_clear()
    assert code_hash(tmp_path) == found[-1]
    code_hash.cache_clear()


@pytest.mark.parametrize("line", ["garbage", "{}", '{"run": "x", "outcome": {"more": 1}}'])
def test_a_journal_that_cannot_be_read_is_told_by_its_line(tmp_path: Path, line: str) -> None:
    good = json.dumps({"run": "x", "outcome": {}})
    (tmp_path / JOURNAL).write_text(f"{good}\n{line}\n")
    with pytest.raises(WeftError, match=r"runs\.jsonl, line 2 is no run"):
        read_journal(tmp_path / JOURNAL)
