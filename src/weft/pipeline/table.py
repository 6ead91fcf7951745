"""Tables that Spark reads and writes: by full addresses, and counted again where they were written.

A path without a scheme means this machine to Weft, and the cluster's default file system to Spark. So Spark is never
given one. Executors write tables and the driver reads them. Where the two do not share the folder, Spark says that all
is well and rows are missing; so the rows that the driver finds are compared with those that tasks have sent there.
"""

from collections.abc import Sequence
from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from weft.errors import SurroundingsError
from weft.model.address import is_remote, local_path
from weft.pipeline.probe import require_shared

_ROWS = "_rows"


def uri(path: str | Path) -> str:
    """The address by which Spark finds a file or folder; an address stays what it is."""
    return str(path) if is_remote(path) else f"file:{local_path(path).absolute()}"


def read_table(spark: SparkSession, *paths: str | Path, schema: StructType | str | None = None) -> DataFrame:
    reader = spark.read if schema is None else spark.read.schema(schema)
    return reader.parquet(*map(uri, paths))


def write_table(rows: DataFrame, path: Path, /, **figures: Column) -> dict[str, int]:
    """Write rows and return figures of them, which are counted on the way: to read them again takes two more jobs."""
    require_shared(rows.sparkSession, path)
    seen = Observation()
    counted = rows.observe(seen, F.count("*").alias(_ROWS), *(figure.alias(name) for name, figure in figures.items()))
    counted.write.parquet(uri(path))
    found = dict(seen.get)
    require_rows(path, found.pop(_ROWS))
    return found


def rewritten(rows: DataFrame, path: Path) -> DataFrame:
    """The same rows, read from where they were written: what comes after does not make them again."""
    write_table(rows, path)
    return read_table(rows.sparkSession, path, schema=rows.schema)


def require_rows(path: Path, count: int) -> None:
    """Refuse to go on where the driver does not find what tasks have written."""
    there = sum(pq.read_metadata(part).num_rows for part in _parts(path))
    if there != count:
        raise SurroundingsError(
            f"{count:,} rows were written to {path}, and {there:,} of them are there: the executors do not share this "
            "folder with the driver. Choose one that all machines share."
        )


def _parts(path: Path) -> Sequence[Path]:
    return sorted(path.glob("*.parquet")) if path.is_dir() else []
