"""The Spark session: local by default, any cluster by its master, quiet, and with a Java of its own where needed."""

import os
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from weft.errors import SurroundingsError, WeftError
from weft.pipeline.java import provide_java

CONF = Path(__file__).parent / "conf"

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
MASTERS = re.compile(r"local(\[[\d*,]+\])?|yarn|(spark|k8s)://.+")
FAILURES = (PySparkException, Py4JJavaError)  # raised by Spark, and by the Java below it
# Threads inside a task would fight over the cores that Spark has already given out. Local workers obey these too,
# and the driver, whose environment stays as it is, keeps all its cores for kernels.
SETTINGS |= {f"spark.executorEnv.{library}_NUM_THREADS": "1" for library in ("NUMBA", "OMP", "OPENBLAS", "MKL")}


@contextmanager
def spark_session(master: str = "local[*]", conf: Mapping[str, str] | None = None) -> Iterator[SparkSession]:
    """A session that ends with the block; one that is active already is used, and left running."""
    active = SparkSession.getActiveSession()
    spark = active or _start(master, conf or {})
    stop = active is None
    try:
        yield spark
    except FAILURES as error:
        raise _failure(error) from error
    except (KeyboardInterrupt, SystemExit):
        stop = False  # Java is gone already
        raise
    finally:
        if stop:
            spark.stop()


@contextmanager
def spark_when_needed(master: str, conf: Mapping[str, str]) -> Iterator[Callable[[], SparkSession]]:
    """A session that starts when it is first asked for: work that was done before needs no Spark."""
    with ExitStack() as stack:
        yield cache(lambda: stack.enter_context(spark_session(master, conf)))


def _start(master: str, conf: Mapping[str, str]) -> SparkSession:
    if not MASTERS.fullmatch(master):
        raise WeftError(f"`master` is {master!r}: give local[*], spark://host:7077, yarn or k8s://host:443.", "master")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if "SPARK_HOME" not in os.environ:
        os.environ.setdefault("SPARK_CONF_DIR", str(CONF))
    builder = SparkSession.builder.appName("weft").master(master)
    for key, value in {**SETTINGS, **_surroundings(master), **conf}.items():
        builder = builder.config(key, value)
    try:
        provide_java()
        spark = builder.getOrCreate()
    except (*FAILURES, OSError) as error:
        raise SurroundingsError(f"Spark did not start with `master` {master}: {cause(error)}", "master") from error
    _end_java_first(spark)
    return spark


def _end_java_first(spark: SparkSession) -> None:
    """End Java on an interrupt before anything is cleaned up, so that it does not write on where files are removed.

    It also spares the user the complaints of a connection to Java that is broken off in the middle of a call.
    """
    if threading.current_thread() is not threading.main_thread():
        return  # signals are the main thread's

    def end(number: int, _: object) -> None:
        java = getattr(spark.sparkContext._gateway, "proc", None)
        if java is not None:
            java.kill()
            java.wait()
        sys.exit(128 + number)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)


def _surroundings(master: str) -> dict[str, str]:
    """Settings that only make sense where the executors are this process's own."""
    if not master.startswith("local"):
        return {}
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    return {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": f"{_heap_megabytes()}m",  # the only heap in local mode
    }


def _heap_megabytes() -> int:
    """A quarter of the machine's memory, between 1 and 6 GiB."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20
    return max(1024, min(6144, memory // 4))


def _failure(error: Exception) -> SurroundingsError:
    text = str(error)
    if "No space left on device" in text:
        return SurroundingsError("No space left on the disk that Spark works on: free some and run the command again.")
    if any(sign in text for sign in ("not a gzip file", "incorrect header check", "Unexpected end of input stream")):
        return SurroundingsError("A file named .gz is not gzip, is damaged, or is cut short.")
    if "OutOfMemoryError" in text:
        sentence = "Spark ran out of memory: give it more with `conf` spark.driver.memory=8g."
        return SurroundingsError(sentence, "conf")
    return SurroundingsError(f"Spark failed: {cause(error)}")


def cause(error: Exception) -> str:
    """The innermost cause of a Java error, the first line of any other."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    causes = [line for line in lines if line.startswith("Caused by: ")]
    return causes[-1].removeprefix("Caused by: ") if causes else lines[0]
