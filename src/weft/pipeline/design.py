"""Design on Spark: an executor reads the instance, runs the same kernels as `weft.design`, and writes the overlay.

The greedy takes one link after the other, so it is one task; what Spark gives it is the memory and the processor of a
cluster. Designs that divide are in `divide.py`.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from weft.model.instance import read_instance
from weft.model.overlay import Overlay, read_overlay
from weft.overlays import catalog
from weft.pipeline.progress import SILENCE, Progress, spark_tasks


def design(
    spark: SparkSession,
    instance: Path,
    name: str,
    scratch: Path,
    *,
    seed: int,
    progress: Progress = SILENCE,
    **options: Any,
) -> Overlay:
    """`scratch` is a folder that driver and executors share."""
    catalog.chosen_options(name, options)
    source, target = str(instance.absolute()), str((scratch / "overlay").absolute())

    def build(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            catalog.design(read_instance(source), name, seed=seed, **options).write(target, force=True)
        yield pa.RecordBatch.from_pydict({"done": [1]})

    with progress.step(f"Designing {name}", spark_tasks(spark)):
        spark.range(1, numPartitions=1).mapInArrow(build, "done BIGINT").collect()
    return read_overlay(target)
