from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from weft.errors import SurroundingsError
from weft.pipeline import session
from weft.pipeline.session import MASTERS, spark_session, spark_when_needed


@pytest.mark.parametrize(
    ("told", "sentence"),
    [
        ("java.io.IOException: No space left on device", "No space left on the disk that Spark works on"),
        ("java.io.IOException: not a gzip file", "A file named .gz is not gzip, is damaged, or is cut short"),
        ("java.lang.OutOfMemoryError: Java heap space", "give it more with `conf` spark.driver.memory"),
        ("Job aborted.\n at x\nCaused by: a.B: outer\nCaused by: c.D: inner", "Spark failed: c.D: inner"),
        ("[SOME_ERROR] It went wrong.\nmore", r"Spark failed: \[SOME_ERROR\] It went wrong\.$"),
    ],
)
def test_failures_of_spark_are_told_in_a_sentence(spark: SparkSession, told: str, sentence: str) -> None:
    with pytest.raises(SurroundingsError, match=sentence), spark_session():
        raise PySparkException(told)


def test_a_session_that_is_active_is_used_and_left_running(spark: SparkSession) -> None:
    with spark_session("local[1]") as active:
        assert active is spark
    assert spark.range(3).count() == 3


def test_a_session_starts_when_it_is_first_asked_for_and_once(monkeypatch: pytest.MonkeyPatch) -> None:
    story = []

    @contextmanager
    def told(master: str, conf: Mapping[str, str]) -> Iterator[str]:
        story.append(f"started {master}")
        yield "session"
        story.append("stopped")

    monkeypatch.setattr(session, "spark_session", told)
    with spark_when_needed("local[2]", {}):
        story.append("worked")
    assert story == ["worked"]
    with spark_when_needed("local[2]", {}) as spark:
        story.append("worked again")
        assert spark() is spark()
    assert story[1:] == ["worked again", "started local[2]", "stopped"]


@pytest.mark.parametrize(
    "master", ["local", "local[2]", "local[*]", "local[2,3]", "spark://h:7077", "yarn", "k8s://h:443"]
)
def test_masters(master: str) -> None:
    assert MASTERS.fullmatch(master)


@pytest.mark.parametrize("master", ["", "wrong", "local[x]", "spark:/h", "yarnx"])
def test_what_is_no_master(master: str) -> None:
    assert not MASTERS.fullmatch(master)
