"""Evaluation on Spark gives the figures of evaluation in process, to the last digit."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import Row, SparkSession
from pyspark.sql.classic.dataframe import DataFrame
from typer.testing import CliRunner

from weft import cli
from weft.errors import WeftError
from weft.model.instance import Instance
from weft.model.latency import placed_latency
from weft.model.overlay import Overlay
from weft.model.publication import Publications
from weft.model.publisher import Publishers
from weft.model.storage import write_columns
from weft.overlays.catalog import design
from weft.pipeline.evaluate import NOTHING, evaluate_whole, laid_out
from weft.pipeline.evaluate import evaluate as evaluate_laid_out
from weft.pipeline.weave import weave as weave_on_spark
from weft.sim.bulk import evaluate
from weft.sim.evaluation import Evaluation
from weft.trees.weave import weave
from weft.workloads.catalog import generate
from weft.workloads.publication import publications


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """An instance and an overlay."""
    folder = tmp_path_factory.mktemp("evaluate")
    instance = generate("zipf", nodes=200, topics=60, subscriptions=6, seed=1)
    instance.write(folder / "instance")
    design(instance, "swico-sl", seed=1).write(folder / "overlay")
    return folder / "instance", folder / "overlay"


def evaluate_on_spark(
    spark: SparkSession, instance: Path, overlay: Path, router: str, drawn: Publications, **options: Any
) -> Evaluation:
    with laid_out(spark, instance, overlay) as given:
        return evaluate_laid_out(given, overlay, router, drawn, **options)


def test_a_system_is_evaluated_in_a_task_as_in_process(spark: SparkSession, folders: tuple[Path, Path]) -> None:
    instance = Instance.read(folders[0])
    drawn = publications(instance, 300, seed=2)
    here = evaluate(instance, None, "vitis", drawn, seed=3, per_topic=True)
    there = evaluate_whole(spark, folders[0], None, "vitis", drawn, seed=3, per_topic=True)
    assert replace(here, seconds=0, topics=None) == replace(there, seconds=0, topics=None)
    assert here.topics is not None
    assert there.topics is not None
    assert here.topics.to_arrow() == there.topics.to_arrow()


@pytest.mark.parametrize(("router", "per_topic"), [("pie", True), ("scribe", False), ("weave", True)])
def test_spark_gives_the_same_figures(
    spark: SparkSession, folders: tuple[Path, Path], router: str, per_topic: bool
) -> None:
    instance = Instance.read(folders[0])
    overlay = design(instance, "swico-sl", seed=1)
    drawn = publications(instance, 3000, seed=2)
    here = evaluate(instance, overlay, router, drawn, seed=3, per_topic=per_topic)
    there = evaluate_on_spark(spark, *folders, router, drawn, seed=3, per_topic=per_topic)
    assert (here.topics is None, there.topics is None) == (not per_topic, not per_topic)
    assert same(there, here)


@pytest.fixture
def divided(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make any subscriptions too many for the driver, and divide topics."""
    monkeypatch.setattr("weft.pipeline.layout.MANY", 0)
    monkeypatch.setattr("weft.pipeline.layout.ROWS", 300)
    monkeypatch.setattr("weft.overlays.arcs.workshop.LEAST_COST", 200)
    monkeypatch.setattr("weft.pipeline.layout.read_instance", lambda _: pytest.fail("the driver reads the instance"))


@pytest.fixture
def collected(monkeypatch: pytest.MonkeyPatch) -> list[pa.Table]:
    """Tables that the driver gets from Spark."""
    tables: list[pa.Table] = []
    to_arrow, collect = DataFrame.toArrow, DataFrame.collect

    def noted(rows: DataFrame) -> pa.Table:
        tables.append(to_arrow(rows))
        return tables[-1]

    def one_at_most(rows: DataFrame) -> list[Row]:
        found: list[Row] = collect(rows)
        assert len(found) <= 1
        return found

    monkeypatch.setattr("pyspark.sql.classic.dataframe.DataFrame.toArrow", noted)
    monkeypatch.setattr("pyspark.sql.classic.dataframe.DataFrame.collect", one_at_most)
    return tables


@pytest.mark.usefixtures("divided")
@pytest.mark.parametrize("router", ["scribe", "weave"])
def test_counts_go_to_the_driver_by_files_of_which_nothing_is_left(
    spark: SparkSession, folders: tuple[Path, Path], collected: list[pa.Table], router: str
) -> None:
    """Counts of a million nodes are more than Spark sends it: of a task it is told the time."""
    instance = Instance.read(folders[0])
    evaluate_on_spark(spark, *folders, router, publications(instance, 300, seed=2))
    assert {tuple(table.column_names) for table in collected} == {("number",), ("seconds", "refused")}
    assert (len(collected[-1]) > 5, collected[-1].column_names) == (True, ["seconds", "refused"])
    assert {path.name for path in folders[0].parent.iterdir()} == {"instance", "overlay"}


def same(there: Evaluation, here: Evaluation) -> bool:
    """Whether all figures are the same, those of every node and topic as well."""
    topics = [{name: values.tolist() for name, values in (each.topics or {}).items()} for each in (there, here)]
    loads = [{name: values.tolist() for name, values in each.load_by_node.items()} for each in (there, here)]
    rest = [replace(each, seconds=0, topics=None) for each in (there, here)]
    return all(one == other for one, other in (topics, loads, rest))


@pytest.mark.usefixtures("divided")
@pytest.mark.parametrize("sizes", [False, True])
@pytest.mark.parametrize(
    ("router", "overlay", "given"),
    [("pie", "swico-sl", False), ("scribe", "chord", False), ("weave", "gm", True), ("weave", "swico-sl", False)],
)
def test_ranges_of_topics_together_have_the_same_figures(
    spark: SparkSession, tmp_path: Path, router: str, overlay: str, given: bool, sizes: bool
) -> None:
    """Whoever publishes: most issuers are not in the tree."""
    instance = generate("zipf", nodes=200, topics=60, subscriptions=6, seed=1)
    if sizes:
        rows = np.arange(60, dtype=np.int32)
        instance = replace(instance, given_publishers=Publishers(rows, rows, np.ones(60), 100.0 + rows))
    made = design(instance, overlay, seed=1)
    instance.write(tmp_path / "instance")
    made.write(tmp_path / "overlay")
    drawn = publications(instance, 900, seed=2, by="anyone")
    options: dict[str, Any] = {"seed": 3, "per_topic": not sizes}
    here = evaluate(instance, made, router, drawn, **options)
    assert (here.bytes is not None) == sizes
    if given:
        weave(instance, made).write(tmp_path / "trees.parquet")
        options["trees"] = tmp_path / "trees.parquet"
    assert same(evaluate_on_spark(spark, tmp_path / "instance", tmp_path / "overlay", router, drawn, **options), here)


@pytest.mark.usefixtures("divided")
@pytest.mark.parametrize("publishers", [False, True])
def test_publications_are_drawn_from_files_as_from_memory(
    spark: SparkSession, tmp_path: Path, publishers: bool
) -> None:
    instance = generate("zipf", nodes=200, topics=60, subscriptions=6, seed=1)
    if publishers:
        rows = np.arange(60, dtype=np.int32)
        instance = replace(instance, given_publishers=Publishers(rows, rows, 1.0 + rows))
    instance.write(tmp_path / "instance")
    with laid_out(spark, tmp_path / "instance", tmp_path / "instance") as given:
        assert publications(given.instance, 500, seed=4) == publications(instance, 500, seed=4)


@pytest.mark.usefixtures("divided")
def test_two_overlays_of_one_layout_are_evaluated_each(
    spark: SparkSession, folders: tuple[Path, Path], tmp_path: Path
) -> None:
    instance = Instance.read(folders[0])
    chord = design(instance, "chord", seed=1)
    chord.write(tmp_path / "chord")
    drawn = publications(instance, 300, seed=2)
    with laid_out(spark, folders[0], tmp_path / "chord") as given:
        for folder, overlay in ((folders[1], Overlay.read(folders[1])), (tmp_path / "chord", chord)):
            for router in ("scribe", "weave"):
                assert same(evaluate_laid_out(given, folder, router, drawn), evaluate(instance, overlay, router, drawn))


@pytest.mark.usefixtures("divided")
@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"node": 0}, r"trees\.parquet: node \d+ subscribes to topic 59 and is not in its tree"),
        ({"topic": 60}, "a tree names topic 60, but there are 60 topics"),
    ],
)
def test_a_tree_that_is_none_is_refused_by_the_task_that_reads_it(
    spark: SparkSession, folders: tuple[Path, Path], tmp_path: Path, change: dict[str, int], sentence: str
) -> None:
    """Spoil the last row, one of the last topic that is no root."""
    instance, overlay = Instance.read(folders[0]), Overlay.read(folders[1])
    columns = {name: values.copy() for name, values in weave(instance, overlay).to_pandas().items()}
    for name, value in change.items():
        columns[name].iloc[-1] = value
    meta = {"instance": instance.fingerprint, "overlay": overlay.fingerprint}
    rows = pa.table({name: pa.array(values, pa.int64(), from_pandas=True) for name, values in columns.items()})
    write_columns(tmp_path / "trees.parquet", dict(zip(rows.column_names, rows.columns, strict=True)), meta)
    with pytest.raises(WeftError, match=sentence):
        evaluate_on_spark(spark, *folders, "weave", NOTHING, trees=tmp_path / "trees.parquet")


@pytest.mark.usefixtures("divided")
def test_trees_of_another_overlay_are_refused_before_anything_is_sent(
    spark: SparkSession, folders: tuple[Path, Path], tmp_path: Path, collected: list[pa.Table]
) -> None:
    instance = Instance.read(folders[0])
    weave(instance, design(instance, "chord", seed=1)).write(tmp_path / "trees.parquet")
    with pytest.raises(WeftError, match="woven for another overlay"):
        evaluate_on_spark(spark, *folders, "weave", NOTHING, trees=tmp_path / "trees.parquet")
    assert len(collected) == 2  # the layout's


HOSTS = "0 10 90 5\n12 0 50 70\n90 40 0 30\n5 66 31 0\n"


@pytest.mark.parametrize(("router", "fan_out"), [("pie", None), ("scribe", None), ("weave", 3)])
def test_spark_gives_the_same_times(
    spark: SparkSession, folders: tuple[Path, Path], tmp_path: Path, router: str, fan_out: int | None
) -> None:
    (tmp_path / "hosts.txt").write_text(HOSTS)
    instance, overlay = Instance.read(folders[0]), Overlay.read(folders[1])
    drawn, latency = publications(instance, 200, seed=2), placed_latency(tmp_path / "hosts.txt", instance.nodes, 3)
    here = evaluate(instance, overlay, router, drawn, seed=3, fan_out=fan_out, latency=latency)
    file = str(tmp_path / "hosts.txt")
    there = evaluate_on_spark(spark, *folders, router, drawn, seed=3, fan_out=fan_out, latency=file)
    assert here.times is not None
    assert replace(there, seconds=0) == replace(here, seconds=0)


def test_spark_weaves_the_same_trees_by_latency_and_fan_out(
    spark: SparkSession, folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("weft.pipeline.weave.FEW", 0)
    (tmp_path / "hosts.txt").write_text(HOSTS)
    instance, overlay = Instance.read(folders[0]), Overlay.read(folders[1])
    latency, file = placed_latency(tmp_path / "hosts.txt", instance.nodes, 3), str(tmp_path / "hosts.txt")
    here, plain = weave(instance, overlay, fan_out=3, latency=latency), weave(instance, overlay)
    there = weave_on_spark(spark, *folders, fan_out=3, latency=file, seed=3)
    for name in ("indptr", "members", "parents"):
        assert np.array_equal(getattr(here, name), getattr(there, name))
    assert here.meta == there.meta
    assert not np.array_equal(here.parents, plain.parents)


@pytest.mark.parametrize(("router", "fan_out", "sentence"), [("pie", 8, "takes no option"), ("weave", 1, "too small")])
def test_options_are_refused_before_anything_is_sent(
    spark: SparkSession, folders: tuple[Path, Path], router: str, fan_out: int, sentence: str
) -> None:
    with pytest.raises(WeftError, match=sentence):
        evaluate_on_spark(spark, *folders, router, NOTHING, fan_out=fan_out)


def test_an_overlay_of_another_instance_is_refused(
    spark: SparkSession, folders: tuple[Path, Path], tmp_path: Path
) -> None:
    generate("zipf", nodes=300, topics=60, subscriptions=6, seed=1).write(tmp_path / "other")
    for router in ("pie", "weave"):
        with pytest.raises(WeftError, match="made for another instance"):
            evaluate_on_spark(spark, tmp_path / "other", folders[1], router, NOTHING)


def test_a_replaced_overlay_is_read_again(spark: SparkSession, folders: tuple[Path, Path], tmp_path: Path) -> None:
    instance = Instance.read(folders[0])
    drawn = publications(instance, 300, seed=2)
    overheads = []
    for name in ("chord", "swico-sl"):
        design(instance, name, seed=1).write(tmp_path / "overlay", force=True)
        result = evaluate_on_spark(spark, folders[0], tmp_path / "overlay", "po", drawn)
        overheads.append(result.routing_overhead)
        assert (
            result.routing_overhead == evaluate(instance, design(instance, name, seed=1), "po", drawn).routing_overhead
        )
    assert overheads[0] != overheads[1]


def test_no_publications_cost_nothing(spark: SparkSession, folders: tuple[Path, Path]) -> None:
    result = evaluate_on_spark(spark, *folders, "pie", NOTHING)
    assert (result.publications, result.messages, result.load.sent.maximum) == (0, 0, 0)


@pytest.mark.parametrize("few", [0, 60, 10**6])
def test_spark_weaves_the_same_trees(
    spark: SparkSession, folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    """All batches on Spark, some, or none."""
    monkeypatch.setattr("weft.pipeline.weave.FEW", few)
    instance, overlay = Instance.read(folders[0]), Overlay.read(folders[1])
    here, there = weave(instance, overlay), weave_on_spark(spark, *folders)
    for name in ("indptr", "members", "parents"):
        assert np.array_equal(getattr(here, name), getattr(there, name))


def test_weave_on_spark_needs_no_ring(spark: SparkSession, folders: tuple[Path, Path], tmp_path: Path) -> None:
    instance = Instance.read(folders[0])
    overlay = design(instance, "gm", seed=1)
    overlay.write(tmp_path / "gm")
    drawn = publications(instance, 300, seed=2)
    there = evaluate_on_spark(spark, folders[0], tmp_path / "gm", "weave", drawn)
    assert replace(there, seconds=0) == replace(evaluate(instance, overlay, "weave", drawn), seconds=0)
    assert there.routing_overhead == 0


@pytest.mark.parametrize("log", [False, True])
def test_names_are_told_as_in_process(
    spark: SparkSession, tmp_path: Path, request: pytest.FixtureRequest, log: bool
) -> None:
    """Names of the busiest node and of all topics; a log has names as well."""
    instance = generate("zipf", nodes=50, topics=20, subscriptions=4, seed=1)
    names = {kind: np.array([f"{kind} {number}" for number in range(50)], object) for kind in ("node", "topic")}
    instance = replace(instance, node_names=names["node"], topic_names=names["topic"][:20])
    instance.write(tmp_path / "instance")
    design(instance, "swico-sl", seed=1).write(tmp_path / "overlay")
    (tmp_path / "log.csv").write_text("node,topic\nnode 3,topic 2\nnode 4,topic 7\n")
    said = ["--publications", str(tmp_path / "log.csv") if log else "300"]
    told, columns = [], []
    for engine in ("local", "spark"):
        if engine == "spark":
            request.getfixturevalue("divided")
        file = tmp_path / f"{engine}.parquet"
        given = [str(tmp_path / "instance"), str(tmp_path / "overlay"), "--router", "weave", "--topics", str(file)]
        done = CliRunner().invoke(cli.app, ["evaluate", *given, *said, "--engine", engine, "--json"])
        assert done.exit_code == 0, done.output
        told.append({**json.loads(done.stdout), "seconds": 0})
        columns.append(pq.read_table(file))
    assert told[0] == told[1]
    assert told[0]["load"]["most_loaded_name"].startswith("node ")
    assert columns[0].equals(columns[1])
    assert columns[0]["name"][7].as_py() == "topic 7"
