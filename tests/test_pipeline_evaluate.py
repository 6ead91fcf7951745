"""Evaluation on Spark gives the figures of evaluation in process, to the last digit."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from pyspark.sql import SparkSession

from weft.errors import WeftError
from weft.model.instance import Instance
from weft.model.latency import placed_latency
from weft.model.overlay import Overlay
from weft.overlays.catalog import design
from weft.pipeline.evaluate import NOTHING
from weft.pipeline.evaluate import evaluate as evaluate_on_spark
from weft.pipeline.weave import weave as weave_on_spark
from weft.sim.bulk import evaluate
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


@pytest.mark.parametrize(("router", "per_topic"), [("pie", True), ("scribe", False), ("weave", True)])
def test_spark_gives_the_same_figures(
    spark: SparkSession, folders: tuple[Path, Path], router: str, per_topic: bool
) -> None:
    instance = Instance.read(folders[0])
    overlay = design(instance, "swico-sl", seed=1)
    drawn = publications(instance, 3000, seed=2)
    here = evaluate(instance, overlay, router, drawn, seed=3, per_topic=per_topic)
    there = evaluate_on_spark(spark, *folders, router, drawn, seed=3, per_topic=per_topic)
    assert replace(there, seconds=0, topics=None) == replace(here, seconds=0, topics=None)
    if here.topics is None or there.topics is None:
        assert here.topics is there.topics is None
    else:
        assert {name: values.tolist() for name, values in there.topics.items()} == {
            name: values.tolist() for name, values in here.topics.items()
        }


def test_counts_go_to_the_driver_by_files_of_which_nothing_is_left(
    spark: SparkSession, folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counts of a million nodes are more than Spark sends it."""
    instance = Instance.read(folders[0])
    monkeypatch.setattr("pyspark.sql.classic.dataframe.DataFrame.toArrow", lambda _: pytest.fail("they are collected"))
    monkeypatch.setattr("pyspark.sql.classic.dataframe.DataFrame.collect", lambda _: pytest.fail("they are collected"))
    evaluate_on_spark(spark, *folders, "scribe", publications(instance, 300, seed=2))
    assert {path.name for path in folders[0].parent.iterdir()} == {"instance", "overlay"}


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
