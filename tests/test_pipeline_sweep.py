"""Sweeps: every run once, in order, by one process a batch, whatever becomes of the others."""

import os

from pyspark.sql import SparkSession

from weft.pipeline.sweep import Figures, Outcome, sweep


def test_outcomes_come_in_the_order_of_the_runs(spark: SparkSession) -> None:
    def work(run: int) -> Figures:
        return {"square": run * run, "third": run / 3}

    batches = [[7], [1, 2, 3], [], [5]]
    outcomes = sweep(spark, work, batches)
    assert [[outcome.figures for outcome in batch] for batch in outcomes] == [
        [work(run) for run in batch] for batch in batches
    ]


def test_a_failed_run_stops_no_other(spark: SparkSession) -> None:
    def work(run: int) -> Figures:
        return {"share": 1 / run}

    (first, second) = sweep(spark, work, [[2, 0, 4], [0]])
    assert [outcome.error for outcome in first] == [None, "ZeroDivisionError: division by zero", None]
    assert [outcome.figures for outcome in first] == [{"share": 0.5}, {}, {"share": 0.25}]
    assert second[0].error == "ZeroDivisionError: division by zero"


def test_a_batch_is_computed_by_one_process_with_one_thread(spark: SparkSession) -> None:
    def work(run: int) -> Figures:
        return {"process": os.getpid(), "threads": os.environ["NUMBA_NUM_THREADS"]}

    for batch in sweep(spark, work, [[1, 2, 3], [4, 5]]):
        assert len({outcome.figures["process"] for outcome in batch}) == 1
        assert {outcome.figures["threads"] for outcome in batch} == {"1"}


def test_nothing_to_run(spark: SparkSession) -> None:
    outcomes: list[list[Outcome]] = sweep(spark, lambda run: {}, [])
    assert outcomes == []
