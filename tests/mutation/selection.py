"""Which tests come by which lines, and how long each takes: measured once, on the code as it is."""

import json
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import coverage
import pytest

from mutation.trial import in_child, run_tests

SECONDS = 3600.0  # for all tests once


@dataclass
class Selection:
    tests: dict[int, list[str]] = field(default_factory=dict)  # by line, the quickest first
    seconds: dict[str, float] = field(default_factory=dict)  # of processor, by test


class Watch:
    """Notes the lines of files that each test comes by."""

    def __init__(self, files: Sequence[Path]) -> None:
        self.coverage = coverage.Coverage(data_file=None, include=[str(file) for file in files], config_file=False)
        self.seconds: dict[str, float] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.coverage.switch_context(item.nodeid)
        before = time.process_time()
        result = yield
        self.seconds[item.nodeid] = time.process_time() - before
        return result


def selections(files: Sequence[Path], tests: Sequence[str], scratch: Path) -> dict[Path, Selection]:
    """One for each file.

    Lines that are run on import belong to all tests that come by the file later, or to all tests if none does.
    """
    report = scratch / "selection.json"
    child = in_child(lambda: _observe(files, tests, report), SECONDS)
    _, status = os.waitpid(child, 0)
    if status:
        raise SystemExit(f"The tests fail on the code as it is:\n{report.with_suffix('.txt').read_text()}")
    told = json.loads(report.read_text())
    return {
        file: Selection({int(line): names for line, names in told["lines"][str(file)].items()}, told["seconds"])
        for file in files
    }


def _observe(files: Sequence[Path], tests: Sequence[str], report: Path) -> int:
    watch = Watch(files)
    watch.coverage.start()
    code = run_tests(tests, str(report.with_suffix(".txt")), watch)
    watch.coverage.stop()
    data = watch.coverage.get_data()
    lines: dict[str, dict[int, list[str]]] = {}
    for file in files:
        by_line = data.contexts_by_lineno(str(file))
        everyone = sorted({name for names in by_line.values() for name in names if name}) or sorted(watch.seconds)
        lines[str(file)] = {
            line: sorted(everyone if "" in names else names, key=watch.seconds.__getitem__)
            for line, names in by_line.items()
        }
    report.write_text(json.dumps({"lines": lines, "seconds": watch.seconds}))
    return code
