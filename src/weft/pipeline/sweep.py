"""Sweeps: many independent runs, each computed whole by one worker.

A run is any value that can be sent to a worker, and `work` a function of a module that the workers have: it takes a run
and returns its figures as a mapping that JSON can hold. Runs that share a preparation (an instance, an overlay) are
given as one batch: a batch is computed in order by one process, so that what `work` caches is at hand.

Every batch is a Spark job of one task, and as many jobs are under way as Spark has cores, the first batches first. So a
batch is at hand as soon as it is done, and a run that fails, or takes its worker with it, stops no other batch.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, TypeVar

import pyarrow as pa
from pyspark.sql import SparkSession

from weft.pipeline.progress import SILENCE, Progress
from weft.pipeline.session import FAILURES, cause
from weft.pipeline.task import map_in_tasks

Run = TypeVar("Run")
Figures = Mapping[str, Any]
Work = Callable[[Run], Figures]


@dataclass(frozen=True)
class Outcome:
    figures: Figures = field(default_factory=dict)  # none where it failed
    error: str | None = None
    seconds: float = 0.0


def sweep(
    spark: SparkSession,
    work: Callable[[Run], Figures],
    batches: Sequence[Sequence[Run]],
    costs: Sequence[float],
    *,
    progress: Progress = SILENCE,
) -> Iterator[tuple[int, list[Outcome]]]:
    """Yield each batch's number and the outcomes of its runs as they get done. Costs estimate the time left."""
    done = [0.0]
    runs = sum(map(len, batches))
    with (
        progress.step(f"Running {runs} runs in {len(batches)} batches", lambda: (done[0], sum(costs))),
        ThreadPoolExecutor(max_workers=_cores(spark)) as pool,
    ):
        jobs = {pool.submit(_compute, spark, work, batch): task for task, batch in enumerate(batches)}
        try:
            for job in as_completed(jobs):
                done[0] += costs[jobs[job]]
                yield jobs[job], job.result()
        finally:
            pool.shutdown(cancel_futures=True)


def _cores(spark: SparkSession) -> int:
    """Cores that Spark has; Spark Connect does not say."""
    return spark.sparkContext.defaultParallelism if hasattr(spark, "sparkContext") else 8


def _compute(spark: SparkSession, work: Work[Run], batch: Sequence[Run]) -> list[Outcome]:
    def compute(rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in rows:
            outcomes = [vars(_outcome_of(work, run)) for run in batch]
            yield pa.RecordBatch.from_pydict({"outcomes": [json.dumps(outcomes)]})

    try:
        (row,) = map_in_tasks(spark.range(0, 1, numPartitions=1), compute, "outcomes STRING").collect()
    except FAILURES as failure:
        return [Outcome(error=f"Its worker died: {cause(failure)}") for _ in batch]
    return [Outcome(**outcome) for outcome in json.loads(row.outcomes)]


def _outcome_of(work: Work[Run], run: Run) -> Outcome:
    start = perf_counter()
    try:
        figures, error = work(run), None
    except Exception as failure:  # whatever it is, the other runs go on
        figures, error = {}, f"{type(failure).__name__}: {failure}"
    return Outcome(figures, error, perf_counter() - start)
