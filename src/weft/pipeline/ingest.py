"""Ingest on Spark: the same instance as `raw/ingest.py` makes, which says what rows mean and how ids are numbered."""

import shutil
from dataclasses import asdict
from pathlib import Path

from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from weft.model.node_filter import FILE as FILTERS
from weft.model.storage import new_folder
from weft.pipeline.expand import expanded_rows, is_held_filter
from weft.pipeline.parts import write_counts, write_interest, write_name_table
from weft.pipeline.progress import SILENCE, Progress, spark_tasks
from weft.pipeline.renumber import dense_ids
from weft.pipeline.rows import Raw, pairs_of, read_raw, rejected_rows
from weft.pipeline.table import rewritten, write_table
from weft.raw.ingest import Ingested, meta_of, require_subscriptions, with_filters
from weft.raw.rows import IDS, rejection
from weft.raw.source import OnBadRow, Source


def ingest(
    spark: SparkSession,
    source: Source,
    out: str | Path,
    *,
    force: bool = False,
    progress: Progress = SILENCE,
) -> Ingested:
    tasks = spark_tasks(spark)
    with new_folder(out, force=force) as folder:
        scratch = folder / "_scratch"
        with progress.step("Reading rows", tasks):
            raw = read_raw(spark, source)
            rows, seen = _written_rows(pairs_of(raw), source, scratch / "rows")
        if seen["rejected"]:
            with progress.step("Looking up rows that cannot be read", tasks):
                _reject(raw, folder, source.on_bad_row, seen["rejected"])
        held, unmatched = None, list[str]()
        node_keys = _keyed(rows, source, seen).select(F.col("left").alias("key"))
        if seen["filters"]:
            with progress.step("Expanding filters", tasks):
                held = _keyed(rows.filter(is_held_filter()), source, seen, "right_text")
                rows, seen["right_texts"], unmatched = expanded_rows(rows, source, scratch)
        with progress.step("Numbering ids", tasks):
            keyed = _keyed(rows, source, seen)
            (node_ids, nodes), (topic_ids, topics) = _number(keyed, node_keys, source, scratch)
            write_name_table(node_ids, F.col("key"), "node", folder)
            write_name_table(topic_ids, F.col("key"), "topic", folder)
        with progress.step("Writing subscriptions", tasks):
            kept = keyed.filter(F.col("left") != F.col("right")) if source.is_social else keyed
            subscriptions = write_interest(_both_ways(_numbered(kept, node_ids, topic_ids), source), folder)
        require_subscriptions(subscriptions, source)
        filters = 0 if held is None else _write_filters(held, node_ids, folder)
        loops = seen["loops"] if source.is_social else 0
        distinct = subscriptions // 2 if source.kind == "edges" else subscriptions
        result = Ingested(
            nodes=nodes,
            topics=topics,
            subscriptions=subscriptions,
            rows=seen["rows"],
            self_loops=loops,
            duplicates=(seen["rows"] if held is None else rows.count()) - loops - distinct,
            trimmed=seen["trimmed"],
            rejected=seen["rejected"],
        )
        if held is not None:
            result = with_filters(result, filters, unmatched)
        write_counts(folder, asdict(result), **meta_of(source))
        shutil.rmtree(scratch)
    return result


def _written_rows(pairs: DataFrame, source: Source, path: Path) -> tuple[DataFrame, dict[str, int]]:
    """The pairs that can be read, and what they are: how many, unreadable, the same, no integers, and filters."""
    good = F.col("problem").isNull()
    same = F.col("left").eqNullSafe(F.col("right")) & F.col("left_text").eqNullSafe(F.col("right_text"))
    is_held = F.lit(False) if source.is_social else is_held_filter()
    seen = Observation()
    counted = pairs.observe(
        seen,
        F.count_if(good).alias("rows"),
        F.count_if(~good).alias("rejected"),
        F.count_if(good & same).alias("loops"),
        F.count_if(good & F.col("left").isNull()).alias("left_texts"),
        F.count_if(good & F.col("right").isNull()).alias("right_texts"),
        F.count_if(good & is_held).alias("filters"),
        F.coalesce(F.sum(F.when(good, F.col("trimmed"))), F.lit(0)).alias("trimmed"),
    )
    kept = rewritten(counted.filter(good).select(*IDS), path)
    return kept, dict(seen.get)


def _reject(raw: Raw, folder: Path, on_bad_row: OnBadRow, count: int) -> None:
    rejected = rejected_rows(raw)
    if on_bad_row == "skip":
        write_table(rejected.coalesce(1), folder / "rejected.parquet")
        return
    first = rejected.first()
    assert first is not None
    raise rejection(**first.asDict(), count=count)


def _keyed(rows: DataFrame, source: Source, seen: dict[str, int], *beside: str) -> DataFrame:
    """left, right: one column an id, integers where all ids of its numbering are; and columns as they are."""
    texts = {"left": seen["left_texts"], "right": seen["right_texts"]}
    if source.is_social:
        texts = dict.fromkeys(texts, sum(texts.values()))

    def key(side: str) -> Column:
        text = F.coalesce(F.col(f"{side}_text"), F.col(side).cast("string"))
        return (text if texts[side] else F.col(side)).alias(side)

    return rows.select(key("left"), *(beside or [key("right")]))


def _number(
    keyed: DataFrame, left: DataFrame, source: Source, scratch: Path
) -> tuple[tuple[DataFrame, int], tuple[DataFrame, int]]:
    """Ids of the nodes, those among them whose filters match nothing, and of the topics, and how many of each."""
    right = keyed.select(F.col("right").alias("key"))
    if source.is_social:
        users = dense_ids(left.union(right), scratch / "users")
        return users, users
    return dense_ids(left, scratch / "nodes"), dense_ids(right, scratch / "topics")


def _write_filters(held: DataFrame, node_ids: DataFrame, folder: Path) -> int:
    """Distinct (node, filter) rows, in order; how many there are."""
    nodes = node_ids.select(F.col("key").alias("left"), F.col("id").alias("node"))
    pairs = held.join(nodes, "left", how="inner").select("node", F.col("right_text").alias("filter"))
    ordered = pairs.distinct().orderBy("node", "filter")
    return write_table(ordered, folder / FILTERS, filters=F.count("*"))["filters"]


def _numbered(keyed: DataFrame, node_ids: DataFrame, topic_ids: DataFrame) -> DataFrame:
    nodes = node_ids.select(F.col("key").alias("left"), F.col("id").alias("node"))
    topics = topic_ids.select(F.col("key").alias("right"), F.col("id").alias("topic"))
    return keyed.join(nodes, "left", how="inner").join(topics, "right", how="inner").select("node", "topic")


def _both_ways(pairs: DataFrame, source: Source) -> DataFrame:
    if source.kind != "edges":
        return pairs
    ways = F.array(F.struct("node", "topic"), F.struct(F.col("topic").alias("node"), F.col("node").alias("topic")))
    return pairs.select(F.inline(ways))
