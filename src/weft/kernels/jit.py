"""Decorators that compile kernels: the only use of numba's compiler.

Machine code is kept on disk, so that a new process (a Spark worker above all) starts warm; numba misses that cache for
functions passed as arguments, so kernels take arrays and numbers only. The GIL is released while a kernel runs.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from numba.core import event

from weft.first_use import COMPILATION
from weft.kernels.machine_code import KernelCache

Function = TypeVar("Function", bound=Callable[..., Any])


class _Listener(event.Listener):
    def on_start(self, _: event.Event) -> None:
        COMPILATION.start()

    def on_end(self, _: event.Event) -> None:
        COMPILATION.end()


event.register("numba:compile", _Listener())  # type: ignore[no-untyped-call]


def _compiled(function: Function, **options: Any) -> Function:
    # Nobody calls kernels from C: without that entry they compile faster.
    options |= {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
    dispatcher: Any = numba.njit(**options)(function)
    dispatcher._cache = KernelCache(function)  # where numba's `cache=True` puts a cache of its own
    return cast(Function, dispatcher)


def jit(function: Function) -> Function:
    return _compiled(function)


def inline_jit(function: Function) -> Function:
    """Compile a few lines of another kernel's inner loop, where a call would count references to every array passed."""
    return _compiled(function, inline="always")


def leaf_jit(function: Function) -> Function:
    """Compile a small function of a hot loop, which makes no arrays: it is inlined wherever it is called.

    It counts no references to the arrays that it is given either: each count is an atomic write, and on routes of a
    few hops the counts would cost more than the routing. So it may take tuples of arrays at no cost.

    Only kernels can call it: the entry from Python, which takes such tuples apart, would take longest to compile.
    """
    dispatcher: Any = _compiled(function, forceinline=True, _nrt=False, no_cpython_wrapper=True)

    def refuse(*_: object) -> None:
        raise TypeError(f"{function.__name__} is a leaf: only kernels can call it.")

    # Python would look for the entry, ask for it to be made, and jump to nowhere.
    dispatcher._insert, dispatcher._compile_for_args = lambda *_: None, refuse
    return cast(Function, dispatcher)
