"""Tables by names of columns, from CSV with a heading, JSON lines or Parquet; gzipped CSV and JSON too."""

import json
from collections.abc import Iterable
from io import BytesIO
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import csv as arrow

from weft.errors import WeftError
from weft.model.heading import delimiter_of, names_of, place_of, require_once
from weft.model.text import chunks_of_lines, first_line, whole


def read_table(path: str) -> pa.Table:
    """All columns, those of CSV and JSON as text; no name, and no text of CSV, has blanks around it."""
    if is_json_lines(path):
        return _json_lines(path)
    if not path.endswith(".parquet"):
        return _csv(path)
    table = _parquet(path)
    names = [name.strip() for name in table.column_names]
    require_once(names, path)
    return table.rename_columns(names)


def first_of(names: Iterable[str], table: pa.Table) -> str | None:
    """The column that the table has of these, by the name that it has there."""
    places = (place_of(name, table.column_names) for name in names)
    return next((table.column_names[place] for place in places if place is not None), None)


def is_json_lines(path: str) -> bool:
    return path.removesuffix(".gz").endswith((".jsonl", ".ndjson"))


def _json_lines(path: str) -> pa.Table:
    """An object a line; what is neither text nor nothing stands as JSON writes it."""
    rows = []
    for number, line in enumerate((line for lines in chunks_of_lines(path) for line in lines), 1):
        if line.strip():
            rows.append(_row_of(path, number, line))
    names = list(dict.fromkeys(name for row in rows for name in row))
    require_once([name.strip() for name in names], path)
    return pa.table({name.strip(): pa.array([_text_of(row.get(name)) for row in rows], pa.string()) for name in names})


def _row_of(path: str, number: int, line: bytes) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except ValueError as error:
        raise WeftError(f"{path}, line {number}: it is no JSON: {error}.") from error
    if not isinstance(row, dict):
        raise WeftError(f"{path}, line {number}: it is no JSON object.")
    return row


def _text_of(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _csv(path: str) -> pa.Table:
    heading = first_line(path)
    delimiter = delimiter_of(heading)
    names = names_of(heading, delimiter, path)
    text = whole(path)
    rows = text[text.index(heading.encode()) + len(heading.encode()) :]
    if not rows.strip():
        return pa.table({name: pa.array([], pa.string()) for name in names})
    try:
        table = arrow.read_csv(
            BytesIO(rows),
            read_options=arrow.ReadOptions(column_names=names),
            parse_options=arrow.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            convert_options=arrow.ConvertOptions(column_types=dict.fromkeys(names, pa.string())),
        )
    except pa.ArrowException as error:
        if "UTF8" in str(error):
            raise WeftError(f"{path} is not UTF-8: save the file as UTF-8.") from error
        raise WeftError(f"{path} cannot be read as CSV with a heading: {error}") from error
    return pa.table({name: pc.utf8_trim_whitespace(table[name]) for name in names})


def _parquet(path: str) -> pa.Table:
    try:
        return pq.read_table(path)
    except (pa.ArrowException, OSError) as error:
        raise WeftError(f"{path} cannot be read as Parquet: {error}") from error
