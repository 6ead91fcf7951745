"""Outputs of commands are apart from their inputs, however a place is spelt, and belong to one process at a time."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from weft.errors import SurroundingsError, WeftError
from weft.model.output import claimed, require_apart

HOLD = """
import time
from pathlib import Path
from weft.model.output import claimed
with claimed(Path("new")):
    print(flush=True)
    time.sleep(600)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder `in`, with a part, a link to a file elsewhere and a folder of parts; other names for all that."""
    monkeypatch.chdir(tmp_path)
    for name in ("in/parts", "elsewhere"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("in/part", "in/parts/0", "elsewhere/file", "other"):
        (tmp_path / name).touch()
    (tmp_path / "in" / "link").symlink_to(tmp_path / "elsewhere" / "file")
    (tmp_path / "alias").symlink_to(tmp_path / "in")
    os.link(tmp_path / "in" / "part", tmp_path / "twin")
    return tmp_path


@pytest.mark.parametrize(
    ("output", "relation"),
    [
        ("in", "is in"),
        ("./in/", "is in"),
        ("in/../in", "is in"),
        ("alias", "is in"),
        ("alias/../in", "is in"),
        ("twin", "is a part of in"),
        ("in/part", "is a part of in"),
        ("in/parts/0", "is a part of in"),
        ("elsewhere/file", "is a part of in"),
        ("in/new", "lies inside in"),
        ("alias/new/deeper", "lies inside in"),
        ("in/parts/../new", "lies inside in"),
        (".", "lies around in"),
        ("in/..", "lies around in"),
        ("elsewhere", "lies around in"),
    ],
)
@pytest.mark.parametrize("force", [False, True])
def test_an_output_that_touches_an_input_is_refused(folder: Path, output: str, relation: str, force: bool) -> None:
    with (
        pytest.raises(WeftError, match=rf"{relation}, which is read"),
        claimed(Path(output), inputs=["in"], force=force),
    ):
        pass
    absolute = folder / output
    with pytest.raises(WeftError, match="which is read"), claimed(absolute, inputs=[folder / "in"], force=force):
        pass


@pytest.mark.parametrize("output", ["inn", "new", "new/in", "elsewhere/new", "../x"])
def test_an_output_beside_an_input_is_fine(folder: Path, output: str) -> None:
    require_apart([Path(output)], [Path("in")])


def test_an_output_around_a_file_or_the_file_itself_is_refused(folder: Path) -> None:
    for output, relation in (("other", "is other"), ("elsewhere/../other", "is other"), (".", "lies around")):
        with pytest.raises(WeftError, match=relation):
            require_apart([Path(output)], [Path("other")])


@pytest.mark.parametrize(("one", "two"), [("a", "a"), ("a", "./x/../a"), ("a", "a/b"), ("a/b", "a"), ("in", "alias")])
def test_two_outputs_have_a_place_of_their_own(folder: Path, one: str, two: str) -> None:
    with pytest.raises(WeftError, match="both are written"):
        require_apart([Path(one), Path(two)], [])


def test_a_claimed_output_is_refused_to_others_and_names_the_holder(folder: Path) -> None:
    with claimed(Path("new")):
        with (
            pytest.raises(WeftError, match=rf"new is being written by process {os.getpid()} \(weft"),
            claimed(folder / "new"),
        ):
            pass
        with claimed(Path("another")):
            pass
    with claimed(Path("new")):
        pass
    assert not list(folder.glob(".*"))


def test_a_claim_ends_with_its_process(folder: Path) -> None:
    command = [sys.executable, "-c", HOLD]
    holder = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE)
    assert holder.stdout is not None
    holder.stdout.readline()
    with pytest.raises(WeftError, match=f"process {holder.pid}"), claimed(Path("new")):
        pass
    holder.kill()
    holder.communicate()
    with claimed(Path("new")):
        pass
    assert not list(folder.glob(".*"))


def test_folders_made_for_a_claim_go_with_it_unless_they_are_used(folder: Path) -> None:
    with claimed(Path("a/b/new")):
        pass
    assert not (folder / "a").exists()
    with claimed(Path("a/b/new")):
        (folder / "a" / "b" / "new").touch()
    assert (folder / "a" / "b" / "new").exists()


def test_a_place_that_cannot_be_is_told_before_any_work(folder: Path) -> None:
    with pytest.raises(SurroundingsError, match="a file is where a folder should be"), claimed(Path("other/new")):
        pass
