"""What rows say: batches of raw data as batches of two ids, by the same rules wherever they are read.

Spark's tasks and the engine of one process call the same functions, over Arrow's arrays. A row that cannot be read is a
row like the others, which can be counted, kept, and reported. The columns of the result are
    left, right              the ids, where they are integers in plain notation, else null
    left_text, right_text    the ids where they are anything else, else null
    trimmed                  how many of the two had blanks around them, which are no part of a name
    problem, content         what is wrong with the row, and the row as it stands in the file; null where all is well
    line                     of the batch that the row comes from: a line may be no row, or several
so that integer ids, the usual case by far, are never kept as text.
"""

import csv
import json
import re
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from weft.arrays import Int64s
from weft.errors import WeftError
from weft.raw.layout import Layout

SCHEMA = pa.schema(
    {
        "left": pa.int64(),
        "left_text": pa.string(),
        "right": pa.int64(),
        "right_text": pa.string(),
        "trimmed": pa.int64(),
        "problem": pa.string(),
        "content": pa.string(),
        "line": pa.int64(),
    }
)
IDS = ("left", "left_text", "right", "right_text")

_PLAIN = r"^(0|-?[1-9][0-9]{0,17})$"
_LONG = r"^-?[1-9][0-9]{18}$"  # it may be more than 64 bits hold
_NOT_UTF8 = "it is not UTF-8"


def rows_of_lines(lines: pa.Array, layout: Layout) -> pa.RecordBatch:
    """Rows of text: an array of bytes, a line each."""
    text, is_broken = _decoded(lines)
    kept = pc.and_(pc.not_equal(pc.utf8_trim_whitespace(text), ""), _is_row(text, layout))
    number = pa.array(np.flatnonzero(kept.to_numpy(zero_copy_only=False)), pa.int64())
    text, is_broken = text.take(number), is_broken.take(number)
    if layout.format == "json-lines":
        first, second, problem, row = _objects(text.to_pylist(), layout)
        text, is_broken, number = text.take(row), is_broken.take(row), number.take(row)
    else:
        first, second, problem = _fields(text, layout)
    problem = pc.if_else(is_broken, _NOT_UTF8, problem)
    return _rows(first, second, problem, text, number)


def rows_of_columns(first: pa.Array, second: pa.Array, layout: Layout) -> pa.RecordBatch:
    """Rows of Parquet: two arrays of integers or text."""
    number = pa.array(np.arange(len(first), dtype=np.int64))
    rows = _rows(_plain(first), _plain(second), pa.nulls(len(first), pa.string()), number.cast(pa.string()), number)
    pairs = zip(first.to_pylist(), second.to_pylist(), strict=True)
    if rows["problem"].null_count < len(rows):
        written = [json.dumps({str(layout.left): u, str(layout.right): v}, ensure_ascii=False) for u, v in pairs]
        content = pc.if_else(pc.is_valid(rows["problem"]), pa.array(written, pa.string()), None)
        rows = rows.set_column(SCHEMA.get_field_index("content"), SCHEMA.field("content"), content)
    return rows


def rows_of_map(document: bytes) -> pa.RecordBatch:
    """Rows of a JSON map, {"id": ["id", ...], ...}; the line is that of the id before the list."""
    text = document.decode(errors="replace")
    try:
        lists = json.loads(document.removeprefix(b"\xef\xbb\xbf"))
    except UnicodeDecodeError:
        return _broken(text, _NOT_UTF8, 0)
    except json.JSONDecodeError as error:
        return _broken(
            text.splitlines()[error.lineno - 1] if text else "", f"it is not JSON: {error.msg}", error.lineno - 1
        )
    if not isinstance(lists, dict):
        return _broken(text, "it is not a JSON map of lists", 0)
    first, second, problems, keys = [], [], [], []
    for key, items in lists.items():
        for item in items if isinstance(items, list) else [None]:
            name, problem = _id_of(item, "second")
            if not isinstance(items, list):
                problem = "its value is not a list"
            first.append(key)
            second.append(name)
            problems.append(problem)
            keys.append(key)
    content = pa.array(
        [
            f"{json.dumps(key, ensure_ascii=False)}: {json.dumps(lists[key], ensure_ascii=False)}" if problem else ""
            for key, problem in zip(keys, problems, strict=True)
        ],
        pa.string(),
    )
    number = pa.array(
        [_line_of(key, text) if problem else 0 for key, problem in zip(keys, problems, strict=True)], pa.int64()
    )
    return _rows(_text(first), _text(second), _text(problems), content, number)


def rejection(file: str, line: int, problem: str, content: str, count: int | None = None) -> WeftError:
    """The error of a row that cannot be read, of so many in all."""
    others = f" ({count} such rows in all)" if count and count > 1 else ""
    shown = "" if problem == _NOT_UTF8 else f": {content[:200]!r}"
    return WeftError(
        f"{file}, line {line}: {problem}{shown}{others}. Mend it, or leave such rows out with `on_bad_row` skip.",
        "on_bad_row",
    )


def _decoded(lines: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Lines as text, and whether each is not UTF-8."""
    try:
        return lines.cast(pa.string()), pa.array(np.zeros(len(lines), np.bool_))
    except pa.ArrowInvalid:
        text = [line.decode(errors="replace") for line in lines.to_pylist()]
        broken = [line.encode() != raw for line, raw in zip(text, lines.to_pylist(), strict=True)]
        return pa.array(text, pa.string()), pa.array(broken, pa.bool_())


def _is_row(text: pa.Array, layout: Layout) -> pa.Array:
    """Whether a line is a row, and not a header or a comment: # and % start one in SNAP's and KONECT's edge lists."""
    if layout.header is not None:
        return pc.not_equal(text, layout.header)
    if layout.format == "edges":
        return pc.invert(pc.match_substring_regex(text, r"^\s*[#%]"))
    return pa.array(np.ones(len(text), np.bool_))


def _fields(text: pa.Array, layout: Layout) -> tuple[pa.Array, pa.Array, pa.Array]:
    """The two ids of every line, and what is wrong with it."""
    problem = pa.nulls(len(text), pa.string())
    if layout.format == "edges":
        fields = pc.utf8_split_whitespace(pc.utf8_trim_whitespace(text))
    elif pc.any(pc.match_substring(text, '"')).as_py():
        fields, problem = _quoted(text.to_pylist(), layout)
    else:
        fields = pc.split_pattern(text, layout.delimiter)
    offsets = fields.offsets.to_numpy()
    counts = np.diff(offsets)
    if layout.fields is not None:
        told = pc.binary_join_element_wise(
            f"{layout.fields} fields are expected, not", pa.array(counts).cast(pa.string()), " "
        )
        problem = pc.coalesce(
            problem, pc.if_else(pa.array(counts == layout.fields), pa.scalar(None, pa.string()), told)
        )
    first, second = (_field(fields.values, offsets, counts, int(place)) for place in (layout.left, layout.right))
    return first, second, problem


def _quoted(lines: list[str], layout: Layout) -> tuple[pa.Array, pa.Array]:
    """Fields of lines of which some have quotes; those that have none are split as they are where no line has any."""
    reader = partial(csv.reader, delimiter=layout.delimiter, strict=True, skipinitialspace=True)
    rows: list[list[str]] = []
    problems: list[str | None] = []
    for line in lines:
        try:
            rows.append(next(reader([line])) if '"' in line else line.split(layout.delimiter))
            problems.append(None)
        except csv.Error:
            rows.append([])
            problems.append("a quote is out of place, or not closed on its line")
    return pa.array(rows, pa.list_(pa.string())), pa.array(problems, pa.string())


def _field(values: pa.Array, offsets: Int64s, counts: Int64s, place: int) -> pa.Array:
    absent = counts <= place
    return values.take(pa.array(np.where(absent, 0, offsets[:-1] + place), pa.int64(), mask=absent))


def _objects(lines: list[str], layout: Layout) -> tuple[pa.Array, pa.Array, pa.Array, pa.Array]:
    """Ids, problem and line of every row: an object a line, whose second value may be a list."""
    found = [(*row, number) for number, line in enumerate(lines) for row in _rows_of_object(line, layout)]
    first, second, problem, number = zip(*found, strict=True) if found else ((), (), (), ())
    return _text(first), _text(second), _text(problem), pa.array(number, pa.int64())


def _rows_of_object(line: str, layout: Layout) -> Iterator[tuple[str | None, str | None, str | None]]:
    try:
        row = json.loads(line)
    except ValueError:
        row = None
    if not isinstance(row, dict):
        yield None, None, "it is not a JSON object like the first"
        return
    first, problem = _id_of(row.get(layout.left), "first")
    items = row.get(layout.right)
    for item in items if isinstance(items, list) else [items]:
        second, other = _id_of(item, "second")
        yield first, second, problem or other


def _id_of(value: Any, place: str) -> tuple[str | None, str | None]:
    """The name of a JSON value, and what is wrong with it."""
    if value is None or isinstance(value, str):
        return value, None
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value), None
    return None, f"the {place} id is neither text nor an integer"


def _line_of(key: str, text: str) -> int:
    """The line where a key of a JSON map stands, counted from 0."""
    found = re.search(rf"{re.escape(json.dumps(key, ensure_ascii=False))}\s*:", text)
    return text.count("\n", 0, found.start()) if found else 0


def _broken(content: str, problem: str, line: int) -> pa.RecordBatch:
    none = pa.nulls(1, pa.string())
    return _rows(none, none, pa.array([problem]), pa.array([content[:80]]), pa.array([line], pa.int64()))


def _rows(first: pa.Array, second: pa.Array, problem: pa.Array, content: pa.Array, line: pa.Array) -> pa.RecordBatch:
    left, left_trimmed = _trimmed(first)
    right, right_trimmed = _trimmed(second)
    problem = pc.coalesce(
        problem, _missing(left, "the first id is missing"), _missing(right, "the second id is missing")
    )
    content = pc.if_else(pc.is_valid(problem), content, pa.scalar(None, pa.string()))
    trimmed = pc.add(left_trimmed, right_trimmed)
    return pa.RecordBatch.from_arrays([*_split(left), *_split(right), trimmed, problem, content, line], schema=SCHEMA)


def _trimmed(ids: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Ids without the blanks around them, and 1 where there were any."""
    if pa.types.is_integer(ids.type):
        return ids, pa.array(np.zeros(len(ids), np.int64))
    plain = pc.utf8_trim_whitespace(ids)
    return plain, pc.fill_null(pc.not_equal(plain, ids), False).cast(pa.int64())


def _missing(ids: pa.Array, words: str) -> pa.Array:
    absent = pc.is_null(ids) if pa.types.is_integer(ids.type) else pc.fill_null(pc.equal(ids, ""), True)
    return pc.if_else(absent, pa.scalar(words), pa.scalar(None, pa.string()))


def names_split(names: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Names as numbers and as text, as rows have them."""
    return _split(names)


def _split(ids: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Ids as numbers and as text: a number only if it is written like the id, "7" and not "007" or "+7"."""
    if pa.types.is_integer(ids.type):
        return ids.cast(pa.int64()), pa.nulls(len(ids), pa.string())
    plain = pc.fill_null(pc.match_substring_regex(ids, _PLAIN), False)
    number = pc.if_else(plain, ids, pa.scalar(None, pa.string())).cast(pa.int64())
    if pc.any(pc.match_substring_regex(ids, _LONG)).as_py():
        number = pa.array([_number(name) for name in ids.to_pylist()], pa.int64())
    return number, pc.if_else(pc.is_valid(number), pa.scalar(None, pa.string()), ids)


def _number(name: str | None) -> int | None:
    if name is None or not (re.match(_PLAIN, name) or re.match(_LONG, name)):
        return None
    return int(name) if -(2**63) <= int(name) < 2**63 else None


def _plain(ids: pa.Array) -> pa.Array:
    """A column of Parquet as integers or text, whatever its width and encoding."""
    kind = ids.type.value_type if pa.types.is_dictionary(ids.type) else ids.type
    return ids.cast(pa.int64() if pa.types.is_integer(kind) else pa.string())


def _text(values: Any) -> pa.Array:
    return pa.array(list(values), pa.string())
