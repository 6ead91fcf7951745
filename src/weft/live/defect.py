"""Defects of ours that show while a node or a master runs.

An exception while bytes of one connection are read, before anything was changed, ends that connection. Any other ends
the process, at once and with its story: what was half done must neither be followed by other events nor come to the
journal as a whole, and a restart from the journal is safe. So there is no state of a process that stands still.

Errors of sockets are none of these: event loops tell of a few that they could not hand to anybody.
"""

import asyncio
import os
import threading
import traceback
from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, NoReturn, ParamSpec, Protocol, TypeVar

from weft.errors import Exit, WeftError
from weft.live.log import Log
from weft.live.tls import peer_address

OURS = ("handle", "future", "task")  # what event loops tell of an exception that was raised in our code


class Defects:
    def __init__(self, log: Log) -> None:
        self.count = 0  # connections that ended
        self._log = log

    def watch(self) -> None:
        """Hear of exceptions that nobody has caught, in the event loop and in threads."""
        asyncio.get_running_loop().set_exception_handler(lambda _, context: self._hear(context))
        threading.excepthook = lambda given: self.end(given.exc_value or given.exc_type())

    def end_connection(self, error: Exception, transport: asyncio.BaseTransport | None) -> None:
        """Nothing of what it has sent was taken; it ends, and the rest goes on."""
        self.count += 1
        peer = None if transport is None else peer_address(transport)
        self._log.write("defect", peer=peer, detail=place_of(error))
        if isinstance(transport, asyncio.WriteTransport):
            transport.abort()

    def end(self, error: BaseException) -> NoReturn:
        """End the process."""
        if isinstance(error, WeftError):  # no defect: the disk, for the most part
            story, code = f"weft: {error}\n", error.exit_code
        else:
            story, code = _story(error), Exit.DEFECT
        self._log.close(story)
        os._exit(code)

    def _hear(self, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if error is None or (isinstance(error, OSError) and not any(one in context for one in OURS)):
            self._log.write("python", detail=f"{context['message']}: {error}" if error else context["message"])
        else:
            self.end(error)


class _Driver(Protocol):
    defects: Defects


D = TypeVar("D", bound=_Driver)
T = TypeVar("T")
P = ParamSpec("P")


def fatal(method: Callable[Concatenate[D, P], T]) -> Callable[Concatenate[D, P], T]:
    """Whatever is raised inside ends the process."""

    @wraps(method)
    def guarded(self: D, *given: P.args, **options: P.kwargs) -> T:
        try:
            return method(self, *given, **options)
        except Exception as error:
            self.defects.end(error)

    return guarded  # type: ignore[return-value]  # of `wraps`, which forgets what it wraps


def place_of(error: BaseException) -> str:
    """The error, and where it was raised, in a line."""
    last = traceback.extract_tb(error.__traceback__)[-1:]
    where = "".join(f" ({os.path.basename(one.filename)}:{one.lineno})" for one in last)
    return f"{type(error).__name__}: {error}{where}"


def _story(error: BaseException) -> str:
    told = f"weft: A defect of Weft has ended this process ({place_of(error)}): start it again, and report this.\n"
    return told + "".join(traceback.format_exception(error))
