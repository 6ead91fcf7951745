"""The walk from a raw file to the report, as docs/architecture.md has it, is the one that the code takes."""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import reduce
from importlib import import_module
from pathlib import Path
from types import CodeType, FrameType

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from weft import cli

PAGE = Path(__file__).parents[1] / "docs" / "architecture.md"
STEPS = re.findall(r"^\| \d+ \| `([\w.]+)`( \(in a task\))? \|", PAGE.read_text(), re.MULTILINE)


def code_of(name: str) -> CodeType:
    home = re.match(r"(?:[a-z_]+\.)+[a-z_]+(?=\.)", name)
    assert home is not None
    function = reduce(getattr, name[home.end() + 1 :].split("."), import_module(f"weft.{home[0]}"))
    return getattr(function, "__func__", function).__code__  # type: ignore[attr-defined, no-any-return]


@contextmanager
def first_calls(codes: dict[CodeType, str]) -> Iterator[list[str]]:
    """Names of the functions in the order in which they are first called in this thread."""
    called: list[str] = []

    def note(frame: FrameType, _: str, __: object) -> None:  # of calls only, for it asks for nothing inside them
        name = codes.get(frame.f_code)
        if name is not None and name not in called:
            called.append(name)

    before = sys.gettrace()
    sys.settrace(note)
    try:
        yield called
    finally:
        sys.settrace(before)


def test_the_walk_names_each_function_once_and_they_are_there() -> None:
    names = [name for name, _ in STEPS]
    assert len(names) > 20
    assert len({code_of(name) for name in names}) == len(names)


def test_the_walk_is_in_the_order_of_the_code(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("e.txt").write_text("".join(f"{i} {(i * i + step) % 40}\n" for i in range(40) for step in (1, 2, 3)))
    here = [name for name, in_task in STEPS if not in_task]
    with first_calls({code_of(name): name for name in here}) as called:
        done = CliRunner().invoke(cli.app, ["run", "e.txt", "--as", "follows", "--nodes", "30", "--out", "r"])
    assert done.exit_code == 0, done.output
    assert called == here
