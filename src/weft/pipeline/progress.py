"""Progress of a stage while it runs: the step it is at, and how many of Spark's tasks are done."""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from typing import Any, Protocol

from pyspark.sql import SparkSession

Poll = Callable[[], tuple[float, float]]  # done, in all


class Progress(Protocol):
    def step(self, title: str, poll: Poll | None = None) -> AbstractContextManager[None]: ...


class Silence:
    def step(self, title: str, poll: Poll | None = None) -> AbstractContextManager[None]:
        return nullcontext()


SILENCE: Progress = Silence()


def spark_tasks(spark: SparkSession) -> Poll:
    """The tasks of the stages that are running now."""
    return _tasks_by_tracker(spark) if hasattr(spark, "sparkContext") else _tasks_by_server(spark)


def _tasks_by_tracker(spark: SparkSession) -> Poll:
    def poll() -> tuple[int, int]:
        tracker = spark.sparkContext.statusTracker()
        stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        known = [stage for stage in stages if stage is not None]
        return sum(stage.numCompletedTasks for stage in known), sum(stage.numTasks for stage in known)

    return poll


@lru_cache(maxsize=1)  # a session is to have one handler
def _tasks_by_server(spark: SparkSession) -> Poll:
    """A server of Spark Connect cannot be asked: it tells of a job while that runs."""
    seen = (0, 0)

    def hear(stages: Iterable[Any], done: bool, **_: object) -> None:
        nonlocal seen
        running = [] if done else list(stages)
        seen = sum(stage.num_completed_tasks for stage in running), sum(stage.num_tasks for stage in running)

    handler: Any = hear  # for PySpark a class, but it only calls it
    spark.registerProgressHandler(handler)
    return lambda: seen
