"""`weft` as a user runs it, in the process of the test."""

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from weft import cli, ending

Run = Callable[..., "Done"]


@dataclass
class Done:
    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, object]:
        (line,) = self.out.splitlines()
        return dict(json.loads(line))


@pytest.fixture
def run_weft(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """A command, in an empty folder; where it needs Spark, the test asks for the session of the tests."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(ending, "watch", lambda: None)

    def call(*arguments: object) -> Done:
        monkeypatch.setattr(sys, "argv", ["weft", *map(str, arguments)])
        capfd.readouterr()
        try:
            cli.main()
            code = 0
        except SystemExit as stop:
            code = int(stop.code or 0)
        return Done(code, *capfd.readouterr())

    return call
