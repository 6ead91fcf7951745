"""Tests run in a forked process, with a module of the package replaced by a mutant.

The parent has imported what is large and never mutated, but no room of the package: a child imports these itself, with
the mutant among them, in a fraction of a second. The time of processor that it may use is bounded, whatever else the
machine does.
"""

import ast
import importlib.abc
import importlib.machinery
import importlib.util
import os
import resource
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from types import CodeType, ModuleType

import pytest
from hypothesis import Phase, settings

TESTS = Path(__file__).parents[1]
EXAMPLES = 50  # of a property


class Quick:
    """Few examples, the same in each run, and no shrinking: that a test fails is all that is asked. And no Spark."""

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if "spark" not in getattr(item, "fixturenames", ())]
        for item in items:
            for holder, name in (
                (getattr(item, "obj", None), "_hypothesis_internal_use_settings"),
                (getattr(item, "cls", None), "settings"),
            ):
                found = getattr(getattr(holder, "__func__", holder), name, None)
                if isinstance(found, settings):
                    setattr(getattr(holder, "__func__", holder), name, quick(found))


def quick(found: settings) -> settings:
    return settings(
        found,
        max_examples=min(found.max_examples, EXAMPLES),
        phases=(Phase.explicit, Phase.generate),
        database=None,
        deadline=None,
        derandomize=True,
        suppress_health_check=(),
    )


class Replacement(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """Finds one module, and loads other code for it."""

    def __init__(self, name: str, path: Path, tree: ast.Module) -> None:
        self.name, self.path, self.tree = name, path, tree

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self.name:
            return None
        return importlib.util.spec_from_file_location(fullname, self.path, loader=self)

    def get_source(self, fullname: str) -> None:
        return None

    def get_code(self, fullname: str) -> CodeType:
        return compile(self.tree, str(self.path), "exec", dont_inherit=True)


def run_tests(nodes: Sequence[str], output: str, *plugins: object) -> int:
    """Run tests until the first that fails, with what is printed in a file; pytest's exit code."""
    os.chdir(TESTS.parent)
    with open(output, "w") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
        options = [
            "-x",
            "-q",
            "-p",
            "no:cacheprovider",
            "-p",
            "no:xdist",
            "-W",
            "ignore::pytest.PytestAssertRewriteWarning",
        ]
        return int(pytest.main([*options, *nodes], plugins=[Quick(), *plugins]))


def in_child(work: Callable[[], int], seconds: float) -> int:
    """The process that does it; its exit code is the work's, or the signal that ended it when its time was up."""
    child = os.fork()
    if child:
        return child
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 2))
    try:
        os._exit(work())
    finally:  # it raised: nothing of the parent's is to be cleaned up here
        traceback.print_exc()
        os._exit(1)


def with_mutant(name: str, path: Path, tree: ast.Module, nodes: Sequence[str]) -> int:
    sys.meta_path.insert(0, Replacement(name, path, tree))
    return run_tests(nodes, os.devnull)
