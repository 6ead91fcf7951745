"""DC and DCBC on Spark: `overlays/divide.py`, with the partitions conquered in parallel and the same result.

A task gets the interests of one partition, which of its topics other partitions share, and those of the bulk. It
gives the links of the partition, which go to disk, and the interests of its star nodes in the topics that are shared.
The driver holds the number of the partition of every node, the bulk, and the star nodes, which it links.
"""

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from weft.arrays import Int32s, Int64s
from weft.model.csr import csr_from_pairs
from weft.model.storage import Meta, new_folder, write_columns, write_meta
from weft.overlays.divide import (
    BULK,
    Links,
    clones_of,
    dc_figures,
    dcbc_figures,
    inner_links,
    links_with_clones,
    most_subscribed,
    number_of_partitions,
    outer_links,
    star_set,
    stream,
)
from weft.overlays.partition import Goal, cost, random_partition
from weft.overlays.preference import Preference, Tie
from weft.overlays.star import cover_by_group
from weft.pipeline.member import NOBODY, Members, column, members, members_of_partition, together
from weft.pipeline.parts import read_parts
from weft.pipeline.progress import SILENCE, Progress, spark_tasks
from weft.pipeline.table import read_table, write_table
from weft.pipeline.task import apply_in_tasks

CONQUERED = "partition INT, source BIGINT, target BIGINT, topic BIGINT"  # a link, or a star node and a topic of it


@dataclass(frozen=True, eq=False)
class Divided:
    """What a division gives beside the links that are on disk."""

    outer: Links
    figures: dict[str, Any]


def dc(
    spark: SparkSession,
    instance: str | Path,
    out: str | Path,
    *,
    seed: int,
    partitions: int | None = None,
    choose: Goal = "neighbours",
    tie: Tie = "random",
    progress: Progress = SILENCE,
) -> Meta:
    preference = Preference(tie)

    def divide(interest: DataFrame, nodes: int, scratch: Path) -> Divided:
        everyone = np.arange(nodes)
        with progress.step("Choosing the number of partitions", spark_tasks(spark)):
            count = number_of_partitions(partitions, nodes, _neighbour_size(interest, everyone, seed, choose))
        member = random_partition(nodes, count, seed)
        with progress.step(f"Conquering {count} partitions", spark_tasks(spark)):
            divided = by_partition(interest, everyone, member)
            write_table(_conquered(divided, count, _conqueror(seed, 0, NOBODY, preference)), scratch)
        with progress.step("Combining them"):
            of_stars = read_table(spark, scratch, schema=CONQUERED).filter("topic IS NOT NULL").toArrow()
            stars = members(column(of_stars, "source"), column(of_stars, "topic"))
            links = outer_links(stars.nodes, stars.interest, member[stars.nodes], stream(seed, count), preference)
        sizes = np.bincount(member, minlength=count)
        return Divided(links, dc_figures(sizes, np.bincount(member[stars.nodes], minlength=count)))

    return _write(spark, instance, out, divide, algorithm="dc", seed=seed)


def dcbc(
    spark: SparkSession,
    instance: str | Path,
    out: str | Path,
    *,
    seed: int,
    partitions: int | None = None,
    choose: Goal = "neighbours",
    bulk: float = BULK,
    eta: int | None = None,
    tie: Tie = "random",
    progress: Progress = SILENCE,
) -> Meta:
    preference = Preference(tie)

    def divide(interest: DataFrame, nodes: int, scratch: Path) -> Divided:
        with progress.step("Finding the bulk", spark_tasks(spark)):
            heavy = _members_of(interest, _bulk_nodes(interest, nodes, bulk, eta, seed))
            light = np.setdiff1d(np.arange(nodes), heavy.nodes, assume_unique=True)
        with progress.step("Choosing the number of partitions", spark_tasks(spark)):
            size = _neighbour_size(interest, light, seed, choose)
            count = number_of_partitions(partitions, len(light), size) if len(light) else 0
        with progress.step("Linking the bulk"):
            links = inner_links(heavy.nodes, heavy.interest, stream(seed, 0), preference)
        with progress.step(f"Conquering {count} partitions", spark_tasks(spark)):
            divided = by_partition(interest, light, random_partition(len(light), count, seed))
            write_table(_conquered(divided, max(count, 1), _conqueror(seed, 1, heavy, preference)), scratch)
        return Divided(links, dcbc_figures(nodes, len(heavy.nodes), count))

    return _write(spark, instance, out, divide, algorithm="dcbc", seed=seed)


def _neighbour_size(interest: DataFrame, nodes: Int64s, seed: int, goal: Goal) -> Callable[[int], float]:
    """estimatePNSize of the nodes, or another figure to be minimised, for a number of partitions."""

    def stars(table: pa.Table) -> pa.Table:
        own, shared = members_of_partition(table)
        return pa.table({"stars": [len(star_set(own.interest, shared))]})

    def size(count: int) -> float:
        divided = by_partition(interest, nodes, random_partition(len(nodes), count, seed))
        found = apply_in_tasks(divided.groupBy("partition"), stars, "stars BIGINT").agg(F.sum("stars")).first()
        return cost(goal, len(nodes), count, found[0] or 0 if found else 0)

    return size


def by_partition(interest: DataFrame, nodes: Int64s, member: Int32s) -> DataFrame:
    """node, topic, partition, shared: the interests of the given nodes, and whether others share the topic."""
    table = pa.table({"node": nodes, "partition": member})
    divided = interest.join(interest.sparkSession.createDataFrame(table), "node", how="inner")
    shared = divided.groupBy("topic").agg((F.min("partition") != F.max("partition")).alias("shared"))
    return divided.join(shared, "topic", how="inner")


def _conquered(divided: DataFrame, count: int, conquer: Callable[[pa.Table], pa.Table]) -> DataFrame:
    """One partition a task, but for those that fall on the same one."""
    return apply_in_tasks(divided.repartition(count, "partition").groupBy("partition"), conquer, CONQUERED)


def _conqueror(seed: int, first_stream: int, bulk: Members, preference: Preference) -> Callable[[pa.Table], pa.Table]:
    """The function of a task over the interests of a partition. It returns star nodes only where there is no bulk."""

    def conquer(table: pa.Table) -> pa.Table:
        partition = table["partition"][0].as_py()
        own, shared = members_of_partition(table)
        rng = stream(seed, partition + first_stream)
        links = _conquered_links(own, bulk, rng, preference)
        stars = star_set(own.interest, shared) if not len(bulk.nodes) else np.empty(0, np.int64)
        of_stars = own.interest.take(stars)
        rows, columns = own.nodes[stars][of_stars.row_of_each()], of_stars.indices
        wanted = shared[columns]
        return _conquered_table(partition, links, rows[wanted], own.topics[columns[wanted]])

    return conquer


def _conquered_links(own: Members, bulk: Members, rng: np.random.Generator, preference: Preference) -> Links:
    if not len(bulk.nodes):
        return inner_links(own.nodes, own.interest, rng, preference)
    both = together(own, bulk).interest
    light, heavy = np.split(np.arange(both.rows), [len(own.nodes)])
    return links_with_clones(own.nodes, both.take(light), bulk.nodes, clones_of(both.take(heavy)), rng, preference)


def _conquered_table(partition: int, links: Links, stars: Int64s, topics: Int64s) -> pa.Table:
    none = pa.nulls(len(links.sources), pa.int64())
    return pa.table(
        {
            "partition": pa.array(np.full(len(links.sources) + len(stars), partition), pa.int32()),
            "source": np.concatenate([links.sources, stars]),
            "target": pa.concat_arrays([pa.array(links.targets), pa.nulls(len(stars), pa.int64())]),
            "topic": pa.concat_arrays([none, pa.array(topics, pa.int64())]),
        }
    )


def _bulk_nodes(interest: DataFrame, nodes: int, share: float, eta: int | None, seed: int) -> Int64s:
    """Bulk nodes, as in `overlays/divide.py`; the driver sees only topics that the most subscribed nodes leave out."""
    counted = interest.groupBy("node").count().toArrow()
    counts = np.zeros(nodes, np.int64)
    counts[column(counted, "node")] = column(counted, "count")
    most = most_subscribed(counts, share, eta, seed)
    covered = _of_nodes(interest, most).select("topic").distinct()
    several = interest.groupBy("topic").count().filter(F.col("count") > 1).select("topic")
    rest = interest.join(covered, "topic", how="left_anti").join(several, "topic", how="left_semi").toArrow()
    left_out = members(column(rest, "node"), column(rest, "topic"))
    one_group, wanted = np.zeros(len(left_out.nodes), np.int32), np.ones(len(left_out.topics), np.bool_)
    return np.union1d(most, left_out.nodes[cover_by_group(left_out.interest, one_group, wanted)])


def _members_of(interest: DataFrame, nodes: Int64s) -> Members:
    """The given nodes, those without interest as well."""
    rows = _of_nodes(interest, nodes).toArrow()
    topics, topic = np.unique(column(rows, "topic"), return_inverse=True)
    node = np.searchsorted(nodes, column(rows, "node"))
    return Members(nodes, topics, csr_from_pairs(node, topic, len(nodes), len(topics)))


def _of_nodes(interest: DataFrame, nodes: Int64s) -> DataFrame:
    return interest.join(interest.sparkSession.createDataFrame(pa.table({"node": nodes})), "node", how="left_semi")


def _write(
    spark: SparkSession,
    instance: str | Path,
    out: str | Path,
    divide: Callable[[DataFrame, int, Path], Divided],
    **about: Any,
) -> Meta:
    """Writes the overlay; the links of the partitions go from file to file and never through the driver."""
    start = time.perf_counter()
    interest, given = read_parts(spark, Path(instance))
    nodes = given["nodes"]
    with new_folder(out) as folder:
        scratch = folder / "_scratch"
        divided = divide(interest, nodes, scratch)
        inner = read_table(spark, scratch, schema=CONQUERED).filter("topic IS NULL").select("source", "target")
        outer = spark.createDataFrame(pa.table({"source": divided.outer.sources, "target": divided.outer.targets}))
        both = inner.union(outer).withColumn("phase", F.lit(None).cast("int"))
        links = write_table(both, folder / "links.parquet", links=F.count("*"))["links"]
        shutil.rmtree(scratch)
        no_ring = pa.nulls(nodes, pa.int64())
        write_columns(folder / "nodes.parquet", {"node": np.arange(nodes, dtype=np.int64), "ring_id": no_ring})
        seconds = time.perf_counter() - start
        meta = {**about, **divided.figures, "seconds": seconds, "nodes": nodes, "links": links, "ring_size": None}
        write_meta(folder, meta)
    return meta
