"""Paths that commands take: an address in a store is refused before anything makes a path of it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args, get_type_hints

from typer.models import OptionInfo, ParameterInfo

from weft.model.address import local_path


def with_local_paths(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command, whose options and arguments of type `Path` are read by `local_path`."""
    for hint in get_type_hints(command, include_extras=True).values():
        for about in getattr(hint, "__metadata__", ()):
            if isinstance(about, ParameterInfo) and _is_path(hint.__origin__):
                about.parser = local_path
                if isinstance(about, OptionInfo):
                    about.metavar = about.metavar or "PATH"
    return command


def _is_path(kind: Any) -> bool:
    return kind is Path or any(map(_is_path, get_args(kind)))
