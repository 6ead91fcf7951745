"""Raw data as DataFrames: Spark finds and reads the files, and the functions of `raw/rows.py` say what the rows mean.

Those run in Python's workers, over Arrow's batches. A second wording of the rules in Spark's own expressions, which
need no worker, would be a second set of rules. Only what rows are made of is sent there; if some cannot be read, they
are read once more with their places, file, block and position, of which line numbers are made.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.window import Window

from weft.errors import WeftError
from weft.model.address import is_remote
from weft.pipeline.table import read_table, uri
from weft.pipeline.task import map_in_tasks
from weft.raw.layout import Layout, Opening, layout_of
from weft.raw.rows import rows_of_columns, rows_of_lines, rows_of_map
from weft.raw.source import Source

Batch: TypeAlias = pa.RecordBatch
Transform = Callable[[Batch], Batch]

_PLACE = ("file", "block", "position")
PAIRS = ("left", "left_text", "right", "right_text", "trimmed", "problem")
_PAIRS = "left BIGINT, left_text STRING, right BIGINT, right_text STRING, trimmed BIGINT, problem STRING"
_BAD = "file STRING, block BIGINT, position BIGINT, problem STRING, content STRING"


class Raw(NamedTuple):
    data: DataFrame  # what rows are made of, and file, block and position of each
    rows: Transform  # by the rules of `raw/rows.py`
    bad: Transform  # those that cannot be read, with their places
    is_text: bool  # whether positions are those of lines in a Spark partition


def read_raw(spark: SparkSession, source: Source) -> Raw:
    remote = any(map(is_remote, source.paths))
    layout = layout_of(source, _opening(spark) if remote else None)
    if layout.format == "json-map":
        return Raw(_documents(spark, source), _rows_of_documents, _bad_of_documents, is_text=False)
    if layout.format == "parquet":
        frame, rows = _parquet(spark, source, layout), _rows_of_columns(layout)
    else:
        frame, rows = _lines(spark, source), _rows_of_lines(layout)
    return Raw(frame, rows, lambda batch: _bad(rows(batch), batch), is_text=layout.format != "parquet")


def pairs_of(raw: Raw) -> DataFrame:
    """left, left_text, right, right_text, trimmed and problem of every row."""
    rows = raw.rows
    return map_in_tasks(raw.data.drop(*_PLACE), _each(lambda batch: rows(batch).select(PAIRS)), _PAIRS)


def rejected_rows(raw: Raw) -> DataFrame:
    """file, line, problem and content of the rows that cannot be read, in the order of files and lines."""
    bad = map_in_tasks(raw.data, _each(raw.bad), _BAD)
    numbered = _numbered(bad, raw.data) if raw.is_text else bad.withColumn("line", F.col("position") + 1)
    return numbered.select(_plain("file"), "line", "problem", "content").orderBy("file", "line")


def _plain(file: str) -> Column:
    """A file of this machine by its path, others by their address."""
    path = F.url_decode(F.replace(F.regexp_replace(file, "^file:/+", "/"), F.lit("+"), F.lit("%2B")))
    return F.when(F.startswith(F.col(file), F.lit("file:")), path).otherwise(F.col(file)).alias(file)


def _numbered(bad: DataFrame, lines: DataFrame) -> DataFrame:
    """Positions count from the start of a Spark partition, which may hold several blocks of several files."""
    blocks = lines.groupBy("file", "block").agg(F.min("position").alias("start"), F.count("*").alias("lines"))
    earlier = Window.partitionBy("file").orderBy("block").rowsBetween(Window.unboundedPreceding, -1)
    before = F.coalesce(F.sum("lines").over(earlier), F.lit(0))
    starts = blocks.select("file", "block", "start", before.alias("before"))
    line = F.col("before") + F.col("position") - F.col("start") + 1
    return bad.join(F.broadcast(starts), ["file", "block"], how="inner").withColumn("line", line)


def _each(transform: Transform) -> Callable[[Iterator[Batch]], Iterator[Batch]]:
    return lambda batches: (transform(batch) for batch in batches)


def _uris(source: Source) -> list[str]:
    return [uri(location) for location in source.locations]


def _lines(spark: SparkSession, source: Source) -> DataFrame:
    return spark.read.text(_uris(source)).select(
        F.col("value").cast("binary"),  # which may not be UTF-8
        F.col("_metadata.file_path").alias("file"),
        F.col("_metadata.file_block_start").alias("block"),
        F.monotonically_increasing_id().alias("position"),
    )


def _documents(spark: SparkSession, source: Source) -> DataFrame:
    return spark.read.text(_uris(source), wholetext=True).select(
        F.col("value").cast("binary"),
        F.col("_metadata.file_path").alias("file"),
        F.lit(0).cast("long").alias("block"),
        F.lit(0).cast("long").alias("position"),
    )


def _parquet(spark: SparkSession, source: Source, layout: Layout) -> DataFrame:
    return read_table(spark, *source.locations).select(
        F.col(f"`{layout.left}`").alias("first"),
        F.col(f"`{layout.right}`").alias("second"),
        F.col("_metadata.file_path").alias("file"),
        F.lit(0).cast("long").alias("block"),
        F.col("_metadata.row_index").alias("position"),
    )


def _rows_of_lines(layout: Layout) -> Transform:
    return lambda batch: rows_of_lines(batch["value"], layout)


def _rows_of_columns(layout: Layout) -> Transform:
    return lambda batch: rows_of_columns(batch["first"], batch["second"], layout)


def _rows_of_documents(batch: Batch) -> Batch:
    return pa.concat_batches([rows_of_map(document) for document in batch["value"].to_pylist()])


def _bad(rows: Batch, batch: Batch) -> Batch:
    bad = rows.filter(pc.is_valid(rows["problem"]))
    places = [batch[name].take(bad["line"]) for name in _PLACE]
    return Batch.from_arrays([*places, bad["problem"], bad["content"]], [*_PLACE, "problem", "content"])


def _bad_of_documents(batch: Batch) -> Batch:
    """A document's rows have lines of their own."""
    found = []
    for file, document in zip(batch["file"].to_pylist(), batch["value"].to_pylist(), strict=True):
        rows = rows_of_map(document)
        bad = rows.filter(pc.is_valid(rows["problem"]))
        none = pa.array([0] * len(bad), pa.int64())
        columns = [pa.array([file] * len(bad), pa.string()), none, bad["line"], bad["problem"], bad["content"]]
        found.append(Batch.from_arrays(columns, [*_PLACE, "problem", "content"]))
    return pa.concat_batches(found)


def _opening(spark: SparkSession) -> Opening:
    """The beginnings of files that only Spark can reach."""

    def line(file: str) -> str:
        row = spark.read.text(file).filter(F.trim("value") != "").first()
        if row is None:
            raise WeftError(f"{file} is empty.")
        return str(row["value"])

    return Opening(line, lambda file: spark.read.parquet(file).limit(0).toArrow().schema)
