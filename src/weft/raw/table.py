"""Tables by names of columns, from CSV with a heading or from Parquet; gzipped CSV too."""

from collections.abc import Iterable
from io import BytesIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import csv as arrow

from weft.errors import WeftError
from weft.model.heading import delimiter_of, names_of, place_of, require_once
from weft.model.text import first_line, whole


def read_table(path: str) -> pa.Table:
    """All columns, those of CSV as text; no name, and no text of CSV, has blanks around it."""
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
