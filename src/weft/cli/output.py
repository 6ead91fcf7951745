"""What commands print: results on stdout, progress on stderr."""

import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    SpinnerColumn,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as RichProgress
from typer.core import TyperOption

from weft.cli.bars import print_bars
from weft.cli.line import say, visible
from weft.errors import WeftError
from weft.first_use import COMPILATION
from weft.report.words import TERMS

if TYPE_CHECKING:
    from weft.pipeline.progress import Poll

FIRST_USE = "compiling, first use"
DECIMAL = re.compile(r"(?<=\d)_(?=\d)")  # as in p99_9, which is at 99.9 %
LONG = 1.0  # seconds of compiling that are worth a word


OTHER_NAMES = {"path": "out", "count": "publications"}  # options that some commands call otherwise


def sentence_of(error: WeftError, command: Any) -> str:
    """What the error says, with options as flags of the command, if it has them, and else in plain words."""
    sentence = str(error)
    for option in error.options:
        sentence = sentence.replace(f"`{option}`", _flag(option, command))
    return sentence


def _flag(option: str, command: Any) -> str:
    known = {param.name: param for param in ([] if command is None else command.params)}
    param = known.get(option) or known.get(OTHER_NAMES.get(option, option))
    if param is None:
        return option.replace("_", " ")
    return max(param.opts, key=len) if isinstance(param, TyperOption) else str(param.metavar or param.name).upper()


def announce(line: str) -> None:
    """Print a line of a process that goes on, whether or not anybody reads it."""
    try:
        say(line)
    except OSError:  # the pipe is closed, or the disk full
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python would say so at the end


def print_result(result: Mapping[str, Any], as_json: bool, width: int = 0) -> None:
    """Print figures, a row each, or JSON. Values begin behind the longest name, or behind so many characters."""
    if as_json:
        say(json.dumps(result))
        return
    rows = {key: value for key, value in _rows(result) if not _is_histogram(key, value)}
    width = max([width, *map(len, rows)])
    for key, value in rows.items():
        term = f"   ({TERMS[key]})" if key in TERMS else ""
        shown = str(value) if _is_id(key) and isinstance(value, int) else readable(value)
        say(f"{key.replace('_', ' '):<{width}}  {shown}{term}")
    for key, value in result.items():
        if _is_histogram(key, value):
            print_bars(key.replace("_", " "), value)


def _is_histogram(key: str, value: Any) -> bool:
    return "_by_" in key and isinstance(value, Mapping)


def _is_id(key: str) -> bool:
    """Numbers that name something, and count nothing."""
    return key.endswith(("node", "seed"))


def _rows(result: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """A row a figure, or a mapping of figures; a mapping of mappings has several."""
    for key, value in result.items():
        if isinstance(value, Mapping) and any(isinstance(inner, Mapping) for inner in value.values()):
            yield from ((f"{key} {name}", inner) for name, inner in _rows(value))
        else:
            yield key, value


def readable(value: Any) -> str:
    if value is None or value == "":
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.4g}" if abs(value) < 10_000 else f"{value:,.0f}"
    if isinstance(value, Mapping):
        return ", ".join(f"{_name(key)} {readable(inner)}" for key, inner in value.items())
    if isinstance(value, list | tuple):
        between = ", " if any(isinstance(one, str) for one in value) else " "
        return between.join(map(readable, value)) or "none"
    return str(value)


def _name(figure: str) -> str:
    return DECIMAL.sub(".", figure.replace("percentile_", "p")).replace("_", " ")


class ConsoleProgress:
    """A bar for every step on a terminal; a line for every finished step elsewhere, and every minute of a long one."""

    def __init__(self) -> None:
        self.console = Console(stderr=True)

    @contextmanager
    def step(self, title: str, poll: "Poll | None" = None) -> Iterator[None]:
        if self.console.is_terminal and not self.console.is_dumb_terminal:
            with self._bar(title, poll):
                yield
        else:
            with self._lines(title, poll):
                yield

    @contextmanager
    def _bar(self, title: str, poll: "Poll | None") -> Iterator[None]:
        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
        )
        with RichProgress(*columns, console=self.console) as bar:
            task = bar.add_task(title, total=None)

            def show(_: float) -> None:
                completed, total = poll() if poll else (0, 0)
                bar.update(task, description=f"{title}{_reason()}", completed=completed, total=total or None)

            with _every(0.2, show):
                yield
            bar.update(task, description=title, completed=1, total=1)

    @contextmanager
    def _lines(self, title: str, poll: "Poll | None") -> Iterator[None]:
        def show(elapsed: float) -> None:
            completed, total = poll() if poll else (0, 0)
            if completed:
                left = elapsed * (total - completed) / completed
                self._print(f"{title}: {completed / total:.0%}, about {left:.0f} s left")

        start, compiled = time.perf_counter(), COMPILATION.seconds
        with _every(60, show), _told_once(lambda: self._print(f"{title}: {FIRST_USE}")):
            yield
        compiled = COMPILATION.seconds - compiled
        share = f", of which {compiled:.1f} s {FIRST_USE}" if compiled > LONG else ""
        self._print(f"{title}: {time.perf_counter() - start:.1f} s{share}")

    def _print(self, line: str) -> None:
        self.console.print(visible(line), highlight=False, markup=False)


def _reason() -> str:
    """Why it takes so long, where that is not the work itself."""
    return f": {FIRST_USE}" if COMPILATION.under_way else ""


@contextmanager
def _told_once(tell: Callable[[], None]) -> Iterator[None]:
    """Tell when compiling has taken long."""
    before, told = COMPILATION.seconds, False

    def look(_: float) -> None:
        nonlocal told
        if COMPILATION.under_way and not told and COMPILATION.seconds - before > LONG:
            told = True
            tell()

    with _every(0.2, look):
        yield


@contextmanager
def _every(seconds: float, show: Callable[[float], None]) -> Iterator[None]:
    """Show again and again, with the time since the start, until the block is left."""
    done = Event()
    start = time.perf_counter()

    def follow() -> None:
        while not done.wait(seconds):
            show(time.perf_counter() - start)

    follower = Thread(target=follow, daemon=True)
    follower.start()
    try:
        yield
    finally:
        done.set()
        follower.join()
