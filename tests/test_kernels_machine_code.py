"""Processes that share machine code: each runs a copy of the package with three small kernels of its own.

`outer` calls `middle`, which names a constant of `inner`; `apart` has nothing to do with them.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

import weft
from weft.kernels import machine_code

MODULES = {
    "inner": "STEP = 1",
    "middle": "from weft.kernels.inner import STEP\nfrom weft.kernels.jit import jit\n\n"
    "@jit\ndef middle(x):\n    return x + STEP",
    "outer": "from weft.kernels import middle as m\nfrom weft.kernels.jit import jit\nmiddle = m.middle\n\n"
    "@jit\ndef outer(x):\n    return middle(x) * 10",
    "apart": "from weft.kernels.jit import jit\n\n@jit\ndef apart(x):\n    return -x",
}
RUN = """
import json
from weft.kernels.apart import apart
from weft.kernels.outer import outer
values = [kernel(ARGUMENT) for kernel in (outer, apart)]
compiled = [kernel.__name__ for kernel in (outer, apart) if kernel.stats.cache_misses]
print(json.dumps([values, compiled]))
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    package = tmp_path / "tree" / "weft"
    shutil.copytree(Path(weft.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    for name, text in MODULES.items():
        (package / "kernels" / f"{name}.py").write_text(text)
    return tmp_path / "tree"


def start(tree: Path, argument: str = "1") -> subprocess.Popen[str]:
    surroundings = {**os.environ, "PYTHONPATH": str(tree), "XDG_CACHE_HOME": str(cache(tree).parent)}
    surroundings.pop("NUMBA_CACHE_DIR", None)
    command = [sys.executable, "-c", RUN.replace("ARGUMENT", argument)]
    return subprocess.Popen(command, env=surroundings, cwd=tree, stdout=subprocess.PIPE, text=True)


def answer(process: subprocess.Popen[str]) -> list[list[float | str]]:
    """The values, and the kernels that were compiled for them."""
    output, _ = process.communicate()
    return json.loads(output)


def run(tree: Path, argument: str = "1") -> list[list[float | str]]:
    return answer(start(tree, argument))


def cache(tree: Path) -> Path:
    return tree.parent / "cache" / "weft"


def test_a_copy_elsewhere_with_other_times_compiles_nothing(tree):
    assert run(tree) == [[20, -1], ["outer", "apart"]]
    elsewhere = tree.parent / "elsewhere"
    shutil.copytree(tree, elsewhere, copy_function=shutil.copyfile)
    assert run(elsewhere) == [[20, -1], []]


def test_an_edit_compiles_again_what_depends_on_it_and_nothing_else(tree):
    run(tree)
    # of another length: Python takes text of the same second and length for what its bytecode was made of
    (tree / "weft/kernels/inner.py").write_text("STEP = 1 + 1")
    assert run(tree) == [[30, -1], ["outer"]]
    (tree / "weft/kernels/inner.py").write_text("STEP = 1")
    assert run(tree) == [[20, -1], []]


def test_processes_that_compile_at_once_lose_nothing_and_never_load_the_code_of_another_signature(tree):
    arguments = ["1", "1.5", "1", "1.5"]
    expected = {"1": [20, -1], "1.5": [25.0, -1.5]}
    together = [start(tree, argument) for argument in arguments]
    assert [answer(process)[0] for process in together] == [expected[argument] for argument in arguments]
    for argument, values in expected.items():
        assert run(tree, argument) == [values, []]


def test_a_file_cut_short_is_compiled_again(tree):
    run(tree)
    for file in cache(tree).glob("*/outer.*"):
        file.write_bytes(file.read_bytes()[:1000])
    assert run(tree) == [[20, -1], ["outer"]]
    assert run(tree) == [[20, -1], []]


def test_kernels_run_where_nothing_can_be_kept(tree):
    cache(tree).parent.mkdir()
    cache(tree).write_text("a file where the folder should be")
    assert run(tree) == [[20, -1], ["outer", "apart"]]


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    machine_code.sweep.cache_clear()
    return tmp_path / "weft"


def old(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "code.nbc").write_text("code")
    long_ago = time.time() - machine_code.UNUSED - 60
    os.utime(folder, (long_ago, long_ago))
    return folder


def test_what_was_not_used_for_long_is_swept_and_nothing_else(folder):
    gone = old(folder / "kernels-greedy.cover-0123456789abcdef")
    others = [old(folder / "java-0123456789ab"), old(folder.parent / "kernels-of-others")]
    (folder / "kernels-link").symlink_to(others[1])
    recent = folder / "kernels-greedy.cover-fedcba9876543210"
    recent.mkdir()
    machine_code.sweep()
    assert not gone.exists()
    assert all((other / "code.nbc").exists() for other in others)
    assert recent.exists()


def test_what_a_process_uses_is_not_swept(folder):
    used = old(folder / "kernels-greedy.cover-0123456789abcdef")
    machine_code._use(used)
    long_ago = time.time() - machine_code.UNUSED - 60
    os.utime(used, (long_ago, long_ago))  # a process that has run for long
    machine_code.sweep()
    assert (used / "code.nbc").exists()


def test_using_machine_code_keeps_it_from_being_old(folder):
    used = old(folder / "kernels-greedy.cover-0123456789abcdef")
    machine_code._use(used)
    assert used.stat().st_mtime > time.time() - 60
