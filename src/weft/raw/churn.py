"""A schedule of churn by names: a row a change, in CSV with a heading or in Parquet.

Columns: `time`, in seconds from the start, or in ISO 8601, and then from the first row on; `node`; `event`, one of
join, leave, fail, subscribe and unsubscribe; `topic`, empty but for the last two.
"""

from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from weft.errors import WeftError
from weft.model.churn import KINDS, NO_TOPIC, Change, ChurnSchedule, churn_schedule_of
from weft.model.instance import Instance
from weft.raw.source import sample_of
from weft.raw.table import first_of, read_table

COLUMNS = ("time", "node", "event", "topic")


def read_churn(path: str | Path, instance: Instance) -> ChurnSchedule:
    """Names are those of the instance, or numbers where it has none."""
    file = sample_of(str(path))
    table = read_table(file)
    found = {name: first_of([name], table) for name in COLUMNS}
    missing = next((name for name in COLUMNS[:3] if found[name] is None), None)
    if missing is not None:
        raise WeftError(f"{file} has no column {missing!r}; it has {', '.join(table.column_names) or 'none'}.")
    nowhere = pa.chunked_array([pa.nulls(len(table), pa.string())])
    columns = [nowhere if found[name] is None else table[found[name]] for name in COLUMNS]
    rows = list(zip(*(column.to_pylist() for column in columns), strict=True))
    try:
        times = _seconds([row[0] for row in rows])
        changes = [_change(instance, number, times[number], row) for number, row in enumerate(rows)]
        return churn_schedule_of(instance, changes)
    except WeftError as error:
        raise WeftError(f"{file}: {error}", *error.options) from error


def _change(instance: Instance, number: int, time: float, row: tuple[Any, ...]) -> Change:
    _, node, event, topic = (_text(cell) for cell in row)
    if event not in KINDS:
        raise WeftError(f"Row {number + 1}: there is no event {event!r}: give one of {', '.join(KINDS)}.")
    try:
        called = instance.topic_called(topic) if topic else NO_TOPIC
        return Change(time, instance.node_called(node), event, called)
    except WeftError as error:
        raise WeftError(f"Row {number + 1}: {error}", *error.options) from error


def _text(cell: object) -> str:
    return "" if cell is None else str(cell).strip()


def _seconds(cells: list[Any]) -> list[float]:
    """Times as numbers of seconds; moments count from the first row's."""
    try:
        return [float(cell) for cell in cells]
    except (TypeError, ValueError):
        pass
    moments = [_moment(number, cell) for number, cell in enumerate(cells)]
    try:
        return [(moment - moments[0]).total_seconds() for moment in moments]
    except TypeError as error:
        raise WeftError("some times say their time zone and others do not.") from error


def _moment(number: int, cell: object) -> datetime:
    if isinstance(cell, datetime):
        return cell
    try:
        return datetime.fromisoformat(_text(cell))
    except ValueError:
        raise WeftError(
            f"Row {number + 1}: the time is {_text(cell)!r}: give seconds in all rows, or ISO 8601 in all."
        ) from None
