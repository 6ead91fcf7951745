"""Memory that runs out, wherever, is told in one sentence."""

import errno
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from weft.memory import LEAST, is_shortage


def limited(kibibytes: int, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (kibibytes * 1024, kibibytes * 1024))

    command = [str(Path(sys.executable).with_name("weft")), *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, preexec_fn=limit)


@pytest.mark.parametrize("kibibytes", [300_000, 400_000, 800_000, LEAST - 1])
def test_a_limit_that_leaves_no_room_is_told_at_once(tmp_path: Path, kibibytes: int) -> None:
    done = limited(kibibytes, "generate", "unif", "--nodes", "100", "--topics", "50", "--out", "i", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith(f"weft: There is not enough memory: this process may take {kibibytes:,} KiB (ulimit")
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_java_that_finds_no_room_is_told(tmp_path: Path) -> None:
    (tmp_path / "e.txt").write_text("1 2\n")
    done = limited(LEAST, "ingest", "e.txt", "--as", "edges", "--out", "i", cwd=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
    assert "not enough memory to start Java" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["e.txt"]


def test_data_that_finds_no_room_is_told(tmp_path: Path) -> None:
    made = limited(LEAST, "generate", "unif", "--nodes", "100", "--topics", "50", "--out", "i", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    done = limited(LEAST, "publish", "i", "--count", str(10**9), "--out", "p.parquet", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (
        1,
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
