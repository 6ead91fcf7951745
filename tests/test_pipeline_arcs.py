"""Divided designs on Spark: the same as in process, and what is done is not done again."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from weft.errors import WeftError
from weft.model.storage import write_columns
from weft.model.tree import read_trees
from weft.overlays.arcs.workshop import Arrays, Columns, Work
from weft.overlays.catalog import design
from weft.overlays.quality import link_quality
from weft.pipeline.design import design as design_on_spark
from weft.pipeline.layout import lay_out, mapped_instance
from weft.pipeline.weave import weave_to
from weft.pipeline.workshop import SparkWorkshop
from weft.trees.weave import figures, weave
from weft.workloads.catalog import generate


def squaring(stop: Path) -> Work:
    """Work that fails for the second range while a file is there, and leaves a mark wherever it is done."""

    def squares(arrays: Arrays, first: int, last: int) -> Columns:
        if first == 2 and stop.exists():
            raise RuntimeError("stopped")
        with stop.with_name(f"done-{first}").open("a") as mark:
            mark.write("x")
        return {"square": arrays["number"][first:last] ** 2, "row": np.ones((last - first, 2), np.int8)}

    return squares


def stopped_at(step: str) -> Callable[..., None]:
    """A way to do steps that ends with an error at one of them."""
    do = SparkWorkshop._do

    def stopping(workshop: SparkWorkshop, name: str, *about: object) -> None:
        if name == step:
            raise RuntimeError(step)
        do(workshop, name, *about)

    return stopping


def test_tasks_that_are_done_are_not_done_again(spark: SparkSession, tmp_path: Path) -> None:
    stop, ranges = tmp_path / "stop", [(0, 2), (2, 3), (3, 6)]
    stop.touch()
    work = squaring(stop)
    for attempt in range(2):
        workshop = SparkWorkshop(spark, tmp_path / "arrays", {"seed": 1})
        workshop.put(number=np.arange(6))
        if attempt == 0:
            with pytest.raises(PySparkException, match="stopped"):
                workshop.run("squares", work, ranges)
            left = {path.name for path in (tmp_path / "arrays" / "squares").glob("[0-9]*.npz")}
            stop.unlink()
        else:
            workshop.run("squares", work, ranges)
            workshop.run("squares", work, ranges)
    assert workshop.arrays["square"].tolist() == [0, 1, 4, 9, 16, 25]
    assert workshop.arrays["row"].shape == (6, 2)
    done = {number: len((tmp_path / f"done-{first}").read_text()) for number, (first, _) in enumerate(ranges)}
    assert all(done[int(name.removesuffix(".npz"))] == 1 for name in left)
    assert done[1] == 1


def test_a_folder_of_other_options_is_begun_anew(spark: SparkSession, tmp_path: Path) -> None:
    first = SparkWorkshop(spark, tmp_path / "arrays", {"seed": 1})
    first.put(number=np.arange(6))
    first.run_here("squares", squaring(tmp_path / "none"), [(0, 6)])
    assert first.is_done("squares")
    assert SparkWorkshop(spark, tmp_path / "arrays", {"seed": 1}).is_done("squares")
    assert not SparkWorkshop(spark, tmp_path / "arrays", {"seed": 2}).is_done("squares")


def test_spark_designs_and_weaves_as_one_process_does(spark: SparkSession, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("weft.pipeline.layout.ROWS", 4000)
    monkeypatch.setattr("weft.pipeline.layout.MANY", 0)
    monkeypatch.setattr("weft.pipeline.weave.FEW", 3000)
    instance = generate("social", nodes=700, seed=3)
    instance.write(tmp_path / "instance")
    here = design(instance, "swico-even", seed=1, arc=256)
    kept = tmp_path / "arrays"
    how = {"seed": 1, "arc": 256, "kept": kept}
    with monkeypatch.context() as patch, pytest.raises(RuntimeError, match="across-1-1"):
        patch.setattr(SparkWorkshop, "_do", stopped_at("across-1-1"))
        design_on_spark(spark, tmp_path / "instance", "swico-even", tmp_path, **how)
    before = (kept / "within-4.json").stat().st_mtime_ns
    with monkeypatch.context() as patch, pytest.raises(RuntimeError, match="across-1-2"):
        patch.setattr(SparkWorkshop, "_do", stopped_at("across-1-2"))
        design_on_spark(spark, tmp_path / "instance", "swico-even", tmp_path, **how)
    assert (kept / "within-4.json").stat().st_mtime_ns == before
    there = design_on_spark(spark, tmp_path / "instance", "swico-even", tmp_path, **how)
    assert there.fingerprint == here.fingerprint
    assert there.meta["quality"] == link_quality(instance, here)
    assert there.meta["instance"] == instance.fingerprint
    assert not (tmp_path / "arrays").exists()
    there.write(tmp_path / "overlay")
    folders = tmp_path / "instance", tmp_path / "overlay"
    written = weave_to(spark, *folders, tmp_path / "trees.parquet", tmp_path / "kept")
    trees = weave(instance, here)
    assert read_trees(tmp_path / "trees.parquet", instance, there) == trees
    assert figures(instance, trees).items() <= written.items()


def test_an_instance_that_does_not_hold_together_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    columns = {"node": np.array([0, 1, 1]), "topic": np.array([0, 0, 0])}
    for folder, meta, sentence in (
        ("twice", {"nodes": 2, "topics": 1, "subscriptions": 3}, "2 different subscriptions"),
        ("outside", {"nodes": 1, "topics": 1, "subscriptions": 3}, "node 1 to topic 0 is out of range"),
    ):
        (tmp_path / folder).mkdir()
        write_columns(tmp_path / folder / "interest.parquet", columns)
        (tmp_path / folder / "meta.json").write_text(json.dumps(meta))
        with pytest.raises(WeftError, match=sentence):
            lay_out(spark, tmp_path / folder, SparkWorkshop(spark, tmp_path / "arrays", {"of": folder}))


def test_a_layout_is_the_instance(spark: SparkSession, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("weft.pipeline.layout.ROWS", 500)
    instance = generate("zipf", nodes=120, topics=300, seed=1)
    instance.write(tmp_path / "instance")
    workshop = SparkWorkshop(spark, tmp_path / "arrays", {})
    lay_out(spark, tmp_path / "instance", workshop)
    assert mapped_instance(tmp_path / "instance", workshop).fingerprint == instance.fingerprint
    assert np.array_equal(workshop.arrays["given_topic_node"], instance.subscribers.indices)
