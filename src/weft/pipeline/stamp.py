"""Folders and files that workers read and keep: named with the time they were made, so that new ones are read."""

from pathlib import Path

Stamped = tuple[str, int]


def stamped(path: Path) -> Stamped:
    return str(path.absolute()), (path / "meta.json" if path.is_dir() else path).stat().st_mtime_ns
