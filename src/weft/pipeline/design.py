"""Design on Spark: an executor reads the instance, runs the same kernels as `weft.design`, and writes the overlay.

The greedy takes one link after the other, so it is one task; what Spark gives it is the memory and the processor of a
cluster. DC and DCBC, which are made to be divided, are: `divide.py` conquers their partitions in parallel.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from weft.model.instance import read_instance
from weft.model.latency import placed_latency, read_latency
from weft.model.overlay import Overlay, read_overlay
from weft.overlays import catalog
from weft.pipeline import divide
from weft.pipeline.progress import SILENCE, Progress, spark_tasks

DIVIDED: Mapping[str, Callable[..., Any]] = {"dc": divide.dc, "dcbc": divide.dcbc}


def design(
    spark: SparkSession,
    instance: Path,
    name: str,
    scratch: Path,
    *,
    seed: int,
    latency: str | None = None,
    progress: Progress = SILENCE,
    **options: Any,
) -> Overlay:
    """`scratch`, a folder, and the file of latencies are where driver and executors find them under the same path."""
    chosen = catalog.chosen_options(name, {**options, "latency": latency})
    if latency is not None:
        read_latency(latency)  # here as well, so that errors in it show before a task is sent
        latency = str(Path(latency).absolute())
    target = scratch.absolute() / "overlay"
    if name in DIVIDED and chosen.pop("partition", "random") == "random":
        DIVIDED[name](spark, instance, target, seed=seed, progress=progress, **chosen)
    else:
        with progress.step(f"Designing {name}", spark_tasks(spark)):
            _design_in_a_task(spark, instance.absolute(), target, name, seed, latency, options)
    return read_overlay(target)


def _design_in_a_task(
    spark: SparkSession,
    instance: Path,
    target: Path,
    name: str,
    seed: int,
    latency: str | None,
    options: Mapping[str, Any],
) -> None:
    def build(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            given = read_instance(instance)
            placed = None if latency is None else placed_latency(latency, given.nodes, seed)
            catalog.design(given, name, seed=seed, latency=placed, **options).write(target, force=True)
        yield pa.RecordBatch.from_pydict({"done": [1]})

    spark.range(1, numPartitions=1).mapInArrow(build, "done BIGINT").collect()
