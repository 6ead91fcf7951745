"""What raw data is: which files, how they are written, and what a row of them says."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from weft.errors import WeftError
from weft.model.address import is_remote, local_path

Format = Literal["edges", "csv", "json-lines", "json-map", "parquet"]
Kind = Literal["edges", "follows", "subscriptions"]
OnBadRow = Literal["stop", "skip"]


@dataclass(frozen=True)
class Source:
    paths: tuple[str, ...]  # files, or folders of files
    kind: Kind
    format: Format | None = None  # None: by the name of the first file
    columns: tuple[str, str] | None = None  # by name, or by number from 1; None: there are just two
    delimiter: str | None = None  # of CSV; None: as the first line shows it
    header: bool = True  # whether CSV has one
    on_bad_row: OnBadRow = "stop"
    topics: str | None = None  # a file of topics, for filters among the subscriptions

    @property
    def is_social(self) -> bool:
        """Whether ids of both sides are users, who are nodes and topics at once."""
        return self.kind != "subscriptions"

    @property
    def locations(self) -> list[str]:
        """Absolute paths, and addresses in stores that only Spark can reach."""
        return [path if is_remote(path) else str(local_path(path).absolute()) for path in self.paths]

    def files(self) -> list[str]:
        """All files, which lie on this machine."""
        return [file for path in self.locations for file in _files_of(path)]

    def samples(self) -> list[str]:
        return [sample_of(path) for path in self.locations]


def sample_of(path: str) -> str:
    """A file of the path, which must exist: itself, or the first one of a folder."""
    if is_remote(path):
        return path  # Spark will see
    here = local_path(path)
    if here.is_file():
        return str(here)
    if not here.exists():
        raise WeftError(f"{path} does not exist.")
    inside = _files_of(str(here))
    if not inside:
        raise WeftError(f"{path} is a folder without files.")
    return inside[0]


def _files_of(path: str) -> list[str]:
    """The files of a path: itself, or those of a folder that are not hidden."""
    if Path(path).is_file():
        return [path]
    return sorted(str(p) for p in Path(path).iterdir() if p.is_file() and p.name[0] not in "._")
