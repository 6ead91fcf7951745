"""Tasks in Python: what their workers have loaded is not looked at again after every one."""

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from weft.pipeline.task import apply_in_tasks, map_in_tasks

SEEN = "process BIGINT, left_alone BIGINT"


def tasks(spark: SparkSession) -> tuple[DataFrame, DataFrame]:
    """Work on batches and on groups, which tells its worker and how many objects the collector leaves alone there."""

    def seen() -> dict[str, list[int]]:  # in here, since workers do not know this file
        import gc
        import os

        return {"process": [os.getpid()], "left_alone": [gc.get_freeze_count()]}

    one = spark.range(1, numPartitions=1)
    of_batches = map_in_tasks(one, lambda batches: (pa.RecordBatch.from_pydict(seen()) for _ in batches), SEEN)
    return of_batches, apply_in_tasks(one.groupBy("id"), lambda _: pa.table(seen()), SEEN)


def test_what_a_worker_has_loaded_is_left_alone_from_its_second_task_on_and_nothing_else(spark: SparkSession) -> None:
    for work in tasks(spark):
        found: dict[int, list[int]] = {}
        for _ in range(6):
            (row,) = work.collect()
            found.setdefault(row.process, []).append(row.left_alone)
        later = [counts[1:] for counts in found.values() if len(counts) > 1]
        assert later
        for counts in later:
            assert counts[0] > 10_000
            assert max(counts) == counts[0], "what later tasks make is garbage when they are done"
