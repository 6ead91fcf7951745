"""How Java is started: directly where the command is known, else by spark-submit; with the archive if there is one."""

import os
import subprocess
from pathlib import Path

import pytest

from weft.pipeline import gateway
from weft.pipeline.gateway import GIVE_BACK, SHORT_RUN, command
from weft.pipeline.java import provide_java


@pytest.fixture(autouse=True)
def java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", "/j")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("SPARK_HOME", raising=False)


@pytest.mark.parametrize("master", ["local[*]", "spark://h:7077"])
def test_java_is_started_directly_with_the_memory_and_options_that_are_asked_for(master: str) -> None:
    words = command(master, {"spark.driver.memory": "3g", "spark.driver.extraJavaOptions": "-Da='b c' -Dd=e"})
    assert words[0] == "/j/bin/java"
    assert "-Xmx3g" in words
    assert words.index("-Da=b c") < words.index("org.apache.spark.deploy.SparkSubmit") < words.index(master)
    assert words[-1] == "pyspark-shell"


def test_java_knows_the_options_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark lets it pass over those that it does not know without a word."""
    ours = [*SHORT_RUN, *GIVE_BACK]
    assert set(ours) <= set(command("local", {}))
    monkeypatch.delenv("JAVA_HOME")
    provide_java()
    told = subprocess.run(
        [Path(os.environ["JAVA_HOME"], "bin", "java"), *ours, "-version"], capture_output=True, text=True
    )
    assert told.returncode == 0, told.stderr


@pytest.mark.parametrize(
    ("master", "conf"),
    [
        ("yarn", {}),
        ("k8s://h:443", {}),
        ("local[1]", {"spark.jars": "x.jar"}),
        ("local", {"spark.driver.extraClassPath": "x"}),
    ],
)
def test_spark_submit_is_asked_where_settings_are_its_own(master: str, conf: dict[str, str]) -> None:
    assert command(master, conf)[0].endswith("/bin/spark-submit")


def test_spark_submit_of_another_spark_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_HOME", "/opt/spark")
    assert command("local[1]", {})[0] == "/opt/spark/bin/spark-submit"


def test_an_archive_is_used_where_there_is_one_that_is_not_empty() -> None:
    archive = gateway.archive_file()
    archive.parent.mkdir()
    archive.touch()
    assert not any("SharedArchiveFile" in word for word in command("local", {}))
    archive.write_bytes(b"classes")
    assert f"-XX:SharedArchiveFile={archive}" in command("local", {})


@pytest.mark.parametrize(
    ("log", "sentence"),
    [
        (
            "Error occurred during initialization of VM\nCould not reserve enough space for object heap",
            "not enough memory",
        ),
        ("a line\nUnrecognized option: -x\n", "Java did not start: Unrecognized option: -x"),
        ("", "it said nothing"),
    ],
)
def test_why_java_did_not_start_is_told(log: str, sentence: str) -> None:
    assert sentence in str(gateway._not_started(log))
