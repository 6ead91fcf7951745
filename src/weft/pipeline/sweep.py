"""Sweeps: many independent runs, each computed whole by one worker.

A run is any value that can be sent to a worker, and `work` a function of a module that the workers have: it takes a run
and returns its figures as a mapping that JSON can hold. Runs that share a preparation (an instance, an overlay) are
given as one batch: a batch is one task, computed in order by one process, so that what `work` caches is at hand. Spark
starts tasks in order, so put the longest batches first.

A run that fails says so in its outcome and stops no other.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, TypeVar

import pyarrow as pa
from pyspark.sql import SparkSession

from weft.pipeline.progress import SILENCE, Progress, spark_tasks

Run = TypeVar("Run")
Figures = Mapping[str, Any]


@dataclass(frozen=True)
class Outcome:
    figures: Figures = field(default_factory=dict)  # none where it failed
    error: str | None = None
    seconds: float = 0.0


def sweep(
    spark: SparkSession,
    work: Callable[[Run], Figures],
    batches: Sequence[Sequence[Run]],
    *,
    title: str = "Running",
    progress: Progress = SILENCE,
) -> list[list[Outcome]]:
    """An outcome a run, in the order of the batches."""
    if not batches:
        return []

    def compute(rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for task in (task for row in rows for task in row.column("id").to_pylist()):
            outcomes = [vars(outcome_of(work, run)) for run in batches[task]]
            yield pa.RecordBatch.from_pydict({"task": [task], "outcomes": [json.dumps(outcomes)]})

    tasks = spark.range(0, len(batches), numPartitions=len(batches))  # one row a partition
    runs = sum(map(len, batches))
    with progress.step(f"{title}: {runs} runs in {len(batches)} tasks", spark_tasks(spark)):
        done = tasks.mapInArrow(compute, "task BIGINT, outcomes STRING").collect()
    return [[Outcome(**outcome) for outcome in json.loads(row.outcomes)] for row in sorted(done)]


def outcome_of(work: Callable[[Run], Figures], run: Run) -> Outcome:
    start = perf_counter()
    try:
        figures, error = work(run), None
    except Exception as failure:  # whatever it is, the other runs go on
        figures, error = {}, f"{type(failure).__name__}: {failure}"
    return Outcome(figures, error, perf_counter() - start)
