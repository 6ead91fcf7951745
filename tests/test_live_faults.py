"""Real faults on real processes, once: nothing acknowledged is lost. benchmarks/faults.py has all of it."""

import subprocess
import sys
from pathlib import Path

from ports import free_run
from test_benchmarks import assert_tables_of_the_docs

FAULTS = Path(__file__).parents[1] / "benchmarks" / "faults.py"
SIZE = ("--times", 1, "--nodes", 4, "--publishers", 2, "--subscribers", 3, "--after", 0.5)


def faults(*arguments: object) -> str:
    port = free_run(40)
    command = [sys.executable, str(FAULTS), *map(str, (*SIZE, *arguments, "--port", port))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_nothing_that_was_acknowledged_is_lost_when_a_publishers_node_and_then_the_master_is_killed() -> None:
    printed = faults("--faults", "publisher,master")
    assert_tables_of_the_docs(printed)
    assert printed.count(" | 4 | 1 | ") == 2
