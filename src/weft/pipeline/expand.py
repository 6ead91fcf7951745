"""Filters among the subscriptions, expanded on Spark: the same topics as `raw/ingest.py` finds.

The known topics go to every task, which indexes them and finds those of the distinct filters. So they must fit the
memory of one process; the subscriptions need not.
"""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from weft.model.wildcard import SHARED, SHARED_FILTER, WILD, WILD_FILTER, expanded, known_topics, unlisted
from weft.pipeline.table import read_table, write_table
from weft.pipeline.task import map_in_tasks
from weft.raw.ingest import listed_topics
from weft.raw.rows import IDS, names_split
from weft.raw.source import Source

_FOUND = "filter STRING, to BIGINT, to_text STRING"


def is_held_filter() -> Column:
    """Whether the second id of a row is a filter."""
    text = F.col("right_text")
    wild = text.rlike(WILD_FILTER) & text.rlike(WILD) & ~text.rlike(SHARED)
    return F.coalesce(text.rlike(SHARED_FILTER) | wild, F.lit(False))


def expanded_rows(rows: DataFrame, source: Source, scratch: Path) -> tuple[DataFrame, int, list[str]]:
    """Rows with every filter replaced by its topics; how many topics are no integers; filters that match none."""
    filters = rows.filter(is_held_filter()).select("right_text").distinct()
    if source.topics is None:
        raise unlisted(
            filters.agg(F.min("right_text")).toArrow().to_pylist()[0]["min(right_text)"], ", ".join(source.paths)
        )
    topics = pa.array(_known(rows, source), pa.string())
    write_table(
        map_in_tasks(filters, lambda batches: _found(batches, topics), _FOUND), scratch / "found", n=F.count("*")
    )
    found = read_table(rows.sparkSession, scratch / "found")
    is_matched = F.col("to").isNotNull() | F.col("to_text").isNotNull()
    unmatched = found.filter(~is_matched).select("filter").toArrow()["filter"].to_pylist()
    matched = found.filter(is_matched).withColumnRenamed("filter", "right_text")
    joined = rows.filter(is_held_filter()).drop("right").join(matched, "right_text", how="inner")
    both = (
        rows.filter(~is_held_filter())
        .select(*IDS)
        .union(joined.select("left", "left_text", F.col("to").alias("right"), F.col("to_text").alias("right_text")))
    )
    seen = write_table(both, scratch / "expanded", texts=F.count("right_text"))
    return read_table(rows.sparkSession, scratch / "expanded", schema=both.schema), seen["texts"], unmatched


def _known(rows: DataFrame, source: Source) -> list[str]:
    text = F.coalesce(F.col("right_text"), F.col("right").cast("string")).alias("name")
    named = rows.select(text).filter(~F.col("name").rlike("[+#]")).distinct()
    return known_topics(listed_topics(source), named.toArrow()["name"].to_pylist())


def _found(batches: Iterator[pa.RecordBatch], topics: pa.Array) -> Iterator[pa.RecordBatch]:
    """A row for every filter and topic; one without a topic for a filter that matches none."""
    texts = pa.concat_arrays([pa.array([], pa.string()), *(batch["right_text"] for batch in batches)])
    place, found, unmatched = expanded(texts, topics.to_pylist())
    numbers, names = names_split(found)
    nothing = pa.array(unmatched, pa.string())
    yield pa.RecordBatch.from_arrays(
        [
            pa.concat_arrays([texts.take(pa.array(place, pa.int64())), nothing]),
            pa.concat_arrays([numbers, pa.nulls(len(nothing), pa.int64())]),
            pa.concat_arrays([names, pa.nulls(len(nothing), pa.string())]),
        ],
        ["filter", "to", "to_text"],
    )
