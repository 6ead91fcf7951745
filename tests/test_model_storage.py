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
    for name in ("links.csv", "latency.csv"):
        with new_folder(tmp_path / "out", force=name == "latency.csv") as folder:
            write_meta(folder, {})
            (folder / name).touch()
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["latency.csv", "meta.json", "out"]


@pytest.mark.parametrize(
    "own",
    [
        *("notes.txt", "ov/meta.json", ".git/config", "mine.conf", "interest.parquet/notes.txt", "meta.json~"),
        *("instance/notes.txt", "overlay/mine/meta.json", ".notes.lock", "instance.parquet"),
    ],
)
def test_force_deletes_nothing_that_somebody_has_put_into_a_folder_of_ours(tmp_path: Path, own: str) -> None:
    with new_folder(tmp_path / "out") as folder:
        write_meta(folder, {"old": True})
    (tmp_path / "out" / own).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / "out" / own).write_text("mine")
    with pytest.raises(WeftError, match=r"is none of Weft's files") as told, new_folder(tmp_path / "out", force=True):
        pytest.fail("the block must not run")
    assert str(tmp_path / "out" / own).startswith(str(told.value).split(" is none")[0])
    assert (tmp_path / "out" / own).read_text() == "mine"


def test_what_comes_into_the_folder_meanwhile_is_not_deleted(tmp_path: Path) -> None:
    with new_folder(tmp_path / "out") as folder:
        write_meta(folder, {"old": True})
    with pytest.raises(WeftError, match=r"notes.txt is none of"), new_folder(tmp_path / "out", force=True) as folder:
        write_meta(folder, {"new": True})
        (tmp_path / "out" / "notes.txt").write_text("mine")
    assert read_meta(tmp_path / "out", "mine") == {"old": True}
    assert (tmp_path / "out" / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize(
    ("meta", "ours"),
    [
        ({}, ["interest.parquet/part-0.parquet", "interest.parquet/_SUCCESS", "interest.parquet/._SUCCESS.crc"]),
        ({}, ["trees.parquet", ".trees.parquet.kept/x", ".trees.parquet.partial-7", ".trees.parquet.lock"]),
        ({"fleet": "mosquitto"}, ["instance/meta.json", "instance/nodes.parquet", "overlay/links.csv"]),
        ({"export": "mosquitto"}, ["berlin.conf", "plan.json", "flows.parquet", "changes.md"]),
        ({"export": "zenoh"}, ["berlin.json5"]),
    ],
)
def test_force_replaces_all_that_is_ours(tmp_path: Path, meta: dict[str, str], ours: list[str]) -> None:
    with new_folder(tmp_path / "out") as folder:
        write_meta(folder, meta)
    for name in ours:
        (tmp_path / "out" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "out" / name).write_text("{}")
    with new_folder(tmp_path / "out", force=True) as folder:
        write_meta(folder, {})
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["meta.json"]


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
