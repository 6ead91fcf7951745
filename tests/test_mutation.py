"""The mutation tester's mutants, and what it leaves alone."""

import ast

import pytest

from mutation.mutants import mutants_of


def names(source: str) -> set[str]:
    return {mutant.name for mutant in mutants_of(source)}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("x = a < b", {"a < b -> a <= b"}),
        ("x = a in b and c", {"a in b and c -> a in b or c", "a in b -> a not in b"}),
        ("x += 1", {"x += 1 -> x -= 1", "x += 1 -> pass", "1 -> 2"}),
        ("f(True)", {"f(True) -> pass", "True -> False"}),
        ("x = not a", {"not a -> a"}),
        ("x = min(a, b)", {"min -> max"}),
        ("self.x = y", {"self.x = y -> pass"}),
        ("def f():\n    return x", {"return x -> return None"}),
        ("while a:\n    break", {"while a: -> while not a:", "break -> continue"}),
    ],
)
def test_small_changes(source: str, expected: set[str]) -> None:
    assert names(source) == expected


@pytest.mark.parametrize(
    "source",
    [
        *("'''A docstring.'''", "x: list[1] = y", "raise Wrong(1 + 1)", "assert a < b", "@f(1)\ndef g(): ..."),
        *("import a", "def check_invariants():\n    f(1)", "if TYPE_CHECKING:\n    x = 1"),
    ],
)
def test_texts_and_checks_are_left_alone(source: str) -> None:
    assert names(source) == set()


def test_zip_may_be_strict_or_not() -> None:
    assert names("x = zip(a, b, strict=True)") == set()


def test_a_mutant_differs_from_the_module_in_one_place() -> None:
    source = "def f(a, b):\n    return a + b if a > 0 else -b\n"
    trees = [ast.unparse(mutant.tree) for mutant in mutants_of(source)]
    assert len(set(trees)) == len(trees) == 5
    assert ast.unparse(ast.parse(source)) not in trees
    assert {mutant.line for mutant in mutants_of(source)} == {2}
