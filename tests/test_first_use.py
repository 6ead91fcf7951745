"""Waiting for the compiler: what the progress line says, and what `weft warm` spares."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from threading import Event

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

from weft.cli import app, output
from weft.cli.output import ConsoleProgress
from weft.first_use import Compilation
from weft.model.publication import Publications
from weft.overlays.catalog import design
from weft.sim import rehearsal
from weft.workloads.catalog import generate


class Told(io.StringIO):
    """A stream that tells when it was written to."""

    def __init__(self) -> None:
        super().__init__()
        self.something = Event()

    def write(self, text: str) -> int:
        written = super().write(text)
        self.something.set()
        return written


@pytest.fixture
def compilation(monkeypatch: pytest.MonkeyPatch) -> Compilation:
    made = Compilation()
    monkeypatch.setattr(output, "COMPILATION", made)
    monkeypatch.setattr(output, "LONG", 0.0)
    return made


def progress_to(stream: io.StringIO, *, terminal: bool = False) -> ConsoleProgress:
    progress = ConsoleProgress()
    progress.console = Console(file=stream, force_terminal=terminal, width=200)
    return progress


def test_a_step_says_that_it_compiles_while_it_does(compilation):
    stream = Told()
    with progress_to(stream).step("Designing"):
        compilation.start()
        assert stream.something.wait(60)
        assert stream.getvalue() == "Designing: compiling, first use\n"
        compilation.end()
    assert "s, of which " in stream.getvalue()


def test_a_step_that_compiles_nothing_says_nothing_of_it(compilation):
    stream = Told()
    with progress_to(stream).step("Designing"):
        pass
    assert "compiling" not in stream.getvalue()


def test_a_bar_says_it_too(compilation, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    shown = Event()
    compilation.start()
    with progress_to(io.StringIO(), terminal=True).step("Designing", lambda: (shown.set(), (0, 0))[1]) as _:
        assert shown.wait(60)
        assert output._reason() == ": compiling, first use"
        compilation.end()
        assert output._reason() == ""


def test_what_is_compiled_for_a_kernel_is_not_counted_twice(monkeypatch):
    monkeypatch.setattr("weft.first_use.time.perf_counter", iter([10.0, 12.0, 15.0, 20.0]).__next__)
    compilation = Compilation()
    compilation.start()
    compilation.start()
    compilation.end()
    assert (compilation.under_way, compilation.seconds) == (True, 5.0)
    compilation.end()
    assert (compilation.under_way, compilation.seconds) == (False, 10.0)


def compiling(code: str, cache: Path) -> bool:
    """Whether the code makes new machine code, in a process of its own."""
    tail = "from weft.first_use import COMPILATION; print(COMPILATION.seconds)"
    given = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    done = subprocess.run([sys.executable, "-c", f"{code}; {tail}"], env=given, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return float(done.stdout.splitlines()[-1]) > 0


def test_after_its_rehearsal_a_command_compiles_nothing(tmp_path):
    instance = generate("unif", nodes=50, topics=20, subscriptions=5, seed=1)
    instance.write(tmp_path / "instance")
    design(instance, "chord", seed=1).write(tmp_path / "overlay")
    nodes = np.arange(50, dtype=np.int32)
    Publications(nodes % np.int32(20), nodes).write(tmp_path / "said.parquet")
    rehearse = "from weft.sim.rehearsal import REHEARSALS; REHEARSALS['evaluate scribe']()"
    options = ["--router", "scribe", "--publications", str(tmp_path / "said.parquet")]
    command = ["evaluate", str(tmp_path / "instance"), str(tmp_path / "overlay"), *options]
    evaluate = f"from weft.cli import app; app({command}, standalone_mode=False)"
    assert compiling(rehearse, tmp_path / "cache")
    assert not compiling(evaluate, tmp_path / "cache")


@pytest.mark.parametrize("name", rehearsal.REHEARSALS)
def test_every_rehearsal_can_be_played(name):
    rehearsal.REHEARSALS[name]()


def test_warm_tells_what_is_ready(monkeypatch):
    monkeypatch.setattr(rehearsal, "REHEARSALS", {"inspect": rehearsal.REHEARSALS["inspect"]})
    monkeypatch.setattr("weft.pipeline.archive.provide_archive", lambda: Path("classes.jsa"))
    done = CliRunner().invoke(app, ["warm", "--processes", "1", "--json"])
    assert json.loads(done.stdout)["ready"] == ["inspect", "spark"]
    done = CliRunner().invoke(app, ["warm", "--processes", "1", "--no-spark", "--json"])
    assert json.loads(done.stdout)["ready"] == ["inspect"]
