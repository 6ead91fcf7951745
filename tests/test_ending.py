"""Signals, to real processes: one ends everything, with a sentence and nothing left, wherever the process is."""

import os
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

import short_lived
from weft.workloads.catalog import generate

PATIENCE = 180  # seconds, on a busy machine

CONTINUE = "weft: Stopped; run the same command to continue."
NOTHING = "weft: Stopped; nothing was written."


def children(pid: int) -> Iterator[int]:
    """All processes below one, by one look at all of /proc."""
    below = defaultdict[int, list[int]](list)
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended since
            state, parent, *_ = path.read_text().rpartition(")")[2].split()
            if state != "Z":
                below[int(parent)].append(int(path.parent.name))
    pending = [pid]
    while pending:
        pending += (found := below[pending.pop()])
        yield from found


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_for(condition: Callable[[], object], process: "subprocess.Popen[str] | None" = None) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        assert process is None or process.poll() is None, process.communicate()
        time.sleep(0.02)


def hear_signals() -> None:
    """Undo what a shell or nohup does to a job in the background, such as these tests may be."""
    for ignored in (signal.SIGINT, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_DFL)


class Started:
    """A command in a folder of its own, with a folder for temporary files and, when asked for, an empty cache."""

    def __init__(self, folder: Path, *command: str, cold: bool = False) -> None:
        self.folder, self.temporary, self.cache = folder, folder.parent / "tmp", folder.parent / "cache"
        for path in (self.temporary, self.cache):
            path.mkdir(exist_ok=True)
        environment = {**os.environ, "TMPDIR": str(self.temporary)}
        if cold:
            environment["XDG_CACHE_HOME"] = str(self.cache)
        self.process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=hear_signals,
        )

    def wait_for(self, condition: Callable[[], object]) -> None:
        wait_for(condition, self.process)

    def stop(self, *signals: signal.Signals) -> str:
        """Send the signals at once; what is said in the end. Nobody is left, nor is any temporary file."""
        below = list(children(self.process.pid))
        for number in signals:
            self.process.send_signal(number)
        out, err = self.process.communicate(timeout=PATIENCE)
        assert self.process.returncode in {
            128 + number for number in signals
        }  # which came first, only the system knows
        assert "Traceback" not in err
        assert out == ""
        wait_for(lambda: not any(map(is_running, below)))
        assert [path for path in self.temporary.iterdir() if path.name.startswith(("weft", "spark", "blockmgr"))] == []
        return err.splitlines()[-1]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "e.txt").write_text("".join(f"{i} {i * 7 % 2000}\n" for i in range(2000)))
    return tmp_path / "work"


WEFT = str(Path(sys.executable).with_name("weft"))
SPARK = ("--master", "local[2]", *(f"--conf={key}={value}" for key, value in short_lived.CONF.items()))


def weft(folder: Path, *arguments: str, cold: bool = False) -> Started:
    return Started(folder, WEFT, *arguments, cold=cold)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_while_java_starts(folder: Path, sign: signal.Signals) -> None:
    started = weft(folder, "ingest", "e.txt", "--as", "follows", "--out", "i")
    started.wait_for(lambda: list(started.temporary.glob("weft-spark-*/log")))
    assert started.stop(sign) == NOTHING
    assert names(folder) == ["e.txt"]


def test_while_spark_starts(folder: Path) -> None:
    started = weft(folder, "run", "e.txt", "--as", "follows", "--out", "r", *SPARK)
    started.wait_for(lambda: list(started.temporary.glob("weft-spark-*/gateway")))
    assert started.stop(signal.SIGINT) == CONTINUE
    assert names(folder) == ["e.txt"]


@pytest.mark.parametrize("signals", [[signal.SIGTERM], [signal.SIGINT, signal.SIGINT, signal.SIGTERM]], ids=str)
def test_while_spark_works(folder: Path, signals: list[signal.Signals]) -> None:
    started = weft(folder, "run", "e.txt", "--as", "follows", "--out", "r", *SPARK)
    started.wait_for(lambda: list((folder / "r").glob(".instance.partial-*/_scratch/rows")))
    assert started.stop(*signals) == CONTINUE
    assert names(folder) == ["e.txt", "r"]
    assert names(folder / "r") == []


def test_after_tasks_in_python(folder: Path) -> None:
    """PySpark then listens to Java in a thread of its own, which is not to complain that Java is gone."""
    generate("unif", nodes=60, topics=40, seed=1).write(folder / "i")
    started = weft(folder, "run", "i", "--out", "r", *SPARK)
    started.wait_for((folder / "r" / "overlay").exists)
    assert started.stop(signal.SIGINT) == CONTINUE
    assert "overlay" in names(folder / "r")


@pytest.mark.parametrize("signals", [[signal.SIGINT], [signal.SIGINT] * 3], ids=str)
def test_during_a_sweep(folder: Path, signals: list[signal.Signals]) -> None:
    started = weft(folder, "experiment", "nsmf-fig3", "--out", "x", *SPARK)
    started.wait_for(lambda: workers_below(started.process.pid))
    assert started.stop(*signals) == CONTINUE
    assert names(folder / "x") == ["runs.jsonl"]
    assert names(folder) == ["e.txt", "x"]


def workers_below(pid: int) -> list[str]:
    lines = []
    for child in children(pid):
        try:
            lines.append(Path(f"/proc/{child}/cmdline").read_text().replace("\0", " "))
        except OSError:
            continue
    return [line for line in lines if "pyspark.daemon" in line]


def test_while_kernels_are_compiled(folder: Path) -> None:
    generate("unif", nodes=60, topics=40, seed=1).write(folder / "i")
    started = weft(folder, "design", "i", "--overlay", "swico-sl", "--out", "o", cold=True)
    started.wait_for(lambda: list(started.cache.glob("weft/kernels-*/**/*")))
    assert started.stop(signal.SIGINT, signal.SIGINT) == NOTHING
    assert names(folder) == ["e.txt", "i"]


KERNEL = """
import numpy as np
from weft import ending
from weft.kernels.jit import jit
from weft.kernels.parallel import in_ranges

@jit
def endless(first, last, steps, total):
    for lane in range(first, last):
        x = 1.0
        for step in range(steps):
            x = np.sin(x) + step
        total[lane] = x

total = np.zeros(8)
endless(0, 8, 1, total)
ending.watch()
print("ready", flush=True)
{call}
"""
CALLS = ["endless(0, 8, 10**15, total)", "in_ranges(endless, 8, 10**15, total)"]


@pytest.mark.parametrize("call", CALLS)
def test_inside_a_kernel(folder: Path, call: str) -> None:
    (folder / "kernel.py").write_text(KERNEL.format(call=call))
    started = Started(folder, sys.executable, "kernel.py")
    assert started.process.stdout is not None
    assert started.process.stdout.readline() == "ready\n"
    assert started.stop(signal.SIGTERM, signal.SIGINT, signal.SIGTERM) == NOTHING


def test_while_other_processes_compile(folder: Path) -> None:
    started = weft(folder, "warm", "--processes", "2", cold=True)
    started.wait_for(lambda: list(started.cache.glob("weft/kernels-*/**/*")))
    assert started.stop(signal.SIGTERM) == NOTHING


WRITTEN = """
import time
from pathlib import Path
from weft import ending
from weft.model.storage import new_folder, new_path

ending.watch()
with new_path("done") as partial:
    partial.write_text("all of it")
with new_folder("half") as folder:
    (folder / "part").touch()
    print("ready", flush=True)
    while True:
        time.sleep(1)
"""


def test_what_was_written_before_is_told_and_stays(folder: Path) -> None:
    (folder / "written.py").write_text(WRITTEN)
    started = Started(folder, sys.executable, "written.py")
    assert started.process.stdout is not None
    assert started.process.stdout.readline() == "ready\n"
    assert started.stop(signal.SIGHUP) == "weft: Stopped; done was written."
    assert names(folder) == ["done", "e.txt", "written.py"]


def test_a_signal_that_is_ignored_stays_so(folder: Path) -> None:
    (folder / "written.py").write_text(WRITTEN)
    command = ["sh", "-c", f"trap '' HUP; exec {sys.executable} written.py"]
    started = Started(folder, *command)
    assert started.process.stdout is not None
    assert started.process.stdout.readline() == "ready\n"
    started.process.send_signal(signal.SIGHUP)
    assert started.stop(signal.SIGTERM) == "weft: Stopped; done was written."


INTERRUPTED = """
import os, signal, sys

class Interrupt:
    def find_spec(self, name, *_):
        if name == "weft.cli":
            os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.{handler})
sys.meta_path.insert(0, Interrupt())
sys.argv = ["weft", "--version"]
from weft.__main__ import main
main()
"""


@pytest.mark.parametrize(
    ("handler", "code", "out"), [("default_int_handler", -signal.SIGINT, ""), ("SIG_IGN", 0, "weft ")]
)
def test_ctrl_c_while_the_command_line_is_loaded_ends_it_without_a_word(handler: str, code: int, out: str) -> None:
    command = [sys.executable, "-c", INTERRUPTED.format(handler=handler)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert (done.returncode, done.stderr) == (code, "")
    assert done.stdout.startswith(out)
