"""What a journal asks of a disk: one folder without subfolders, files that are only appended to.

Nothing is sure to outlive a loss of power but what was synced: the bytes of a file by the file, names by the folder.
Everything may raise OSError.
"""

from collections.abc import Iterator
from typing import Protocol


class File(Protocol):
    def append(self, data: bytes) -> None:
        """All of it; after an error, a part of it may be there."""

    def truncate(self, size: int) -> None: ...

    def sync(self) -> None: ...

    def close(self) -> None: ...


class Shown(Protocol):
    """A folder as who only reads sees it."""

    def where(self, name: str) -> str:
        """How to call the file in a sentence."""

    def names(self) -> list[str]: ...

    def chunks(self, name: str) -> Iterator[bytes]:
        """The content of the file, in pieces."""


class Folder(Shown, Protocol):
    def create(self, name: str) -> File:
        """An empty file, whether or not there was one of that name."""

    def open(self, name: str) -> File:
        """A file that exists, to append to."""

    def rename(self, name: str, new_name: str) -> None: ...

    def delete(self, name: str) -> None: ...

    def sync(self) -> None: ...
