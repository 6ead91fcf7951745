"""Arguments of the functions that Python users call: one of a wrong type is an error that names it.

Types are those that the functions are annotated with. What cannot be told from an annotation is left to the function.
"""

import inspect
import sys
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, wraps
from numbers import Integral, Real
from os import PathLike
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from weft.errors import WeftError

P = ParamSpec("P")
R = TypeVar("R")

_WIDER: dict[Any, tuple[type, ...]] = {int: (Integral,), float: (Real,), Path: (PathLike, str), tuple: (tuple, list)}
_WORDS = {
    int: "a whole number",
    float: "a number",
    str: "text",
    Path: "a path",
    type(None): "None",
    bool: "True or False",
}


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """The function, with a look at its arguments before it is called."""
    signature = inspect.signature(function)

    @wraps(function)
    def call(*given: P.args, **named: P.kwargs) -> R:
        require_types(function, signature.bind(*given, **named).arguments)
        return function(*given, **named)

    return call


def require_types(made_for: Callable[..., Any], given: Mapping[str, Any]) -> None:
    """Refuse arguments of other types than a function, or a class, says of them."""
    hints = _hints(made_for)
    for name, value in given.items():
        kind = hints.get(name, Any)
        if not _fits(value, kind):
            raise WeftError(f"`{name}` is {type(value).__name__}, and has to be {_in_words(kind)}.", name)


@cache
def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    """Types of the parameters that stand by themselves, as far as they can be known here."""
    found = {}
    known = vars(sys.modules[inspect.unwrap(function).__module__])
    for name, parameter in inspect.signature(function).parameters.items():
        kind = parameter.annotation
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD) or kind is parameter.empty:
            continue
        if isinstance(kind, str):
            try:
                kind = eval(kind, known)
            except NameError:  # of a module that is only loaded for types
                continue
        found[name] = kind
    return found


def _fits(value: Any, kind: Any) -> bool:
    origin = typing.get_origin(kind)
    if origin in (typing.Union, types.UnionType):
        return any(_fits(value, each) for each in typing.get_args(kind))
    if origin is typing.Literal:
        return isinstance(value, tuple({type(each) for each in typing.get_args(kind)}))
    if origin is not None:
        kind = origin
    if kind is None:
        kind = type(None)
    if kind is Any or not isinstance(kind, type):
        return True
    if getattr(kind, "_is_protocol", False) and not kind.__module__.startswith("collections"):
        return all(hasattr(value, name) for name in _members(kind))
    if kind in (int, float) and isinstance(value, bool):
        return False
    return isinstance(value, _WIDER.get(kind, (kind,)))


def _members(protocol: type) -> list[str]:
    return [name for name in vars(protocol) if not name.startswith("_")]


def _in_words(kind: Any) -> str:
    origin = typing.get_origin(kind)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(dict.fromkeys(_in_words(each) for each in typing.get_args(kind)))
    if origin is typing.Literal:
        return " or ".join(map(repr, typing.get_args(kind)))
    kind = type(None) if kind is None else origin or kind
    if kind in (Iterable, Sequence):
        return "several values"
    if kind is PathLike:
        return "a path"
    return str(_WORDS.get(kind, getattr(kind, "__name__", str(kind))))
