"""Sweeps: every run once, in order, by one process a batch, whatever becomes of the others."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from weft.pipeline.progress import Poll
from weft.pipeline.sweep import Figures, Outcome, sweep
from weft.sim.vitis_task import VitisTask, figures_of
from weft.workloads.catalog import generate


def outcomes_of(spark: SparkSession, work: Callable[[int], Figures], batches: list[list[int]]) -> list[list[Outcome]]:
    """Outcomes in the order of the batches."""
    found = dict(sweep(spark, work, batches, [1.0] * len(batches)))
    return [found[task] for task in range(len(batches))]


def test_outcomes_come_in_the_order_of_the_runs(spark: SparkSession) -> None:
    def work(run: int) -> Figures:
        return {"square": run * run, "third": run / 3}

    batches = [[7], [1, 2, 3], [], [5]]
    outcomes = outcomes_of(spark, work, batches)
    assert [[outcome.figures for outcome in batch] for batch in outcomes] == [
        [work(run) for run in batch] for batch in batches
    ]


def test_a_failed_run_stops_no_other(spark: SparkSession) -> None:
    def work(run: int) -> Figures:
        return {"share": 1 / run}

    (first, second) = outcomes_of(spark, work, [[2, 0, 4], [0]])
    assert [outcome.error for outcome in first] == [None, "ZeroDivisionError: division by zero", None]
    assert [outcome.figures for outcome in first] == [{"share": 0.5}, {}, {"share": 0.25}]
    assert second[0].error == "ZeroDivisionError: division by zero"


def test_a_batch_is_computed_by_one_process_with_one_thread(spark: SparkSession) -> None:
    def work(run: int) -> Figures:
        return {"process": os.getpid(), "threads": os.environ["NUMBA_NUM_THREADS"]}

    for batch in outcomes_of(spark, work, [[1, 2, 3], [4, 5]]):
        assert len({outcome.figures["process"] for outcome in batch}) == 1
        assert {outcome.figures["threads"] for outcome in batch} == {"1"}


def test_nothing_to_run(spark: SparkSession) -> None:
    assert outcomes_of(spark, lambda run: {}, []) == []


def test_a_run_that_takes_its_worker_with_it_stops_no_other_batch(spark: SparkSession) -> None:
    def work(run: int) -> Figures:
        if run == 2:
            os._exit(1)
        return {"run": run}

    first, second, third = outcomes_of(spark, work, [[1], [2, 3], [4]])
    assert (first[0].figures, third[0].figures) == ({"run": 1}, {"run": 4})
    assert all(outcome.error for outcome in second)


def test_progress_tells_how_much_of_the_cost_is_done(spark: SparkSession) -> None:
    class Watcher:
        @contextmanager
        def step(self, title: str, poll: Poll | None = None) -> Iterator[None]:
            assert title == "Running 3 runs in 2 batches"
            assert poll is not None
            self.poll = poll
            yield

    watcher = Watcher()
    under_way = sweep(spark, lambda run: {}, [[1], [2, 3]], [1.0, 3.0], progress=watcher)
    told = [watcher.poll() for _ in under_way]
    assert told[0] in [(1.0, 4.0), (3.0, 4.0)]
    assert told[1] == (4.0, 4.0)


def test_a_sweep_of_vitis_is_the_same_on_spark_and_in_process(spark: SparkSession, tmp_path: Path) -> None:
    generate("random", nodes=25, topics=12, subscriptions=4, seed=1).write(tmp_path / "i")
    tasks = [
        VitisTask(str(tmp_path / "i"), seed, publications="30", options={"table": table, "gateway_step": 1})
        for table in (6, 9)
        for seed in (1, 2)
    ]
    there = dict(sweep(spark, figures_of, [[task] for task in tasks], [1.0] * len(tasks)))
    assert [there[number][0].error for number in range(4)] == [None] * 4
    assert [there[number][0].figures for number in range(4)] == [figures_of(task) for task in tasks]
