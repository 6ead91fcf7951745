"""The interests of an instance as arrays of a workshop: of every node its topics, of every topic its subscribers.

Rows are grouped by ranges of ids, and a task sorts one range at a time.
"""

from pathlib import Path

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from weft.errors import WeftError
from weft.model.csr import Csr, csr_from_pairs
from weft.model.instance import Instance, read_instance, read_instance_meta
from weft.model.publisher import read_publishers
from weft.pipeline.member import column
from weft.pipeline.parts import read_parts
from weft.pipeline.progress import SILENCE, Progress, spark_tasks
from weft.pipeline.task import apply_in_tasks
from weft.pipeline.workshop import SparkWorkshop, write_piece

ROWS = 500_000  # of a range, about
MANY = 4_000_000  # subscriptions: up to here the driver reads the instance itself, which is quicker


def are_few(subscriptions: int) -> bool:
    return subscriptions <= MANY


def given_instance(spark: SparkSession, instance: Path, workshop: SparkWorkshop, progress: Progress) -> Instance:
    """The instance, with given_topic_start and given_topic_node among the arrays; without names if it is in files."""
    if not are_few(read_instance_meta(instance)["subscriptions"]):
        lay_out(spark, instance, workshop, progress)
        return mapped_instance(instance, workshop)
    made = read_instance(instance)
    workshop.put(given_topic_start=made.subscribers.indptr, given_topic_node=made.subscribers.indices)
    return made


def lay_out(spark: SparkSession, instance: Path, workshop: SparkWorkshop, progress: Progress = SILENCE) -> None:
    """The arrays given_node_start, given_node_topic, given_topic_start and given_topic_node."""
    interest, meta = read_parts(spark, instance)
    _require_in_range(interest, instance, meta["nodes"], meta["topics"])
    for of, other in (("node", "topic"), ("topic", "node")):
        ranges = max(1, min(meta["subscriptions"] // ROWS, meta[f"{of}s"]))
        with progress.step(f"layout-{of}", spark_tasks(spark)):
            _lay_out(interest, workshop, of, other, meta[f"{of}s"], meta[f"{other}s"], ranges)
        start = np.append(0, np.cumsum(workshop.arrays[f"given_{of}_count"], dtype=np.int64))
        if start[-1] != meta["subscriptions"]:
            raise WeftError(
                f"{instance}: interest.parquet has {start[-1]} different subscriptions, and meta.json says "
                f"{meta['subscriptions']}."
            )
        workshop.put(**{f"given_{of}_start": start})


def _require_in_range(interest: DataFrame, instance: Path, nodes: int, topics: int) -> None:
    """Ids are dense integers from 0."""
    outside = interest.filter(f"node < 0 OR node >= {nodes} OR topic < 0 OR topic >= {topics}").first()
    if outside is not None:
        raise WeftError(
            f"{instance}: a subscription of node {outside['node']} to topic {outside['topic']} is out of range: there "
            f"are {nodes} nodes and {topics} topics."
        )


def _lay_out(
    interest: DataFrame, workshop: SparkWorkshop, of: str, other: str, count: int, columns: int, ranges: int
) -> None:
    folder, step = workshop.piece_folder(f"layout-{of}"), f"layout-{of}"
    width = -(-count // ranges)

    def lay(table: pa.Table) -> pa.Table:
        number = table["number"][0].as_py()
        low, high = number * width, min((number + 1) * width, count)
        rows = csr_from_pairs(column(table, of) - low, column(table, other), high - low, columns)
        counts = rows.counts.astype(np.int32)
        write_piece(folder, number, {f"given_{of}_{other}": rows.indices, f"given_{of}_count": counts})
        return pa.table({"number": pa.array([number], pa.int64())})

    if not workshop.is_done(step):
        numbered = interest.withColumn("number", F.floor(F.col(of) / width).cast("long"))
        apply_in_tasks(numbered.groupBy("number"), lay, "number BIGINT").toArrow()
        for number in range(-(-count // width)):
            if not (folder / f"{number}.npz").is_file():  # no rows
                nobody = np.zeros(min((number + 1) * width, count) - number * width, np.int32)
                nothing = {f"given_{of}_{other}": np.empty(0, np.int32), f"given_{of}_count": nobody}
                write_piece(folder, number, nothing)
    workshop.finish(step, -(-count // width))


def mapped_instance(instance: Path, workshop: SparkWorkshop) -> Instance:
    """The instance, without names, with its interests in files."""
    meta = read_instance_meta(instance)
    arrays = workshop.arrays
    interest = Csr(arrays["given_node_start"], arrays["given_node_topic"], meta["topics"])
    subscribers = Csr(arrays["given_topic_start"], arrays["given_topic_node"], meta["nodes"])
    publishers = read_publishers(instance, meta["nodes"], meta["topics"])
    about = {name: value for name, value in meta.items() if name not in ("nodes", "topics", "subscriptions")}
    return Instance(interest, meta=about, given_publishers=publishers, given_subscribers=subscribers)
