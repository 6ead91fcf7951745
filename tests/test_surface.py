"""What Python users see: every exported name, tables, and what the docs show."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import weft
from weft.model.table import Table
from weft.sim.bulk import trace
from weft.sim.catalog import network_for

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("name", sorted({*weft.__all__, *weft._HOMES}))
def test_every_exported_name_is_there_and_at_home(name: str) -> None:
    assert name in weft.__all__
    assert getattr(weft, name).__module__ == weft._HOMES.get(name, "weft.errors")


def shown_names(page: Path) -> set[str]:
    """Dotted names under `weft` that the page shows, imports among them; commands and files are none."""
    text = page.read_text()
    names = set(re.findall(r"(?<![\w./-])weft(?:\.\w+)+", text))
    for home, imported in re.findall(r"from (weft[\w.]*) import ([\w, ]+)", text):
        names |= {f"{home}.{name.strip()}" for name in imported.split(",")}
    return {name for name in names if not name.endswith((".toml", ".py"))}


def is_there(name: str) -> bool:
    found: object = weft
    for part in name.split(".")[1:]:
        if not hasattr(found, part):
            try:
                import_module(f"{found.__name__}.{part}")  # type: ignore[attr-defined]
            except ModuleNotFoundError:
                return False
        found = getattr(found, part)
    return True


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_docs_show_names_that_are_there(page: Path) -> None:
    assert [name for name in sorted(shown_names(page)) if not is_there(name)] == []


TABLES = ("instance", "overlay", "publications", "trees", "topics", "trace", "schedule")


@cache
def tables() -> dict[str, Table]:
    instance = weft.generate("unif", nodes=30, topics=12, subscriptions=3, seed=1)
    overlay = weft.design(instance, "chord", seed=1)
    drawn = weft.publications(instance, 40, seed=1)
    found = weft.evaluate(instance, overlay, "pie", drawn, per_topic=True).topics
    assert found is not None
    return {
        "instance": instance,
        "overlay": overlay,
        "publications": drawn,
        "trees": weft.weave(instance, overlay),
        "topics": found,
        "trace": trace(network_for("pie", instance, overlay), "pie", int(drawn.topics[0]), int(drawn.nodes[0])),
        "schedule": weft.schedule(5, rate=2.0, duration=3.0, seed=1),
    }


@pytest.mark.parametrize("name", TABLES)
def test_a_table_is_the_same_in_arrow_and_pandas(name: str) -> None:
    table = tables()[name]
    arrow, frame = table.to_arrow(), table.to_pandas()
    assert arrow.num_rows > 0
    assert list(frame.columns) == arrow.column_names == list(table.columns)
    for column in arrow.column_names:
        values = arrow[column].to_pandas().to_numpy()
        assert np.array_equal(frame[column].to_numpy(), values, equal_nan=values.dtype.kind == "f")


def test_tables_hold_what_the_values_do() -> None:
    made = tables()
    instance, overlay, trees = made["instance"], made["overlay"], made["trees"]
    assert isinstance(instance, weft.Instance)
    assert isinstance(overlay, weft.Overlay)
    assert isinstance(trees, weft.Trees)
    pairs = instance.to_pandas()
    assert pairs[pairs.node == 7].topic.tolist() == instance.interest[7].tolist()
    links = overlay.to_pandas()
    assert links[links.source == 7].target.tolist() == overlay.of(7).tolist()
    rows = trees.to_arrow().to_pylist()
    linked = {(row["topic"], row["parent"], row["node"]) for row in rows if row["parent"] is not None}
    assert linked == set(zip(*(ends.tolist() for ends in trees.links), strict=True))
    assert sum(row["parent"] is None for row in rows) == np.count_nonzero(trees.sizes)


PUBLISHED = {"gswico_s", "gswico_l"}  # algorithms by the names that their papers give them


def test_functions_that_no_other_module_uses_are_private() -> None:
    """Kernels excepted, which are small functions that call each other, and commands, which typer or a script calls."""
    source = ROOT / "src" / "weft"
    files = [path for room in ("src", "tests", "benchmarks") for path in (ROOT / room).rglob("*.py")]
    used = {name for path in files for name in names_used(ast.parse(path.read_text()))}
    shown = {name for page in PAGES for name in re.findall(r"\b(\w+)\(", page.read_text())}
    found = []
    for path in sorted(source.rglob("*.py")):
        home = ".".join(path.relative_to(source.parent).with_suffix("").parts)
        for node in ast.parse(path.read_text()).body:
            if not isinstance(node, ast.FunctionDef) or node.name.startswith("_") or node.name in PUBLISHED:
                continue
            known = (home, node.name) in used or node.name in shown
            if not home.startswith(("weft.kernels", "weft.cli", "weft.__main__")) and not known:
                found.append(f"{home}.{node.name}")
    assert found == []


def names_used(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Modules with the names that are imported from them, or taken as their attributes."""
    modules = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            for each in node.names:
                yield node.module, each.name
                modules[each.asname or each.name] = f"{node.module}.{each.name}"
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules:
            yield modules[node.value.id], node.attr
