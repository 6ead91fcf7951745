"""Whether driver and executors share a folder, asked before any work: what a task writes there, others must find.

Spark does not ask. An executor with a disk of its own writes its part of a table to that disk, reports success, and
the rows are missing for everybody else. Tasks wait a moment, so that every executor gets one.
"""

import time
import uuid
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from socket import gethostname
from weakref import WeakKeyDictionary

import pyarrow as pa
from pyspark.sql import SparkSession

from weft.errors import SurroundingsError
from weft.model.storage import remove
from weft.pipeline.task import map_in_tasks

MOMENT = 0.3  # seconds of a task
MOST = 64  # tasks
UNKNOWN = 8  # tasks where Spark's cores are not known, as with Connect

_shared: "WeakKeyDictionary[SparkSession, set[Path]]" = WeakKeyDictionary()


def require_shared(spark: SparkSession, output: Path) -> None:
    """Refuse an output in a folder that some executor does not share; a session asks once for each folder."""
    place = _place(output)
    known = _shared.setdefault(spark, set())
    if _is_one_machine(spark) or not known.isdisjoint((place, *place.parents)):
        return
    folder = place / f".probe-{uuid.uuid4().hex}"
    folder.mkdir()
    try:
        strangers = _strangers(spark, folder)
    finally:
        remove(folder)
    if strangers:
        raise SurroundingsError(
            f"Executors on {', '.join(sorted(strangers))} do not share {place} with the driver: choose a folder that "
            "all machines have under this path."
        )
    known.add(place)


def _place(output: Path) -> Path:
    """The folder in which an output will appear, and beside it what is hidden until then."""
    place = next(parent for parent in output.absolute().parents if parent.is_dir())
    while place.name.startswith("."):
        place = place.parent
    return place


def _is_one_machine(spark: SparkSession) -> bool:
    """Whether tasks run in the driver's own Java."""
    return hasattr(spark, "sparkContext") and str(spark.sparkContext.master).partition("[")[0] == "local"


def _strangers(spark: SparkSession, folder: Path) -> set[str]:
    """Hosts of executors that leave nothing in the folder, or do not find there what others and the driver left."""
    (folder / "driver").touch()
    cores = spark.sparkContext.defaultParallelism if hasattr(spark, "sparkContext") else UNKNOWN
    count = max(2, min(cores, MOST))
    left = _answers(spark, folder, count, leaving=True)
    there = {path.name for path in folder.iterdir()}
    found = _answers(spark, folder, count, leaving=False)
    return {host for host, mark, _ in left if mark not in there} | {host for host, _, n in found if n < len(there)}


def _answers(spark: SparkSession, folder: Path, count: int, *, leaving: bool) -> list[tuple[str, str, int]]:
    """Host of every task, name of the file that it left, and how many files it has found."""

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column("id").to_pylist():
                mark, found = f"task-{number}-{uuid.uuid4().hex}", 0
                with suppress(OSError):
                    found = len(list(folder.iterdir()))
                    if leaving:
                        (folder / mark).touch()
                time.sleep(MOMENT)
                yield pa.RecordBatch.from_pydict({"host": [gethostname()], "mark": [mark], "found": [found]})

    rows = map_in_tasks(spark.range(0, count, 1, count), task, "host STRING, mark STRING, found BIGINT").toArrow()
    return list(zip(*(rows[name].to_pylist() for name in rows.column_names), strict=True))
