import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import Thread

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import short_lived
from weft.errors import WeftError
from weft.pipeline import master, session
from weft.pipeline.session import MASTERS, require_master, spark_session, spark_when_needed


@pytest.mark.parametrize(
    ("told", "sentence"),
    [
        ("java.io.IOException: No space left on device", "No space left on the disk that Spark works on"),
        ("java.io.IOException: not a gzip file", "A file named .gz is not gzip, is damaged, or is cut short"),
        (
            "[X] Encountered error while reading file file:///a/b.txt.gz. x\nUnexpected end of input stream",
            "^/a/b.txt.gz is not gzip, is damaged, or is cut short: get it again",
        ),
        (
            "x: Python worker exited unexpectedly (crashed)",
            "A worker of Spark was ended, most likely for want of memory",
        ),
        ("java.lang.OutOfMemoryError: Java heap space", "give it more with `conf` spark.driver.memory"),
        ("Job aborted.\n at x\nCaused by: a.B: outer\nCaused by: c.D: inner", "Spark failed: c.D: inner"),
        ("An error occurred while calling None.x.\n: a.B: why\n\tat x", "Spark failed: a.B: why$"),
        (
            "\n  An exception was thrown:\nTraceback (most recent call last):\n  File x, in y\nValueError: why\n",
            "Spark failed: ValueError: why$",
        ),
        ("[SOME_ERROR] It went wrong.\nmore", r"Spark failed: \[SOME_ERROR\] It went wrong\.$"),
    ],
)
def test_failures_of_spark_are_told_in_a_sentence(spark: SparkSession, told: str, sentence: str) -> None:
    with pytest.raises(WeftError, match=sentence), spark_session():
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


TWICE = """
from weft.pipeline.session import spark_session
for _ in "ab":
    with spark_session("local[1]", {conf}) as spark:
        print(spark.range(3).count())
"""


ENDED = """
import os, signal
from weft.errors import SurroundingsError
from weft.pipeline.session import spark_session
try:
    with spark_session("local[1]", {conf}) as spark:
        java = int(spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid())
        os.kill(java, signal.SIGKILL)
        spark.range(3).count()
except SurroundingsError as error:
    print(error)
"""


def test_a_java_that_was_ended_is_told() -> None:
    """The kernel ends it where a container has not enough memory."""
    done = subprocess.run([sys.executable, "-c", ENDED.format(conf=short_lived.CONF)], capture_output=True, text=True)
    assert done.stdout.startswith("Java, in which Spark works, was ended, most likely for want of memory: allow more")
    assert (done.returncode, done.stderr) == (0, "")


def port_of_nobody() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@pytest.mark.parametrize(
    "address",
    [
        "spark://127.0.0.1:{}",
        "k8s://https://127.0.0.1:{}",
        "spark://127.0.0.1:{0},127.0.0.1:{0}",
        "sc://127.0.0.1:{}",
        "sc://127.0.0.1:{}/;token=abc",
    ],
)
def test_a_master_that_is_not_there_is_told_before_java_starts(address: str) -> None:
    with pytest.raises(
        WeftError, match=r"No Spark master answers at .*: Connection refused\. Start it, or mend `master`"
    ):
        require_master(address.format(port_of_nobody()))


@pytest.mark.parametrize(
    "address", ["spark://no-such-host.invalid:7077", "spark://127.0.0.1", "spark://127.0.0.1:99999"]
)
def test_an_address_that_is_none_is_told(address: str) -> None:
    with pytest.raises(WeftError, match="No Spark master answers"):
        require_master(address)


@contextmanager
def somebody(answer: bytes | None) -> Iterator[str]:
    """An address where somebody listens, answers what comes with these bytes, and closes; or says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            if answer is None:
                connection.recv(1_000)  # what was asked
                connection.recv(1_000)  # the end, after the patience of who asked
            else:
                connection.recv(1_000)
                connection.sendall(answer)
            connection.close()

        thread = Thread(target=serve)
        thread.start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"
        thread.join()


FAILURE = (8 + 1).to_bytes(8, "big") + bytes([8])  # that a master of Spark has no such stream

STRANGERS = {
    "a web server": (b"HTTP/1.1 400 Bad Request\r\n\r\n", "a web server is there"),
    "who closes at once": (b"", "does not speak Spark's protocol"),
    "who says something": (b"\x20\x02\x00\x00 hello there", "does not speak Spark's protocol"),
    "who says nothing": (None, "no answer within"),
}


@pytest.mark.parametrize(("answer", "told"), STRANGERS.values(), ids=STRANGERS.keys())
def test_somebody_else_at_the_address_is_told(monkeypatch: pytest.MonkeyPatch, answer: bytes | None, told: str) -> None:
    monkeypatch.setattr(master, "ANSWER", 0.2)
    with somebody(answer) as address, pytest.raises(WeftError, match=told):
        require_master(f"spark://{address}")


@pytest.mark.parametrize("answer", [answer for answer, _ in STRANGERS.values()], ids=STRANGERS.keys())
def test_somebody_else_than_a_server_of_connect_is_told(monkeypatch: pytest.MonkeyPatch, answer: bytes | None) -> None:
    monkeypatch.setattr(master, "ANSWER", 0.2)
    told = "no answer within" if answer is None else "does not speak Spark Connect's protocol"
    with somebody(answer) as address, pytest.raises(WeftError, match=told):
        require_master(f"sc://{address}")


def test_a_server_of_connect_begins_with_its_settings() -> None:
    with somebody(bytes([0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 100])) as address:
        require_master(f"sc://{address}/;user_id=me")


@pytest.mark.parametrize("address", ["k8s://https://{}", "sc://{}/;use_ssl=true", "sc://{}/;token=abc"])
def test_kubernetes_and_an_encrypted_server_speak_tls(address: str) -> None:
    with somebody(b"hello there") as listener, pytest.raises(WeftError, match="No Spark master answers at"):
        require_master(address.format(listener))


def test_a_master_with_encryption_is_asked_for_nothing() -> None:
    with somebody(b"") as address:
        require_master(f"spark://{address}", {"spark.ssl.rpc.enabled": "true"})


def test_one_master_of_several_is_enough() -> None:
    with somebody(FAILURE) as address:
        require_master(f"spark://127.0.0.1:{port_of_nobody()},{address}")


def test_yarn_without_its_files_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HADOOP_CONF_DIR", "YARN_CONF_DIR"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(WeftError, match="HADOOP_CONF_DIR"):
        require_master("yarn")


def test_a_second_session_has_a_java_of_its_own() -> None:
    """Run a process of its own: this one has a session already."""
    done = subprocess.run([sys.executable, "-c", TWICE.format(conf=short_lived.CONF)], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "3\n3\n", "")


@pytest.mark.parametrize(
    "master",
    [
        "local",
        "local[2]",
        "local[*]",
        "local[2,3]",
        "local-cluster[2,1,1024]",
        "spark://h:7077",
        "yarn",
        "k8s://h:443",
        "sc://h",
    ],
)
def test_masters(master: str) -> None:
    assert MASTERS.fullmatch(master)


@pytest.mark.parametrize("master", ["", "wrong", "local[x]", "spark:/h", "yarnx", "sc://"])
def test_what_is_no_master(master: str) -> None:
    assert not MASTERS.fullmatch(master)
