"""The rule of exit codes, over all commands: 0 done, 1 not held, 2 input, 3 surroundings, 70 a defect, 128 + a signal.

`weft.errors.Exit` has it, docs/guide.md tells it. Ends by signals are in test_ending.py and the tests of processes.
"""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from ports import free_port
from weft import cli
from weft.errors import DeliveryError, Exit, SurroundingsError, WeftError
from weft.wire.frame_field import FrameError

PAGE = Path(__file__).parents[1] / "docs" / "guide.md"


def leaves(command: Any, *names: str) -> Iterator[tuple[str, Any]]:
    inner = getattr(command, "commands", None)
    if inner is None:
        yield " ".join(names), command
    for name in inner or ():
        yield from leaves(inner[name], *names, name)


ROOT = typer.main.get_command(cli.app)
COMMANDS = dict(leaves(ROOT))


@pytest.fixture
def end(monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """The code with which `weft` ends."""
    monkeypatch.setattr("weft.ending.watch", lambda: None)

    def run(*words: str) -> int:
        monkeypatch.setattr(sys, "argv", ["weft", *words])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        assert isinstance(ended.value.code, int)
        return ended.value.code

    return run


ENDS = [
    (None, 0),
    (DeliveryError("5 deliveries where 6 are due"), 1),
    (typer.Exit(Exit.NOT_HELD), 1),
    (WeftError("There is no such thing: give another."), 2),
    (typer.Abort(), 2),
    (typer.BadParameter("no"), 2),
    (SurroundingsError("The disk is full: make room."), 3),
    (FrameError("It does not speak as agreed."), 3),
    (OSError(28, "No space left on device"), 3),
    (ConnectionRefusedError(111, "Connection refused"), 3),
    (MemoryError(), 3),
    (KeyError("x"), 70),
    (ZeroDivisionError(), 70),
    (RuntimeError("dictionary changed size"), 70),
    (BrokenPipeError(32, "Broken pipe"), 128 + signal.SIGPIPE),
]


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_ends_with_the_code_of_what_it_met(
    name: str, end: Callable[..., int], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = COMMANDS[name]
    monkeypatch.setattr(command, "params", [])
    monkeypatch.setattr("typer.main.get_command", lambda _: ROOT)
    for error, code in ENDS:

        def meet(error: BaseException | None = error) -> None:
            if error is not None:
                raise error

        monkeypatch.setattr(command, "callback", meet)
        assert end(*name.split()) == code, error
        said = capsys.readouterr().err
        assert ("Traceback" in said) == (code == 70)
        assert (code == 70) == ("This is a defect of Weft: report it" in said)


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_refuses_an_option_that_it_does_not_have(name: str, end: Callable[..., int]) -> None:
    assert end(*name.split(), "--no-such-option") == 2


def test_a_port_a_disk_and_a_network_are_surroundings(end: Callable[..., int], tmp_path: Path) -> None:
    nobody = f"127.0.0.1:{free_port()}"
    (tmp_path / "file").touch()
    for words in (
        *(("status", "--master", nobody), ("redesign", "--master", nobody), ("leave", "n", "--master", nobody)),
        ("snapshot", "--out", str(tmp_path / "s"), "--master", nobody),
        ("generate", "unif", "--nodes", "30", "--topics", "40", "--out", str(tmp_path / "file" / "i")),
        ("bench", nobody, "--seconds", "1"),
    ):
        assert end(*words) == 3, words


def test_nobody_who_reads_on_is_the_signal_for_it() -> None:
    command = [sys.executable, "-m", "weft", "generate", "--help"]
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write) as closed:
        done = subprocess.run(command, stdout=closed, stderr=subprocess.PIPE, check=False)
    assert done.returncode in (128 + signal.SIGPIPE, 120), done.stderr  # 120: Python's own, where it was buffered


def test_the_page_has_the_rule() -> None:
    rows = re.findall(r"^\| (\d+) \| ", PAGE.read_text(), re.MULTILINE)
    assert [int(row) for row in rows] == [*Exit, 128 + signal.SIGTERM]
