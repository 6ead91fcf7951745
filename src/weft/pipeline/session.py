"""The Spark session: local by default, any cluster by its master, quiet, and with a Java of its own where needed."""

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import cache

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from weft.ending import stand_still_if_stopping
from weft.errors import SurroundingsError, WeftError
from weft.memory import memory_at_hand
from weft.pipeline.connect import client_of, require_packages
from weft.pipeline.gateway import forget_gateway, java_for
from weft.pipeline.master import CONNECT, require_answer

# What differs from Spark's defaults, and why.
SETTINGS = {
    "spark.ui.enabled": "false",  # no port, no start-up time
    "spark.ui.showConsoleProgress": "false",  # Weft draws its own
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "32",  # an upper bound: adaptive execution joins small ones
    "spark.sql.autoBroadcastJoinThreshold": "64m",  # two million ids fit a broadcast and spare a shuffle of all rows
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    "spark.sql.parquet.compression.codec": "zstd",
    "spark.python.unix.domain.socket.enabled": "true",  # a third less for every Python task
    "spark.hadoop.mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",  # no _SUCCESS among the data
}
MASTERS = re.compile(r"local(\[[\d*,]+\])?|local-cluster\[\d+,\d+,\d+\]|yarn|(spark|k8s|sc)://.+")
FAILURES = (PySparkException, Py4JError)  # raised by Spark, and by the Java below it
# Threads inside a task would fight over the cores that Spark has already given out. Local workers obey these too,
# and the driver, whose environment stays as it is, keeps all its cores for kernels.
SETTINGS |= {f"spark.executorEnv.{library}_NUM_THREADS": "1" for library in ("NUMBA", "OMP", "OPENBLAS", "MKL")}


GONE = 2.0  # seconds for a Java that does not answer to have ended, if it has
_ENDED = "was ended, most likely for want of memory: allow more, or take fewer cores."
_TRACEBACK = "Traceback (most recent call last):"  # how a task in Python tells what went wrong
_CALL = "An error occurred while calling"  # how Py4J begins, which tells nobody anything


@contextmanager
def spark_session(master: str = "local[*]", conf: Mapping[str, str] | None = None) -> Iterator[SparkSession]:
    """A session that ends with the block; one that is active already is used, and left running."""
    if (active := SparkSession.getActiveSession()) is not None:
        with _told():
            yield active
        return
    require_master(master, conf)
    if master.startswith(CONNECT):
        with _told(), client_of(master, SETTINGS, conf or {}) as spark:
            yield spark
        return
    settings = {**SETTINGS, **surroundings(master), **(conf or {})}
    with java_for(master, settings) as java:
        spark = connected(master, settings)
        try:
            with _told(), _missed(java):
                yield spark
        finally:
            with suppress(*FAILURES, ConnectionError):  # Java may be gone: that is told already
                spark.stop()


@contextmanager
def _told() -> Iterator[None]:
    """Failures of Spark in a sentence."""
    try:
        yield
    except FAILURES as error:
        raise _failure(error) from error


@contextmanager
def _missed(java: "subprocess.Popen[bytes]") -> Iterator[None]:
    """A sentence where Java has ended: to Py4J it is somebody who does not answer."""
    try:
        yield
    except (Py4JError, ConnectionError) as error:
        with suppress(subprocess.TimeoutExpired):
            java.wait(GONE)
            raise SurroundingsError(f"Java, in which Spark works, {_ENDED}") from error
        raise


@contextmanager
def spark_when_needed(master: str, conf: Mapping[str, str]) -> Iterator[Callable[[], SparkSession]]:
    """A session that starts when it is first asked for: work that was done before needs no Spark."""
    with ExitStack() as stack:
        yield cache(lambda: stack.enter_context(spark_session(master, conf)))


def require_master(master: str, conf: Mapping[str, str] | None = None) -> None:
    """Refuse a master that is misspelt, or that is not there: Spark would try for a minute."""
    if not MASTERS.fullmatch(master):
        sentence = f"`master` is {master!r}: give local[*], spark://host:7077, yarn, k8s://host:443 or sc://host:15002."
        raise WeftError(sentence, "master")
    if master == "yarn" and not os.environ.keys() & {"HADOOP_CONF_DIR", "YARN_CONF_DIR"}:
        raise WeftError("`master` yarn is found by the files in HADOOP_CONF_DIR: set it.", "master")
    if master.startswith(CONNECT):
        require_packages()
    if "://" in master:
        require_answer(master, conf or {})


def connected(master: str, settings: Mapping[str, str]) -> SparkSession:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("weft").master(master)
    for key, value in settings.items():
        builder = builder.config(key, value)
    handler = signal.getsignal(signal.SIGINT)
    try:
        return builder.getOrCreate()
    except (*FAILURES, OSError) as error:
        raise SurroundingsError(f"Spark did not start with `master` {master}: {cause(error)}", "master") from error
    except KeyboardInterrupt:  # of the handler that PySpark puts in place of ours
        stand_still_if_stopping()
        raise
    finally:
        forget_gateway()
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, handler)


def surroundings(master: str) -> dict[str, str]:
    """Settings that only make sense where the executors are on this machine."""
    if not master.startswith("local"):
        return {}
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    return {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": f"{_heap_megabytes()}m",  # the only heap in local mode
    }


def _heap_megabytes() -> int:
    """A quarter of the memory at hand, between 0.5 GiB, with less of which Spark does not start, and 6."""
    return max(512, min(6144, memory_at_hand() // 2**20 // 4))


def _failure(error: Exception) -> WeftError:
    text = str(error)
    if "No space left on device" in text:
        return SurroundingsError("No space left on the disk that Spark works on: free some and run the command again.")
    if any(sign in text for sign in ("not a gzip file", "incorrect header check", "Unexpected end of input stream")):
        file = re.search(r"reading file (?:file:/*)?(/\S+?\.gz)", text)
        return WeftError(
            f"{file[1] if file else 'A file named .gz'} is not gzip, is damaged, or is cut short: get it again."
        )
    if "Python worker exited unexpectedly" in text:
        return SurroundingsError(f"A worker of Spark {_ENDED}")
    if "OutOfMemoryError" in text:
        sentence = "Spark ran out of memory: give it more with `conf` spark.driver.memory=8g."
        return SurroundingsError(sentence, "conf")
    return SurroundingsError(f"Spark failed: {cause(error)}")


def cause(error: Exception) -> str:
    """The innermost cause: the exception of a task in Python, that of a Java error, the first line of any other."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    raised = [n for n, line in enumerate(lines) if line.strip() == _TRACEBACK]
    if raised:
        ends = (line for line in lines[raised[-1] + 1 :] if line and not line[0].isspace())
        return next(ends, lines[0])
    causes = [line for line in lines if line.startswith("Caused by: ")]
    if causes:
        return causes[-1].removeprefix("Caused by: ")
    return lines[1].removeprefix(": ") if lines[0].startswith(_CALL) and len(lines) > 1 else lines[0]
