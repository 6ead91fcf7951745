"""Every benchmark runs, at a toy size, and prints the tables that the docs carry."""

import importlib
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext, redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from types import SimpleNamespace

import numba
import numpy as np
import pytest
from pyspark.sql import SparkSession

from live_node import node
from weft import cli
from weft.workloads.catalog import generate

ROOT = Path(__file__).parents[1]
BENCHMARKS = ROOT / "benchmarks"
# What benchmarks share
PARTS = {
    *("attack", "bridged", "hurt", "markdown", "measure", "processor", "prober", "promise", "snap", "standalone"),
    *("slices", "slope", "soak_cluster", "soak_load", "stranger", "textbook"),
}
DOCS = "".join(path.read_text() for path in sorted((ROOT / "docs").glob("*.md")))

TOLD_WITHOUT_A_TABLE = {
    ("workload", "nodes", "subscriptions in all", "seconds"),  # docs/workloads.md
    ("command", "kernels", "specialisations", "seconds"),  # docs/benchmarks.md has two of them side by side
}

Bench = Callable[..., str]


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Bench]:
    """A benchmark in this process, with arguments; what it prints."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    monkeypatch.setenv("NUMBA_CACHE_DIR", os.environ.get("NUMBA_CACHE_DIR", ""))  # a benchmark may change it
    threads = numba.get_num_threads()

    def run(name: str, *arguments: object) -> str:
        monkeypatch.setattr(sys, "argv", [f"{name}.py", *map(str, arguments)])
        importlib.import_module(name).main()
        return capsys.readouterr().out

    yield run
    numba.set_num_threads(threads)


def tables_in(text: str) -> dict[tuple[str, ...], list[int]]:
    """How many cells the rows of every Markdown table have, by its head."""
    tables: dict[tuple[str, ...], list[int]] = {}
    lines = text.splitlines()
    for head, rule, *rows in (lines[i:] for i in range(len(lines) - 1)):
        if head.startswith("|") and re.fullmatch(r"[|:\- ]+", rule):
            of_table = rows[: next((i for i, row in enumerate(rows) if not row.startswith("|")), len(rows))]
            tables[cells(head)] = [len(cells(row)) for row in of_table]
    return tables


def cells(row: str) -> tuple[str, ...]:
    return tuple(cell.strip() for cell in row.strip().strip("|").split("|"))


def assert_tables_of_the_docs(printed: str) -> None:
    tables = tables_in(printed)
    assert tables
    assert tables.keys() <= tables_in(DOCS).keys() | TOLD_WITHOUT_A_TABLE
    for head, widths in tables.items():
        assert set(widths) == {len(head)}, f"the rows under {head} do not fit"


RUNS = {
    "broker": ("--subscriptions", 200, "--publications", 300, "--repeats", 1),
    "filter_mqtt": ("--filters", 300),
    "compilation": ("--case", "inspect"),
    "generate": ("--toy",),
    "hops": ("--nodes", 4, "--users", 10),
    "journal": ("--seconds", 0.001, "--rounds", 1),
    "matching": ("--subscriptions", 200, "--publications", 300, "--rounds", 1),
    "overlays": ("--toy",),
    "popsub": ("--toy",),
    "repair": ("--toy",),
    "routing": ("--nodes", 200, "--topics", 40, "--publications", 300, "--rounds", 1),
    "topic_connected": ("--toy",),
    "vitis": ("--nodes", 110, "--publications", 20, "--rounds", 3),
    "weave": ("--toy",),
}
IN_TESTS_OF_THEIR_OWN = {
    *("broker_mqtt", "faults", "fleet", "network", "pipeline", "scale", "soak", "social_calibration"),
    *("stall", "weave_picture"),
}


def test_every_benchmark_is_tried() -> None:
    there = {path.stem for path in BENCHMARKS.glob("*.py")}
    assert there == RUNS.keys() | IN_TESTS_OF_THEIR_OWN | PARTS


@pytest.mark.parametrize("name", RUNS)
def test_a_benchmark_prints_the_tables_of_the_docs(bench: Bench, name: str, tmp_path: Path) -> None:
    where = ("--folder", tmp_path) if name == "journal" else ()
    assert_tables_of_the_docs(bench(name, *RUNS[name], *where))


needs_mosquitto = pytest.mark.skipif(
    shutil.which("mosquitto", path=f"{os.environ['PATH']}:/usr/sbin") is None, reason="mosquitto is not installed"
)


@needs_mosquitto
def test_the_node_is_measured_beside_mosquitto() -> None:
    toy = ["--seconds", "0.1", "--repeat", "1", "--idle", "20"]
    command = [sys.executable, str(BENCHMARKS / "broker_mqtt.py"), *toy]
    assert_tables_of_the_docs(subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout)


@needs_mosquitto
def test_what_others_wait_is_measured_beside_mosquitto() -> None:
    attacks = "connect-properties,retained-100k,shared,shared-overlapping,passwords,link,websocket-pings"
    port = ("--port", str(15_000 + os.getpid() % 5_000))
    command = [sys.executable, str(BENCHMARKS / "stall.py"), "--small", "--only", attacks, *port]
    printed = subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout
    assert_tables_of_the_docs(printed)
    assert [len(rows) for rows in tables_in(printed).values()] == [len(attacks.split(","))]


def test_a_broker_that_stands_still_is_noticed(bench: Bench) -> None:
    del bench  # it has made the benchmarks importable
    prober, stands = importlib.import_module("prober"), 0.5  # seconds
    with node("--quiet") as one:
        found = prober.Prober(one.port, users=False, patience=20.0)
        try:
            found.await_rest()
            found.begin()
            one.process.send_signal(signal.SIGSTOP)
            time.sleep(stands)  # that is what is to be measured
            one.process.send_signal(signal.SIGCONT)
            assert found.longest() > stands / 2
        finally:
            found.end()


def test_a_soak_tells_of_all_processes_and_breaks_no_promise(tmp_path: Path) -> None:
    toy = ["--minutes", "0.1", "--nodes", "3", "--keep", "1", "--stay", "0.5", "--figure", str(tmp_path / "soak.svg")]
    toy += ["--samples", str(tmp_path / "soak.csv"), "--port", str(12_000 + os.getpid() % 3_000)]
    command = [sys.executable, str(BENCHMARKS / "soak.py"), *toy]
    printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, timeout=300).stdout
    assert_tables_of_the_docs(printed)
    assert [len(rows) for rows in tables_in(printed).values()] == [1, 12]
    assert "</svg>" in (tmp_path / "soak.svg").read_text()
    processes = {line.split(",")[1] for line in (tmp_path / "soak.csv").read_text().splitlines()[1:]}
    assert processes == {"a", "b", "c", "master"}


@pytest.mark.parametrize("steepness", [0.0, 0.5])
def test_a_slope_is_told_with_its_error(bench: Bench, steepness: float) -> None:
    """Two lives of a process, with levels and noise of their own; growth that is there is seen, and none else."""
    del bench  # it has made the benchmarks importable
    slope = importlib.import_module("slope")
    noise = np.random.default_rng(1)
    lives = []
    for begin, level in ((0.0, 50.0), (1.0, 80.0)):
        hours = np.linspace(begin, begin + 0.5, 100)
        lives.append((hours, level + steepness * 50 * hours + noise.normal(0, 1, 100)))
    found = slope.slope(lives)
    assert found.grows(1.0) is (steepness > 0)
    assert abs(found.percent * found.mean / 100 - steepness * 50) < found.error * found.mean / 100 * 2


def test_a_journal_is_judged_by_its_peaks(bench: Bench) -> None:
    del bench
    slope = importlib.import_module("slope")
    hours = np.arange(60) / 60
    found = slope.peaks((hours, np.arange(60) % 10 * 6.0 + 1))
    assert found[1].tolist() == [55.0] * 5
    assert not slope.slope([found], slope.LEAST_PEAKS).grows(1.0)


@needs_mosquitto
def test_bridges_are_measured_as_they_are_counted(bench: Bench) -> None:
    systems = ("--only", "plan", "--only", "star, everything")
    printed = bench("fleet", "--brokers", 3, "--publications", 120, "--rounds", 1, *systems)
    assert_tables_of_the_docs(printed)
    for row in map(cells, printed.splitlines()[2:]):
        assert row[3] == row[4], "Mosquitto sent another number of messages than the score counts"


@needs_mosquitto
def test_the_network_is_measured_beside_bridged_mosquittos() -> None:
    toy = {"nodes": 4, "users": 30, "fleet": 2, "clients": 20, "seconds": 0.3, "repeat": 1, "trials": 2, "failures": 1}
    toy |= {"before": 0.3, "after": 0.2, "late": 0.5, "calm": 30, "calm-seconds": 0.3, "burst": 20, "joining": 5}
    toy |= {"reported": 0.1, "messages": 8}
    toy |= {"port": 20_000 + os.getpid() % 10_000}
    options = [word for name, value in toy.items() for word in (f"--{name}", str(value))]
    command = [sys.executable, str(BENCHMARKS / "network.py"), *options]
    assert_tables_of_the_docs(subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout)


def test_a_broker_measured_is_what_the_simulation_reads(bench: Bench, tmp_path: Path) -> None:
    table = tmp_path / "capacity.toml"
    bench("broker", *RUNS["broker"], "--out", table)
    stored = (ROOT / "src/weft/sim/broker_capacity.toml").read_text()
    assert re.findall(r"^\w+|\[\w+\]", table.read_text(), re.M) == re.findall(r"^\w+|\[\w+\]", stored, re.M)


@pytest.fixture
def snap(tmp_path: Path) -> Path:
    """Edge lists in the place, and with the names, of SNAP's."""
    folder = tmp_path / "social"
    folder.mkdir()
    for name, seed in (("facebook", 1), ("twitter", 2)):
        graph = generate("social", nodes=300, seed=seed).interest
        np.savetxt(folder / f"{name}_combined.txt.gz", np.column_stack([graph.row_of_each(), graph.indices]), "%d")
    return tmp_path


def test_the_generator_is_compared_with_edge_lists(bench: Bench, snap: Path) -> None:
    figure = snap / "figure.svg"
    assert_tables_of_the_docs(bench("social_calibration", "--data", snap / "social", "--figure", figure))
    assert "</svg>" in figure.read_text()


def test_commands_are_measured(bench: Bench, snap: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands run in this process, and without Spark; how long they take is not of interest."""
    pipeline = importlib.import_module("pipeline")

    def in_process(_: object, *arguments: object) -> object:
        quiet = io.StringIO()
        with monkeypatch.context() as patch, redirect_stdout(quiet), redirect_stderr(quiet):
            patch.setattr(sys, "argv", ["weft", *map(str, arguments), "--engine", "local"])
            patch.setattr(signal, "signal", lambda *_: None)
            with suppress(SystemExit):
                cli.main()
        assert Path(str(arguments[-1])).is_dir(), quiet.getvalue()
        return importlib.import_module("measure").Cost(1.0, 10**9)

    monkeypatch.setattr(pipeline, "measure", in_process)
    assert_tables_of_the_docs(bench("pipeline", "--data", snap, "--edges", 2000, "--sample", 50, "--scratch", snap))


def test_designs_are_measured_by_size(
    bench: Bench, spark: SparkSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The exact greedy stands beside the divided one, and the needs of the latter go to a file."""
    scale = importlib.import_module("scale")

    def in_process(_: Path, *arguments: object) -> object:
        output, quiet = io.StringIO(), io.StringIO()
        with monkeypatch.context() as patch, redirect_stdout(output), redirect_stderr(quiet):
            patch.setattr(sys, "argv", ["weft", *map(str, arguments), "--json"])
            patch.setattr(signal, "signal", lambda *_: None)
            with suppress(SystemExit):
                cli.main()
        return scale.Cost(1.0, 10**9, 10**6, 2.0, 3.0, json.loads(output.getvalue()))

    table = tmp_path / "measurements.csv"
    table.write_text(scale.MEASUREMENTS.read_text())
    monkeypatch.setattr(scale, "MEASUREMENTS", table)
    monkeypatch.setattr(scale, "run", in_process)
    toy = ("--nodes", 600, "--arc", 256, "--publications", 50, "--write")
    printed = bench("scale", "--scratch", tmp_path, *toy)
    assert_tables_of_the_docs(printed)
    assert [len(rows) for rows in tables_in(printed).values()] == [6, 3]
    assert table.read_text().count(",600,") == 3
    here = SimpleNamespace(master=scale.MASTER)
    monkeypatch.setattr(scale, "standalone", lambda *_, **__: nullcontext(here))
    assert_tables_of_the_docs(bench("scale", "--scratch", tmp_path, *toy, "--workers", 2))


def test_a_command_that_fails_is_not_measured(bench: Bench) -> None:
    measure = importlib.import_module("measure").measure
    assert measure(sys.executable, "-c", "import time; time.sleep(0.2)").peak_bytes > 10**6
    with pytest.raises(SystemExit, match="failed with 3"):
        measure(sys.executable, "-c", "raise SystemExit(3)")


def test_the_picture_of_weave_is_drawn(tmp_path: Path, bench: Bench) -> None:
    bench("weave_picture", tmp_path / "weave.svg")
    assert (tmp_path / "weave.svg").read_text() == (ROOT / "docs/figures/weave.svg").read_text()
