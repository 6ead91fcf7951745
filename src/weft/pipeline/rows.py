"""Raw data as a DataFrame of pairs, whatever the files are: edge lists, CSV, JSON lines, JSON maps, Parquet.

Text is read line by line and an expression parses each line, so that a line that cannot be read is a row like the
others, which can be counted, kept, and reported with its file and number. The columns of the result are
    left, right              the ids, where they are integers in plain notation, else null
    left_text, right_text    the ids where they are anything else, else null
    problem, content         what is wrong with the row, and the row as it stands in the file; null where all is well
    file, block, position    where it stands; `rejected_rows` makes line numbers of them
so that integer ids, the usual case by far, are never handled as text.
"""

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.window import Window

from weft.errors import WeftError
from weft.pipeline.source import Format, Source

_SUFFIXES: dict[str, Format] = {
    "": "edges",
    ".csv": "csv",
    ".edges": "edges",
    ".jsonl": "json-lines",
    ".ndjson": "json-lines",
    ".parquet": "parquet",
    ".tsv": "csv",
    ".txt": "edges",
}
_PLACE = ("file", "block", "position")


class Rows(NamedTuple):
    pairs: DataFrame  # as above
    lines: DataFrame | None  # the places of all lines of text files, for the numbers of the bad ones


def read_rows(spark: SparkSession, source: Source) -> Rows:
    samples = source.samples()
    format_ = source.format or _format_of(spark, samples[0])
    if format_ == "parquet":
        return Rows(_parquet(spark, source), None)
    if format_ == "json-map":
        return Rows(_json_map(spark, source), None)
    lines = _lines(spark, source)
    if format_ == "json-lines":
        return Rows(_json_lines(lines, source, samples[0], _first_line(spark, samples[0])), lines)
    if format_ == "csv":
        return Rows(_csv(lines, source, samples[0], _header(spark, source, samples)), lines)
    return Rows(_edge_list(lines, source), lines)


def rejected_rows(rows: Rows) -> DataFrame:
    """file, line, problem and content of the rows that cannot be read, in that order."""
    bad = rows.pairs.filter(F.col("problem").isNotNull())
    if rows.lines is None:
        numbered = bad.withColumn("line", F.col("position") + 1)
    else:
        # Positions count from the start of a Spark partition, which may hold several blocks of several files.
        blocks = rows.lines.groupBy("file", "block").agg(F.min("position").alias("start"), F.count("*").alias("lines"))
        earlier = Window.partitionBy("file").orderBy("block").rowsBetween(Window.unboundedPreceding, -1)
        before = F.coalesce(F.sum("lines").over(earlier), F.lit(0))
        starts = blocks.select("file", "block", "start", before.alias("before"))
        line = F.col("before") + F.col("position") - F.col("start") + 1
        numbered = bad.join(F.broadcast(starts), ["file", "block"], how="inner").withColumn("line", line)
    return numbered.select("file", "line", "problem", "content").orderBy("file", "line")


def _format_of(spark: SparkSession, file: str) -> Format:
    suffix = Path(file.removesuffix(".gz")).suffix.lower()
    if suffix == ".json":
        return _json_format(_first_line(spark, file))
    if suffix not in _SUFFIXES:
        raise WeftError(f"{file}: {suffix} does not show its format: give one with `format`.", "format")
    return _SUFFIXES[suffix]


def _json_format(first_line: str) -> Format:
    """A first line that is an object with other values than lists starts JSON lines; anything else is one map."""
    first = _json_object(first_line)
    return "json-lines" if first and any(not isinstance(value, list) for value in first.values()) else "json-map"


def _json_object(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _first_line(spark: SparkSession, file: str) -> str:
    row = spark.read.text(file).filter(F.trim("value") != "").first()
    if row is None:
        raise WeftError(f"{file} is empty.")
    return str(row["value"])


# Formats. Each gives rows with two ids as text, and a problem where the row cannot even be split.


def _edge_list(lines: DataFrame, source: Source) -> DataFrame:
    """`u v` a line, separated by white space; # and % start comments, as in SNAP's and KONECT's files."""
    spaced = lines.withColumn("text", F.trim(F.translate("value", "\t", " ")))
    edges = spaced.filter((F.col("text") != "") & ~F.left("text", F.lit(1)).isin("#", "%"))
    fields = F.split("text", " +")
    if source.columns is not None:
        first, second = _positions(source.columns, [], source.paths[0])
        return _pairs(edges, F.get(fields, F.lit(first)), F.get(fields, F.lit(second)), F.lit(None).cast("string"))
    # Plain functions for the usual case: splitting by a pattern takes several times as long.
    left = F.substring_index("text", " ", 1)
    right = F.ltrim(F.substr("text", F.length(left) + 1))
    two = (right != "") & ~F.contains(right, F.lit(" "))
    problem = F.when(~two, F.concat(F.lit("2 fields are expected, not "), F.size(fields)))
    return _pairs(edges, left, right, problem)


def _csv(lines: DataFrame, source: Source, file: str, header: str) -> DataFrame:
    delimiter = _delimiter(source, file)
    names = next(csv.reader([header], delimiter=delimiter))
    left, right = _positions(source.columns, names if source.header else [], file, len(names))
    rows = lines.filter(F.trim("value") != "")
    if source.header:
        rows = rows.filter(F.col("value") != header)
    schema = ", ".join([f"c{i} STRING" for i in range(len(names))] + ["bad STRING"])
    options = {"sep": delimiter, "columnNameOfCorruptRecord": "bad"}
    parsed = rows.withColumn("row", F.from_csv("value", schema, options))
    problem = F.when(F.col("row.bad").isNotNull(), F.lit(f"{len(names)} fields are expected"))
    return _pairs(parsed, F.col(f"row.c{left}"), F.col(f"row.c{right}"), problem)


def _delimiter(source: Source, file: str) -> str:
    delimiter = source.delimiter or ("\t" if file.removesuffix(".gz").endswith(".tsv") else ",")
    if len(delimiter) != 1:
        raise WeftError(f"`delimiter` is one character, not {delimiter!r}.", "delimiter")
    return delimiter


def _header(spark: SparkSession, source: Source, samples: Sequence[str]) -> str:
    """The first line, which all files share if it is a header."""
    header = _first_line(spark, samples[0])
    for file in samples[1:] if source.header else []:
        if _first_line(spark, file) != header:
            raise WeftError(f"{file} does not have the header of {samples[0]}, which is: {header}")
    return header


def _json_lines(lines: DataFrame, source: Source, file: str, first_line: str) -> DataFrame:
    """An object a line; the second value may be a list."""
    first = _json_object(first_line)
    if first is None:
        raise WeftError(f"{file}, line 1: it is not a JSON object: {first_line[:80]}")
    names = list(first)
    left, right = (names[i] for i in _positions(source.columns, names, file))
    several = isinstance(first[right], list)
    ids = T.ArrayType(T.StringType()) if several else T.StringType()
    schema = T.StructType([T.StructField(left, T.StringType()), T.StructField(right, ids)]).add("_bad", "string")
    objects = lines.filter(F.trim("value") != "")
    parsed = objects.withColumn("row", F.from_json("value", schema, {"columnNameOfCorruptRecord": "_bad"}))
    problem = F.when(
        F.col("row._bad").isNotNull() | F.col("row").isNull(), F.lit("it is not a JSON object like the first")
    )
    first_id, second_id = F.col("row").getField(left), F.col("row").getField(right)
    if several:
        parsed = parsed.withColumn("item", F.explode_outer(second_id))
        second_id = F.col("item")
    return _pairs(parsed, first_id, second_id, problem)


def _json_map(spark: SparkSession, source: Source) -> DataFrame:
    """{"id": ["id", ...], ...}: one document a file."""
    documents = spark.read.text(source.locations, wholetext=True).select(
        "value",
        F.col("_metadata.file_path").alias("file"),
        F.lit(0).alias("block"),
        F.lit(0).alias("position"),
    )
    parsed = documents.withColumn("map", F.from_json("value", "MAP<STRING, ARRAY<STRING>>"))
    broken = parsed.filter(F.col("map").isNull()).withColumn("value", F.left("value", F.lit(80)))
    problem = F.lit("it is not a JSON map of lists")
    lists = parsed.filter(F.col("map").isNotNull()).select("*", F.explode("map").alias("key", "list"))
    items = lists.select(
        "key", F.explode("list").alias("item"), F.concat_ws(": ", "key", "item").alias("value"), *_PLACE
    )
    none = F.lit(None).cast("string")
    return _pairs(items, F.col("key"), F.col("item"), none).unionByName(_pairs(broken, none, none, problem))


def _parquet(spark: SparkSession, source: Source) -> DataFrame:
    frame = spark.read.parquet(*source.locations)
    left, right = (frame.columns[i] for i in _positions(source.columns, frame.columns, source.paths[0]))
    for name in (left, right):
        kind = frame.schema[name].dataType
        if not isinstance(kind, T.IntegralType | T.StringType):
            raise WeftError(f"{source.paths[0]}: column {name!r} is {kind.simpleString()}; ids are integers or text.")
    rows = frame.select(
        F.col(f"`{left}`").cast("string").alias("first"),
        F.col(f"`{right}`").cast("string").alias("second"),
        F.col("_metadata.file_path").alias("file"),
        F.lit(0).alias("block"),
        F.col("_metadata.row_index").alias("position"),
    )
    rows = rows.withColumn("value", F.to_json(F.struct(F.col("first").alias(left), F.col("second").alias(right))))
    return _pairs(rows, F.col("first"), F.col("second"), F.lit(None).cast("string"))


def _lines(spark: SparkSession, source: Source) -> DataFrame:
    return spark.read.text(source.locations).select(
        "value",
        F.col("_metadata.file_path").alias("file"),
        F.col("_metadata.file_block_start").alias("block"),
        F.monotonically_increasing_id().alias("position"),
    )


def _positions(
    wanted: tuple[str, str] | None, names: Sequence[str], file: str, count: int | None = None
) -> tuple[int, int]:
    """Where the two ids stand among the columns; names are empty where the file has none."""
    listed = ", ".join(names) or f"{count} without names"
    if wanted is None:
        if {"node", "topic"} <= set(names):
            return names.index("node"), names.index("topic")
        if (count or len(names)) != 2:
            raise WeftError(f"{file} has the columns {listed}: name the two that matter with `columns` A,B.", "columns")
        return 0, 1
    found = []
    for name in wanted:
        if name in names:
            found.append(names.index(name))
        elif not names and name.isdecimal() and 1 <= int(name) <= (count or 1000):
            found.append(int(name) - 1)
        else:
            raise WeftError(f"{file} has no column {name!r}; it has {listed}.")
    return found[0], found[1]


def _pairs(rows: DataFrame, first: Column, second: Column, problem: Column) -> DataFrame:
    split = rows.select(first.alias("f"), second.alias("s"), problem.alias("p"), "value", *_PLACE)
    empty = "the first id is missing", "the second id is missing"
    problem = (
        F.when(F.col("p").isNotNull(), F.col("p"))
        .when(~F.is_valid_utf8("value"), F.lit("it is not UTF-8"))
        .when(F.col("f").isNull() | (F.col("f") == ""), F.lit(empty[0]))
        .when(F.col("s").isNull() | (F.col("s") == ""), F.lit(empty[1]))
    )
    left, right = _integer("f"), _integer("s")
    return split.select(
        left.alias("left"),
        F.when(left.isNull(), F.col("f")).alias("left_text"),
        right.alias("right"),
        F.when(right.isNull(), F.col("s")).alias("right_text"),
        problem.alias("problem"),
        F.when(problem.isNotNull(), F.col("value")).alias("content"),
        *_PLACE,
    )


def _integer(name: str) -> Column:
    """The id as a number, only if that number is written like the id: "7", not "007" or "+7"."""
    number = F.col(name).try_cast("bigint")
    return F.when(number.cast("string") == F.col(name), number)
