"""The stages by way of a Spark Connect server on loopback, from the installed package."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.connect.shell.progress import StageInfo

import short_lived
import weft
from ports import free_port
from weft.errors import WeftError
from weft.overlays.catalog import design
from weft.pipeline import connect
from weft.pipeline.gateway import java_command
from weft.pipeline.java import provide_java
from weft.pipeline.progress import spark_tasks
from weft.pipeline.session import require_master
from weft.raw.ingest import ingest
from weft.raw.source import Source
from weft.workloads.catalog import generate
from weft.workloads.sample import Sampling, sample

SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a server, which has another working folder than its clients."""
    folder, port = tmp_path_factory.mktemp("server"), free_port()
    provide_java()
    settings = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.local.dir": str(folder),
        "spark.ui.enabled": "false",
        "spark.buffer.pageSize": short_lived.CONF["spark.buffer.pageSize"],
    }
    words = [*java_command("1g"), *short_lived.JAVA.split(), "org.apache.spark.deploy.SparkSubmit"]
    words += ["--master", "local[2]", "--class", SERVER]
    words += [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [*words, "spark-internal"], cwd=folder, env=environment, stdout=log, stderr=log, start_new_session=True
        )
    try:
        address = f"sc://127.0.0.1:{port}"
        while not _answers(address):
            assert process.poll() is None, (folder / "log").read_text()
            time.sleep(0.1)
        yield address
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _answers(address: str) -> bool:
    try:
        require_master(address)
    except WeftError:
        return False
    return True


def weft_by(server: str, folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [Path(sys.executable).with_name("weft"), *map(str, arguments), "--master", server]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def test_a_divided_design_is_that_of_one_process(server: str, tmp_path: Path) -> None:
    instance = generate("social", nodes=600, seed=3)
    instance.write(tmp_path / "instance")
    arguments = ("design", "instance", "--overlay", "swico-even", "--arc", 256, "--engine", "spark", "--out", "there")
    done = weft_by(server, tmp_path, *arguments, "--conf", "spark.sql.shuffle.partitions=4")
    assert done.returncode == 0, done.stderr
    assert "Warning" not in done.stderr
    here = design(instance, "swico-even", seed=1, arc=256)
    assert weft.Overlay.read(tmp_path / "there").fingerprint == here.fingerprint


def test_a_run_from_raw_edges_to_the_report_is_that_of_one_process(server: str, tmp_path: Path) -> None:
    edges = [(i, (i + step * step) % 90) for i in range(90) for step in range(9)]
    (tmp_path / "e.txt").write_text("".join(f"u{one} u{other}\n" for one, other in edges))
    arguments = ("run", "e.txt", "--as", "edges", "--nodes", 30, "--publications", 50, "--out", "run")
    done = weft_by(server, tmp_path, *arguments)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "run" / "report.html").is_file()
    ingest(Source((str(tmp_path / "e.txt"),), "edges"), tmp_path / "here")
    here = sample(weft.Instance.read(tmp_path / "here"), Sampling(30, "bfs", 1))
    assert weft.Instance.read(tmp_path / "run" / "sample") == here
    made = weft.Overlay.read(tmp_path / "run" / "overlay")
    assert made.fingerprint == design(here, made.meta["algorithm"], seed=1).fingerprint
    names = {path.name for path in (tmp_path / "run" / "sample").rglob("*")}
    assert "interest.parquet" in names
    assert "_SUCCESS" not in names, "settings of Hadoop are those of the session too"


def test_a_setting_of_the_server_is_refused(server: str, tmp_path: Path) -> None:
    (tmp_path / "e.txt").write_text("1 2\n")
    arguments = ("ingest", "e.txt", "--as", "edges", "--out", "instance", "--conf", "spark.executor.memory=2g")
    done = weft_by(server, tmp_path, *arguments)
    assert (done.returncode, done.stderr) == (
        2,
        "weft: --conf spark.executor.memory is a setting of the server, not of a session: start the server with it.\n",
    )


class Heard:
    """A session of a client: it has no context, and is told of tasks."""

    def __init__(self) -> None:
        self.handlers: list[Callable[..., None]] = []
        self.registerProgressHandler = self.handlers.append

    def tell(self, *stages: tuple[int, int], done: bool = False) -> None:
        (handler,) = self.handlers
        infos = [StageInfo(number, total, completed, 0, done=False) for number, (completed, total) in enumerate(stages)]
        handler(stages=infos, inflight_tasks=1, operation_id="1", done=done)


def test_tasks_are_those_that_the_server_tells() -> None:
    session: Any = Heard()
    poll = spark_tasks(session)
    assert poll() == (0, 0)
    session.tell((3, 4), (1, 8))
    assert (poll(), spark_tasks(session)()) == ((4, 12), (4, 12))
    session.tell((4, 4), (8, 8), done=True)
    assert poll() == (0, 0)


def test_a_client_without_its_packages_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connect, "PACKAGES", ("grpc", "no_such_package"))
    with pytest.raises(WeftError, match=r"pip install 'weft\[connect\]'"):
        require_master("sc://127.0.0.1")
