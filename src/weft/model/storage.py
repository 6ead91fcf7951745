"""Files that appear whole or not at all, and columns read with their types checked.

Output is written beside its destination, under a hidden name that carries the process id, and renamed when it is
complete. What a killed process left behind is swept away by the next one that writes to the same place.
"""

import errno
import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy.typing as npt
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from weft.arrays import Int64s
from weft.ending import Order, at_stop, wrote
from weft.errors import SurroundingsError, WeftError
from weft.model.address import local_path

Meta = dict[str, Any]

META_KEY = b"weft"  # in a Parquet file

MARKS = ("meta.json", "experiment.json")  # a folder that has one of them is Weft's own
OWN = frozenset(  # what such a folder may have in it, of whichever kind it is
    (
        *MARKS,
        *("interest.parquet", "nodes.parquet", "topics.parquet", "publishers.parquet", "rejected.parquet"),  # instance
        "latency.csv",  # snapshot
        *("links.parquet", "links.csv", "trees.parquet"),  # overlay
        *("instance", "overlay", "bridges.parquet", "clients.parquet", "filters.parquet"),  # fleet
        *("plan.json", "flows.parquet", "changes.md"),  # export
        *("results.parquet", "table.md", "trials.csv", "summary.json", "summary.csv", "figure.svg"),  # experiment
        *("rounds.csv", "nodes.csv"),  # Vitis
    )
)
EXPORTED = (".conf", ".json5")  # a file a broker
PART = re.compile(r"part-.*|[_.].*")  # in a folder of Parquet files, by Spark
BESIDE = re.compile(r"\.(.+)\.(kept|lock|(partial|replaced|scratch)-\d+)")  # what a killed process leaves


def require_absent(path: Path, force: bool) -> None:
    if path.exists() and not force:
        raise WeftError(f"{path} exists already: choose another `path`, or replace it with `force`.", "path", "force")
    if path.is_dir() and any(path.iterdir()) and not any((path / mark).is_file() for mark in MARKS):
        raise WeftError(
            f"{path} is a folder of something else, which `force` does not replace: choose another `path`.",
            "force",
            "path",
        )
    stranger = _stranger(path) if path.is_dir() else None
    if stranger is not None:
        raise WeftError(
            f"{stranger} is none of Weft's files, and `force` would delete it with {path}: move it elsewhere, or "
            "choose another `path`.",
            "force",
            "path",
        )


def _stranger(folder: Path) -> Path | None:
    """Something in a folder of Weft's that Weft does not put there."""
    for entry in sorted(folder.iterdir()):
        beside = BESIDE.fullmatch(entry.name)
        if entry.name not in OWN and not (beside and beside[1] in OWN) and not _is_exported(entry):
            return entry
        inside = None if beside or not entry.is_dir() or entry.is_symlink() else _stranger_inside(entry)
        if inside is not None:
            return inside
    return None


def _is_exported(path: Path) -> bool:
    return path.suffix in EXPORTED and "export" in read_meta(path.parent, "a folder of Weft's")


def _stranger_inside(folder: Path) -> Path | None:
    if folder.suffix == ".parquet":
        return next((part for part in sorted(folder.iterdir()) if not PART.fullmatch(part.name)), None)
    return _stranger(folder)


@contextmanager
def new_path(path: str | Path, *, force: bool = False) -> Iterator[Path]:
    """A name to write a file or folder under; it becomes `path` when the block ends without an error."""
    path = local_path(path)
    require_absent(path, force)
    _sweep(path)
    partial = path.absolute().with_name(f".{path.name}.partial-{os.getpid()}")  # Spark may have another working folder
    try:
        with at_stop(Order.FILES, lambda: remove(partial)):
            path.parent.mkdir(parents=True, exist_ok=True)
            yield partial
            _replace(partial, path, force)
            wrote(path)
    except OSError as error:
        raise not_written(error, path) from error
    finally:
        remove(partial)


@contextmanager
def new_folder(path: str | Path, *, force: bool = False) -> Iterator[Path]:
    with new_path(path, force=force) as partial:
        partial.mkdir()
        yield partial


@contextmanager
def scratch_folder(output: Path) -> Iterator[Path]:
    """A folder for what is not kept, on the disk of the output, which a cluster's executors share too."""
    _sweep(output)
    place = next(parent for parent in output.absolute().parents if parent.is_dir())
    folder = place / f".{output.name}.scratch-{os.getpid()}"
    with at_stop(Order.FILES, lambda: remove(folder)):
        folder.mkdir()
        try:
            yield folder
        finally:
            remove(folder)


def kept_beside(output: Path) -> Path:
    """A folder for what is worth keeping when the process is killed before the output is there."""
    return output.absolute().with_name(f".{output.name}.kept")


def _replace(partial: Path, path: Path, force: bool) -> None:
    require_absent(path, force)  # it may have appeared since
    if path.is_dir() and not partial.is_dir():
        raise WeftError(f"{path} is a folder, which a file does not replace: choose another `path`.", "path")
    if path.is_dir():
        # A folder cannot be renamed over a full one; between the two renames `path` is absent, never half.
        old = path.with_name(f".{path.name}.replaced-{os.getpid()}")
        path.rename(old)
        partial.rename(path)
        remove(old)
    else:
        partial.replace(path)


def _sweep(path: Path) -> None:
    if not path.parent.is_dir():
        return
    leftover = re.compile(rf"\.{re.escape(path.name)}\.(partial|replaced|scratch)-(\d+)")
    for sibling in path.parent.iterdir():
        match = leftover.fullmatch(sibling.name)
        if match and not _in_use(match[1], int(match[2])):
            remove(sibling)


def _in_use(kind: str, pid: int) -> bool:
    """Whether the process that made it needs it still; this one has no two partial outputs of one name."""
    if pid == os.getpid():
        return kind == "scratch"
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    elif path.exists():
        path.unlink()


def not_written(error: OSError, path: Path) -> SurroundingsError:
    if error.errno == errno.ENOSPC:
        sentence = f"No space left on the disk of {path}: free some and run the command again; nothing was written."
        return SurroundingsError(sentence)
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return SurroundingsError(f"{path} cannot be written: no permission. Choose another `path`.", "path")
    if error.errno in (errno.EEXIST, errno.ENOTDIR):
        sentence = f"{path} cannot be written: a file is where a folder should be. Choose another `path`."
        return SurroundingsError(sentence, "path")
    return SurroundingsError(f"{path} cannot be written: {error.strerror or error}.")


def write_columns(path: Path, columns: Mapping[str, pa.Array | npt.NDArray[Any]], meta: Meta | None = None) -> None:
    """The meta goes into the file, for `read_file_meta`."""
    table = pa.table(dict(columns))
    if meta is not None:
        table = table.replace_schema_metadata(file_meta(meta))
    pq.write_table(table, path, compression="zstd")


def file_meta(meta: Mapping[str, Any]) -> dict[bytes, str]:
    """The meta of a Parquet file, as it stands in its schema."""
    return {META_KEY: json.dumps(dict(meta))}


def read_file_meta(path: Path) -> Meta:
    """The meta that a Parquet file was written with; empty where it has none, as a folder of files."""
    if path.is_dir():
        return {}
    return dict(json.loads((pq.read_schema(path).metadata or {}).get(META_KEY, b"{}")))


def read_columns(
    path: Path, types: Mapping[str, pa.DataType], nullable: Sequence[str] = (), rows: ds.Expression | None = None
) -> pa.Table:
    """The named columns of a Parquet file, or of a folder of them, cast to the given types; of some rows, or of all."""
    if not path.exists():
        raise WeftError(f"{path} does not exist.")
    try:
        dataset = _dataset(path)
        missing = [name for name in types if name not in dataset.schema.names]
        if missing:
            raise WeftError(f"{path} has no column {missing[0]!r}; it has {', '.join(dataset.schema.names) or 'none'}.")
        table = dataset.to_table(columns=list(types), filter=rows).cast(pa.schema(types.items()))
    except (pa.ArrowException, OSError) as error:  # Arrow reports corrupt pages by an OSError without a name
        raise WeftError(f"{path} cannot be read as Parquet with {_listed(types)}: {error}".strip()) from error
    for name in types:
        if name not in nullable and table[name].null_count:
            raise WeftError(f"{path} has empty values in column {name!r}.")
    return table


def has_column(path: Path, name: str) -> bool:
    """False where there is no such Parquet file, which `read_columns` tells."""
    try:
        return path.exists() and name in _dataset(path).schema.names
    except (pa.ArrowException, OSError):
        return False


def _dataset(path: Path) -> ds.Dataset:
    return ds.dataset(path, format="parquet", exclude_invalid_files=False)


def _listed(types: Mapping[str, pa.DataType]) -> str:
    return ", ".join(f"{name} ({kind})" for name, kind in types.items())


def int64_column(table: pa.Table, name: str) -> Int64s:
    values: Int64s = table[name].to_numpy()
    return values


def write_meta(folder: Path, meta: Mapping[str, Any]) -> None:
    (folder / "meta.json").write_text(json.dumps(meta, indent=2) + "\n")


def read_meta(folder: Path, kind: str, *counts: str) -> Meta:
    """Meta of an instance or overlay: meta.json, by which such a folder is known, and which has the counts."""
    if not folder.exists():
        raise WeftError(f"{folder} does not exist.")
    path = folder / "meta.json"
    if not path.is_file():
        raise WeftError(f"{folder} is not {kind}: it has no meta.json.")
    try:
        meta = json.loads(path.read_text())
    except ValueError as error:
        raise WeftError(f"{path} is not JSON: {error}.") from error
    if not isinstance(meta, dict):
        raise WeftError(f"{folder} is not {kind}: its meta.json is not a JSON object.")
    for key in counts:
        if key not in meta:
            raise WeftError(f"{folder} is not {kind}: its meta.json has no {key!r}.")
        if not isinstance(meta[key], int) or meta[key] < 0:
            raise WeftError(f"{path}: {key} is {meta[key]!r}, not a number of {key}.")
    return meta
