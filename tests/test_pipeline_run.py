"""The stages of a run."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from weft.model.overlay import read_overlay
from weft.overlays.catalog import design
from weft.pipeline.run import Proof, proof_stages
from weft.workloads.catalog import generate


def test_a_run_divides_the_design_of_many_nodes_and_says_so_before(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    instance = generate("social", nodes=300, seed=1)
    instance.write(tmp_path / "instance")
    whole = design(instance, "swico-even", seed=1)
    monkeypatch.setattr("weft.overlays.arcs.swico.DIVIDED_FROM", 299)
    said: list[bool] = []
    proof, out = Proof("swico-even", "weave", 10, 1), tmp_path / "overlay"
    stages = proof_stages(
        lambda: spark, tmp_path / "instance", proof, tmp_path, before=lambda: said.append(out.exists())
    )
    assert [stage.name for stage in stages] == ["design", "baseline", "weave", "evaluate"]
    stages[0].work(out)
    assert said == [False]
    made = read_overlay(out)
    assert "task_seconds" in made.meta
    assert made.fingerprint == design(instance, "swico-even", seed=1).fingerprint != whole.fingerprint
