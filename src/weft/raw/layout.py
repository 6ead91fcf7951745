"""How the files of a source are written: their format, and where the two ids stand in a row.

It shows in the first lines of the files, so that a wrong option is told before anything is started or read whole.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from weft.errors import WeftError
from weft.model.heading import delimiter_of, names_of, place_of, require_once
from weft.model.text import first_line, require_text
from weft.raw.source import Format, Source

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


@dataclass(frozen=True)
class Layout:
    format: Format
    left: int | str = 0  # place of the first id in a row; its name in JSON and Parquet
    right: int | str = 1
    fields: int | None = None  # that a row of text has; None: at least those of the ids
    delimiter: str = ","  # of CSV
    header: str | None = None  # of CSV, a line that is no row


@dataclass(frozen=True)
class Opening:
    """How to look at the beginning of a file: on this machine, or where Spark finds it."""

    line: Callable[[str], str]  # the first one that is not blank
    schema: Callable[[str], pa.Schema]  # of Parquet


def layout_of(source: Source, opening: Opening | None = None) -> Layout:
    samples, opening = source.samples(), opening or HERE
    format_ = source.format or _format_of(samples[0], source, opening)
    if format_ == "parquet":
        return _parquet(samples[0], source, opening.schema(samples[0]))
    for file in samples if opening is HERE else []:
        require_text(file)
    if format_ == "json-map":
        return Layout("json-map")
    if format_ == "json-lines":
        return _json_lines(samples[0], source, opening.line(samples[0]))
    if format_ == "csv":
        return _csv(samples, source, opening)
    return _edges(samples[0], source)


def _schema_here(file: str) -> pa.Schema:
    try:
        return pq.read_schema(file)
    except (pa.ArrowException, OSError) as error:
        raise WeftError(f"{file} cannot be read as Parquet: {error}".strip()) from error


HERE = Opening(first_line, _schema_here)


def _format_of(file: str, source: Source, opening: Opening) -> Format:
    suffix = Path(file.removesuffix(".gz")).suffix.lower()
    if suffix == ".json":
        return _json_format(opening.line(file), source)
    if suffix not in _SUFFIXES:
        raise WeftError(f"{file}: {suffix} does not show its format: give one with `format`.", "format")
    return _SUFFIXES[suffix]


def _json_format(line: str, source: Source) -> Format:
    """JSON lines start with a whole object whose first value, or those of the columns, are ids; else it is one map."""
    first = _json_object(line)
    if not first:
        return "json-map"
    if source.columns is not None:
        return "json-lines" if set(source.columns) <= set(first) else "json-map"
    return "json-map" if isinstance(next(iter(first.values())), list) else "json-lines"


def _json_object(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _edges(file: str, source: Source) -> Layout:
    if source.columns is None:
        return Layout("edges", fields=2)
    left, right = _places(source.columns, [], file)
    return Layout("edges", left, right)


def _csv(samples: Sequence[str], source: Source, opening: Opening) -> Layout:
    header = opening.line(samples[0])
    delimiter = _delimiter(source, samples[0], header)
    names = names_of(header, delimiter, samples[0], are_names=source.header)
    left, right = _places(source.columns, names if source.header else [], samples[0], len(names))
    if source.header:
        _require_header(samples, header, opening)
    return Layout("csv", left, right, len(names), delimiter, header if source.header else None)


def _delimiter(source: Source, file: str, header: str) -> str:
    if source.delimiter is None:
        return "\t" if file.removesuffix(".gz").endswith(".tsv") and "\t" in header else delimiter_of(header)
    if len(source.delimiter) != 1:
        raise WeftError(f"`delimiter` is one character, not {source.delimiter!r}.", "delimiter")
    return source.delimiter


def _require_header(samples: Sequence[str], header: str, opening: Opening) -> None:
    for file in samples[1:]:
        if opening.line(file) != header:
            raise WeftError(f"{file} does not have the header of {samples[0]}, which is: {header}")


def _json_lines(file: str, source: Source, line: str) -> Layout:
    first = _json_object(line)
    if first is None:
        raise WeftError(f"{file}, line 1: it is not a JSON object: {line[:80]}")
    names = list(first)
    left, right = _places(source.columns, names, file)
    return Layout("json-lines", names[left], names[right])


def _parquet(file: str, source: Source, schema: pa.Schema) -> Layout:
    require_once(schema.names, file)
    left, right = (schema.names[place] for place in _places(source.columns, schema.names, file))
    for name in (left, right):
        if not _is_id(schema.field(name).type):
            raise WeftError(f"{file}: column {name!r} is {schema.field(name).type}; ids are integers or text.")
    return Layout("parquet", left, right)


def _is_id(kind: pa.DataType) -> bool:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    return bool(text or (pa.types.is_integer(kind) and kind != pa.uint64()))


def _places(
    wanted: tuple[str, str] | None, names: Sequence[str], file: str, count: int | None = None
) -> tuple[int, int]:
    """Where the two ids stand among the columns; names are empty where the file has none."""
    listed = ", ".join(names) or f"{count} without names"
    if wanted is None:
        node, topic = place_of("node", names), place_of("topic", names)
        if node is not None and topic is not None:
            return node, topic
        if (count or len(names)) != 2:
            raise WeftError(f"{file} has the columns {listed}: name the two that matter with `columns` A,B.", "columns")
        return 0, 1
    left, right = (_place(name.strip(), names, file, listed, count or len(names) or 1000) for name in wanted)
    return left, right


def _place(name: str, names: Sequence[str], file: str, listed: str, count: int) -> int:
    """The place of a column by its name, or else by its number from 1."""
    if (place := place_of(name, names)) is not None:
        return place
    if name.isdecimal() and 1 <= int(name) <= count:
        return int(name) - 1
    raise WeftError(f"{file} has no column {name!r}; it has {listed}.")
