"""The table of docs/mqtt-conformance.md: each statement of the standards, and the tests that show it.

The page has the words, the tests have the marks; `python tests/mqtt_table.py` writes the tests' names into the page,
and tests/test_mqtt_conformance_table.py fails while one of the two is behind.
"""

import importlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).parent
PAGE = TESTS.parent / "docs" / "mqtt-conformance.md"
ROW = re.compile(r"^\| (MQTT-[0-9.]+-[0-9]+) \| (.+?) \| (.*?) ?\|$")

both = pytest.mark.parametrize("version", [4, 5], ids=["v311", "v5"])


def v311(*numbers: str) -> pytest.MarkDecorator:
    """Mark of a test that shows statements of MQTT 3.1.1."""
    return pytest.mark.mqtt("3.1.1", *(f"MQTT-{number}" for number in numbers))


def v5(*numbers: str) -> pytest.MarkDecorator:
    """Mark of a test that shows statements of MQTT 5.0."""
    return pytest.mark.mqtt("5.0", *(f"MQTT-{number}" for number in numbers))


def shown() -> dict[tuple[str, str], list[str]]:
    """Version and statement, to the tests that carry its mark."""
    found: dict[tuple[str, str], list[str]] = {}
    for path in sorted(TESTS.glob("test_mqtt_conformance_*.py")):
        module = importlib.import_module(path.stem)
        for name, test in vars(module).items():
            if name.startswith("test_"):
                for version, *statements in marks(getattr(test, "pytestmark", [])):
                    for statement in statements:
                        names = found.setdefault((version, statement), [])
                        names.append(f"{path.stem.removeprefix('test_mqtt_conformance_')}: {name}")
    return {key: sorted(set(names)) for key, names in found.items()}


def marks(given: list[Any]) -> Iterator[tuple[str, ...]]:
    """Arguments of the `mqtt` marks of a test and of the rows that it is parametrised with."""
    for mark in given:
        if mark.name == "mqtt":
            yield mark.args
        elif mark.name == "parametrize":
            for row in mark.args[1]:
                yield from marks(getattr(row, "marks", []))


def rows(page: str) -> Iterator[tuple[str, str, str, str]]:
    """Version, statement, words and last cell of each row of the page."""
    version = ""
    for line in page.splitlines():
        if line.startswith("## MQTT "):
            version = line.split()[2]
        if found := ROW.match(line):
            statement, words, cell = found.groups()
            yield version, statement, words, cell


def rendered(page: str) -> str:
    """The page with the last cell of each row as the tests have it now."""
    tests = shown()
    lines, version = [], ""
    for line in page.splitlines():
        if line.startswith("## MQTT "):
            version = line.split()[2]
        if found := ROW.match(line):
            statement, words, cell = found.groups()
            names = tests.get((version, statement))
            kept = "" if cell.startswith("`") else cell
            line = f"| {statement} | {words} | {', '.join(f'`{name}`' for name in names) if names else kept} |"
        lines.append(line)
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.path.insert(0, str(TESTS))
    PAGE.write_text(rendered(PAGE.read_text()))
