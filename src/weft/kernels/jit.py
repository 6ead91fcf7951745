"""The one way functions are compiled here.

Machine code is kept on disk, so that a new process (a Spark worker above all) starts warm; numba misses that cache for
functions passed as arguments, so kernels take arrays and numbers only. The GIL is released while a kernel runs.

Numba notices a change in the file of a kernel, but not in the files that it imports. So the code of all kernels names
the folder that their machine code is in.
"""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

from weft.cache import cache_folder

Function = TypeVar("Function", bound=Callable[..., Any])


def _machine_code_folder() -> Path:
    sources = sorted(Path(__file__).parent.rglob("*.py"))
    code = hashlib.blake2b(b"".join(source.read_bytes() for source in sources), digest_size=8)
    return cache_folder() / f"kernels-{code.hexdigest()}"


_config: Any = numba.config
if not _config.CACHE_DIR:  # NUMBA_CACHE_DIR goes first
    _config.CACHE_DIR = str(_machine_code_folder())


def jit(function: Function) -> Function:
    return cast(Function, numba.njit(cache=True, nogil=True, error_model="numpy")(function))


def inline_jit(function: Function) -> Function:
    """For a few lines in the inner loop of another kernel, where a call would count the users of every array passed."""
    return cast(Function, numba.njit(cache=True, nogil=True, error_model="numpy", inline="always")(function))


def parallel_jit(function: Function) -> Function:
    """For loops over `prange`: threads own disjoint rows, and the result is the same for any number of them."""
    return cast(Function, numba.njit(cache=True, nogil=True, error_model="numpy", parallel=True)(function))


def leaf_jit(function: Function) -> Function:
    """For the small functions of a hot loop, which make no arrays: inlined wherever they are called.

    They count no references to the arrays that they are given either: each count is an atomic write, and on routes of
    a few hops the counts would cost more than the routing. So they may take tuples of arrays at no cost.
    """
    options: dict[str, Any] = {"forceinline": True, "_nrt": False}
    return cast(Function, numba.njit(cache=True, nogil=True, error_model="numpy", **options)(function))
