"""Where the machine code of kernels is kept between runs, and when it is still good.

Machine code holds what a kernel calls and the constants that it names, so it is good for as long as the text of the
kernel's module, and of every module of Weft that this one imports, directly or not, is the same. A hash of these texts
names the folder of a module's machine code: where the files lie and when they were written does not count, so that
checkouts, wheels and Spark workers share what any of them has compiled, an edit compiles again what depends on it and
nothing else, and two versions never meet in one folder.

Numba keeps one index a kernel, whose entries name numbered files. Two processes that compile two signatures of a kernel
at once both take the next number, and one loads the other's code. Here a file is named by the hash of its key, carries
the key, and appears under its name when it is complete; there is no index. The processor, its features, numba's
version and the types of the arguments are in the key.

A process holds a shared lock on the folders that it uses. What nobody has used for two weeks is swept, when something
new is compiled.
"""

import ast
import fcntl
import hashlib
import inspect
import os
import pickle
import shutil
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator
from numba.core.serialize import dumps

from weft.cache import cache_folder

UNUSED = 14 * 24 * 3600  # seconds
_config: Any = numba.config


@cache
def stamp(module: str) -> str:
    """A hash of the text of a module and of all modules of Weft that it imports."""
    texts = {name: inspect.getsource(sys.modules[name]) for name in sorted(_with_imports(module))}
    return _hash(repr(texts).encode())


def _with_imports(module: str) -> set[str]:
    found, pending = set(), [module]
    while pending:
        name = pending.pop()
        if name not in found:
            found.add(name)
            pending += _imports(name)
    return found


@cache
def _imports(module: str) -> list[str]:
    """Imports at the top of a module. They are loaded by the time that it defines its kernels."""
    statements = ast.parse(inspect.getsource(sys.modules[module])).body
    names = [name for statement in statements for name in _imported(statement)]
    return [name for name in names if name.partition(".")[0] == "weft" and name in sys.modules]


def _imported(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, ast.Import):
        yield from (name.name for name in statement.names)
    if isinstance(statement, ast.ImportFrom) and statement.module:
        yield statement.module
        yield from (f"{statement.module}.{name.name}" for name in statement.names)  # where it is a module itself


class _Locator(_CacheLocator):
    """Answers numba's question where the machine code of a function belongs."""

    def __init__(self, function: Callable[..., Any], file: str) -> None:
        self._py_file = file  # numba names it in warnings
        self._line = function.__code__.co_firstlineno
        self._stamp = stamp(function.__module__)
        parent = Path(_config.CACHE_DIR or cache_folder())  # NUMBA_CACHE_DIR goes first
        self._folder = parent / f"kernels-{function.__module__.removeprefix('weft.kernels.')}-{self._stamp}"

    @classmethod
    def from_function(cls, function: Callable[..., Any], file: str) -> "_Locator":
        return cls(function, file)

    def get_cache_path(self) -> str:
        return str(self._folder)

    def get_source_stamp(self) -> str:
        return self._stamp

    def get_disambiguator(self) -> str:
        return str(self._line)

    def ensure_cache_path(self) -> None:
        """Nothing yet: `_Files` makes the folder."""


class _Files:
    """The specialisations of one kernel, a file each."""

    def __init__(self, folder: Path, name: str, stamp: str) -> None:
        self._folder, self._name = folder, name
        self._version = numba.__version__, stamp

    def load(self, key: object) -> Any:
        try:
            content = self._path(key).read_bytes()
        except OSError:
            return None
        _use(self._folder)
        found = _unpacked(content)
        return found[1] if found and found[0] == (self._version, key) else None

    def save(self, key: object, data: object) -> None:
        """Write a file; where the disk is full or not ours to write, the next process compiles again, and no more."""
        path = self._path(key)
        partial = path.with_suffix(f".{uuid.uuid4().hex}")
        with suppress(OSError):
            self._make_folder()
            partial.write_bytes(_packed(((self._version, key), data)))
            partial.replace(path)
        with suppress(OSError):
            partial.unlink(missing_ok=True)

    def _make_folder(self) -> None:
        if not self._folder.is_dir():
            self._folder.mkdir(parents=True, exist_ok=True)
            sweep()
        _use(self._folder)

    def _path(self, key: object) -> Path:
        return self._folder / f"{self._name}.{_hash(f'{self._version} {key}'.encode())}.nbc"


def _packed(value: object) -> bytes:
    content: bytes = dumps(value)  # type: ignore[no-untyped-call]
    return _hash(content).encode() + content


def _unpacked(content: bytes) -> Any:
    """A value, or None where the file was cut short, as by a loss of power."""
    head, content = content[:16], content[16:]
    return pickle.loads(content) if head == _hash(content).encode() else None


def _hash(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=8).hexdigest()


class _Implementation(CompileResultCacheImpl):
    _locator_classes = [_Locator]  # noqa: RUF012  # as numba declares it


class KernelCache(FunctionCache):
    """Numba's cache of a function, with the folder and the files above."""

    _impl_class = _Implementation

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        self._cache_file: Any = _Files(Path(self.cache_path), self._impl.filename_base, stamp(function.__module__))


@cache
def _use(folder: Path) -> None:
    """Tell that the folder is used now, and lock it against sweeping as long as this process lives."""
    with suppress(OSError):  # a folder of somebody else, who may not sweep it either
        descriptor = os.open(folder, os.O_RDONLY)
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        os.utime(descriptor)


@cache  # once a process
def sweep() -> None:
    """Remove machine code that was not used for long: of old versions, and of kernels that are gone."""
    for folder in cache_folder().glob("kernels-*"):
        with suppress(OSError):  # another process sweeps too
            if folder.stat().st_mtime < time.time() - UNUSED:
                _remove_unless_used(folder)


def _remove_unless_used(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder)
    finally:
        os.close(descriptor)
