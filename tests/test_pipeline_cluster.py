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
from typing import Any

import pytest

import short_lived
import weft
from weft.raw.ingest import ingest
from weft.raw.source import Source
from weft.workloads.sample import Sampling, sample

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        standalone = import_module("standalone").standalone
    folder = tmp_path_factory.mktemp("cluster")
    with standalone(folder, workers=2, cores=1, memory="1g", java=short_lived.JAVA) as started:
        yield started


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
