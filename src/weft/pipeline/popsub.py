"""Runs of PopSub on Spark: a task for each seed, which reads the files itself."""

from collections.abc import Sequence
from typing import Any

from pyspark.sql import SparkSession

from weft.errors import SurroundingsError
from weft.pipeline.progress import SILENCE, Progress
from weft.pipeline.sweep import sweep
from weft.sim.popsub_case import Sweep, figures_of_sweep


def sweep_on_spark(spark: SparkSession, sweeps: Sequence[Sweep], progress: Progress = SILENCE) -> list[dict[str, Any]]:
    """The figures of each sweep, in their order; executors must reach the files by the same paths."""
    found: dict[int, dict[str, Any]] = {}
    batches = [[each] for each in sweeps]
    for number, (outcome,) in sweep(spark, figures_of_sweep, batches, [1.0] * len(sweeps), progress=progress):
        if outcome.error is not None:
            raise SurroundingsError(f"The run of seed {sweeps[number].seed} failed on Spark: {outcome.error}")
        found[number] = dict(outcome.figures)
    return [found[number] for number in range(len(sweeps))]
