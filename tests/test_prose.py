"""How the code reads: docstrings begin with a noun or a verb, and only the command line speaks of flags."""

import ast
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
