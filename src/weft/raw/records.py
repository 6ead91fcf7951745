"""Rows by names of columns, whatever they came in: CSV with a heading, JSON lines, Parquet, or a table in memory.

A value is a number or a text. In CSV a cell that is a number as JSON writes it is one (`12`, `-0.5`, `1e3`; not `007`
or `+5`), an empty cell is no value, and everything else is text; elsewhere values have types of their own. A row that
cannot be used is named with its file and line.
"""

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from math import isfinite
from os import PathLike
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from weft.arrays import Bools, Floats
from weft.errors import WeftError
from weft.model.content import Value
from weft.model.heading import delimiter_of
from weft.model.matching import Column
from weft.model.text import chunks_of_lines, first_line, whole
from weft.raw.source import sample_of
from weft.raw.table import first_of, is_json_lines, read_table

Given = Any  # a path, an Arrow table, a frame of pandas, or a sequence of mappings

_NUMBER = r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$"


@dataclass(frozen=True, eq=False)
class Records:
    name: str  # of the file, or of the argument
    table: pa.Table
    is_file: bool

    def __len__(self) -> int:
        return int(self.table.num_rows)

    @property
    def columns(self) -> list[str]:
        return list(self.table.column_names)

    def has(self, column: str) -> bool:
        return first_of([column], self.table) is not None

    def require(self, column: str) -> pa.ChunkedArray:
        found = first_of([column], self.table)
        if found is None:
            raise WeftError(f"{self.name} has no column {column!r}; it has {', '.join(self.columns) or 'none'}.")
        return self.table[found]

    def texts(self, column: str, *, may_be_empty: bool = False) -> list[str]:
        """Names, without blanks around them."""
        found = pc.fill_null(pc.utf8_trim_whitespace(self.require(column).cast(pa.string())), "")
        empty = None if may_be_empty else pc.index(found, "").as_py()
        if empty is not None and empty >= 0:
            raise self.bad(empty, f"it has no {column}")
        texts: list[str] = found.to_pylist()
        return texts

    def numbers(self, column: str) -> Floats:
        values = self.require(column)
        try:
            found: Floats = values.cast(pa.float64()).to_numpy().astype(np.float64)
        except pa.ArrowException:
            found = np.array([_float(value) for value in values.to_pylist()])
        wrong = np.flatnonzero(~np.isfinite(found))
        if len(wrong):
            raise self.bad(int(wrong[0]), f"{values[int(wrong[0])].as_py()!r} is no number of {column}")
        return found

    def value_column(self, column: str) -> Column:
        values = self.table[column]
        kind = values.type
        if pa.types.is_dictionary(kind):
            values, kind = values.cast(kind.value_type), kind.value_type
        if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
            return Column(self._finite(column, pc.fill_null(values.cast(pa.float64()), np.nan).to_numpy()))
        if pa.types.is_boolean(kind):
            return Column(None, _objects(pc.if_else(values, "true", "false")))
        if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
            return Column(None, _objects(values.cast(pa.string())))
        if not self.is_file or self.name.endswith(".parquet"):
            return Column(None, _objects(values))
        is_number = pc.fill_null(pc.match_substring_regex(values, _NUMBER), False)
        numbers = pc.if_else(is_number, values, pa.scalar(None, pa.string())).cast(pa.float64())
        others = pc.if_else(pc.or_(is_number, pc.equal(values, "")), pa.scalar(None, pa.string()), values)
        found = self._finite(column, pc.fill_null(numbers, np.nan).to_numpy())
        return Column(found, None if others.null_count == len(others) else _objects(others))

    def objects(self) -> dict[str, Column]:
        """All columns of JSON lines, with the types that JSON gives."""
        lines = [line.decode() for chunk in chunks_of_lines(self.name) for line in chunk if line.strip()]
        return json_columns(self, lines)

    def _finite(self, column: str, values: Floats) -> Floats:
        wrong = np.flatnonzero(np.isinf(values))
        if len(wrong):
            raise self.bad(int(wrong[0]), f"its {column} is no finite number")
        return values

    def bad(self, row: int, problem: str) -> WeftError:
        """What is wrong with a row, and where it stands."""
        if not self.is_file:
            return WeftError(f"{self.name}, row {row + 1}: {problem}.")
        if self.name.endswith(".parquet"):
            return WeftError(f"{self.name}, row {row + 1}: {problem}.")
        return WeftError(f"{self.name}, line {_line_of(self.name, row)}: {problem}.")


def records_of(given: Given, name: str) -> Records:
    if isinstance(given, str | PathLike):
        path = sample_of(str(given))
        return Records(path, read_table(path), True)
    if isinstance(given, pa.Table):
        return Records(name, given, False)
    if hasattr(given, "to_arrow"):
        return Records(name, given.to_arrow(), False)
    if hasattr(given, "columns") and hasattr(given, "dtypes"):
        return Records(name, pa.Table.from_pandas(given, preserve_index=False), False)
    if isinstance(given, Sequence) and all(isinstance(row, Mapping) for row in given):
        return Records(name, pa.Table.from_pylist(list(given)), False)
    raise WeftError(f"`{name}` is neither a file, a table nor rows: give one of them.", name)


def json_columns(records: Records, documents: Sequence[str | None]) -> dict[str, Column]:
    """Columns of JSON objects, a row each; what is inside another is named with a dot, and lists are no values."""
    numbers: dict[str, Floats] = {}
    texts: dict[str, Any] = {}
    for row, document in enumerate(documents):
        for name, value in _flat(_object(records, row, document)):
            if isinstance(value, str):
                if name not in texts:
                    texts[name] = np.full(len(documents), None, object)
                texts[name][row] = value
            else:
                if name not in numbers:
                    numbers[name] = np.full(len(documents), np.nan)
                numbers[name][row] = value
    return {name: Column(numbers.get(name), texts.get(name)) for name in [*numbers, *(texts.keys() - numbers.keys())]}


def _object(records: Records, row: int, document: str | None) -> Mapping[str, Any]:
    try:
        found = json.loads(document or "{}")
    except ValueError as error:
        raise records.bad(row, f"its payload is no JSON: {error}") from error
    if not isinstance(found, dict):
        raise records.bad(row, "its payload is no JSON object")
    return found


def _flat(values: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Value]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{before}{name}.")
        elif isinstance(value, bool):
            yield before + name, "true" if value else "false"
        elif isinstance(value, str) or (isinstance(value, int | float) and isfinite(value)):
            yield before + name, value


def flags_of(records: Records, column: str) -> Bools:
    """Whether each row has a high priority."""
    words = [word.lower() for word in records.texts(column, may_be_empty=True)]
    known = {"high": True, "1": True, "true": True, "yes": True, "": False, "0": False, "false": False, "no": False}
    known |= {"normal": False, "low": False}
    for row, word in enumerate(words):
        if word not in known:
            raise records.bad(row, f"its {column} is {word!r}: give high or normal")
    return np.array([known[word] for word in words], np.bool_)


def _objects(values: pa.ChunkedArray) -> Any:
    """Texts as Python has them, equal ones the same object."""
    encoded = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    encoded = pc.dictionary_encode(encoded.cast(pa.string()))
    words = np.array([*encoded.dictionary.to_pylist(), None], object)
    return words[pc.fill_null(encoded.indices, len(words) - 1).to_numpy(zero_copy_only=False)]


def _float(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return float("nan")


def _line_of(file: str, row: int) -> int:
    """The line at which a row of a text file begins; of CSV the heading is no row."""
    text = whole(file).decode(errors="replace")
    if is_json_lines(file):
        return [number for number, line in enumerate(text.splitlines(), 1) if line.strip()][row]
    reader = csv.reader(StringIO(text), delimiter=delimiter_of(first_line(file)), skipinitialspace=True)
    before, found = 0, -1
    for fields in reader:
        if fields:
            found += 1
        if found == row + 1:
            return before + 1
        before = reader.line_num
    return before
