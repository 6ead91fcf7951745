import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from weft.errors import SurroundingsError
from weft.pipeline.session import MASTERS, spark_session, spark_when_needed


@pytest.mark.parametrize(
    ("told", "sentence"),
    [
        ("java.io.IOException: No space left on device", "No space left on the disk that Spark works on"),
        ("java.io.IOException: not a gzip file", "A file named .gz is not gzip, is damaged, or is cut short"),
        ("java.lang.OutOfMemoryError: Java heap space", "give it more with --conf spark.driver.memory"),
        ("Job aborted.\n at x\nCaused by: a.B: outer\nCaused by: c.D: inner", "Spark failed: c.D: inner"),
        ("[SOME_ERROR] It went wrong.\nmore", r"Spark failed: \[SOME_ERROR\] It went wrong\.$"),
    ],
)
def test_failures_of_spark_are_told_in_a_sentence(spark: SparkSession, told: str, sentence: str) -> None:
    with pytest.raises(SurroundingsError, match=sentence), spark_session():
        raise PySparkException(told)


def test_a_session_that_is_active_is_used_and_left_running(spark: SparkSession) -> None:
    with spark_session("local[1]") as session:
        assert session is spark
    assert spark.range(3).count() == 3


def test_work_that_asks_for_no_session_starts_none() -> None:
    with spark_when_needed("no such master", {}):
        pass


@pytest.mark.parametrize(
    "master", ["local", "local[2]", "local[*]", "local[2,3]", "spark://h:7077", "yarn", "k8s://h:443"]
)
def test_masters(master: str) -> None:
    assert MASTERS.fullmatch(master)


@pytest.mark.parametrize("master", ["", "wrong", "local[x]", "spark:/h", "yarnx"])
def test_what_is_no_master(master: str) -> None:
    assert not MASTERS.fullmatch(master)
