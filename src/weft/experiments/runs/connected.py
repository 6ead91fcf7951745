"""Runs of topic-connected overlays, as the DC paper compares them."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from weft.experiments.runs.input import Input

if TYPE_CHECKING:
    from weft.overlays.join import Method
    from weft.workloads.independent import Popularity

Part = Literal["all", "inner", "outer"]

ELBOW = "elbow"  # K-means, in as many clusters as the elbow method finds
JOINS: "dict[str, Method]" = {"nm": "naive", "sm": "star"}


@dataclass(frozen=True)
class Drawn:
    popularity: "Popularity"
    nodes: int
    topics: int
    subscriptions: int  # of a node, on average


@dataclass(frozen=True)
class ConnectedRun:
    """The seed is that of instance and overlay."""

    input: Drawn | Input
    overlay: str  # a name of weft.overlays.catalog, or of JOINS
    seed: int
    partitions: int | None = None  # of DC, or overlays to join; none: the number of Algorithm 5
    partition: str | None = None  # how DC divides, or ELBOW
    part: Part = "all"  # of DC: to divide and conquer is the inner, to combine the outer one

    @property
    def batch(self) -> Hashable:
        return self.input, self.seed

    @property
    def cost(self) -> float:
        share = {"gm": 1.0, "nm": 1.0}.get(self.overlay, 0.1)
        return 0.05 + share * 6e-7 * self.input.nodes**2

    def measure(self) -> dict[str, Any]:
        from weft.experiments.measures.connected import measure_connected

        return measure_connected(self)


@dataclass(frozen=True)
class StatisticRun:
    """A statistic of DC over repetitions that differ in interests and partitions (Table I)."""

    statistic: str  # of weft.experiments.papers.dc
    input: Drawn
    repetitions: int
    seed: int

    @property
    def batch(self) -> Hashable:
        return self.input, self.repetitions, self.seed

    @property
    def cost(self) -> float:
        return 0.2 * self.repetitions

    def measure(self) -> dict[str, Any]:
        from weft.experiments.measures.connected import measure_statistic

        return measure_statistic(self)


STATISTICS = ("minimum", "mean", "maximum", "standard deviation")
PARTITION_SIZE = "partition size"
