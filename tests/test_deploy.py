"""What deploy/ starts is what the command line takes."""

import re
import shlex
import shutil
import subprocess
import tomllib
from importlib.metadata import requires
from pathlib import Path
from typing import Any

import pytest
import typer
from packaging.requirements import Requirement

from weft import cli

DEPLOY = Path(__file__).parents[1] / "deploy"
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
COMMANDS = typer.main.get_command(cli.app).commands  # type: ignore[attr-defined]


def options_of(words: list[str]) -> dict[str, Any]:
    """The options of a command as the command line reads them; an unknown one is an error."""
    name, *rest = words
    with COMMANDS[name].make_context(name, rest) as context:
        return dict(context.params)


def exec_start(unit: Path) -> list[str]:
    (line,) = re.findall(r"^ExecStart=(.*)$", unit.read_text(), re.M)
    return shlex.split(line.replace("%i", "one"))


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_units_start_commands_that_there_are(unit: Path) -> None:
    program, *words = exec_start(unit)
    assert program == "/opt/weft/bin/weft"
    options = options_of(words)
    (state,) = re.findall(r"^StateDirectory=(.*)$", unit.read_text(), re.M)
    assert str(options["data"]) == f"/var/lib/{state}".replace("%i", "one")


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd here")
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_systemd_understands_the_units(unit: Path, tmp_path: Path) -> None:
    copy = tmp_path / unit.name.replace("@", "@one")
    copy.write_text(unit.read_text().replace("/opt/weft/bin/weft", "/bin/true"))  # it looks whether it is there
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", copy], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("command", ["master", "node"])
def test_files_of_options_have_options_that_there_are(command: str) -> None:
    given = tomllib.loads((DEPLOY / "systemd" / f"{command}.toml").read_text())
    words = [word for name, value in given.items() for word in flags(name, value)]
    assert given.keys() <= {name.replace("_", "-") for name in options_of([command, *words])}


def flags(name: str, value: object) -> list[str]:
    many = value if isinstance(value, list) else [value]
    return [word for one in many for word in (f"--{name}", str(one))]


@pytest.fixture
def services() -> dict[str, dict[str, Any]]:
    yaml = pytest.importorskip("yaml")
    return dict(yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"])


def test_a_master_and_three_nodes_are_composed(services: dict[str, dict[str, Any]]) -> None:
    options = {name: options_of(service["command"]) for name, service in services.items()}
    master = options.pop("master")
    (port,) = {str(master["listen"]).rpartition(":")[2].rstrip("']")}
    assert len(options) == 3
    assert len({one["name"] for one in options.values()}) == 3
    assert {one["master"] for one in options.values()} == {f"master:{port}"}
    assert {str(one["data"]) for one in (master, *options.values())} == {"/data"}


def test_what_is_composed_fits_together(services: dict[str, dict[str, Any]]) -> None:
    yaml = pytest.importorskip("yaml")
    volumes = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["volumes"]
    used = [volume.split(":")[0] for service in services.values() for volume in service["volumes"]]
    assert sorted(used) == sorted(volumes)
    outside = [port.rpartition(":")[0] for service in services.values() for port in service.get("ports", [])]
    assert len(set(outside)) == len(outside) == 3
    for service in services.values():
        assert (DEPLOY / service["build"]["context"] / service["build"]["dockerfile"]).is_file()
        assert set(service.get("depends_on", [])) <= services.keys()


def test_the_container_is_built_of_files_that_there_are() -> None:
    text = (DEPLOY / "Containerfile").read_text()
    root = DEPLOY.parent
    kept = [line[1:] for line in (root / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    for line in re.findall(r"^COPY (?!--from)(.*)$", text, re.M):
        for source in line.split()[:-1]:
            assert (root / source).exists()
            assert source in kept


IMAGES = sorted(DEPLOY.rglob("Containerfile"))
LOCK = DEPLOY / "requirements.lock"


def commands_of(image: Path) -> list[list[str]]:
    """Words of all commands that an image is built by."""
    text = image.read_text().replace("\\\n", " ")
    runs = [line.removeprefix("RUN ") for line in text.splitlines() if line.startswith("RUN ")]
    return [shlex.split(command) for run in runs for command in run.split("&&")]


def entries(lock: Path) -> dict[str, set[str]]:
    """Requirements of a lock as they are written, and their hashes."""
    found: dict[str, set[str]] = {}
    for line in lock.read_text().replace("\\\n", " ").splitlines():
        requirement, *hashes = line.split("--hash=")
        found[requirement.strip()] = {one.strip() for one in hashes}
    return found


@pytest.mark.parametrize("image", IMAGES, ids=lambda image: image.parent.name)
def test_images_stand_on_what_has_a_digest(image: Path) -> None:
    bases = re.findall(r"^FROM (\S+)", image.read_text(), re.M)
    assert len(bases) == 2
    assert len(set(bases)) == 1
    assert re.fullmatch(r"python:3\.12-slim@sha256:[0-9a-f]{64}", bases[0])


@pytest.mark.parametrize("image", IMAGES, ids=lambda image: image.parent.name)
def test_images_are_built_of_the_lock_alone(image: Path) -> None:
    locked, own = [words for words in commands_of(image) if "install" in words and words[0].endswith("/pip")]
    assert "--require-hashes" in locked
    assert locked[-2:] == ["--requirement", "/src/deploy/requirements.lock"]
    assert {"--no-deps", "--no-build-isolation", "--no-index"} <= set(own)
    assert own[-1] == "/src"


def test_the_lock_of_images_is_part_of_the_one_that_is_audited() -> None:
    whole = entries(DEPLOY.parent / "requirements.lock")
    part = entries(LOCK)
    assert {name: hashes for name, hashes in part.items() if whole.get(name) != hashes} == {}
    assert all(part.values())


def test_the_lock_of_images_has_all_that_weft_needs() -> None:
    there = {re.split(r"[=\[ ]", name)[0] for name in entries(LOCK)}
    project = tomllib.loads((DEPLOY.parent / "pyproject.toml").read_text())
    left = [*project["project"]["dependencies"], *project["build-system"]["requires"]]
    needed: set[str] = set()
    while left:
        one = Requirement(left.pop())
        name = re.sub(r"[-_.]+", "-", one.name).lower()
        if name not in needed and (one.marker is None or one.marker.evaluate({"extra": ""})):
            needed.add(name)
            left += requires(one.name) or []
    assert needed - there == set()


def test_the_driver_on_kubernetes_runs_a_command_that_there_is() -> None:
    yaml = pytest.importorskip("yaml")
    parts = yaml.safe_load_all((DEPLOY / "spark" / "driver.yaml").read_text())
    (pod,) = [part for part in parts if part["kind"] == "Pod"]
    program, *words = pod["spec"]["containers"][0]["args"]
    assert program == "weft"
    options = options_of(words)
    assert options["master"].startswith("k8s://")
    assert all("=" in setting for setting in options["conf"])


@pytest.mark.parametrize("script", sorted((DEPLOY / "spark").glob("*.sh")), ids=lambda script: script.name)
def test_scripts_are_ones_that_a_shell_understands(script: Path) -> None:
    assert script.stat().st_mode & 0o111
    subprocess.run(["bash", "-n", script], check=True)
