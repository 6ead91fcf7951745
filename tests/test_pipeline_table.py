"""Tables on a cluster whose default file system is another one, and rows that are not where they were written."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from weft.errors import SurroundingsError
from weft.model.instance import read_instance
from weft.overlays.catalog import design as design_here
from weft.pipeline.design import design
from weft.pipeline.generate import generate
from weft.pipeline.ingest import ingest
from weft.pipeline.sample import sample
from weft.pipeline.table import read_table, require_rows, uri, write_table
from weft.raw.source import Source
from weft.workloads.sample import Sampling


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> Iterator[SparkSession]:
    """A session whose paths without a scheme lie elsewhere: Hadoop's own ViewFs, mounted on another folder."""
    (tmp_path / "lake").mkdir()
    settings = {
        "fs.defaultFS": "viewfs://lake/",
        "fs.viewfs.mounttable.lake.link./data": f"file://{tmp_path / 'lake'}",
    }
    for key, value in settings.items():
        spark.conf.set(key, value)
    try:
        yield spark
    finally:
        for key in settings:
            spark.conf.unset(key)


def test_every_stage_works_where_another_file_system_is_the_default(lake: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(Exception, match="viewfs"):  # what a path without a scheme comes to
        lake.range(1).write.parquet(str(tmp_path / "nowhere"))
    edges = tmp_path / "edges.txt"
    edges.write_text("".join(f"u{n} u{(n + step) % 30}\n" for n in range(30) for step in (1, 5)))
    ingest(lake, Source((str(edges),), "edges"), tmp_path / "instance")
    edges.rename(tmp_path / "lake" / "edges.txt")
    ingest(lake, Source(("viewfs://lake/data/edges.txt",), "edges"), tmp_path / "from-there")
    assert read_instance(tmp_path / "from-there").fingerprint == read_instance(tmp_path / "instance").fingerprint
    (tmp_path / "lake" / "edges.txt").unlink()
    sample(lake, tmp_path / "instance", Sampling(12, "bfs", 1), tmp_path / "sample")
    generate(lake, "unif", tmp_path / "drawn", nodes=20, topics=10, subscriptions=3, seed=1)
    drawn = read_instance(tmp_path / "drawn")
    for name in ("dc", "gm"):
        there = design(lake, tmp_path / "drawn", name, tmp_path / name, seed=1)
        assert there.fingerprint == design_here(drawn, name, seed=1).fingerprint
    assert read_instance(tmp_path / "sample").nodes == 12
    assert not any((tmp_path / "lake").iterdir())


def test_rows_that_the_driver_does_not_find_are_missed(spark: SparkSession, tmp_path: Path) -> None:
    write_table(spark.range(10).repartition(2), tmp_path / "t")
    part = min((tmp_path / "t").glob("*.parquet"))
    part.unlink()
    with pytest.raises(SurroundingsError, match=r"10 rows were written to .*/t, and \d of them are there"):
        require_rows(tmp_path / "t", 10)


def test_a_table_without_rows_is_whole(spark: SparkSession, tmp_path: Path) -> None:
    write_table(spark.range(0), tmp_path / "t")
    assert read_table(spark, tmp_path / "t", schema="id BIGINT").count() == 0


@pytest.mark.parametrize(
    ("path", "address"),
    [
        ("/a/b c", "file:/a/b c"),
        ("s3a://bucket/x", "s3a://bucket/x"),
        ("file:///a/b", "file:/a/b"),
        (Path("/a"), "file:/a"),
    ],
)
def test_spark_is_given_full_addresses(path: str | Path, address: str) -> None:
    assert uri(path) == address
