"""Fixtures that several test modules share."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from weft.pipeline.session import spark_session

DATA = Path(__file__).parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    # Two threads whatever the machine has, and few shuffle partitions: the inputs are tiny.
    with spark_session("local[2]", {"spark.sql.shuffle.partitions": "4", "spark.driver.memory": "2g", "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}) as session:
        yield session


@pytest.fixture
def data() -> Path:
    if not DATA.is_dir():
        pytest.skip(f"the real data sets are not at {DATA}")
    return DATA
