"""Topics that are published on, from a list of them or from a traffic log."""

import pyarrow as pa
import pyarrow.compute as pc

from weft.errors import WeftError
from weft.model.heading import delimiter_of
from weft.model.text import first_line, text_of
from weft.model.topic import is_name
from weft.raw.source import sample_of
from weft.raw.table import first_of, read_table

TOPIC_COLUMNS = ("topic_name", "topic")  # `weft publish` writes names beside numbers: names are meant


def read_topics(path: str) -> list[str]:
    """A topic a line, or the column `topic` of CSV with a heading or of Parquet; without those of a broker's own."""
    names = _column(path) if _is_table(sample_of(path)) else _lines(path)
    return [name for name in names if name and not name.startswith("$")]


def _is_table(file: str) -> bool:
    if file.endswith(".parquet"):
        return True
    heading = first_line(file)
    names = [name.strip(' "').lower() for name in heading.split(delimiter_of(heading))]
    return file.removesuffix(".gz").endswith((".csv", ".tsv")) and any(name in names for name in TOPIC_COLUMNS)


def _column(path: str) -> list[str]:
    table = read_table(path)
    column = first_of(TOPIC_COLUMNS, table)
    if column is None:
        raise WeftError(f"{path} has no column 'topic'; it has {', '.join(table.column_names) or 'none'}.")
    names: list[str] = pc.utf8_trim_whitespace(pc.unique(table[column].cast(pa.string())).drop_null()).to_pylist()
    for name in filter(None, names):
        _require_name(name, path)
    return names


def _lines(path: str) -> list[str]:
    names = text_of(path).splitlines()
    for number, name in enumerate(names, 1):
        if name:
            _require_name(name, f"{path}, line {number}")
    return names


def _require_name(name: str, where: str) -> None:
    if not is_name(name):
        raise WeftError(f"{where}: {name!r} is a filter, not a topic: list topics by their names.")
