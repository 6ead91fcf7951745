"""Latencies of named hosts, from CSV: a row a pair, `a,b,ms`, or a matrix with the names above and beside it.

A pair that is given one way only takes as long the other way. Every pair must be given, but for a host with itself.
"""

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from weft.arrays import Floats
from weft.errors import WeftError
from weft.model.heading import delimiter_of

LONGEST = 3_600_000  # milliseconds that a round trip takes at most

Rows = list[tuple[int, list[str]]]  # the line of the file, and its fields


def has_names(lines: list[str]) -> bool:
    """Whether it has pairs, or names above and beside; else it is a bare matrix, however that is written."""
    rows = _rows(lines)
    is_bare = all(len(row) == len(rows) and all(map(_is_number, row)) for _, row in rows)
    first = rows[0][1]
    return len(first) > 1 and not is_bare and (len(first) == 3 or not _is_number(first[0]))


def read_named_times(lines: list[str]) -> tuple[Floats, tuple[str, ...]]:
    """The matrix of times, and the names of its rows and columns."""
    rows = _rows(lines)
    return _from_matrix(rows) if _is_matrix(rows) else _from_pairs(rows)


def write_named_times(path: Path, times: Floats, names: Sequence[str]) -> None:
    """A matrix with the names above and beside it."""
    with path.open("w", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["", *names])
        rows.writerows([name, *row] for name, row in zip(names, times.tolist(), strict=True))


def _rows(lines: list[str]) -> Rows:
    first = next((line for line in lines if line.strip()), "")
    reader = csv.reader(lines, delimiter=";" if ";" in first else delimiter_of(first))  # a comma may be of decimals
    return [(reader.line_num, [field.strip() for field in row]) for row in reader if any(map(str.strip, row))]


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
    return np.array([[time_of(field, line) for field in row[1:]] for line, row in rows[1:]]), names


def _repeated(names: tuple[str, ...]) -> str:
    return next(name for name in names if names.count(name) > 1)


def _from_pairs(rows: Rows) -> tuple[Floats, tuple[str, ...]]:
    times: dict[tuple[str, str], float] = {}
    for line, row in rows[_has_heading(rows) :]:
        if len(row) != 3:
            raise WeftError(f"line {line} has {len(row)} fields: give two names and a time, as in `berlin,paris,14.2`.")
        if (row[0], row[1]) in times:
            raise WeftError(f"line {line} gives the time from {row[0]!r} to {row[1]!r} again.")
        times[row[0], row[1]] = time_of(row[2], line)
    if not times:
        raise WeftError("it has a heading and no times: give a row for every pair.")
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


def time_of(word: str, line: int) -> float:
    """The word of that line as a time."""
    if not _is_number(word):
        raise WeftError(f"line {line}: {word[:40]!r} is not a number of milliseconds.")
    if not 0 <= float(word) <= LONGEST:
        raise WeftError(f"line {line}: {word[:40]} is no round-trip time: those are from 0 to {LONGEST:,} ms, an hour.")
    return float(word)


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True
