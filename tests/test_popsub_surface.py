"""PopSub's modules serve somebody: each public name is reached from a command or from `weft`."""

import ast
from functools import cache
from pathlib import Path

import pytest

import weft

SOURCE = Path(weft.__file__).parent
MODULES = [
    *("model.content", "model.exchange", "model.expression", "model.matching", "kernels.matching"),
    *("overlays.broker_tree", "workloads.popsub", "raw.distribution", "raw.exchange", "raw.records"),
    *("sim.brokers", "sim.capacity", "sim.content_world", "sim.named_tree", "sim.popsub", "sim.popsub_case"),
    *("sim.popsub_system", "sim.stage", "sim.topic_exchange", "report.popsub", "pipeline.popsub"),
    *("live.bench.capacity", "experiments.measures.popsub", "experiments.runs.popsub"),
    *(f"protocol.popsub.{path.stem}" for path in sorted((SOURCE / "protocol/popsub").glob("[a-z]*.py"))),
    *(f"kernels.popsub.{path.stem}" for path in sorted((SOURCE / "kernels/popsub").glob("[a-z]*.py"))),
]
Name = tuple[str, str]  # module and name


@cache
def definitions() -> dict[Name, set[Name]]:
    """What the code of every name at the top of a module mentions; "" is the rest of the module."""
    found: dict[Name, set[Name]] = {}
    for path in SOURCE.rglob("*.py"):
        module = ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
        tree = ast.parse(path.read_text())
        imported: dict[str, Name] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("weft"):
                home = (node.module or "").removeprefix("weft").removeprefix(".")
                imported |= {alias.asname or alias.name: (home, alias.name) for alias in node.names}
        own = {name: (module, name) for node in tree.body for name in names_of(node)}
        for node in tree.body:
            for name in names_of(node) or [""]:
                found.setdefault((module, name), set()).update(mentioned(node, {**imported, **own}))
    return found


def names_of(node: ast.stmt) -> list[str]:
    match node:
        case ast.FunctionDef() | ast.ClassDef():
            return [node.name]
        case ast.Assign(targets=targets):
            return [leaf.id for target in targets for leaf in ast.walk(target) if isinstance(leaf, ast.Name)]
        case ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
    return []


def mentioned(node: ast.AST, known: dict[str, Name]) -> set[Name]:
    found = set()
    for leaf in ast.walk(node):
        if isinstance(leaf, ast.Name) and leaf.id in known:
            found.add(known[leaf.id])
        if isinstance(leaf, ast.Attribute) and isinstance(leaf.value, ast.Name) and leaf.value.id in known:
            home, name = known[leaf.value.id]
            found.add((f"{home}.{name}".strip("."), leaf.attr))
    return found


@cache
def reached() -> set[Name]:
    """Names that a command, an experiment of the catalog, or a name of `weft` leads to."""
    roots = [name for name in definitions() if name[0].startswith("cli")]
    roots += [(home.removeprefix("weft."), name) for name, home in weft._HOMES.items()]
    roots += [name for name in definitions() if name[1] == "" or name[0].startswith("experiments.papers")]
    seen: set[Name] = set()
    while roots:
        name = roots.pop()
        if name not in seen:
            seen.add(name)
            roots += definitions().get(name, set())
    return seen


@pytest.mark.parametrize("module", MODULES)
def test_each_public_name_is_used_by_a_command_or_by_weft(module: str) -> None:
    public = [name for home, name in definitions() if home == module and name and not name.startswith("_")]
    assert public
    assert [name for name in public if (module, name) not in reached()] == []
