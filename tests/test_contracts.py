"""The contracts of pyproject.toml notice what they forbid: every room of a copy of the tree breaks each of them."""

import os
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

CHECKOUT = Path(__file__).resolve().parents[1]
ALLOWED = {"pyspark": "pipeline", "numba": "kernels", "asyncio": "live"}
UNHEARD_OF = "annex"
BUILT = sorted(path.parent.name for path in CHECKOUT.glob("src/weft/*/__init__.py"))
ROOMS = [*BUILT, UNHEARD_OF]
MODULES = sorted(path.stem for path in CHECKOUT.glob("src/weft/[a-z]*.py"))  # beside the rooms

LAYERS = (  # from the bottom
    ("arrays", "cache", "ending", "errors", "first_use"),
    ("memory",),
    ("model", "kernels"),
    ("raw", "workloads", "overlays", "protocol", "trees", "wire"),
    ("access",),
    ("journal",),
    ("broker",),
    ("node", "master"),
    ("sim", "live"),
    ("fleet",),
    ("pipeline",),
    ("experiments",),
    ("report",),
    ("cli",),
)
UPWARDS = [
    (low, high) for number, layer in enumerate(LAYERS) for low in layer for high in sum(LAYERS[number + 1 :], ())
]
APART = [("sim", "live"), ("live", "sim"), ("overlays", "trees"), ("trees", "overlays"), ("protocol", "wire")]


def room_and_module(room: str) -> tuple[Path, str]:
    return (Path(f"{room}.py"), room) if room in MODULES else (Path(room, "offender.py"), f"{room}.offender")


@cache
def complaints(imports: tuple[tuple[str, str], ...]) -> str:
    """What the contracts say when each of these rooms has a module that imports this."""
    with TemporaryDirectory() as folder:
        copy = Path(folder)
        shutil.copy(CHECKOUT / "pyproject.toml", copy)
        ignored = shutil.ignore_patterns("__pycache__", "*.toml", "assets", "conf")
        shutil.copytree(CHECKOUT / "src", copy / "src", ignore=ignored)
        for room, imported in imports:
            add_import(copy / "src/weft", room, imported)
        environment = {**os.environ, "PYTHONPATH": str(copy / "src"), "COLUMNS": "200"}
        command = [
            sys.executable,
            "-c",
            "from importlinter.cli import lint_imports_command as run; run()",
            "--no-cache",
        ]
        done = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True)
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout


def add_import(package: Path, room: str, imported: str) -> None:
    path = package / room_and_module(room)[0]
    path.parent.mkdir(exist_ok=True)
    (path.parent / "__init__.py").touch()
    with path.open("a") as file:
        file.write(f"\nimport {imported}\n")


@pytest.mark.parametrize("forbidden", ALLOWED)
@pytest.mark.parametrize("room", [*ROOMS, *MODULES])
def test_one_room_alone_knows_a_package(room: str, forbidden: str) -> None:
    said = complaints(tuple((each, forbidden) for each in (*ROOMS, *MODULES)))
    told = re.search(rf"\bweft\.{re.escape(room_and_module(room)[1])} -> {forbidden}\b", said) is not None
    assert told == (room != ALLOWED[forbidden])


def test_a_new_room_has_to_be_given_its_layer() -> None:
    said = complaints(((UNHEARD_OF, "weft.model"),))
    assert re.search(rf"not listed as layers:\s+- weft\.{UNHEARD_OF}\b", said), said


def test_every_room_is_tried() -> None:
    assert {*BUILT, *MODULES} == set(sum(LAYERS, ()))


def test_no_room_uses_one_above_it_or_apart_from_it() -> None:
    wrong = [*UPWARDS, *APART]
    said = complaints(tuple((low, f"weft.{high}") for low, high in wrong))
    assert [pair for pair in wrong if "weft.{} is not allowed to import weft.{}:".format(*pair) not in said] == []
