"""Simulations of churn on Spark: a run under each seed, each carried out by one worker."""

from collections.abc import Sequence

from pyspark.sql import SparkSession

from weft.errors import WeftError
from weft.pipeline.progress import SILENCE, Progress
from weft.pipeline.sweep import Figures, sweep
from weft.sim.churn import Churned
from weft.sim.churn_runs import ChurnRun, as_row, churn_run, from_row


def churn_on_spark(spark: SparkSession, runs: Sequence[ChurnRun], *, progress: Progress = SILENCE) -> list[Churned]:
    """The runs, in their order; one that fails is an error."""
    found: dict[int, Churned] = {}
    for number, (outcome,) in sweep(spark, _work, [[run] for run in runs], [1.0] * len(runs), progress=progress):
        if outcome.error is not None:
            raise WeftError(f"The run under seed {runs[number].seed} failed. {outcome.error}")
        found[number] = from_row(dict(outcome.figures))
    return [found[number] for number in range(len(runs))]


def _work(run: ChurnRun) -> Figures:
    return as_row(churn_run(run))
