"""A session of a Spark Connect server, sc://: this process is a client without Java.

Somebody else has started the server, with the settings of its Java and its executors; a session has only those of SQL
for itself. The stages need no more than that: DataFrames, tasks in Arrow, and files that client, server and executors
find under the same paths.
"""

import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec

from pyspark.sql import SparkSession

from weft.ending import Order, at_stop
from weft.errors import SurroundingsError, WeftError

PACKAGES = ("grpc", "grpc_status", "zstandard")  # that PySpark imports for it, with those below them
PATIENCE = 5.0  # seconds that a server has to end a session when a signal ends this process

_HADOOP = (
    "spark.hadoop."  # begins settings of Hadoop where Java starts with them; a session has them by their own names
)


def require_packages() -> None:
    """Refuse where the extra `connect` of Weft is not installed."""
    if not all(map(find_spec, PACKAGES)):
        raise SurroundingsError("Spark Connect needs packages that are not here: pip install 'weft[connect]'.")


@contextmanager
def client_of(server: str, settings: Mapping[str, str], conf: Mapping[str, str]) -> Iterator[SparkSession]:
    """A session that ends with the block. Of the settings it has those that it may have, of `conf` it needs all."""
    builder = SparkSession.builder.remote(server)
    for key, value in settings.items():
        if key.startswith(("spark.sql.", _HADOOP)):
            builder = builder.config(key.removeprefix(_HADOOP), value)
    spark = builder.getOrCreate()
    try:
        with at_stop(Order.PROCESSES, lambda: _stop_soon(spark)):
            _set(spark, conf)
            yield spark
    finally:
        spark.stop()
        os.environ.pop("SPARK_CONNECT_MODE_ENABLED", None)  # by which PySpark makes every later session a client


def _set(spark: SparkSession, conf: Mapping[str, str]) -> None:
    for key, value in conf.items():
        if not spark.conf.isModifiable(key):
            sentence = f"`conf` {key} is a setting of the server, not of a session: start the server with it."
            raise WeftError(sentence, "conf")
        spark.conf.set(key, value)


def _stop_soon(spark: SparkSession) -> None:
    """End the session, and so its work at the server; a server that is gone would be asked for minutes."""
    thread = threading.Thread(target=spark.stop, daemon=True)
    thread.start()
    thread.join(PATIENCE)
