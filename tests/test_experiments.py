"""Experiments: the papers' claims fit what is measured, figures are those of the runs, and a tiny one runs whole."""

import math
from dataclasses import replace
from pathlib import Path

import networkx as nx
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from weft.errors import WeftError
from weft.experiments.catalog import EXPERIMENTS, experiments_of
from weft.experiments.claim import Claim, claims_of, compare, read_paper
from weft.experiments.execution import execute, sources_in
from weft.experiments.experiment import FULL, MEAN, QUICK, SAMPLE, Experiment, Input, Point, Run, Scale, System
from weft.experiments.measure import measure
from weft.experiments.results import Results, figures_of
from weft.model.instance import Instance
from weft.overlays.catalog import design
from weft.report.experiment import write_experiment
from weft.sim.bulk import evaluate
from weft.workloads.catalog import generate
from weft.workloads.publication import publications
from weft.workloads.sample import Sampling, sample

TINY = Scale(publications=200, seeds=2, steps=(20, 40))
NAMES = [
    *(f"beaconvey-table{number}" for number in (3, 4, 5)),
    *(f"beaconvey-fig{number}" for number in (4, 5, 6, 7, 8)),
    "nsmf-fig2",
    "nsmf-fig3",
]


def test_every_table_and_figure_is_there() -> None:
    assert [experiment.name for experiment in experiments_of(["all"])] == NAMES


def test_an_experiment_is_wanted_once() -> None:
    assert [e.name for e in experiments_of(["nsmf-fig3", "nsmf-fig2", "nsmf-fig3"])] == ["nsmf-fig3", "nsmf-fig2"]
    with pytest.raises(WeftError, match="no experiment 'nsmf-fig9'"):
        experiments_of(["nsmf-fig9"])


@pytest.mark.parametrize("name", NAMES)
def test_claims_are_about_what_is_measured(name: str) -> None:
    experiment = EXPERIMENTS[name]
    claims = claims_of(experiment)
    labels = {point.label for scale in (QUICK, FULL) for point in experiment.points(scale, {})} | {MEAN}
    assert claims
    for claim in claims:
        assert claim.metric in experiment.metrics
        assert claim.at in labels
        assert set(claim.systems) <= set(experiment.systems)
        assert claim.section
        assert claim.is_order or claim.low <= claim.high


@pytest.mark.parametrize("paper", ["beaconvey", "nsmf"])
def test_a_paper_tells_of_no_unknown_experiment(paper: str) -> None:
    assert set(read_paper(paper)) == {name for name in NAMES if name.startswith(paper)}


def claim(low: float, high: float) -> Claim:
    return Claim("1", "path ratio", MEAN, ("A",), low, high)


@pytest.mark.parametrize(
    ("stated", "ours", "verdict", "sentence"),
    [
        (claim(2, 2), 2.1, "agrees", ""),
        (claim(2, 2), 2.3, "differs", "15% higher than the paper's."),
        (claim(2, 2), 1.5, "differs", "25% lower than the paper's."),
        (claim(3, math.inf), 1e6, "agrees", ""),
        (claim(3, math.inf), 2.4, "differs", "20% lower than the paper's."),
    ],
)
def test_a_figure_agrees_within_a_tenth(stated: Claim, ours: float, verdict: str, sentence: str) -> None:
    found = compare(stated, {("path ratio", "A", MEAN): ours})
    assert (found.verdict, found.sentence) == (verdict, sentence)


def test_an_order_agrees_when_ours_is_the_same() -> None:
    order = Claim("1", "path ratio", MEAN, ("A", "B", "C"))
    ours = {("path ratio", system, MEAN): value for system, value in (("A", 1.0), ("B", 2.0), ("C", 3.0))}
    assert compare(order, ours).verdict == "agrees"
    swapped = compare(order, ours | {("path ratio", "C", MEAN): 1.5})
    assert (swapped.verdict, swapped.sentence) == ("differs", "Here C is lower than B.")


def test_what_was_not_measured_is_not_compared() -> None:
    assert compare(claim(1, 1), {}).verdict == "cannot be compared"


def row(system: str, at: str, seed: int, overhead: float | None) -> dict[str, object]:
    return {"system": system, "at": at, "seed": seed, "routing_overhead": overhead, "error": None}


def test_ratios_are_of_runs_with_the_same_seed() -> None:
    experiment = replace(
        EXPERIMENTS["nsmf-fig2"],
        systems={name: System("chord", "po") for name in ("GrSwico", "Chord")},
        panels=(EXPERIMENTS["nsmf-fig2"].panels[0],),
        extra_metrics=(),
    )
    points = [Point(f"V={x}", Input("unif", x), "", x) for x in (1, 2)]
    rows = [
        *(row("GrSwico", "V=1", seed, overhead) for seed, overhead in ((1, 10), (2, 100))),
        *(row("Chord", "V=1", seed, overhead) for seed, overhead in ((1, 20), (2, 100))),
        *(row("GrSwico", "V=2", seed, 10) for seed in (1, 2)),
        *(row("Chord", "V=2", seed, 20) for seed in (1, 2)),
    ]
    figures = figures_of(Results(experiment, TINY, points, rows))
    assert figures["overhead ratio", "Chord", "V=1"] == 1.5
    assert figures["overhead ratio", "Chord", MEAN] == 1.75
    failed = [{**line, "error": "it broke"} if line["at"] == "V=2" else line for line in rows]
    figures = figures_of(Results(experiment, TINY, points, failed))
    assert set(figures) == {("overhead ratio", system, "V=1") for system in ("GrSwico", "Chord")}


def test_a_run_measures_what_the_commands_do(tmp_path: Path) -> None:
    whole = generate("social", nodes=200, seed=5)
    whole.write(tmp_path / "whole")
    taken = sample(whole, Sampling(60, "bfs", 2))
    result = evaluate(taken, design(taken, "swico-l", seed=2), "scribe", publications(taken, 100, 2), seed=2)
    figures = measure(Run(Input(SAMPLE, 60, folder=str(tmp_path / "whole")), "swico-l", "scribe", 100, 2))
    assert (figures["messages"], figures["routing_overhead"]) == (result.messages, result.routing_overhead)
    assert (figures["average_path"], figures["subscriptions"]) == (result.average_path, taken.subscriptions)


def support(instance: Instance, links: list[tuple[int, int]]) -> float:
    """TcoSuppR by its definition."""
    graph = nx.Graph(links)
    topics = [nodes for nodes in map(instance.subscribers.__getitem__, range(instance.topics)) if len(nodes)]
    tccs = sum(nx.number_connected_components(graph.subgraph(nodes.tolist())) for nodes in topics)
    return (instance.subscriptions - tccs) / (instance.subscriptions - len(topics))


def test_whole_phases_are_those_that_the_ring_does_not_cut() -> None:
    """On a ring of 7 nodes the phases are {1}, {2, 3} and {4, 5, 6}, of which the last would go to 7."""
    figures = measure(Run(Input("unif", 7, 100), "chord", "po", 10, 1))
    instance = generate("unif", nodes=7, topics=100, seed=1)
    overlay = design(instance, "chord", seed=1)
    links = list(zip(overlay.sources.tolist(), overlay.targets.tolist(), overlay.phases.tolist(), strict=True))
    assert figures["tco_support_ratio"] == support(instance, [(u, v) for u, v, _ in links])
    assert figures["whole_phases_support_ratio"] == support(instance, [(u, v) for u, v, phase in links if phase < 2])
    assert figures["whole_phases_support_ratio"] < figures["tco_support_ratio"]


def run_tiny(spark: SparkSession, experiments: list[Experiment], cache: Path) -> list[Results]:
    return execute(lambda: spark, experiments, TINY, {}, cache)


def test_a_tiny_experiment_runs_whole(spark: SparkSession, tmp_path: Path) -> None:
    (results,) = run_tiny(spark, [EXPERIMENTS["nsmf-fig2"]], tmp_path / "data")
    write_experiment(results, tmp_path / "out")
    rows = pq.read_table(tmp_path / "out" / "results.parquet").to_pylist()
    assert len(rows) == 2 * 3 * 2  # points, systems, seeds
    for line in rows:
        given = Run(
            Input(line["workload"], line["nodes"], line["topics"]),
            line["overlay"],
            line["router"],
            line["publications"],
            line["seed"],
        )
        again = measure(given)
        assert {name: line[name] for name in again if name != "design_seconds"} == {
            name: value for name, value in again.items() if name != "design_seconds"
        }
    table = (tmp_path / "out" / "table.md").read_text().splitlines()
    heads = [line for line in table if line.startswith("| where | figure | system | at | paper | ours |")]
    assert len(heads) == 1
    start = table.index(heads[0])
    claims = table[start + 2 : table.index("", start)]
    assert len(claims) == len(claims_of(results.experiment))
    assert all(line.count(" | ") == 7 for line in claims)
    assert sum("cannot be compared" in line for line in claims) == 3  # the paths at V=10000
    assert "</svg>" in (tmp_path / "out" / "figure.svg").read_text()


def test_a_failed_run_is_told_and_stops_no_other(spark: SparkSession, tmp_path: Path) -> None:
    experiment = EXPERIMENTS["nsmf-fig3"]
    systems = {**experiment.systems, "Chord": System("no-such-overlay", "po")}
    (results,) = run_tiny(spark, [replace(experiment, systems=systems)], tmp_path / "data")
    assert len(results.errors) == 4
    write_experiment(results, tmp_path / "out")
    rows = pq.read_table(tmp_path / "out" / "results.parquet").to_pylist()
    assert {line["system"] for line in rows if line["error"]} == {"Chord"}
    assert all(line["messages"] > 0 for line in rows if not line["error"])
    text = (tmp_path / "out" / "table.md").read_text()
    assert "4 of 12 runs failed" in text
    assert "There is no overlay 'no-such-overlay'" in text


def test_experiments_share_their_runs(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[int] = []
    from weft.experiments import execution

    def counting(session: SparkSession, work: object, batches: list[list[Run]], **_: object) -> object:
        sent.append(sum(map(len, batches)))
        return original(session, work, batches)

    original = execution.sweep
    monkeypatch.setattr(execution, "sweep", counting)
    both = [EXPERIMENTS["beaconvey-fig4"], EXPERIMENTS["beaconvey-fig5"]]
    small = [replace(each, points=lambda *_: [Point("T=50", Input("zipf", 40, 50), "", 50)]) for each in both]
    first, second = run_tiny(spark, small, tmp_path / "data")
    assert sent == [len(first.rows)]
    assert first.rows == second.rows


def test_data_is_ingested_once_and_sampled(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "facebook_combined.txt").write_text(
        "".join(f"{i} {(i * 7 + 1) % 300}\n{i} {(i + 1) % 300}\n" for i in range(300))
    )
    experiment = replace(
        EXPERIMENTS["beaconvey-table5"],
        datasets=("facebook",),
        points=lambda _, folders: [Point("FB", Input(SAMPLE, 50, folder=folders["facebook"]), "")],
    )
    sources = sources_in(tmp_path, [experiment])
    made = []
    for _ in range(2):
        (results,) = execute(lambda: spark, [experiment], TINY, sources, tmp_path / "data")
        assert results.errors == []
        made.append((tmp_path / "data" / "facebook" / "instance" / "meta.json").stat().st_mtime_ns)
    assert made[0] == made[1]


def test_a_folder_without_the_files_is_told(tmp_path: Path) -> None:
    with pytest.raises(WeftError, match=r"has no facebook_combined\.txt\.gz"):
        sources_in(tmp_path, [EXPERIMENTS["beaconvey-table3"]])
    assert sources_in(tmp_path, [EXPERIMENTS["nsmf-fig2"]]) == {}


def test_generated_graphs_stand_in_for_the_data() -> None:
    points = EXPERIMENTS["beaconvey-table5"].points(QUICK, {"facebook": "there"})
    assert [(p.label, p.input.workload, p.input.nodes) for p in points] == [
        ("FB 1K", SAMPLE, 1000),
        ("FB 10K", SAMPLE, 4039),
        ("TW 1K", "social", 1000),
        ("TW 10K", "social", 10000),
    ]
    assert points[1].about == "all 4,039 nodes of ego-Facebook, which has no more"
