"""How the code reads: docstrings begin with a noun or a verb, and only the command line speaks of flags."""

import ast
import re
from collections.abc import Iterator
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
    *("who", "whom", "whose", "those", "that"),
}


def documented(path: Path) -> Iterator[tuple[str, str]]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text:
                yield getattr(node, "name", "the module"), text


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_docstrings_begin_with_a_noun_or_a_verb(path: Path) -> None:
    found = [(name, text) for name, text in documented(path) if text.split()[0].strip("`.,:;").lower() in NO_BEGINNING]
    assert found == []


LIBRARY = [path for path in FILES if path.is_relative_to(ROOT / "src" / "weft") and "cli" not in path.parts]
FLAG = re.compile(r"--[a-z{]")
SHOWS_COMMANDS = ("report", "java.py", "gateway.py")  # reports name the command that repeats them; Java has flags


def texts(node: ast.AST) -> list[str]:
    return [each.value for each in ast.walk(node) if isinstance(each, ast.Constant) and isinstance(each.value, str)]


def errors_in(path: Path) -> Iterator[ast.Call]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id.endswith("Error"):
            yield node


@pytest.mark.parametrize("path", LIBRARY, ids=lambda path: str(path.relative_to(ROOT)))
def test_only_the_command_line_speaks_of_flags(path: Path) -> None:
    if not {*path.parts} & {*SHOWS_COMMANDS}:
        assert [text for text in texts(ast.parse(path.read_text())) if FLAG.search(text)] == []
    assert [text for error in errors_in(path) for text in texts(error) if FLAG.search(text)] == []


@pytest.mark.parametrize("path", LIBRARY, ids=lambda path: str(path.relative_to(ROOT)))
def test_an_error_carries_the_options_that_its_sentence_names(path: Path) -> None:
    for error in errors_in(path):
        sentence, *options = error.args or [ast.Constant("")]
        named = re.findall(r"`(\w+)`", "".join(texts(sentence)))
        if isinstance(sentence, ast.Constant | ast.JoinedStr):
            assert [each.value for each in options if isinstance(each, ast.Constant)] == named
