"""The outputs of a command: apart from its inputs and from each other, and claimed, before any work is done.

Places are compared as the file system has them, by device and inode, so that a link, another spelling or another name
of the same file is the same place. An input that is a folder is all that lies in it, wherever links lead from there.

A claim is a lock on a file beside the output, which the system releases when the process ends, however it ends; the
file says who holds it, and goes with the claim.
"""

import errno
import fcntl
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from weft.ending import Order, at_stop
from weft.errors import WeftError
from weft.model.address import is_remote, local_path
from weft.model.storage import not_written, require_absent

Identity = tuple[int, int]  # device and inode

UNLOCKABLE = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)  # some network file systems: no claims there


@contextmanager
def claimed(
    *outputs: Path, inputs: Iterable[str | Path] = (), force: bool = False, resumes: bool = False
) -> Iterator[None]:
    """Hold the outputs, which are new, or replaced with `force`, or continued by a command that resumes."""
    require_apart(outputs, [local_path(path) for path in inputs if not is_remote(path)])
    for output in [] if resumes else outputs:
        require_absent(output, force)
    with ExitStack() as stack:
        for output in outputs:
            stack.enter_context(_lock(output))
        yield


def require_apart(outputs: Sequence[Path], inputs: Sequence[Path]) -> None:
    """Refuse an output that is, lies in, or holds an input or another output."""
    for output in outputs:
        for path in inputs:
            if relation := _relation(output, path):
                raise WeftError(f"{output} {relation} {path}, which is read: choose another place for the output.")
    for place, output in enumerate(outputs):
        for other in outputs[:place]:
            if relation := _relation(output, other):
                raise WeftError(f"{output} {relation} {other}, and both are written: give each a place of its own.")


def _relation(output: Path, other: Path) -> str | None:
    real, theirs = _real(output), _real(other)
    if real == theirs:
        return "is"
    own = [_identity(path) for path in (real, *real.parents)]
    parts = _parts(theirs)
    identities = {_identity(part) for part in parts} - {None}
    if own[0] in identities:
        return "is" if own[0] == _identity(theirs) else "is a part of"
    if theirs in real.parents or any(identity in identities for identity in own[1:]):
        return "lies inside"
    around = {_identity(parent) for part in parts for parent in part.parents}
    return "lies around" if real in theirs.parents or (own[0] and own[0] in around) else None


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _identity(path: Path) -> Identity | None:
    with suppress(OSError):
        status = path.stat()
        return status.st_dev, status.st_ino
    return None


def _parts(path: Path) -> set[Path]:
    """The path and all that lies in it, by their real places; links are followed."""
    found, ahead = set[Path](), [path]
    while ahead:
        part = _real(ahead.pop())
        if part not in found:
            found.add(part)
            if part.is_dir():
                ahead += part.iterdir()
    return found


@contextmanager
def _lock(output: Path) -> Iterator[None]:
    real = _real(output)
    path = real.with_name(f".{real.name}.lock")
    made = [parent for parent in path.parents if not parent.exists()]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = _held(path, output)
    except OSError as error:
        _remove_empty(made)
        raise not_written(error, output) from error
    try:
        with at_stop(Order.FILES, lambda: _release(None, path, made)):
            yield
    finally:
        _release(descriptor, path, made)


def _held(path: Path, output: Path) -> int | None:
    """The locked file; none where the file system knows no locks."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.read(descriptor, 500).decode(errors="replace").strip()
            os.close(descriptor)
            if error.errno in UNLOCKABLE:
                return None
            raise WeftError(
                f"{output} is being written by {holder or 'another process'}: wait for it, or choose another place."
            ) from error
        if _identity(path) == (os.fstat(descriptor).st_dev, os.fstat(descriptor).st_ino):
            os.ftruncate(descriptor, 0)
            os.write(descriptor, f"process {os.getpid()} ({' '.join(['weft', *sys.argv[1:]])})"[:400].encode())
            return descriptor
        os.close(descriptor)  # who held it has removed it in the meantime


def _release(descriptor: int | None, path: Path, made: Sequence[Path]) -> None:
    """Give the lock up, and the folders that were made for it, where nothing came to lie in them."""
    path.unlink(missing_ok=True)
    if descriptor is not None:
        os.close(descriptor)
    _remove_empty(made)


def _remove_empty(folders: Sequence[Path]) -> None:
    for folder in folders:
        with suppress(OSError):
            folder.rmdir()
