"""Progress of a stage while it runs: the step it is at, and how many of Spark's tasks are done."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

from pyspark.sql import SparkSession

Poll = Callable[[], tuple[float, float]]  # done, in all


class Progress(Protocol):
    def step(self, title: str, poll: Poll | None = None) -> AbstractContextManager[None]: ...


class Silence:
    def step(self, title: str, poll: Poll | None = None) -> AbstractContextManager[None]:
        return nullcontext()


SILENCE: Progress = Silence()


def spark_tasks(spark: SparkSession) -> Poll:
    """The tasks of the stages that are running now. Spark Connect has no such view: there it is always 0 of 0."""

    def poll() -> tuple[int, int]:
        tracker = spark.sparkContext.statusTracker()
        stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        known = [stage for stage in stages if stage is not None]
        return sum(stage.numCompletedTasks for stage in known), sum(stage.numTasks for stage in known)

    return poll if hasattr(spark, "sparkContext") else lambda: (0, 0)
