"""An experiment: systems compared at points of an axis, each with several seeds; a run is one of each.

Figures are means over the seeds. A metric may be relative: each run is then divided by the run of the baseline at the
same point with the same seed, that is, on the same input.

Where a paper's words allow several readings, an experiment has them all. A claim is then judged once by each, on the
figures that are the reading's: of its own runs, or of its own systems, metrics or points.
"""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from weft.experiments.engine.dataset import CrawlSample

MEAN = "mean"  # over all points, where an experiment has an axis of numbers
EACH = "each"  # of them
SLOPE = "slope"  # exponent of a power law along the axis
CHANGE = "last / first"  # along the axis

Effort = Literal["quick", "full"]
LOWEST, HIGHEST = "lowest", "highest"  # figure of all points, where a paper says "up to"


class Run(Protocol):
    """A frozen dataclass of all that its figures depend on; two experiments that ask for equal runs share one."""

    @property
    def seed(self) -> int: ...

    @property
    def batch(self) -> Hashable:
        """Runs of one batch share preparations and are computed in order by one process."""

    @property
    def cost(self) -> float:
        """Seconds on one core, about: the longest batches start first, and the time left is estimated by it."""

    def measure(self) -> dict[str, Any]:
        """Figures of the run, as JSON can hold them."""


@dataclass(frozen=True)
class Point:
    label: str
    about: str  # what is measured there
    x: float | None = None  # none: the axis is one of names


Runs = Mapping[tuple[str, str, int], Run]  # by system, label of the point, and seed from 1


@dataclass(frozen=True)
class Variant:
    """A reading of the paper for which all runs are made anew."""

    reading: str
    options: tuple[tuple[str, str], ...]  # and their values, by which the command line asks for it
    in_quick: bool

    def has(self, options: Mapping[str, str]) -> bool:
        return options.items() <= dict(self.options).items()


@dataclass(frozen=True)
class Plan:
    points: list[Point]
    seeds: int
    runs: Runs  # by the first reading, where there are variants
    settings: str = ""  # what holds for every run, in a sentence
    samples: tuple[CrawlSample, ...] = ()  # that the runs read
    variants: Mapping[Variant, Runs] = field(default_factory=dict)  # none where all readings share the runs

    @property
    def every_run(self) -> list[Run]:
        return [run for runs in self.variants.values() or [self.runs] for run in runs.values()]


@dataclass(frozen=True)
class Metric:
    column: str  # a figure of the runs
    relative: bool = False
    to: str | None = None  # the system that it is relative to; none: the baseline
    difference: bool = False  # from another system
    unit: float | None = None  # the figure that means "no difference", where neither of these says it

    @property
    def neutral(self) -> float | None:
        """The figure that means "no difference"."""
        return 1.0 if self.relative else 0.0 if self.difference else self.unit


@dataclass(frozen=True)
class Panel:
    """A part of the figure: (a), (b), ..."""

    title: str
    metric: str
    systems: tuple[str, ...]
    logarithmic: bool = False  # the axis of the figures


@dataclass(frozen=True)
class Reading:
    """One of the readings of a paper, by what it calls what claims are about; what is not renamed is common to all."""

    name: str
    systems: Mapping[str, str] = field(default_factory=dict)
    metrics: Mapping[str, str] = field(default_factory=dict)
    points: Mapping[str, str] = field(default_factory=dict)


AS_PRINTED = Reading("as printed")


@dataclass(frozen=True)
class Experiment:
    name: str
    title: str
    paper: str  # its file in papers/
    axis: str
    systems: tuple[str, ...]
    metrics: Mapping[str, Metric]
    plan: Callable[[Effort, Mapping[str, str]], Plan]  # given where the datasets are that are there
    panels: tuple[Panel, ...]
    baseline: str | None = None  # of relative metrics
    extra_metrics: tuple[str, ...] = ()  # in the table only
    datasets: tuple[str, ...] = ()
    logarithmic_axis: bool = False
    note: str = ""
    readings: tuple[Reading, ...] = (AS_PRINTED,)  # the one that the paper's words favour first

    @property
    def reported(self) -> tuple[str, ...]:
        """The metrics of panels and table."""
        return tuple(dict.fromkeys([*(panel.metric for panel in self.panels), *self.extra_metrics]))
