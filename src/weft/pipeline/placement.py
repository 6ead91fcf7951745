"""Placement on Spark: groups of clients are found, and clients given their brokers, by DataFrames.

The same as `weft.fleet.placement.groups_of` and `suggestions`, for clients that do not fit one machine. Between the two
the driver places the groups, of which there are far fewer. A group is known by its broker and the list of its topics.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from weft.fleet.fleet import Fleet
from weft.fleet.placement import Allotment, Groups, groups_from
from weft.fleet.suggestion import Limits, allotted, require_clients
from weft.model.storage import new_path, scratch_folder
from weft.pipeline.progress import SILENCE, Progress, spark_tasks
from weft.pipeline.table import read_table, rewritten, write_table


def suggest(
    spark: SparkSession,
    folder: Path,
    fleet: Fleet,
    limits: Limits,
    out: Path,
    *,
    force: bool = False,
    progress: Progress = SILENCE,
) -> dict[str, Any]:
    """Write client, broker and suggested of every client in parts; what it comes to."""
    require_clients(fleet)
    with scratch_folder(out) as scratch:
        with progress.step("Grouping clients", spark_tasks(spark)):
            units = rewritten(_units(spark, folder), scratch / "units")
            groups, numbers = _groups(units.groupBy("at", "topics").count().toArrow(), fleet)
        with progress.step(f"Placing {len(groups.sizes):,} groups"):
            allotment = allotted(groups, limits)
        with progress.step("Writing", spark_tasks(spark)), new_path(out, force=force) as partial:
            rows = _suggested(units, spark.createDataFrame(numbers), _ranges(spark, allotment, fleet))
            write_table(rows, partial)
    return allotment.figures(groups)


def _units(spark: SparkSession, folder: Path) -> DataFrame:
    """client, broker, its number, and the topics that somebody else has too, ascending."""
    clients = read_table(spark, folder / "clients.parquet")
    filters = read_table(spark, folder / "filters.parquet")
    names = read_table(spark, folder / "instance" / "nodes.parquet")
    brokers = names.select(F.col("name").alias("broker"), F.col("node").alias("at"))
    everyone = clients.select("client", "broker").distinct().join(F.broadcast(brokers), "broker", how="inner")
    held = clients.join(filters, "filter", how="inner").select("client", "broker", "topic").distinct()
    shared = held.groupBy("topic").count().filter(F.col("count") > 1).select("topic")
    lists = held.join(shared, "topic", how="left_semi").groupBy("client", "broker")
    sorted_lists = lists.agg(F.sort_array(F.collect_list("topic")).alias("topics"))
    nothing = F.array().cast("array<bigint>")
    return everyone.join(sorted_lists, ["client", "broker"], how="left").withColumn(
        "topics", F.coalesce("topics", nothing)
    )


def _groups(keys: pa.Table, fleet: Fleet) -> tuple[Groups, pa.Table]:
    """Groups in their order, and a table of their keys and numbers."""
    found = zip(keys["topics"].to_pylist(), keys["at"].to_pylist(), keys["count"].to_pylist(), strict=True)
    rows = sorted((tuple(topics), at, count) for topics, at, count in found)
    sizes = np.array([count for *_, count in rows], np.int64)
    groups = groups_from([(topics, at) for topics, at, _ in rows], sizes, len(fleet.topics))
    numbers = pa.table(
        {
            "at": pa.array([at for _, at, _ in rows], pa.int64()),
            "topics": pa.array([list(topics) for topics, _, _ in rows], pa.list_(pa.int64())),
            "group": pa.array(np.arange(len(rows)), pa.int64()),
        }
    )
    return groups, numbers


def _ranges(spark: SparkSession, allotment: Allotment, fleet: Fleet) -> DataFrame:
    """group, first, last and suggested: the clients of a group by their place in it."""
    ends = np.cumsum(allotment.counts)
    group_starts = np.append(0, ends)[np.searchsorted(allotment.groups, allotment.groups)]
    last = ends - group_starts
    names = pa.array(list(fleet.brokers), pa.string())
    return spark.createDataFrame(
        pa.table(
            {
                "group": pa.array(allotment.groups, pa.int64()),
                "first": pa.array(last - allotment.counts, pa.int64()),
                "last": pa.array(last, pa.int64()),
                "suggested": names.take(pa.array(allotment.brokers)),
            }
        )
    )


def _suggested(units: DataFrame, numbers: DataFrame, ranges: DataFrame) -> DataFrame:
    in_group = Window.partitionBy("group").orderBy("client")
    placed = units.join(numbers, ["at", "topics"], how="inner").withColumn("place", F.row_number().over(in_group) - 1)
    inside = (F.col("place") >= F.col("first")) & (F.col("place") < F.col("last"))
    joined = placed.join(ranges, "group", how="inner").filter(inside)
    return joined.select("client", "broker", "suggested").sort("client", "broker")
