"""Runs that count the links of topic-connected overlays beside the fewest there can be."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

OPTIMUM = "optimum"  # by integer programming


@dataclass(frozen=True)
class GapRun:
    """The instance is Unif, with as many topics as nodes and five subscriptions a node."""

    overlay: str  # a name of weft.overlays.catalog, of connected.JOINS, or OPTIMUM
    nodes: int
    seed: int

    @property
    def batch(self) -> Hashable:
        return self.nodes, self.seed

    @property
    def cost(self) -> float:
        return 0.1 if self.overlay == OPTIMUM else 0.01

    def measure(self) -> dict[str, Any]:
        from weft.experiments.measures.gap import measure_gap

        return measure_gap(self)
