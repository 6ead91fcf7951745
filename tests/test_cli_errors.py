"""Errors and options: a sentence names only options that the command at hand has, however it came there."""

import ast
import inspect
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.core import TyperGroup

import weft
from command_line import Run
from weft import cli
from weft.cli.output import sentence_of
from weft.errors import WeftError

SOURCE = Path(weft.__file__).parent
OTHERS = {"--help", "--version"}  # of all commands


@cache
def commands() -> dict[str, Any]:
    """Every command by the words that call it."""

    def below(group: Any, words: str) -> Iterator[tuple[str, Any]]:
        for name, command in group.commands.items():
            if isinstance(command, TyperGroup):
                yield from below(command, f"{words}{name} ")
            else:
                yield f"{words}{name}", command

    return dict(below(typer.main.get_command(cli.app), ""))


def flags_of(command: Any) -> set[str]:
    return OTHERS | {flag for param in command.params for flag in (*param.opts, *param.secondary_opts)}


@cache
def errors() -> list[tuple[Path, ast.Call]]:
    return [
        (path, node)
        for path in sorted(SOURCE.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("WeftError", "SurroundingsError")
    ]


@cache
def named_options() -> set[str]:
    """All options that some error names."""
    return {
        argument.value
        for _, call in errors()
        for argument in call.args[1:]
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
    }


@pytest.mark.parametrize("words", commands())
def test_an_error_names_flags_that_its_command_has(words: str) -> None:
    """Whatever option a library's error names, and wherever it was wrapped."""
    command = commands()[words]
    options = named_options()
    assert {"count", "seed", "topics", "path"} <= options
    for option in options:
        told = sentence_of(WeftError(f"`{option}` is wrong.", option), command)
        assert "`" not in told
        assert set(re.findall(r"--[a-z][a-z-]*", told)) <= flags_of(command)


def test_an_option_is_named_as_its_command_calls_it() -> None:
    wrong = WeftError("`count` 0 is out of range.", "count")
    known = commands()
    told = {words: sentence_of(wrong, known[words]) for words in ("publish", "evaluate", "compare", "weave")}
    assert told == {
        "publish": "--count 0 is out of range.",
        "evaluate": "--publications 0 is out of range.",
        "compare": "--publications 0 is out of range.",
        "weave": "count 0 is out of range.",
    }
    assert sentence_of(WeftError("Give `kind` and `instance`.", "kind", "instance"), known["ingest"]) == (
        "Give --as and instance."
    )


def test_a_number_of_publications_that_is_wrong_is_told_by_its_own_name(run_weft: Run) -> None:
    run_weft("generate", "unif", "--nodes", 20, "--topics", 9, "--subscriptions", 3, "--out", "i")
    run_weft("design", "i", "--overlay", "chord", "--out", "o")
    for command in (("evaluate", "i", "o", "--router", "pie"), ("compare", "i", "--seeds", 1)):
        told = run_weft(*command, "--publications", 0)
        assert (told.code, "--publications 0 is out of range" in told.err) == (2, True)


@pytest.mark.parametrize("words", commands())
def test_sentences_of_a_command_name_its_own_flags(words: str) -> None:
    """Flags that a command's module writes out in its errors."""
    path = _module(commands()[words])
    in_module = {f for known in commands().values() if _module(known) == path for f in flags_of(known)}
    found = {
        flag
        for where, call in errors()
        if where == path
        for node in ast.walk(call)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        for flag in re.findall(r"(?<!`weft )(?<![\w-])--[a-z][a-z-]*", re.sub(r"`weft [^`]*`", "", node.value))
    }
    assert found <= in_module


def _module(command: Any) -> Path:
    return SOURCE / Path(*inspect.unwrap(command.callback).__module__.split(".")[1:]).with_suffix(".py")


def test_an_error_that_is_wrapped_keeps_its_options() -> None:
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        for handler in ast.walk(ast.parse(path.read_text())):
            if not isinstance(handler, ast.ExceptHandler) or ast.unparse(handler.type or handler) != "WeftError":
                continue
            for node in ast.walk(handler):
                wraps = isinstance(node, ast.Call) and "WeftError" in ast.unparse(node.func) and handler.name
                if wraps and f"*{handler.name}.options" not in ast.unparse(node):
                    found.append(f"{path.relative_to(SOURCE)}:{node.lineno}")
    assert found == []


def test_an_error_of_a_file_keeps_the_options_of_what_is_wrong_in_it(tmp_path: Path) -> None:
    weft.generate("unif", nodes=20, topics=9, subscriptions=3).write(tmp_path / "i")
    (tmp_path / "log.csv").write_text("a\n1\n")
    from weft.raw.traffic import read_traffic

    with pytest.raises(WeftError) as told:
        read_traffic(tmp_path / "log.csv", weft.Instance.read(tmp_path / "i"), {})
    assert told.value.options == ("columns",)
