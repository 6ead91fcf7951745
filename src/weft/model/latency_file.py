"""Latencies of named hosts, from CSV: a row a pair, `a,b,ms`, or a matrix with the names above and beside it.

A pair that is given one way only takes as long the other way. Every pair must be given, but for a host with itself.
"""

import csv
from collections.abc import Iterator

import numpy as np

from weft.arrays import Floats
from weft.errors import WeftError

Rows = list[tuple[int, list[str]]]  # the line of the file, and its fields


def read_named_times(text: str) -> tuple[Floats, tuple[str, ...]]:
    """The matrix of times, and the names of its rows and columns."""
    rows = [(line, [field.strip() for field in row]) for line, row in _lines(text) if any(map(str.strip, row))]
    if not rows:
        raise WeftError("it has no rows.")
    return _from_matrix(rows) if _is_matrix(rows) else _from_pairs(rows)


def _lines(text: str) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(text.splitlines())
    for row in reader:
        yield reader.line_num, row


def _is_matrix(rows: Rows) -> bool:
    """Whether the names above are those beside."""
    return rows[0][1][1:] == [row[0] for _, row in rows[1:]] and len(rows) > 1


def _from_matrix(rows: Rows) -> tuple[Floats, tuple[str, ...]]:
    names = tuple(rows[0][1][1:])
    if len(set(names)) != len(names):
        raise WeftError(f"it names {_repeated(names)!r} more than once.")
    for line, row in rows[1:]:
        if len(row) != len(names) + 1:
            raise WeftError(f"line {line} has {len(row) - 1} times, and there are {len(names)} names.")
    return np.array([[_time(line, field) for field in row[1:]] for line, row in rows[1:]]), names


def _repeated(names: tuple[str, ...]) -> str:
    return next(name for name in names if names.count(name) > 1)


def _from_pairs(rows: Rows) -> tuple[Floats, tuple[str, ...]]:
    times: dict[tuple[str, str], float] = {}
    for line, row in rows[_has_heading(rows) :]:
        if len(row) != 3:
            raise WeftError(f"line {line} has {len(row)} fields: give two names and a time, as in `berlin,paris,14.2`.")
        if (row[0], row[1]) in times:
            raise WeftError(f"line {line} gives the time from {row[0]!r} to {row[1]!r} again.")
        times[row[0], row[1]] = _time(line, row[2])
    names = tuple(sorted({name for pair in times for name in pair}))
    return np.array([[_between(times, one, other) for other in names] for one in names]).reshape(-1, len(names)), names


def _has_heading(rows: Rows) -> bool:
    return len(rows[0][1]) == 3 and not _is_number(rows[0][1][2])


def _between(times: dict[tuple[str, str], float], one: str, other: str) -> float:
    if one == other:
        return times.get((one, other), 0.0)
    if (one, other) not in times and (other, one) not in times:
        raise WeftError(f"there is no time between {one!r} and {other!r}: give one for every pair.")
    return times.get((one, other), times.get((other, one), 0.0))


def _time(line: int, field: str) -> float:
    if not _is_number(field):
        raise WeftError(f"line {line} has {field!r} where a time in milliseconds should be.")
    return float(field)


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True
