"""Memory that runs out, wherever, is told in one sentence."""

import errno
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from weft import memory
from weft.memory import LEAST, is_shortage, memory_at_hand


def limited(kibibytes: int, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (kibibytes * 1024, kibibytes * 1024))

    command = [str(Path(sys.executable).with_name("weft")), *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, preexec_fn=limit)


@pytest.mark.parametrize("kibibytes", [300_000, 400_000, 800_000, LEAST - 1])
def test_a_limit_that_leaves_no_room_is_told_at_once(tmp_path: Path, kibibytes: int) -> None:
    done = limited(kibibytes, "generate", "unif", "--nodes", "100", "--topics", "50", "--out", "i", cwd=tmp_path)
    assert done.returncode == 3
    assert done.stderr.startswith(f"weft: There is not enough memory: this process may take {kibibytes:,} KiB (ulimit")
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_java_that_finds_no_room_is_told(tmp_path: Path) -> None:
    (tmp_path / "e.txt").write_text("1 2\n")
    done = limited(LEAST, "ingest", "e.txt", "--as", "edges", "--out", "i", cwd=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (3, 1), done.stderr
    assert "not enough memory to start Java" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["e.txt"]


def test_data_that_finds_no_room_is_told(tmp_path: Path) -> None:
    made = limited(LEAST, "generate", "unif", "--nodes", "100", "--topics", "50", "--out", "i", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    done = limited(LEAST, "publish", "i", "--count", str(10**9), "--out", "p.parquet", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (
        3,
        "weft: There is not enough memory for this: ask for less, or take a larger machine.\n",
    )


@pytest.mark.parametrize(
    ("error", "is_one"),
    [
        (MemoryError(), True),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), True),
        (ImportError("x.so: failed to map segment from shared object"), True),
        (RuntimeError("can't start new thread"), True),
        (ImportError("No module named 'x'"), False),
        (OSError(errno.ENOSPC, "No space left on device"), False),
    ],
)
def test_what_shows_a_shortage(error: BaseException, is_one: bool) -> None:
    assert is_shortage(error) is is_one


def test_a_shortage_behind_another_error_is_one() -> None:
    with pytest.raises(ImportError) as caught:
        try:
            raise MemoryError
        except MemoryError as error:
            raise ImportError("numpy could not be loaded") from error
    assert is_shortage(caught.value)


GROUPS = {
    "of version 1": ("3:cpu:/\n4:memory:/box/inner", "memory/box/inner/memory.limit_in_bytes"),
    "around it": ("4:memory:/box/inner", "memory/box/memory.limit_in_bytes"),
    "of version 2": ("0::/box/inner", "box/inner/memory.max"),
    "as a container sees its own": ("0::/somewhere/on/the/host", "memory.max"),
}


@pytest.mark.parametrize(("groups", "file"), GROUPS.values(), ids=GROUPS.keys())
def test_a_container_has_the_memory_that_it_may_take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, groups: str, file: str
) -> None:
    monkeypatch.setattr(memory, "_GROUPS", tmp_path / "groups")
    monkeypatch.setattr(memory, "_CONTROL", tmp_path / "control")
    of_the_machine = memory_at_hand()
    assert of_the_machine > LEAST
    (tmp_path / "groups").write_text(f"{groups}\n")
    limit = tmp_path / "control" / file
    limit.parent.mkdir(parents=True)
    for text, bytes_ in (("1073741824\n", 2**30), ("9223372036854771712\n", of_the_machine)):
        limit.write_text(text)
        assert memory_at_hand() == bytes_
    if limit.name == "memory.max":
        limit.write_text("max\n")
        assert memory_at_hand() == of_the_machine
