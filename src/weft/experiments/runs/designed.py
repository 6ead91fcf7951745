"""Runs of SWICO with links, and of Weave with trees, by latency."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from weft.experiments.runs.vitis import Surroundings


@dataclass(frozen=True)
class DesignedRun:
    """SWICO-SL; the seed is that of instance, placement, overlay and publications."""

    surroundings: Surroundings
    router: str
    closeness: float  # how much round-trip times count; 0: not at all
    publications: int
    seed: int

    @property
    def batch(self) -> Hashable:
        return self

    @property
    def cost(self) -> float:
        return 5e-3 * self.surroundings.nodes + 1e-2 * self.publications

    def measure(self) -> dict[str, Any]:
        from weft.experiments.measures.designed import measure_designed

        return measure_designed(self)
