"""The command: mutates modules, prints what survived, and how many were killed."""

import argparse
import os
import sys
import tempfile
import tomllib
from bisect import bisect
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from pathlib import Path

from mutation.mutants import Mutant, mutants_of
from mutation.selection import Selection, selections
from mutation.trial import TESTS, in_child, with_mutant

SOURCES = TESTS.parent / "src"
EQUIVALENT = Path(__file__).parent / "equivalent.toml"
SLACK = 10.0  # times as long as the tests take on the code as it is
LEAST = 5.0  # seconds
MOST = 60.0  # seconds of tests for a mutant, as they take while their lines are noted: the quickest are tried

# Which tests can know a module: those named for it or its room, and these.
ALSO = {
    "protocol": ["test_sim_world.py"],
    "protocol/vitis": ["test_sim_vitis.py"],
    "model": [
        *("test_overlays_join.py", "test_report.py", "test_sample.py", "test_sim_timed.py", "test_trees_weave.py"),
        *("test_workloads_publication.py", "test_workloads_synthetic.py", "test_python.py", "test_fleet_reading.py"),
    ],
    "wire": ["test_broker.py", "test_mqtt_conformance_network.py", "test_sim_cluster.py"],
    "broker": ["test_mqtt_conformance_network.py", "test_node_lane.py"],
    "master": ["test_cluster_senders.py", "test_sim_cluster.py", "test_mqtt_conformance_network.py"],
    "node": [
        *("test_cluster_senders.py", "test_sim_cluster.py", "test_sim_cluster_failures.py", "test_sim_chaos.py"),
        "test_mqtt_conformance_network.py",
    ],
}


@dataclass(frozen=True)
class Case:
    file: Path
    mutant: Mutant
    tests: list[str]
    seconds: float

    def __str__(self) -> str:
        """The line and what became of it, as it stands in equivalent.toml."""
        return f"{self.file.read_text().splitlines()[self.mutant.line - 1].strip()} | {self.mutant.name}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="mutation", description="Which small changes of the code no test notices.")
    parser.add_argument("modules", nargs="+", help="under src/weft: a file or a folder")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--every", type=int, default=1, metavar="N", help="try one mutant in N, for an estimate")
    parser.add_argument("--first", type=int, default=0, metavar="K", help="the first of these, for another estimate")
    options = parser.parse_args()
    files = [file for module in options.modules for file in sources(module)]
    preload()
    todo = [case for file, selection in selected(files).items() for case in cases(file, selection)]
    outcomes: dict[str, Counter[str]] = {}
    for case, verdict in tried(todo[options.first :: options.every], options.jobs):
        if told(case, verdict):
            outcomes.setdefault(relative(case.file), Counter())[verdict] += 1
    for name in sorted(outcomes):
        print(f"{name}: {summary(outcomes[name])}")
    print(f"\nall: {summary(sum(outcomes.values(), Counter()))}")


def selected(files: list[Path]) -> dict[Path, Selection]:
    tests = sorted({test for file in files for test in tests_for(file)})
    with tempfile.TemporaryDirectory() as scratch:
        return selections(files, tests, Path(scratch))


def sources(module: str) -> list[Path]:
    path = SOURCES / "weft" / module
    return sorted(path.rglob("*.py")) if path.is_dir() else [path]


def preload() -> None:
    """What is large and never mutated."""
    import hypothesis.stateful  # noqa: F401
    import networkx  # noqa: F401
    import pandas  # noqa: F401
    import pyarrow.dataset
    import pyarrow.parquet  # noqa: F401
    import pyspark.sql  # noqa: F401
    import scipy.sparse.csgraph
    import scipy.stats  # noqa: F401

    for path in sorted((SOURCES / "weft" / "kernels").rglob("*.py")):
        __import__(".".join(path.relative_to(SOURCES).with_suffix("").parts).removesuffix(".__init__"))
    for name in [name for name in sys.modules if name.startswith("weft.") and not is_fixed(name)]:
        del sys.modules[name]


def is_fixed(name: str) -> bool:
    return name.startswith(("weft.kernels", "weft.arrays", "weft.cache", "weft.errors"))


def relative(file: Path) -> str:
    return file.relative_to(SOURCES / "weft").as_posix()


def tests_for(file: Path) -> list[str]:
    """Files that are named for the module or for the folders that it is in."""
    name = relative(file).removesuffix(".py")
    rooms = [str(parent) for parent in Path(name).parents if str(parent) != "."]
    patterns = [f"test_{name.replace('/', '_')}*.py", *(f"test_{room.replace('/', '_')}*.py" for room in rooms)]
    named = {str(path) for pattern in patterns for path in TESTS.glob(pattern)}
    return sorted(named | {str(TESTS / also) for room in rooms for also in ALSO.get(room, [])})


def cases(file: Path, selection: Selection) -> Iterator[Case]:
    for mutant in mutants_of(file.read_text()):
        tests = selection.tests.get(mutant.line, [])
        spent = list(accumulate(selection.seconds[test] for test in tests))
        count = bisect(spent, MOST) or min(len(tests), 1)
        yield Case(file, mutant, tests[:count], LEAST + SLACK * sum(spent[count - 1 : count]))


def tried(todo: list[Case], jobs: int) -> Iterator[tuple[Case, str]]:
    """Each case with its verdict, as they end."""
    running: dict[int, Case] = {}
    while todo or running:
        if todo and len(running) < jobs:
            case = todo.pop()
            if case.tests:
                running[started(case)] = case
            else:
                yield case, "survived"
        else:
            child, status = os.waitpid(-1, 0)
            yield running.pop(child), "killed" if status else "survived"


def started(case: Case) -> int:
    name = ".".join(case.file.relative_to(SOURCES).with_suffix("").parts).removesuffix(".__init__")
    return in_child(lambda: with_mutant(name, case.file, case.mutant.tree, case.tests), case.seconds)


def told(case: Case, verdict: str) -> bool:
    """Whether it counts; what is known to change nothing does not."""
    if str(case) in known(relative(case.file)):
        return False
    if verdict == "survived":
        where = f"{relative(case.file)}:{case.mutant.line}"
        print(f"{where}: {case}{'' if case.tests else '   (no test comes by)'}", flush=True)
    return True


@cache
def known(file: str) -> dict[str, str]:
    """Reasons why mutants change nothing that anybody could notice."""
    return dict(tomllib.loads(EQUIVALENT.read_text()).get(file, {}))


def summary(outcomes: Counter[str]) -> str:
    tried, killed = outcomes.total(), outcomes["killed"]
    return f"{killed} of {tried} killed, {killed / max(tried, 1):.1%}"


if __name__ == "__main__":
    main()
