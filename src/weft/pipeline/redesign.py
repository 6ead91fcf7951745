"""The Spark engine of a live master: the same design as in process, on an executor's memory and processors.

The job's instance, its round trips and the overlay lie in a folder that driver and executors find under the same path.
"""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
from pyspark.sql import SparkSession

from weft.master.engine import Design, Job, overlay_of
from weft.model.instance import read_instance
from weft.model.latency_file import write_named_times
from weft.model.overlay import Overlay, read_overlay
from weft.pipeline.probe import require_shared
from weft.pipeline.session import spark_session
from weft.pipeline.task import map_in_tasks
from weft.pipeline.weave import weave


def design_by_spark(job: Job, master: str) -> Design:
    """The engine on Spark: a session for one design."""
    with TemporaryDirectory() as folder, spark_session(master) as spark:
        return design_on(spark, job, Path(folder))


def design_on(spark: SparkSession, job: Job, folder: Path) -> Design:
    job.instance.write(folder / "instance")
    latency = _written_latency(job, folder)
    overlay = job.overlay or _designed(spark, job, folder)
    overlay.write(folder / "plan")
    trees = weave(spark, folder / "instance", folder / "plan", fan_out=job.fan_out, latency=latency, seed=job.seed)
    return Design(overlay, trees)


def _designed(spark: SparkSession, job: Job, folder: Path) -> Overlay:
    """A task designs: the greedy takes one link after the other."""
    path, target = folder / "instance", folder / "overlay"
    latency, links, seed, fan_out = job.latency, (job.sources, job.targets, job.ranks), job.seed, job.fan_out

    require_shared(spark, target)

    def build(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            given = Job(read_instance(path), latency, *links, seed, fan_out)
            overlay_of(given).write(target, force=True)
        yield pa.RecordBatch.from_pydict({"done": [1]})

    map_in_tasks(spark.range(1, numPartitions=1), build, "done BIGINT").collect()
    return read_overlay(target)


def _written_latency(job: Job, folder: Path) -> str | None:
    if job.latency is None or job.instance.node_names is None:
        return None
    path = folder / "latency.csv"
    write_named_times(path, job.latency.matrix, job.instance.node_names.tolist())
    return str(path)
