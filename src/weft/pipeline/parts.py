"""The files of an instance, written by Spark in parts."""

from pathlib import Path
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from weft.errors import WeftError
from weft.model.instance import read_instance_meta
from weft.model.publisher import FILE, own_topics
from weft.model.storage import Meta, write_meta
from weft.pipeline.table import read_table, write_table


def write_interest(pairs: DataFrame, folder: Path) -> int:
    """Distinct (node, topic) rows, those of a node together and in order; how many there are."""
    distinct = pairs.select("node", "topic").repartition("node").dropDuplicates(["node", "topic"])
    ordered = distinct.sortWithinPartitions("node", "topic")
    return write_table(ordered, folder / "interest.parquet", subscriptions=F.count("*"))["subscriptions"]


def write_name_table(ids: DataFrame, name: Column, kind: str, folder: Path) -> None:
    """`ids` has the column id; `name` is an expression over it."""
    table = ids.select(F.col("id").alias(kind), name.cast("string").alias("name"))
    write_table(table, folder / f"{kind}s.parquet")


def write_counts(folder: Path, counts: dict[str, int], **meta: Any) -> None:
    """What completes an instance: its meta and, if it is social and has none yet, its publishers."""
    if not counts["subscriptions"]:
        raise WeftError(f"Nothing is left of {meta['source']}: no subscriptions, so no instance was written.")
    if meta.get("social") and not (folder / FILE).exists():
        own_topics(counts["nodes"]).write(folder)
    write_meta(folder, {**counts, **meta})


def read_parts(spark: SparkSession, folder: Path) -> tuple[DataFrame, Meta]:
    """interest and meta of an instance on disk."""
    meta = read_instance_meta(folder)
    path = folder.absolute() / "interest.parquet"
    if not path.exists():
        raise WeftError(f"{folder} is not an instance: it has no interest.parquet.")
    interest = read_table(spark, path)
    missing = [name for name in ("node", "topic") if name not in interest.columns]
    if missing:
        raise WeftError(f"{path} has no column {missing[0]!r}; it has {', '.join(interest.columns)}.")
    return interest.select(F.col("node").cast("long"), F.col("topic").cast("long")), meta
