"""Fixtures that several test modules share."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from pyspark.sql import SparkSession

import short_lived
from command_line import run_weft  # noqa: F401
from mqtt_broker import broker, broker_address, broker_addresses, expect_known_failures  # noqa: F401
from shares import in_shares
from weft.pipeline.session import spark_session

settings.register_profile("weft", deadline=None)  # a property is right or wrong; how long it takes is not its matter
settings.load_profile("weft")

DATA = Path(__file__).parents[2] / "shared" / "data"


@pytest.hookimpl(optionalhook=True)  # who runs tests without xdist has no such hook
def pytest_xdist_auto_num_workers() -> int:
    """A worker more than cores: tests of processes and links wait for a good part of their time."""
    return (os.cpu_count() or 1) + 1


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    expect_known_failures(items)
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    if workers > 1:
        items[:] = in_shares(items, workers)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """One for a worker of pytest-xdist that comes to need it, of at most 2 GB.

    It has two threads whatever the machine has, and few shuffle partitions: the inputs are tiny.
    """
    conf = {"spark.sql.shuffle.partitions": "4", "spark.driver.memory": "2g", **short_lived.CONF}
    with spark_session("local[2]", conf) as session:
        yield session


@pytest.fixture
def data() -> Path:
    if not DATA.is_dir():
        pytest.skip(f"the real data sets are not at {DATA}")
    return DATA
