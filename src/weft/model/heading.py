"""Headings of CSV, as people write them: one rule for all files that a user gives.

Fields are separated by the comma, semicolon, tab or bar that comes first in this order. Names of columns have no blanks
around them, and their case does not matter.
"""

import csv
from collections.abc import Sequence

from weft.errors import WeftError

DELIMITERS = ",;\t|"


def delimiter_of(line: str) -> str:
    """What separates the fields of a heading; a comma where there is one field."""
    return next((mark for mark in DELIMITERS if mark in line), ",")


def names_of(line: str, delimiter: str, file: str, are_names: bool = True) -> list[str]:
    """Names of columns, as they are written, each once; or the fields of a first row, where there is no heading."""
    try:
        fields = next(csv.reader([line], delimiter=delimiter, strict=True, skipinitialspace=True))
    except csv.Error as error:
        raise WeftError(f"{file}, line 1: {error}: {line[:80]}") from error
    names = [name.strip() for name in fields]
    if are_names:
        require_once(names, file)
    return names


def require_once(names: Sequence[str], file: str) -> None:
    known = [name.lower() for name in names if name]
    twice = next((name for name in names if name and known.count(name.lower()) > 1), None)
    if twice is not None:
        raise WeftError(f"{file} has the column {twice!r} twice: give each column a name of its own.")


def place_of(name: str, names: Sequence[str]) -> int | None:
    """Where a column stands; a name that is written alike is preferred to one in another case."""
    if name in names:
        return names.index(name)
    return next((place for place, other in enumerate(names) if other.lower() == name.lower()), None)
