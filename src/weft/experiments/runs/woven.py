"""Runs of Weave on an overlay, with bounds on the degrees of trees and nodes, and a weight of the load."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from weft.experiments.runs.input import Input
from weft.experiments.runs.routing import routing_cost


@dataclass(frozen=True)
class WovenRun:
    """Weave on an overlay; with `from_issuers`, the path is that of a tree grown from each issuer."""

    input: Input
    overlay: str
    fan_out: int
    publications: int
    seed: int
    from_issuers: bool = False
    load_weight: float = 0.0
    in_degree: int | None = None  # for every phase; none: as the overlay has it

    @property
    def batch(self) -> Hashable:
        """Batch of a RoutingRun of the same overlay."""
        return self.input, self.overlay, self.options, self.publications, self.seed

    @property
    def options(self) -> tuple[tuple[str, Any], ...]:
        """Options of the overlay."""
        phases = (self.input.nodes - 1).bit_length()
        return () if self.in_degree is None else (("in_degree", self.in_degree * phases),)

    @property
    def cost(self) -> float:
        return routing_cost(self.input, self.publications)

    def measure(self) -> dict[str, Any]:
        from weft.experiments.measures.woven import measure_woven

        return measure_woven(self)


@dataclass(frozen=True)
class Woven:
    overlay: str
    fan_out: int | None = None  # none: Weave's default
    from_issuers: bool = False
    load_weight: float | None = 0.0  # none: Weave's default
    in_degree: int | None = None

    def run(self, given: Input, publications: int, seed: int) -> WovenRun:
        from weft.trees.load import LOAD_WEIGHT
        from weft.trees.weave import FAN_OUT

        bound = FAN_OUT if self.fan_out is None else self.fan_out
        weight = LOAD_WEIGHT if self.load_weight is None else self.load_weight
        what = self.overlay, bound, publications, seed, self.from_issuers
        return WovenRun(given, *what, weight, self.in_degree)
