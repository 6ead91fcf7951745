"""The stages on a real Spark cluster: a master and two workers on loopback, from the installed package."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import short_lived
import weft
from weft.raw.ingest import ingest
from weft.raw.source import Source
from weft.workloads.sample import Sampling, sample

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
PRIVATE = "private"


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> Iterator["Given"]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        module = import_module("standalone")
    folder = tmp_path_factory.mktemp("cluster")
    (folder / PRIVATE).mkdir()
    private = folder / PRIVATE if module.can_be_alone() else None
    with module.standalone(folder, workers=2, cores=1, memory="1g", java=short_lived.JAVA, private=private) as started:
        yield Given(started, private)


class Given(NamedTuple):
    cluster: Any
    private: Path | None  # a folder of which the first worker sees nothing, where the machine allows it


@pytest.fixture(scope="module")
def cluster(given: Given) -> Any:
    return given.cluster


def executors(cluster: Any) -> list[int]:
    """Process ids of the executors that workers have started."""
    workers = {str(process.pid) for process in cluster.processes}
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended since
            parent = stat.read_text().rpartition(")")[2].split()[1]
            if parent in workers and b"CoarseGrainedExecutorBackend" in (stat.parent / "cmdline").read_bytes():
                found.append(int(stat.parent.name))
    return found


@pytest.fixture(scope="module")
def master(cluster: Any) -> str:
    return str(cluster.master)


def command_on(master: str, *arguments: object) -> list[str]:
    settings = ["spark.driver.host=127.0.0.1", "spark.executor.memory=512m", "spark.driver.memory=1g"]
    settings += [f"{key}={value}" for key, value in short_lived.CONF.items()]
    command = [str(Path(sys.executable).with_name("weft")), *map(str, arguments), "--master", master]
    for setting in settings:
        command += ["--conf", setting]
    return command


def weft_on(master: str, folder: Path, *arguments: object) -> None:
    done = subprocess.run(command_on(master, *arguments), cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_cluster_gives_what_one_machine_gives(master: str, tmp_path: Path) -> None:
    edges = [(i, (i + step * step) % 90) for i in range(90) for step in range(9)]
    (tmp_path / "e.txt").write_text("".join(f"u{one} u{other}\n" for one, other in edges))
    weft_on(master, tmp_path, "sample", "e.txt", "--as", "edges", "--nodes", 30, "--out", "there")
    ingest(Source((str(tmp_path / "e.txt"),), "edges"), tmp_path / "here")
    here = sample(weft.Instance.read(tmp_path / "here"), Sampling(30, "bfs", 1))
    assert weft.Instance.read(tmp_path / "there") == here


def test_a_divided_design_outlives_an_executor(cluster: Any, tmp_path: Path) -> None:
    """The executor is killed when the ring is there: the other one and the one that follows run kernels then."""
    from weft.overlays.catalog import design
    from weft.workloads.catalog import generate

    instance = generate("social", nodes=600, seed=3)
    instance.write(tmp_path / "instance")
    arguments = ("design", "instance", "--overlay", "swico-even", "--arc", 256, "--engine", "spark", "--out", "there")
    process = subprocess.Popen(command_on(cluster.master, *arguments), cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    while not list(tmp_path.glob(".there.kept/ring-topics.json")):
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.02)
    os.kill(executors(cluster)[0], signal.SIGKILL)
    assert process.poll() is None
    _, errors = process.communicate()
    assert process.returncode == 0, errors
    here = design(instance, "swico-even", seed=1, arc=256)
    assert weft.Overlay.read(tmp_path / "there").fingerprint == here.fingerprint


def test_a_folder_that_an_executor_does_not_share_is_refused_before_any_work(given: Given) -> None:
    if given.private is None:
        pytest.skip("this machine allows no file systems of its own to a process")
    drawn = ("generate", "zipf", "--nodes", 300, "--topics", 20, "--subscriptions", 5, "--engine", "spark")
    command = command_on(given.cluster.master, *drawn, "--out", given.private / "instance")
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, "do not share" in done.stderr, str(given.private) in done.stderr) == (3, True, True), done
    assert not any(given.private.iterdir())
