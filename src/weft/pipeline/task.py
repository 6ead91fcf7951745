"""Tasks in Python, in workers that Spark keeps for the tasks that follow.

Spark has a worker collect its garbage after every task. A worker that has loaded pandas, pyarrow and numba has half a
million objects that are none, and to look at all of them takes a quarter of a second: more than most tasks. So what has
been loaded is put where the collector does not look, once more whenever a task has loaded more.
"""

import gc
import sys
from collections.abc import Callable, Iterator

import pyarrow as pa
from pyspark.sql import DataFrame, GroupedData

Batches = Iterator[pa.RecordBatch]

_known = 0  # modules that had been loaded when the collector was last told to leave them alone


def map_in_tasks(rows: DataFrame, work: Callable[[Batches], Batches], to: str) -> DataFrame:
    """What work makes of the batches of every partition."""

    def task(batches: Batches) -> Batches:
        yield from work(batches)
        _leave_loaded_alone()

    return rows.mapInArrow(task, to)


def apply_in_tasks(groups: GroupedData, work: Callable[[pa.Table], pa.Table], to: str) -> DataFrame:
    """What work makes of the rows of every group."""

    def task(table: pa.Table) -> pa.Table:
        made = work(table)
        _leave_loaded_alone()
        return made

    return groups.applyInArrow(task, to)


def _leave_loaded_alone() -> None:
    global _known
    if len(sys.modules) > _known:
        gc.collect()
        gc.freeze()
        _known = len(sys.modules)
