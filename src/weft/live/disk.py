"""A folder of the machine's disk as a journal wants it, held by one process at a time."""

import fcntl
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from weft.errors import SurroundingsError, WeftError
from weft.journal.name import is_journal

CHUNK = 1 << 20  # bytes read at once
LOCK = "lock"
STORE = "master.sqlite"
MASTER = "master"  # folder of the master in that of a whole network
A_NODE, A_MASTER, A_NETWORK = "a node", "a master", "`weft up`"


class File:
    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def append(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self._descriptor, rest) :]

    def truncate(self, size: int) -> None:
        os.ftruncate(self._descriptor, size)

    def sync(self) -> None:
        _sync(self._descriptor)

    def close(self) -> None:
        os.close(self._descriptor)


class Shown:
    """A folder that is only read."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def where(self, name: str) -> str:
        return str(self._path / name)

    def names(self) -> list[str]:
        return os.listdir(self._path)

    def chunks(self, name: str) -> Iterator[bytes]:
        with open(self._path / name, "rb", buffering=0) as file:
            while data := file.read(CHUNK):
                yield data


class Disk(Shown):
    """Takes the folder, which it makes if need be, until `close`."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        _make(path)
        self._lock = _locked(path)
        self._descriptor = os.open(path, os.O_RDONLY)

    def close(self) -> None:
        os.close(self._descriptor)
        os.close(self._lock)

    def create(self, name: str) -> File:
        return File(os.open(self._path / name, os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_APPEND, 0o600))

    def open(self, name: str) -> File:
        return File(os.open(self._path / name, os.O_WRONLY | os.O_APPEND))

    def rename(self, name: str, new_name: str) -> None:
        os.replace(self._path / name, self._path / new_name)

    def delete(self, name: str) -> None:
        os.unlink(self._path / name)

    def sync(self) -> None:
        os.fsync(self._descriptor)


def require_own(folder: Path, owner: str) -> None:
    """Refuse a folder in which somebody else keeps data."""
    found = _owner_of(folder)
    if found not in ("", owner):
        raise WeftError(f"{folder} is the folder of {found}: give another `data` folder.", "data")


def _owner_of(folder: Path) -> str:
    """Which of a node, a master and a whole network has its data there, if any."""
    if (folder / STORE).exists():
        return A_MASTER
    if folder.is_dir() and any(map(is_journal, os.listdir(folder))):
        return A_NODE
    return A_NETWORK if (folder / MASTER / STORE).exists() else ""


def cut(count: int) -> str:
    """What is said of the end of a log that cannot be read."""
    return (
        f"the last {count} bytes cannot be read, and are cut: a crash while they were written, of which nobody was "
        "told, or damage to what was written last"
    )


def _make(path: Path) -> None:
    """A folder whose own name is on the disk."""
    try:
        if not path.is_dir():
            _make(path.parent)
            path.mkdir(mode=0o700, exist_ok=True)
            _sync_folder(path.parent)
    except OSError as error:
        raise SurroundingsError(f"{path} cannot be made a folder ({error.strerror}): choose another.") from error


def _sync_folder(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def unused(path: Path) -> Iterator[Shown]:
    """A folder that no process holds, nor takes meanwhile. Nothing is written to it."""
    try:
        descriptor = os.open(path / LOCK, os.O_RDONLY)
    except FileNotFoundError:  # a copy, without one
        yield Shown(path)
        return
    _take(path, descriptor)
    try:
        yield Shown(path)
    finally:
        os.close(descriptor)


def _locked(path: Path) -> int:
    """The lock is the kernel's and ends with the process, however that ends; what the file says is for people."""
    try:
        descriptor = os.open(path / LOCK, os.O_CREAT | os.O_RDWR, 0o600)
    except OSError as error:
        raise SurroundingsError(f"{path} cannot be written ({error.strerror}): choose another folder.") from error
    _take(path, descriptor)
    os.ftruncate(descriptor, 0)
    os.write(descriptor, str(os.getpid()).encode())
    return descriptor


def _take(path: Path, descriptor: int) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        holder = os.read(descriptor, 20).decode("ascii", "replace") or "that has just started"
        os.close(descriptor)
        raise WeftError(f"{path} is in use by process {holder}: end that one, or choose another folder.") from error


def _sync(descriptor: int) -> None:
    if sys.platform == "darwin":  # where fsync leaves it in the cache of the drive
        fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
    else:
        os.fdatasync(descriptor)
