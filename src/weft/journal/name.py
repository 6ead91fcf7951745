"""The files of a journal: `POSITION.segment`, `POSITION.snapshot`, and `POSITION.part`, a snapshot that is not whole.

POSITION is the number of records that came before a segment, or that went into a snapshot, in 20 digits.
"""

import re
from collections.abc import Iterable

_NAME = re.compile(r"(\d{20})\.(segment|snapshot|part)")


def segment_name(position: int) -> str:
    return f"{position:020d}.segment"


def snapshot_name(position: int) -> str:
    return f"{position:020d}.snapshot"


def part_name(position: int) -> str:
    return f"{position:020d}.part"


def is_journal(name: str) -> bool:
    """Whether a file is of a journal."""
    return _NAME.fullmatch(name) is not None


def segments_in(names: Iterable[str]) -> list[int]:
    return sorted(position for position, kind in map(_parsed, names) if kind == "segment")


def snapshots_in(names: Iterable[str]) -> list[int]:
    return sorted(position for position, kind in map(_parsed, names) if kind == "snapshot")


def needless_in(names: Iterable[str], position: int) -> list[str]:
    """What a journal with a snapshot of this position, or with none and 0, can do without."""
    parsed = ((name, *_parsed(name)) for name in sorted(names))
    return [name for name, at, kind in parsed if kind == "part" or (kind and at < position)]


def _parsed(name: str) -> tuple[int, str]:
    match = _NAME.fullmatch(name)
    return (int(match[1]), match[2]) if match else (0, "")
