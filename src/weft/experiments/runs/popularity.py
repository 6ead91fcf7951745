"""Runs that count how many friends or followers users have."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Literal

from weft.experiments.runs.input import Input

Side = Literal["topics", "subscribers"]  # of a node, or of a topic


@dataclass(frozen=True)
class PopularityRun:
    input: Input
    side: Side
    count: int
    seed: int

    @property
    def batch(self) -> Hashable:
        return self.input, self.seed

    @property
    def cost(self) -> float:
        return 2e-6 * self.input.nodes

    def measure(self) -> dict[str, Any]:
        from weft.experiments.measures.popularity import measure_popularity

        return measure_popularity(self)
