"""The workshop of a divided design on Spark: ranges are tasks, arrays are files that driver and executors share.

An array is a file of NumPy's, mapped into memory: the workers of a machine share its pages, and the driver reads those
that it needs. A task writes what it makes of a range to a file of its own, whole or not at all, and tells the driver
its time only. So nothing is lost with an executor but the tasks it had at hand, a killed run goes on where it was, and
no array of subscriptions is ever in the driver's memory.
"""

import json
import os
import shutil
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from weft.errors import WeftError
from weft.overlays.arcs.workshop import Array, Range, Work
from weft.pipeline.probe import require_shared
from weft.pipeline.progress import SILENCE, Progress, spark_tasks
from weft.pipeline.task import map_in_tasks

KEY, TIMES = "key.json", "times.json"


class Files:
    """Arrays by name, in a folder."""

    def __init__(self, folder: Path, files: Mapping[str, str], read: set[str] | None = None) -> None:
        self._folder, self._files, self._read = folder, dict(files), read

    def __getitem__(self, name: str) -> Array:
        if self._read is not None:
            self._read.add(self._files[name])
        path = self._folder / self._files[name]
        return _mapped(str(path), path.stat().st_mtime_ns)


@lru_cache(maxsize=24)
def _mapped(path: str, _changed: int) -> Array:
    """The array of a file, as it was at a time.

    Pages that a kernel writes would be copied: the file stays as it is, and kernels need no second version for arrays
    that are read-only.
    """
    if os.path.getsize(path) <= np.lib.format.MAGIC_LEN + 128:  # a file without data cannot be mapped
        return np.load(path)
    return np.load(path, mmap_mode="c").view(np.ndarray)


class SparkWorkshop:
    """Steps that are done already are not done again, in a folder whose key is the same."""

    def __init__(self, spark: SparkSession, folder: Path, key: Mapping[str, Any], progress: Progress = SILENCE) -> None:
        self._spark, self._folder, self._progress = spark, folder.absolute(), progress
        self._files: dict[str, str] = {}
        self._read: set[str] = set()  # files of which the driver made use
        self._run = uuid.uuid4().hex[:8]
        self._puts = 0
        require_shared(spark, self._folder)
        self._open(json.dumps(dict(key), sort_keys=True))

    def _open(self, key: str) -> None:
        path = self._folder / KEY
        if not path.is_file() or path.read_text() != key:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder.mkdir(parents=True)
            path.write_text(key)
        for left in self._folder.glob("put-*.npy"):
            left.unlink()

    @property
    def arrays(self) -> Files:
        """Arrays for the driver; those that it has read it will read again when a killed run goes on."""
        return Files(self._folder, self._files, self._read)

    @property
    def _of_tasks(self) -> Files:
        return Files(self._folder, self._files)

    def put(self, **arrays: Array) -> None:
        for name, array in arrays.items():
            self._puts += 1
            file = f"put-{self._run}-{self._puts}-{name}.npy"
            np.save(self._folder / file, array)
            self._register({name: file})

    def drop(self, *names: str) -> None:
        for name in names:
            (self._folder / self._files.pop(name)).unlink(missing_ok=True)

    def run(self, step: str, work: Work, ranges: Sequence[Range]) -> None:
        """One range is done by the driver, which has all cores of its machine for it."""
        if len(ranges) == 1:
            self.run_here(step, work, ranges)
            return
        if not self.is_done(step):
            self._do(step, work, ranges)
        self.finish(step, len(ranges))

    def run_here(self, step: str, work: Work, ranges: Sequence[Range]) -> None:
        """The same in this process, for work that takes less time than a job of Spark."""
        if not self.is_done(step):
            for number, of in enumerate(ranges):
                write_piece(self.piece_folder(step), number, work(self._of_tasks, *of))
        self.finish(step, len(ranges))

    def is_done(self, step: str) -> bool:
        return (self._folder / f"{step}.json").is_file()

    def piece_folder(self, step: str) -> Path:
        """Where the pieces of a step are written, by those who do it themselves."""
        (self._folder / step).mkdir(exist_ok=True)
        return self._folder / step

    def finish(self, step: str, count: int) -> None:
        """The columns of all pieces, one piece after the other, become arrays; the step is done."""
        if not self.is_done(step):
            self._join(step, [self._folder / step / f"{number}.npz" for number in range(count)])
        shutil.rmtree(self._folder / step, ignore_errors=True)
        self._register(json.loads((self._folder / f"{step}.json").read_text()))

    def _join(self, step: str, pieces: Sequence[Path]) -> None:
        files = {}
        for name, shape, kind in _columns_of(pieces):
            files[name] = f"{step}-{name}.npy"
            whole = np.lib.format.open_memmap(self._folder / files[name], "w+", kind, shape)
            first = 0
            for piece in pieces:
                with np.load(piece) as columns:
                    part = columns[name]
                whole[first : first + len(part)] = part
                first += len(part)
            del whole
        (self._folder / f".{step}.json").write_text(json.dumps(files))
        (self._folder / f".{step}.json").rename(self._folder / f"{step}.json")

    def _do(self, step: str, work: Work, ranges: Sequence[Range]) -> None:
        """The tasks of a step that are not done."""
        folder, arrays = self.piece_folder(step), self._of_tasks
        left = [number for number in range(len(ranges)) if not (folder / f"{number}.npz").is_file()]
        if not left:
            return

        def do(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                for index in batch.column("id").to_pylist():
                    start = time.process_time()
                    refused = _refusal(folder, left[index], work, arrays, ranges[left[index]])
                    row = {"seconds": [time.process_time() - start], "refused": pa.array([refused], pa.string())}
                    yield pa.RecordBatch.from_pydict(row)

        tasks = self._spark.range(0, len(left), 1, len(left))
        with self._progress.step(step, spark_tasks(self._spark)):
            told = map_in_tasks(tasks, do, "seconds DOUBLE, refused STRING").toArrow()
        if told["refused"].null_count < len(told):
            raise WeftError(told["refused"].drop_null()[0].as_py())
        with (self._folder / TIMES).open("a") as file:
            file.write(json.dumps({step: [round(seconds, 3) for seconds in told["seconds"].to_pylist()]}) + "\n")

    @property
    def times(self) -> dict[str, list[float]]:
        """Processor seconds of the tasks of every step."""
        found: dict[str, list[float]] = {}
        path = self._folder / TIMES
        for line in path.read_text().splitlines() if path.is_file() else []:
            for step, seconds in json.loads(line).items():
                found.setdefault(step, []).extend(seconds)
        return found

    def _register(self, files: Mapping[str, str]) -> None:
        """The old file of a name goes, its readers are done; what a step made for the driver stays."""
        for name, file in files.items():
            old = self._files.get(name, file)
            if old != file and (old.startswith("put-") or old not in self._read):
                self.drop(name)
            self._files[name] = file


def _refusal(folder: Path, number: int, work: Work, arrays: Files, of: Range) -> str | None:
    """What is wrong with the input of a task, for the driver to tell; None where its piece is written."""
    try:
        write_piece(folder, number, work(arrays, *of))
    except WeftError as error:
        return str(error)
    return None


def write_piece(folder: Path, number: int, columns: Mapping[str, Array]) -> None:
    partial = folder / f".{number}-{uuid.uuid4().hex}.npz"
    np.savez(partial, **columns)
    partial.rename(folder / f"{number}.npz")


def _columns_of(pieces: Sequence[Path]) -> Iterator[tuple[str, tuple[int, ...], Any]]:
    """Names, shapes and types of the columns of all pieces together; only their headers are read."""
    rows: dict[str, int] = {}
    form: dict[str, tuple[tuple[int, ...], Any]] = {}
    for piece in pieces:
        with np.load(piece) as columns:
            for name in columns.files:
                column = columns[name]
                rows[name] = rows.get(name, 0) + len(column)
                form[name] = column.shape[1:], column.dtype
    for name, (rest, kind) in form.items():
        yield name, (rows[name], *rest), kind
