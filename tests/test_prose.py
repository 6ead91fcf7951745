"""How the code reads: docstrings begin with a noun or a verb, and only the command line speaks of flags."""

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = [path for room in ("src", "tests", "benchmarks") for path in sorted((ROOT / room).rglob("*.py"))]
NO_BEGINNING = {
    *("about", "above", "across", "after", "against", "along", "among", "around", "as", "at", "before", "behind"),
    *("below", "beneath", "beside", "besides", "between", "beyond", "by", "despite", "down", "during", "except"),
    *("for", "from", "in", "inside", "into", "like", "near", "of", "off", "on", "onto", "out", "outside", "over"),
    *("past", "per", "since", "than", "through", "throughout", "till", "to", "toward", "towards", "under", "until"),
    *("up", "upon", "via", "with", "within", "without", "and", "but", "or", "so", "then", "because", "if", "while"),
    *("who", "whom", "whose", "those", "that", "it", "its", "they", "their", "there", "wherever", "also"),
}


@cache
def nodes_of(path: Path) -> list[ast.AST]:
    return list(ast.walk(ast.parse(path.read_text())))


@pytest.fixture(scope="module", autouse=True)
def forget() -> Iterator[None]:
    """A million nodes would be looked at by every later collection of garbage."""
    yield
    nodes_of.cache_clear()


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def documented(path: Path) -> Iterator[tuple[str, str]]:
    for node in nodes_of(path):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text:
                yield getattr(node, "name", "the module"), text


def test_docstrings_begin_with_a_noun_or_a_verb() -> None:
    found = [
        (named(path), name, text)
        for path in FILES
        for name, text in documented(path)
        if text.split()[0].strip("`.,:;").lower() in NO_BEGINNING
    ]
    assert found == []


LIBRARY = [path for path in FILES if path.is_relative_to(ROOT / "src" / "weft") and "cli" not in path.parts]
FLAG = re.compile(r"--[a-z{]")
SHOWS_COMMANDS = ("report", "java.py", "gateway.py")  # reports name the command that repeats them; Java has flags


def texts(nodes: Iterable[ast.AST]) -> list[str]:
    return [each.value for each in nodes if isinstance(each, ast.Constant) and isinstance(each.value, str)]


def errors_in(path: Path) -> Iterator[ast.Call]:
    for node in nodes_of(path):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id.endswith("Error"):
            yield node


def test_only_the_command_line_speaks_of_flags() -> None:
    found = []
    for path in LIBRARY:
        said = [text for error in errors_in(path) for text in texts(ast.walk(error))]
        if not {*path.parts} & {*SHOWS_COMMANDS}:
            said += texts(nodes_of(path))
        found += [(named(path), text) for text in said if FLAG.search(text)]
    assert found == []


def test_an_error_carries_the_options_that_its_sentence_names() -> None:
    found = []
    for path in LIBRARY:
        for error in errors_in(path):
            sentence, *options = error.args or [ast.Constant("")]
            told = re.findall(r"`(\w+)`", "".join(texts(ast.walk(sentence))))
            carried = [each.value for each in options if isinstance(each, ast.Constant)]
            if isinstance(sentence, ast.Constant | ast.JoinedStr) and carried != told:
                found.append((named(path), error.lineno, told, carried))
    assert found == []
