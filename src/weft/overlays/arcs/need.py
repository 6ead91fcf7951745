"""What a divided design of a size will need, from what designs of other sizes needed.

measurements.csv has a row a command that was run (benchmarks/scale.py writes it): nodes and subscriptions of the
instance, the processor seconds of its own process, which no further core helps, and those of all others (Java and the
tasks), the memory of all its processes, and its disk. Seconds and disk are fitted by a + b S log2 n, the memory by
a + b sqrt S + c S + d n log2 n, with S subscriptions and n nodes: the shape of what is counted and held. The root
stands for Java, which takes more of its heap than it needs while there is room, and collects garbage more often the
fuller it is. No coefficient is negative, and errors count in proportion, those of seconds to at least ten, since
less is mostly the time that processes take to start.
"""

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
from scipy.optimize import nnls

from weft.arrays import Floats
from weft.errors import WeftError

COMMANDS = ("design", "weave", "evaluate")
LEAST = {"driver_seconds": 10.0, "other_seconds": 10.0}
BUSY = 0.85  # share of their time that cores work while a job runs: its last tasks leave some without


@dataclass(frozen=True)
class Need:
    command: str
    driver_seconds: float  # processor seconds of the command's own process
    other_seconds: float  # of Java and of all tasks
    memory_bytes: float  # of all processes on a machine of two cores
    disk_bytes: float

    def seconds(self, cores: int) -> float:
        return self.driver_seconds + self.other_seconds / (cores * BUSY)


def need_of(command: str, nodes: int, subscriptions: int) -> Need:
    """Need of a command for a size; far from all that were measured it is a guess."""
    if nodes < 2 or subscriptions < 1:
        raise WeftError(f"{nodes} nodes with {subscriptions} subscriptions are nothing to plan: give more.")
    rows = [row for row in measurements() if row["command"] == command]
    measured = np.array([[float(row["nodes"]), float(row["subscriptions"])] for row in rows])
    asked = np.array([[float(nodes), float(subscriptions)]])

    def fitted(column: str) -> float:
        values = np.array([float(row[column]) for row in rows])
        shape = _held if column == "memory_bytes" else _counted
        weights = 1 / np.maximum(values, LEAST.get(column, 0.0))
        coefficients, _ = nnls(shape(measured) * weights[:, None], values * weights)
        return float(shape(asked)[0] @ coefficients)

    return Need(
        command, *(fitted(column) for column in ("driver_seconds", "other_seconds", "memory_bytes", "disk_bytes"))
    )


def _counted(sizes: Floats) -> Floats:
    return np.column_stack([np.ones(len(sizes)), sizes[:, 1] * np.log2(sizes[:, 0])])


def _held(sizes: Floats) -> Floats:
    nodes, subscriptions = sizes.T
    return np.column_stack([np.ones(len(sizes)), np.sqrt(subscriptions), subscriptions, nodes * np.log2(nodes)])


@cache
def measurements() -> list[dict[str, str]]:
    text = files("weft.overlays.arcs").joinpath("measurements.csv").read_text()
    return list(csv.DictReader(text.splitlines()))
