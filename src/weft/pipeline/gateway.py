"""Java for a session, started by ourselves: it starts sooner, says nothing, and can be ended at any moment.

PySpark starts Java through `spark-submit`: two shell scripts, and a first Java whose only work is to print the command
of the second. Where Spark is the one that was installed with PySpark that command is known, and written here, with
options that make a short run shorter. Elsewhere (a SPARK_HOME, a cluster manager with settings of its own, options for
the driver's Java) `spark-submit` is right, and asked.
Then PySpark is told of a Java that runs already, by the two variables that it has for that.

What Java and the Python workers below it print goes to a file: errors come back as exceptions anyway. Java runs in a
session of its own, out of reach of a terminal's Ctrl-C, and is killed when it has nothing more to do: what it wrote is
complete by then, and its own leaving would take another second or two.
"""

import logging
import os
import shlex
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

import pyspark
from pyspark import SparkContext
from pyspark.accumulators import AccumulatorTCPServer, AccumulatorUnixServer

from weft.cache import cache_folder
from weft.ending import Order, at_stop
from weft.errors import SurroundingsError
from weft.model.storage import remove
from weft.pipeline.java import provide_java

CONF = Path(__file__).parent / "conf"

_OPENED = (
    *(f"java.{part}" for part in ("io", "lang", "lang.invoke", "lang.reflect", "net", "nio", "util")),
    *("java.util.concurrent", "java.util.concurrent.atomic"),
    *("jdk.internal.ref", "sun.nio.ch", "sun.nio.cs", "sun.security.action", "sun.util.calendar"),
)
# What Spark's launcher gives a driver.
NEEDED = (
    "-XX:+IgnoreUnrecognizedVMOptions",
    *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED),
    "--add-opens=java.security.jgss/sun.security.krb5=ALL-UNNAMED",
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-Dio.netty.allocator.type=pooled",
    "-Dio.netty.handler.ssl.defaultEndpointVerificationAlgorithm=NONE",
    "--sun-misc-unsafe-memory-access=allow",
    "--enable-native-access=ALL-UNNAMED",
)
# Ten times the usual thresholds for the optimizing compiler: in the seconds of a short run it takes more than it gives,
# and a long run reaches them soon. docs/pipeline.md has what was measured.
SHORT_RUN = (
    "-XX:Tier4InvocationThreshold=50000",
    "-XX:Tier4MinInvocationThreshold=6000",
    "-XX:Tier4CompileThreshold=150000",
    "-XX:Tier4BackEdgeThreshold=400000",
    "-XX:-UsePerfData",
)
# Java keeps the heap that a shuffle took until it collects garbage, which it has no cause to while Python works.
GIVE_BACK = ("-XX:G1PeriodicGCInterval=20000", "-XX:-G1PeriodicGCInvokesConcurrent")  # 20 s; the other kind leaves much
ARCHIVE = "spark-{key}.jsa"  # classes that Java need not load and verify again

_SHORT_OF_MEMORY = (
    "reserve enough space",
    "insufficient memory",
    "Cannot allocate memory",
    "Cannot create",
    "OutOfMemory",
)
_JAVA_OPTIONS = "spark.driver.extraJavaOptions"
_OWN_OPTIONS = ("spark.driver.extra", "spark.driver.defaultJavaOptions", "spark.jars", "spark.submit.")


@contextmanager
def java_for(master: str, conf: Mapping[str, str]) -> "Iterator[subprocess.Popen[bytes]]":
    """Java with a gateway that PySpark connects to; it ends with the block."""
    logging.getLogger("py4j").setLevel(logging.CRITICAL)  # it reports what the exception says as well
    logging.getLogger().addFilter(_is_not_py4j)  # some of it under no name
    for server in (AccumulatorTCPServer, AccumulatorUnixServer):
        setattr(server, "handle_error", _without_a_word)  # noqa: B010  # it would print that Java is gone
    provide_java()
    folder = Path(tempfile.mkdtemp(prefix="weft-spark-"))
    with at_stop(Order.FILES, lambda: remove(folder)):
        try:
            with _started(command(master, {**_local_folders(master, folder), **conf}), folder, conf) as java:
                _announce(java, folder)
                yield java
        finally:
            remove(folder)


def command(master: str, conf: Mapping[str, str]) -> list[str]:
    settings = [word for key, value in conf.items() for word in ("--conf", f"{key}={value}")]
    arguments = ["--master", master, *settings, "pyspark-shell"]
    if "SPARK_HOME" in os.environ or not master.startswith(("local", "spark:")) or any(map(_is_own, conf)):
        return [str(_spark_home() / "bin" / "spark-submit"), *arguments]
    memory, extra = conf.get("spark.driver.memory", "1g"), shlex.split(conf.get(_JAVA_OPTIONS, ""))
    return [*java_command(memory), *extra, "org.apache.spark.deploy.SparkSubmit", *arguments]


def java_command(memory: str) -> list[str]:
    """Java with Spark's classes, and the archive of them if `weft warm` has made one."""
    java, archive = Path(os.environ["JAVA_HOME"]) / "bin" / "java", archive_file()
    shared = [f"-XX:SharedArchiveFile={archive}"] if archive.exists() and archive.stat().st_size else []
    logs = f"-Dlog4j2.configurationFile={(CONF / 'log4j2.properties').as_uri()}"
    classes = f"{_spark_home()}/jars/*"  # no folder beside it, which an archive cannot have
    return [str(java), "-cp", classes, f"-Xmx{memory}", *NEEDED, *SHORT_RUN, *GIVE_BACK, *shared, logs]


def archive_file() -> Path:
    """Where the archive is, or would be, for this Java and this Spark."""
    return cache_folder() / ARCHIVE.format(key=f"{pyspark.__version__}-{Path(os.environ['JAVA_HOME']).name}")


def _spark_home() -> Path:
    return Path(os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent)


def _is_own(key: str) -> bool:
    return key.startswith(_OWN_OPTIONS) and key != _JAVA_OPTIONS


def _local_folders(master: str, folder: Path) -> dict[str, str]:
    """Spark's own scratch files go where ours are removed, unless somebody has a better disk for them."""
    return {"spark.local.dir": str(folder)} if master.startswith("local") else {}


@contextmanager
def _started(words: list[str], folder: Path, conf: Mapping[str, str]) -> "Iterator[subprocess.Popen[bytes]]":
    environment = {
        **os.environ,
        "SPARK_HOME": str(_spark_home()),
        "SPARK_CONNECT_MODE": "0",
        "_PYSPARK_DRIVER_CONN_INFO_PATH": str(folder / "gateway"),
    }
    with (folder / "log").open("wb") as log:
        told = None if "spark.log.level" in conf else log  # who sets a level wants to see it
        java = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=log, stderr=told, env=environment, start_new_session=True
        )
    with at_stop(Order.PROCESSES, lambda: _kill(java)):
        try:
            yield java
        finally:
            _disconnect()
            _kill(java)


def _disconnect() -> None:
    """Let nobody speak to this Java any more: neither PySpark's next session, nor the collector of lost objects."""
    gateway, SparkContext._gateway, SparkContext._jvm = SparkContext._gateway, None, None
    if gateway is not None:
        gateway._gateway_client.is_connected = False


def _without_a_word(*_: object) -> None:
    """Let what Java counts for PySpark, which Weft does not use, end with Java."""


def _is_not_py4j(record: logging.LogRecord) -> bool:
    return record.msg != "Exception while sending command."


def _kill(java: "subprocess.Popen[bytes]") -> None:
    with suppress(ProcessLookupError):
        os.killpg(java.pid, signal.SIGKILL)
    java.wait()
    if java.stdin is not None:
        java.stdin.close()


def _announce(java: "subprocess.Popen[bytes]", folder: Path) -> None:
    """Wait for Java's gateway, and let PySpark know of it."""
    told = folder / "gateway"
    while not told.is_file():
        if java.poll() is not None:
            raise _not_started((folder / "log").read_text(errors="replace"))
        time.sleep(0.02)
    with told.open("rb") as info:
        os.environ["PYSPARK_GATEWAY_PORT"] = str(_number(info))
        os.environ["PYSPARK_GATEWAY_SECRET"] = info.read(_number(info)).decode()


def _number(info: BinaryIO) -> int:
    return int.from_bytes(info.read(4), "big")


def forget_gateway() -> None:
    """Take back what `_announce` said, once PySpark has connected."""
    for name in ("PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET"):
        os.environ.pop(name, None)


def _not_started(log: str) -> SurroundingsError:
    if any(sign in log for sign in _SHORT_OF_MEMORY):
        sentence = (
            "There is not enough memory to start Java: allow more, or give it less with `conf` spark.driver.memory=1g."
        )
        return SurroundingsError(sentence, "conf")
    lines = [line for line in log.splitlines() if line.strip()]
    return SurroundingsError(f"Java did not start: {lines[-1] if lines else 'it said nothing'}")
