"""A standalone Spark cluster on loopback: a master and workers, from the installed package."""

import os
import re
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pyspark

from weft.pipeline.gateway import CONF
from weft.pipeline.java import provide_java

PATIENCE = 300.0  # seconds that a part may take to start
DEPLOY = "org.apache.spark.deploy"


class Cluster(NamedTuple):
    master: str  # its address
    processes: list[subprocess.Popen[bytes]]


@contextmanager
def standalone(
    folder: Path, *, workers: int, cores: int, memory: str, java: str = "", private: Path | None = None
) -> Iterator[Cluster]:
    """A cluster whose workers have so many cores and so much memory each; its logs are in the folder.

    The first worker has an empty file system of its own in place of the folder `private`, as on another machine.
    """
    provide_java()
    home = Path(pyspark.__file__).parent
    environment = {
        **os.environ,
        "SPARK_HOME": str(home),
        "SPARK_CONF_DIR": str(_talkative(folder)),
        "SPARK_NO_DAEMONIZE": "1",
        "SPARK_DAEMON_JAVA_OPTS": java,
    }
    started: list[subprocess.Popen[bytes]] = []

    def start(name: str, role: str, *arguments: str, before: Sequence[str] = ()) -> Path:
        log = folder / f"{name}.log"
        spark = [str(home / "bin" / "spark-class"), f"{DEPLOY}.{role}", "--host", "127.0.0.1", "--webui-port", "0"]
        with log.open("wb") as output:
            command = [*before, *spark, *arguments]
            started.append(subprocess.Popen(command, env=environment, stdout=output, stderr=output))
        return log

    try:
        log = start("master", "master.Master", "--port", "0")
        address = _wait_for(log, r"Starting Spark master at (spark://127\.0\.0\.1:\d+)")
        for number in range(workers):
            name = f"worker-{number}"
            size = ("--cores", str(cores), "--memory", memory, "--work-dir", str(folder / name))
            start(name, "worker.Worker", *size, address, before=_alone(private) if private and number == 0 else ())
        _wait_for(log, r"Registering worker 127\.0\.0\.1:\d+ with \d+ cores", times=workers)
        yield Cluster(address, started)
    finally:
        for process in started:
            process.kill()
            process.wait()


def can_be_alone() -> bool:
    """Whether a process of this machine may have file systems of its own."""
    return subprocess.run([*_alone(Path("/mnt")), "true"], capture_output=True, check=False).returncode == 0


def _alone(folder: Path) -> list[str]:
    """The beginning of a command that sees nothing of the folder."""
    return ["unshare", "-m", "sh", "-c", 'mount -t tmpfs tmpfs "$0" && exec "$@"', str(folder)]


def _talkative(folder: Path) -> Path:
    """Settings by which the master tells its address and its workers: it does so at level INFO only."""
    text = (CONF / "log4j2.properties").read_text().replace("rootLogger.level = error", "rootLogger.level = info")
    (folder / "log4j2.properties").write_text(text)
    return folder


def _wait_for(log: Path, pattern: str, times: int = 1) -> str:
    deadline = time.monotonic() + PATIENCE
    while len(found := re.findall(pattern, log.read_text())) < times:
        if time.monotonic() > deadline:
            raise TimeoutError(log.read_text())
        time.sleep(0.1)
    return str(found[0])
