"""An experiment: systems compared at points of an axis, each with several seeds; a run is one of each.

Figures are means over the seeds. A metric may be relative: each run is then divided by the run of the baseline at the
same point with the same seed, that is, on the same instance with the same publications.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product

MEAN = "mean"  # over all points, where an experiment has an axis of numbers


@dataclass(frozen=True)
class Input:
    workload: str  # a name of weft.workloads.catalog, or SAMPLE
    nodes: int
    topics: int | None = None
    like: str | None = None  # of a social graph
    folder: str | None = None  # the instance that is sampled, breadth-first


SAMPLE = "sample"


@dataclass(frozen=True)
class Run:
    """All that its figures depend on. The seed is that of instance, overlay, publications and rendezvous points."""

    input: Input
    overlay: str
    router: str
    publications: int
    seed: int


@dataclass(frozen=True)
class Scale:
    publications: int
    seeds: int
    steps: tuple[int, ...]  # of an axis of nodes or topics


# The papers tell neither how many publications nor how many repetitions they made.
QUICK = Scale(publications=10_000, seeds=1, steps=(1000, 4000, 7000, 10000))
FULL = Scale(publications=50_000, seeds=5, steps=tuple(range(1000, 10001, 1000)))


@dataclass(frozen=True)
class System:
    overlay: str
    router: str


@dataclass(frozen=True)
class Point:
    label: str
    input: Input
    about: str  # what the input is
    x: int | None = None  # none: the axis is one of names


Points = Callable[[Scale, Mapping[str, str]], list[Point]]  # given the folders of the datasets that are there


@dataclass(frozen=True)
class Metric:
    column: str
    relative: bool


METRICS = {
    "overhead ratio": Metric("routing_overhead", relative=True),
    "path ratio": Metric("average_path", relative=True),
    "longest path ratio": Metric("maximum_path", relative=True),
    "average path": Metric("average_path", relative=False),
    "TcoSuppR": Metric("tco_support_ratio", relative=False),
    "TcoSuppR of whole phases": Metric("whole_phases_support_ratio", relative=False),
}


@dataclass(frozen=True)
class Panel:
    """A part of the figure: (a), (b), ..."""

    title: str
    metric: str
    systems: tuple[str, ...]


@dataclass(frozen=True)
class Experiment:
    name: str
    title: str
    paper: str  # its file in papers/
    axis: str
    points: Points
    systems: Mapping[str, System]
    baseline: str
    panels: tuple[Panel, ...]
    extra_metrics: tuple[str, ...] = ()  # in the table only
    datasets: tuple[str, ...] = ()
    note: str = ""

    @property
    def metrics(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys([*(panel.metric for panel in self.panels), *self.extra_metrics]))


def runs_of(experiment: Experiment, points: list[Point], scale: Scale) -> dict[tuple[str, str, int], Run]:
    """By system, point and seed."""
    seeds = range(1, scale.seeds + 1)
    return {
        (name, point.label, seed): Run(point.input, system.overlay, system.router, scale.publications, seed)
        for point, seed, (name, system) in product(points, seeds, experiment.systems.items())
    }
