import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from weft.errors import WeftError
from weft.model.storage import new_folder, new_path, read_meta, write_meta


def test_a_failed_write_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), new_folder(tmp_path / "out") as folder:
        (folder / "half").write_text("x")
        _ = 1 / 0
    assert list(tmp_path.iterdir()) == []


def test_a_failed_replacement_leaves_the_old(tmp_path: Path) -> None:
    with new_folder(tmp_path / "out") as folder:
        write_meta(folder, {"old": True})
    with pytest.raises(ZeroDivisionError), new_folder(tmp_path / "out", force=True):
        _ = 1 / 0
    assert read_meta(tmp_path / "out", "mine") == {"old": True}
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_force_replaces_the_whole_folder(tmp_path: Path) -> None:
    for name in ("old", "new"):
        with new_folder(tmp_path / "out", force=name == "new") as folder:
            write_meta(folder, {})
            (folder / name).touch()
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["meta.json", "new", "out"]


def test_force_leaves_folders_of_others_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(WeftError, match="a folder of something else"), new_folder(tmp_path, force=True):
        pytest.fail("the block must not run")
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_file_does_not_replace_a_folder(tmp_path: Path) -> None:
    with new_folder(tmp_path / "out") as folder:
        write_meta(folder, {})
    with pytest.raises(WeftError, match="a file does not replace"), new_path(tmp_path / "out", force=True) as partial:
        partial.touch()
    assert [path.name for path in tmp_path.rglob("*")] == ["out", "meta.json"]


def test_what_exists_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("mine")
    with pytest.raises(WeftError, match="exists already"), new_path(tmp_path / "out"):
        pytest.fail("the block must not run")
    assert (tmp_path / "out").read_text() == "mine"


def test_what_appears_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    with pytest.raises(WeftError, match="exists already"), new_path(tmp_path / "out") as partial:
        partial.write_text("late")
        (tmp_path / "out").write_text("mine")
    assert (tmp_path / "out").read_text() == "mine"


def test_a_full_disk_is_told_in_a_sentence(tmp_path: Path) -> None:
    with (
        pytest.raises(WeftError, match=r"No space left on the disk of .*nothing was written"),
        new_path(tmp_path / "out"),
    ):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_file_where_a_folder_should_be_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(WeftError, match="cannot be written"), new_folder(tmp_path / "file" / "out"):
        pytest.fail("the block must not run")


def test_leftovers_of_a_process_that_had_the_same_number_are_swept(tmp_path: Path) -> None:
    """A container that is started again is such a case: its first process is always number 1."""
    for kind in ("partial", "replaced"):
        (tmp_path / f".out.{kind}-{os.getpid()}").mkdir()
    with new_folder(tmp_path / "out"):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_leftovers_of_a_killed_process_are_swept_by_the_next(tmp_path: Path) -> None:
    code = f"""
import os, signal
from weft.model.storage import new_folder
with new_folder({str(tmp_path / "out")!r}) as folder:
    (folder / "half").touch()
    os.kill(os.getpid(), signal.SIGKILL)
"""
    subprocess.run([sys.executable, "-c", code], check=False)
    assert [path.name.startswith(".out.partial-") for path in tmp_path.iterdir()] == [True]
    with new_folder(tmp_path / "out"):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
