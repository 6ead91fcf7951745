"""Folders that workers read and keep: named with the time they were made, so that a replaced one is read again."""

from pathlib import Path

Stamped = tuple[str, int]


def stamped(folder: Path) -> Stamped:
    return str(folder.absolute()), (folder / "meta.json").stat().st_mtime_ns
