"""Workloads made on Spark: each task makes the subscriptions of a slice of the nodes."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from weft.model.seed import require_seed
from weft.model.storage import Meta, new_folder
from weft.pipeline.parts import write_counts, write_interest
from weft.pipeline.progress import SILENCE, Progress, spark_tasks
from weft.pipeline.task import map_in_tasks
from weft.workloads.catalog import meta_of, workload

SLICE = 10_000  # nodes a batch


def generate(
    spark: SparkSession,
    name: str,
    out: str | Path,
    *,
    seed: int,
    force: bool = False,
    progress: Progress = SILENCE,
    **options: Any,
) -> Meta:
    made = workload(name, **options)
    require_seed(seed)

    def pairs_of_slices(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for first in batch.column("id").to_pylist():
                nodes, topics = made.pairs(seed, first, min(first + SLICE, made.nodes))
                yield pa.RecordBatch.from_arrays(
                    [pa.array(nodes, pa.int64()), pa.array(topics, pa.int64())], ["node", "topic"]
                )

    with new_folder(out, force=force) as folder, progress.step("Drawing subscriptions", spark_tasks(spark)):
        slices = -(-made.nodes // SLICE)
        firsts = spark.range(0, made.nodes, SLICE, numPartitions=min(slices, 64))
        pairs = map_in_tasks(firsts, pairs_of_slices, "node BIGINT, topic BIGINT")
        subscriptions = write_interest(pairs, folder)
        counts = {"nodes": made.nodes, "topics": made.topics, "subscriptions": subscriptions}
        write_counts(folder, counts, **meta_of(name, made, seed))
    return counts
