import os
import subprocess
from pathlib import Path

import pytest

from weft.pipeline.java import provide_java


def fake_java(folder: Path, version: str) -> Path:
    java = folder / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f'#!/bin/sh\n[ "$1" = -version ] && echo \'openjdk version "{version}"\' >&2 || echo fake "$@"\n')
    java.chmod(0o755)
    return folder


@pytest.fixture(autouse=True)
def empty_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("JAVA_HOME", raising=False)


def run_java(*arguments: str) -> str:
    java = Path(os.environ["JAVA_HOME"]) / "bin" / "java"
    done = subprocess.run([java, *arguments], capture_output=True, text=True, check=True)
    return done.stdout + done.stderr


def test_a_supported_java_is_used_without_the_module(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path / "jdk", "21.0.1")))
    provide_java()
    told = run_java("-Xmx1g", "--add-modules=jdk.incubator.vector", "a b", "Main")
    assert told == "fake -Xmx1g a b Main\n"


@pytest.mark.parametrize("version", ["1.8.0_402", "11.0.2", "26"])
def test_an_unsupported_java_gives_way_to_the_wheel(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, version: str
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path / "jdk", version)))
    provide_java()
    assert 'version "21' in run_java("--add-modules=jdk.incubator.vector", "-version")


def test_without_any_java_the_wheel_is_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin-without-java")
    provide_java()
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    assert 'version "21' in run_java("-version")


def test_the_second_time_nothing_changes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path / "jdk", "17.0.15")))
    provide_java()
    first = os.environ["JAVA_HOME"]
    provide_java()
    assert os.environ["JAVA_HOME"] == first
