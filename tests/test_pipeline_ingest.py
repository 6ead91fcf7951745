"""Ingest against a plain reading of the same rows in Python, on both engines, which are compared."""

import gzip
import json
import random
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from weft.errors import WeftError
from weft.model.instance import Instance, read_instance
from weft.model.topic import is_name, matches
from weft.model.wildcard import is_expanded, plain_filter
from weft.pipeline.expand import is_held_filter
from weft.pipeline.ingest import ingest as ingest_on_spark
from weft.pipeline.rows import pairs_of, read_raw
from weft.pipeline.sample import sample as sample_on_spark
from weft.pipeline.session import spark_session
from weft.raw.ingest import Ingested, check
from weft.raw.ingest import ingest as ingest_here
from weft.raw.source import Kind, Source
from weft.workloads.sample import Sampling
from weft.workloads.sample import sample as sample_here

Pair = tuple[str, str]


def ingest(spark: SparkSession, source: Source, out: Path) -> Ingested:
    """Ingest on Spark, and in this process: the counts, or the error, must be the same, and so must be the files."""
    told: list[Ingested | str] = []
    for work, folder in (
        (lambda path: ingest_here(source, path), out.with_name("here")),
        (on_spark(spark, source), out),
    ):
        try:
            told.append(work(folder))
        except WeftError as error:
            told.append(str(error))
    assert told[0] == told[1]
    if isinstance(told[1], str):
        raise WeftError(told[1])
    here, there = read_instance(out.with_name("here")), read_instance(out)
    assert here.fingerprint == there.fingerprint
    assert here.meta == there.meta
    for one, other in ((here.node_names, there.node_names), (here.topic_names, there.topic_names)):
        assert one is not None
        assert other is not None
        assert one.tolist() == other.tolist()
    assert files(out.with_name("here")) == files(out)
    shutil.rmtree(out.with_name("here"))
    return told[1]


def on_spark(spark: SparkSession, source: Source) -> Callable[[Path], Ingested]:
    def work(path: Path) -> Ingested:
        with spark_session():  # for its sentences
            return ingest_on_spark(spark, source, path)

    return work


def files(folder: Path) -> dict[str, object]:
    """The names of an instance's files, and what was rejected."""
    rejected = folder / "rejected.parquet"
    rows = pq.read_table(rejected).to_pylist() if rejected.exists() else []
    return {**{path.name: None for path in folder.iterdir()}, "rejected.parquet": rows}


def in_order(names: set[str]) -> list[str]:
    """The numbering that ingest promises: by value where all are plain integers, else as UTF-8."""
    if all(name.removeprefix("-").isdecimal() and str(int(name)) == name for name in names):
        return sorted(names, key=int)
    return sorted(names, key=str.encode)


def expected(rows: Sequence[Pair], kind: Kind) -> tuple[list[str], list[str], set[Pair]]:
    users = in_order({name for row in rows for name in row})
    nodes, topics = (
        (users, users) if kind != "subscriptions" else (in_order({u for u, _ in rows}), in_order({v for _, v in rows}))
    )
    kept = {(u, v) for u, v in rows if u != v or kind == "subscriptions"}
    return nodes, topics, kept | {(v, u) for u, v in kept} if kind == "edges" else kept


def named_pairs(instance: Instance) -> set[Pair]:
    assert instance.node_names is not None
    assert instance.topic_names is not None
    rows = instance.interest.row_of_each()
    return set(zip(instance.node_names[rows], instance.topic_names[instance.interest.indices], strict=True))


def verify(
    spark: SparkSession, rows: Sequence[Pair], kind: Kind, tmp_path: Path, file: Path, **options: Any
) -> Ingested:
    result = ingest(spark, Source((str(file),), kind, **options), tmp_path / "out")
    assert_ingested(result, rows, kind, tmp_path)
    return result


def verify_rows(
    spark: SparkSession, rows: Sequence[Pair], kind: Kind, tmp_path: Path, file: Path, **options: Any
) -> None:
    """Verify what this process ingests, and that Spark reads the same rows: what it does with them is the same for all.

    Each way of reading, lines, documents and Parquet, is verified whole as well.
    """
    source = Source((str(file),), kind, **options)
    result = ingest_here(source, tmp_path / "out")
    assert_ingested(result, rows, kind, tmp_path)
    read = pairs_of(read_raw(spark, source)).toArrow().to_pylist()
    assert [row["problem"] for row in read] == [None] * result.rows
    assert {(name_in(row, "left"), name_in(row, "right")) for row in read} == {*rows}


def name_in(row: dict[str, Any], side: str) -> str:
    text, number = row[f"{side}_text"], row[side]
    assert (text is None) != (number is None)
    return str(number) if text is None else str(text)


def assert_ingested(result: Ingested, rows: Sequence[Pair], kind: Kind, tmp_path: Path) -> None:
    instance = read_instance(tmp_path / "out")
    nodes, topics, subscriptions = expected(rows, kind)
    assert instance.node_names is not None
    assert instance.topic_names is not None
    assert instance.node_names.tolist() == nodes
    assert instance.topic_names.tolist() == topics
    assert named_pairs(instance) == subscriptions
    assert instance.is_social == (kind != "subscriptions")
    assert (result.nodes, result.topics, result.subscriptions) == (len(nodes), len(topics), len(subscriptions))
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith(".")) == []
    assert not (tmp_path / "out" / "_scratch").exists()


ROWS = [("10", "9"), ("9", "10"), ("9", "10"), ("9", "9"), ("2", "10"), ("-3", "2"), ("2", "2")]


@pytest.mark.parametrize(("kind", "loops", "duplicates"), [("edges", 2, 2), ("follows", 2, 1), ("subscriptions", 0, 1)])
def test_edge_lists_are_cleaned_and_counted(
    spark: SparkSession, tmp_path: Path, kind: Kind, loops: int, duplicates: int
) -> None:
    lines = ["# a comment", "% another", "", *(f"{u}\t {v} " for u, v in ROWS)]
    (tmp_path / "e.txt").write_bytes("\r\n".join(lines).encode())
    result = verify(spark, ROWS, kind, tmp_path, tmp_path / "e.txt")
    assert result == Ingested(result.nodes, result.topics, result.subscriptions, len(ROWS), loops, duplicates, 0, 0)


def test_ids_may_be_any_text(spark: SparkSession, tmp_path: Path) -> None:
    rows = [("007", "7"), ("7", "+7"), ("ä", "z"), ("9" * 30, "7"), ("1e3", "a,b")]
    (tmp_path / "e.txt").write_text("\n".join(f"{u} {v}" for u, v in rows))
    verify(spark, rows, "follows", tmp_path, tmp_path / "e.txt")


def test_integers_on_one_side_only(spark: SparkSession, tmp_path: Path) -> None:
    rows = [("10", "sport"), ("9", "news"), ("9", "10")]
    (tmp_path / "e.txt").write_text("\n".join(f"{u} {v}" for u, v in rows))
    verify(spark, rows, "subscriptions", tmp_path, tmp_path / "e.txt")


def write_as(form: str, path: Path, rows: Sequence[Pair]) -> tuple[Path, dict[str, Any]]:
    match form:
        case "csv":
            path = path / "f.csv"
            path.write_text("\ufeffuser,topic\n" + "".join(f'"{u}",{v}\n' for u, v in rows))
        case "csv-columns":
            path = path / "f.csv"
            path.write_text("n,to,x,from\n" + "".join(f"{i},{v},,{u}\n" for i, (u, v) in enumerate(rows)))
            return path, {"columns": ("from", "to")}
        case "csv-bare":
            path = path / "f.csv"
            path.write_text("".join(f"x;{u};{v}\n" for u, v in rows))
            return path, {"columns": ("2", "3"), "header": False, "delimiter": ";"}
        case "tsv":
            path = path / "f.tsv.gz"
            path.write_bytes(gzip.compress(("node\ttopic\n" + "".join(f"{u}\t{v}\n" for u, v in rows)).encode()))
        case "json-lines":
            path = path / "f.jsonl"
            path.write_text("".join(json.dumps({"user": u, "topic": v}) + "\n" for u, v in rows))
        case "json-numbers":
            path = path / "f.json"
            path.write_text("".join(json.dumps({"user": int(u), "at": 1.5, "topic": int(v)}) + "\n" for u, v in rows))
            return path, {"columns": ("user", "topic")}
        case "json-lists":
            path = path / "f.json"
            path.write_text("".join(json.dumps({"user": u, "topics": [v, v]}) + "\n" for u, v in rows))
        case "json-map":
            path = path / "f.json.gz"
            lists = {u: [v for w, v in rows if w == u] for u, _ in rows}
            path.write_bytes(gzip.compress(json.dumps(lists, indent=1).encode()))
        case "parquet-int":
            path = path / "f.parquet"
            columns = {"node": [int(u) for u, _ in rows], "topic": [int(v) for _, v in rows], "z": [0] * len(rows)}
            pq.write_table(pa.table(columns), path)
        case "parquet-folder":
            path = path / "f.parquet"
            path.mkdir()
            for i, (u, v) in enumerate(rows):
                pq.write_table(pa.table({"a": [u], "b": [v]}), path / f"part-{i}.parquet")
        case "text-folder":
            path = path / "f"
            path.mkdir()
            for i, (u, v) in enumerate(rows):
                (path / f"part-{i}.txt").write_text(f"{u} {v}\n")
    return path, {}


@pytest.mark.parametrize("form", ["csv", "json-map", "parquet-folder"])
def test_formats(spark: SparkSession, tmp_path: Path, form: str) -> None:
    file, options = write_as(form, tmp_path, ROWS)
    verify(spark, ROWS, "follows", tmp_path, file, **options)


@pytest.mark.parametrize(
    "form",
    ["csv-columns", "csv-bare", "tsv", "json-lines", "json-numbers", "json-lists", "parquet-int", "text-folder"],
)
def test_rows_of_formats(spark: SparkSession, tmp_path: Path, form: str) -> None:
    file, options = write_as(form, tmp_path, ROWS)
    verify_rows(spark, ROWS, "follows", tmp_path, file, **options)


def test_many_files_are_one_graph(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    (tmp_path / "b.csv").write_text("x,y\n2,3\n1,2\n")
    result = ingest(spark, Source((str(tmp_path / "a.csv"), str(tmp_path / "b.csv")), "follows"), tmp_path / "out")
    assert (result.nodes, result.subscriptions, result.duplicates) == (3, 2, 1)


def test_random_graphs_agree_with_plain_python(spark: SparkSession, tmp_path: Path) -> None:
    draw = random.Random(1)
    rows = [(str(draw.randrange(60)), str(draw.randrange(60))) for _ in range(1000)]
    (tmp_path / "e.txt").write_text("\n".join(f"{u} {v}" for u, v in rows))
    verify(spark, rows, "edges", tmp_path, tmp_path / "e.txt")


BAD_INPUT = [
    ("e.txt", "1 2\n# x\n\n3\n4 5", r"e.txt, line 4: 2 fields are expected, not 1: '3'\. Mend it"),
    ("e.txt", "1 2\n1 2 3\n4\n", r"line 2: 2 fields are expected, not 3: '1 2 3' \(2 such rows in all\)"),
    ("e.txt", b"1 2\n\xff\xfe 3\n", "line 2: it is not UTF-8"),
    ("f.csv", 'a,b\n1,2\n"1,2\n', "line 3: a quote is out of place, or not closed on its line"),
    ("f.csv", "a,A\n1,2\n", "has the column 'a' twice: give each column a name of its own"),
    ("f.csv", b"a,b\n1,\0\0\n", "f.csv is binary, not text"),
    ("f.txt", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "f.txt is binary, not text"),
    ("f.txt", gzip.compress(b"1 2\n", mtime=0), "f.txt is not text but gzip: name it .gz"),
    ("f.csv", "a,b\n1,2\n".encode("utf-16"), "f.csv is not text but UTF-16"),
    ("f.parquet", b"PAR1 and no more", "f.parquet cannot be read as Parquet"),
    ("e.txt.gz", gzip.compress(b"1 2\n" * 999, mtime=0)[:-9], "e.txt.gz is not gzip, is damaged, or is cut short"),
    ("f.json", '{"a": ["x"], "b": 3}', "f.json, line 1: its value is not a list: '\"b\": 3'"),
    ("f.csv", "a,b,c\n1,2,3\n", "has the columns a, b, c: name the two that matter with `columns`"),
    ("f.jsonl", '{"a": 1, "b": 2}\n{"a": 1', "line 2: it is not a JSON object like the first"),
    ("f.jsonl", "7\n", "line 1: it is not a JSON object"),
    ("e.txt", "# nothing\n", "Nothing is left of .*e.txt: no subscriptions"),
    ("e.txt", "1 1\n", "Nothing is left"),
    ("f.csv", "", "f.csv is empty"),
    ("e.txt.gz", "not gzip", "e.txt.gz is not gzip"),
    ("e.dat", "1 2", "does not show its format"),
]
# What rows mean is said by the same functions on both engines, and of these Spark sees no more than that a row is bad.
BAD_ROWS = [
    ("f.csv", "a,b\n1,2\n1\n", "f.csv, line 3: 2 fields are expected, not 1: '1'"),
    ("f.csv", b"a,b\n\xff,2\n", "line 2: it is not UTF-8. Mend it"),
    ("f.json", '{\n"a": ["x"],\n"b": [["y"]]}', "line 3: the second id is neither text nor an integer"),
    ("f.json", '{\n"a": ["x"],\n"b": ["y"}', "line 3: it is not JSON"),
    ("f.json", "[1, 2]", "line 1: it is not a JSON map of lists"),
    ("f.jsonl", '{"a": ["x"], "b": 3}\n', "line 1: the first id is neither text nor an integer"),
    ("f.jsonl", '{"a": 1.5, "b": 3}\n', "line 1: the first id is neither text nor an integer"),
    ("f.jsonl", '{"a": 1, "b": true}\n', "line 1: the second id is neither text nor an integer"),
    ("f.csv", "a,b\n1,\n", "line 2: the second id is missing"),
    ("f.jsonl", '{"a": 1, "b": 2}\n\n{"a": 1}\n', "line 3: the second id is missing"),
    ("f.json", '{"a": ["b"', "line 1: it is not JSON"),
]


@pytest.mark.parametrize(("name", "content", "sentence"), BAD_INPUT)
def test_bad_input_is_told_and_leaves_nothing(
    spark: SparkSession, tmp_path: Path, name: str, content: str | bytes, sentence: str
) -> None:
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(WeftError, match=sentence):
        ingest(spark, Source((str(tmp_path / name),), "follows"), tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize(("name", "content", "sentence"), BAD_ROWS)
def test_bad_rows_are_told_and_leave_nothing(tmp_path: Path, name: str, content: str | bytes, sentence: str) -> None:
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(WeftError, match=sentence):
        ingest_here(Source((str(tmp_path / name),), "follows"), tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_bad_rows_can_be_left_out_and_kept_aside(spark: SparkSession, tmp_path: Path) -> None:
    for name in ("a.txt", "b + %20.txt"):
        (tmp_path / name).write_text("1 2\nx\n3 4\n\n1 2 3\n")
    source = Source((str(tmp_path / "a.txt"), str(tmp_path / "b + %20.txt")), "follows", on_bad_row="skip")
    result = ingest(spark, source, tmp_path / "out")
    assert (result.rows, result.rejected, result.subscriptions) == (4, 4, 2)
    rejected = pq.read_table(tmp_path / "out" / "rejected.parquet").to_pylist()
    places = [(row["file"].rpartition("/")[2], row["line"], row["content"]) for row in rejected]
    assert places == [("a.txt", 2, "x"), ("a.txt", 5, "1 2 3"), ("b + %20.txt", 2, "x"), ("b + %20.txt", 5, "1 2 3")]
    read_instance(tmp_path / "out")


def test_line_numbers_hold_across_the_blocks_of_a_file(spark: SparkSession, tmp_path: Path) -> None:
    lines = [f"{i} {i + 1}" for i in range(1800)]  # four blocks
    bad = [0, 17, 899, 1798]
    for i in bad:
        lines[i] = "bad"
    (tmp_path / "e.txt").write_text("\n".join(lines))
    before = spark.conf.get("spark.sql.files.maxPartitionBytes")
    spark.conf.set("spark.sql.files.maxPartitionBytes", "4096")
    try:
        ingest(spark, Source((str(tmp_path / "e.txt"),), "follows", on_bad_row="skip"), tmp_path / "out")
    finally:
        spark.conf.set("spark.sql.files.maxPartitionBytes", str(before))
    told = pq.read_table(tmp_path / "out" / "rejected.parquet")["line"].to_pylist()
    assert told == [i + 1 for i in bad]


def test_a_parquet_column_of_another_type_is_told(spark: SparkSession, tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1.5], "b": [2]}), tmp_path / "f.parquet")
    with pytest.raises(WeftError, match="column 'a' is double; ids are integers or text"):
        ingest(spark, Source((str(tmp_path / "f.parquet"),), "follows"), tmp_path / "out")


def test_blanks_around_names_are_no_part_of_them_and_are_counted(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "f.csv").write_text('user, topic\nann,x\n ann ,x\nann\t,"y "\nbob, x\n')
    result = verify(spark, [("ann", "x"), ("ann", "y"), ("bob", "x")], "subscriptions", tmp_path, tmp_path / "f.csv")
    assert (result.trimmed, result.duplicates) == (4, 1)


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
def test_headings_of_any_case_and_separator_are_read(mark: str, tmp_path: Path) -> None:
    (tmp_path / "f.csv").write_text(f'\ufeffX{mark} Topic {mark}"NODE"\n1{mark}b{mark}a\n2{mark}d{mark}c\n')
    ingest_here(Source((str(tmp_path / "f.csv"),), "subscriptions"), tmp_path / "out")
    assert named_pairs(read_instance(tmp_path / "out")) == {("a", "b"), ("c", "d")}
    ingest_here(Source((str(tmp_path / "f.csv"),), "follows", columns=("TOPIC", "x")), tmp_path / "other")
    assert {("b", "1"), ("d", "2")} == named_pairs(read_instance(tmp_path / "other"))


@pytest.mark.parametrize("columns", [("2", "3"), ("to", "from"), ("2", "from")])
def test_columns_are_named_or_numbered_whether_or_not_there_is_a_header(
    spark: SparkSession, tmp_path: Path, columns: Pair
) -> None:
    (tmp_path / "f.csv").write_text("n,to,from\n0,a,b\n1,b,c\n")
    verify_rows(spark, [("a", "b"), ("b", "c")], "follows", tmp_path, tmp_path / "f.csv", columns=columns)


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
def test_lines_end_in_any_way(spark: SparkSession, tmp_path: Path, ends: str) -> None:
    (tmp_path / "f.csv").write_bytes(ends.join(["\ufeffa,b", "1,2", "", "2,3"]).encode())
    verify_rows(spark, [("1", "2"), ("2", "3")], "follows", tmp_path, tmp_path / "f.csv")


def test_numbers_at_the_edge_of_what_64_bits_hold(spark: SparkSession, tmp_path: Path) -> None:
    edge = [str(2**63 - 1), str(-(2**63)), str(2**63 - 2)]
    (tmp_path / "a.txt").write_text(f"{edge[0]} {edge[1]}\n{edge[1]} {edge[2]}\n")
    verify(spark, [(edge[0], edge[1]), (edge[1], edge[2])], "follows", tmp_path, tmp_path / "a.txt")
    (tmp_path / "b.txt").write_text(f"{2**63} {edge[0]}\n")
    shutil.rmtree(tmp_path / "out")
    verify(spark, [(str(2**63), edge[0])], "follows", tmp_path, tmp_path / "b.txt")


@pytest.mark.parametrize(
    ("name", "content", "options", "sentence"),
    [
        ("f.csv", "a,b\n1,2\n", {"columns": ("a", "c")}, "has no column 'c'; it has a, b"),
        ("f.csv", "a;b\n1;2\n", {"delimiter": ","}, "has the columns a;b: name the two"),
        ("e.txt", "1 2\n3\n4\n", {}, r"line 2: 2 fields are expected, not 1: '3'\. Mend it"),
        ("e.dat", "1 2\n", {}, "give one with `format`"),
        ("f.bin", b"\0\1", {"format": "csv"}, "is binary"),
        ("f.jsonl", "7\n", {}, "it is not a JSON object"),
        ("f.json", '{"a": ["x"], "b": 3}', {}, "line 1: its value is not a list: '\"b\": 3'"),
    ],
)
def test_what_the_first_lines_show_is_told_without_spark(
    tmp_path: Path, name: str, content: str | bytes, options: dict[str, Any], sentence: str
) -> None:
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(WeftError, match=sentence):
        check(Source((str(tmp_path / name),), "follows", **options))


def test_bad_rows_that_are_to_be_skipped_do_not_stop_the_check(tmp_path: Path) -> None:
    (tmp_path / "e.txt").write_text("1 2\n3\n")
    check(Source((str(tmp_path / "e.txt"),), "follows", on_bad_row="skip"))


def test_a_column_that_is_not_there_is_told(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "f.csv").write_text("a,b\n1,2\n")
    with pytest.raises(WeftError, match="has no column 'c'; it has a, b"):
        ingest(spark, Source((str(tmp_path / "f.csv"),), "follows", columns=("a", "c")), tmp_path / "out")


def test_another_header_in_a_second_file_is_told(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    (tmp_path / "b.csv").write_text("y,x\n2,3\n")
    with pytest.raises(WeftError, match=r"b.csv does not have the header of .*a.csv, which is: x,y"):
        ingest(spark, Source((str(tmp_path / "a.csv"), str(tmp_path / "b.csv")), "follows"), tmp_path / "out")


def test_ego_facebook(spark: SparkSession, tmp_path: Path, data: Path) -> None:
    result = ingest(spark, Source((str(data / "social/facebook_combined.txt.gz"),), "edges"), tmp_path / "fb")
    assert (result.nodes, result.topics, result.subscriptions) == (4039, 4039, 176_468)


def test_ego_twitter(spark: SparkSession, tmp_path: Path, data: Path) -> None:
    result = ingest(spark, Source((str(data / "social/twitter_combined.txt.gz"),), "follows"), tmp_path / "tw")
    assert result == Ingested(81_306, 81_306, 1_768_135, 1_768_149, 14, 0, 0, 0)


def test_genres(spark: SparkSession, tmp_path: Path, data: Path) -> None:
    file = data / "topics/deezer-HU_genres.json.gz"
    result = ingest(spark, Source((str(file),), "subscriptions"), tmp_path / "hu")
    assert (result.nodes, result.topics, result.subscriptions) == (47_538, 84, 284_901)
    lists = json.loads(gzip.decompress(file.read_bytes()))
    assert named_pairs(read_instance(tmp_path / "hu")) == {
        (user, genre) for user, genres in lists.items() for genre in genres
    }


SUBSCRIBED = [
    ("hall", "x/+"),
    ("hall", "x/1"),
    ("roof", "#"),
    ("roof", "+/+"),
    ("shed", "nothing/#"),
    ("yard", "C++"),
    ("yard", "$share/g/x/1"),
    ("yard", "x/+"),
    ("yard", "x/+"),
]
LISTED = ["x/1", "x/3", "y", "9"]


def written_filters(tmp_path: Path, rows: Sequence[Pair] = SUBSCRIBED) -> Source:
    (tmp_path / "clients.csv").write_text("node,topic\n" + "".join(f"{node},{topic}\n" for node, topic in rows))
    (tmp_path / "topics.txt").write_text("\n".join(LISTED))
    return Source((str(tmp_path / "clients.csv"),), "subscriptions", topics=str(tmp_path / "topics.txt"))


def stood_for(rows: Sequence[Pair]) -> set[Pair]:
    known = {*LISTED, *(plain_filter(text) for _, text in rows if is_name(plain_filter(text)))}
    return {
        (node, name)
        for node, text in rows
        for name in ({topic for topic in known if matches(plain_filter(text), topic)} if is_expanded(text) else {text})
    }


def test_filters_are_expanded_to_the_topics_that_they_match_and_kept(spark: SparkSession, tmp_path: Path) -> None:
    result = ingest(spark, written_filters(tmp_path), tmp_path / "out")
    instance = read_instance(tmp_path / "out")
    assert named_pairs(instance) == stood_for(SUBSCRIBED)
    assert instance.node_names is not None
    assert instance.node_names.tolist() == ["hall", "roof", "shed", "yard"]  # whose filter matches nothing, too
    assert instance.filters is not None
    held = zip(instance.filters.nodes, instance.filters.texts, strict=True)
    assert {(instance.node_name(node), text) for node, text in held} == {r for r in SUBSCRIBED if is_expanded(r[1])}
    assert (result.rows, result.filters, result.unmatched, result.unmatched_filters) == (9, 6, 1, ("nothing/#",))
    instance.write(tmp_path / "again")
    assert read_instance(tmp_path / "again") == instance


def test_topics_that_are_all_integers_are_numbered_by_value_when_filters_are_expanded(
    spark: SparkSession, tmp_path: Path
) -> None:
    source = replace(written_filters(tmp_path, [("7", "+"), ("10", "9"), ("10", "11")]), topics=str(tmp_path / "n.txt"))
    (tmp_path / "n.txt").write_text("10\n9\n")
    ingest(spark, source, tmp_path / "out")
    instance = read_instance(tmp_path / "out")
    assert (instance.node_name(0), [instance.topic_name(topic) for topic in range(3)]) == ("7", ["9", "10", "11"])


def test_filters_without_a_list_of_topics_are_an_error(spark: SparkSession, tmp_path: Path) -> None:
    source = replace(written_filters(tmp_path), topics=None)
    with pytest.raises(WeftError, match=r"filters, such as '#', and not the topics.*`topics`"):
        ingest(spark, source, tmp_path / "out")
    with pytest.raises(WeftError, match="subscriptions to filters") as told:
        check(source)
    assert told.value.options == ("topics",)
    follows = replace(source, kind="follows")
    ingest(spark, follows, tmp_path / "out")
    assert {"#", "C++"} <= set(named(read_instance(tmp_path / "out")))
    with pytest.raises(WeftError, match="which only rows of subscriptions have"):
        check(replace(follows, topics=str(tmp_path / "topics.txt")))


def named(instance: Instance) -> list[str]:
    return [instance.topic_name(topic) for topic in range(instance.topics)]


@pytest.mark.parametrize("name", ["log.csv", "log.csv.gz", "log.parquet", "list.txt"])
def test_topics_come_from_a_list_or_a_traffic_log(tmp_path: Path, name: str) -> None:
    source = replace(written_filters(tmp_path, [("hall", "x/#"), ("hall", "y")]), topics=str(tmp_path / name))
    log = pd.DataFrame({"Time": [1, 2, 3], " Topic": ["x/1", "x/2", "x/1"], "bytes": [7, 8, 9]})
    if name.endswith("parquet"):
        log.rename(columns=str.strip).to_parquet(tmp_path / name)
    elif name.endswith("txt"):
        (tmp_path / name).write_text("x/1\r\nx/2\r\n\r\n")
    else:
        log.to_csv(tmp_path / name, index=False, sep=";")
    ingest_here(source, tmp_path / "out")
    assert named(read_instance(tmp_path / "out")) == ["x/1", "x/2", "y"]


def test_a_sample_keeps_the_filters_of_its_nodes(spark: SparkSession, tmp_path: Path) -> None:
    ingest_here(written_filters(tmp_path), tmp_path / "whole")
    whole, sampling = read_instance(tmp_path / "whole"), Sampling(2, seed=3)
    sample_on_spark(spark, tmp_path / "whole", sampling, tmp_path / "sample")
    made, here = read_instance(tmp_path / "sample"), sample_here(whole, sampling)
    assert made.filters == here.filters
    assert whole.filters is not None
    assert here.filters is not None
    of_whole = {
        (whole.node_name(node), text) for node, text in zip(whole.filters.nodes, whole.filters.texts, strict=True)
    }
    of_sample = {
        (here.node_name(node), text) for node, text in zip(here.filters.nodes, here.filters.texts, strict=True)
    }
    assert here.node_names is not None
    assert of_sample == {(node, text) for node, text in of_whole if node in here.node_names}
    assert of_sample


def test_spark_knows_filters_by_the_same_rule(spark: SparkSession) -> None:
    texts = ["a/+", "#", "a#", "$share/g/a", "$share/g", "$queue/+", "C++", "+\n", "a\n/#", "", "$share/+/a"]
    rows = spark.createDataFrame(pa.table({"right_text": texts})).select(
        "right_text", is_held_filter().alias("is_filter")
    )
    assert {row["right_text"]: row["is_filter"] for row in rows.collect()} == {
        text: is_expanded(text) for text in texts
    }
