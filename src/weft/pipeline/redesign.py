"""The Spark engine of a live master: the same design as in process, on an executor's memory and processors.

The job's instance, its round trips and the overlay lie in a folder that driver and executors find under the same path.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

from pyspark.sql import SparkSession

from weft.master.engine import ALGORITHM, Design, Job, with_present_links
from weft.model.latency_file import write_named_times
from weft.model.overlay import Overlay
from weft.pipeline.design import design
from weft.pipeline.session import spark_session
from weft.pipeline.weave import weave


def design_by_spark(job: Job, master: str) -> Design:
    """The engine on Spark: a session for one design."""
    with TemporaryDirectory() as folder, spark_session(master) as spark:
        return design_on(spark, job, Path(folder))


def design_on(spark: SparkSession, job: Job, folder: Path) -> Design:
    job.instance.write(folder / "instance")
    latency = _written_latency(job, folder)
    overlay = job.overlay or with_present_links(job, _designed(spark, job, folder, latency))
    overlay.write(folder / "plan")
    trees = weave(spark, folder / "instance", folder / "plan", fan_out=job.fan_out, latency=latency, seed=job.seed)
    return Design(overlay, trees)


def _designed(spark: SparkSession, job: Job, folder: Path, latency: str | None) -> Overlay:
    return design(spark, folder / "instance", ALGORITHM, folder / "scratch", seed=job.seed, latency=latency)


def _written_latency(job: Job, folder: Path) -> str | None:
    if job.latency is None or job.instance.node_names is None:
        return None
    path = folder / "latency.csv"
    write_named_times(path, job.latency.matrix, job.instance.node_names.tolist())
    return str(path)
