"""Runs of Weave on an overlay, with a bound on the degree of its trees."""

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

    @property
    def batch(self) -> Hashable:
        return self.input, self.overlay, (), self.publications, self.seed  # with RoutingRun's of the same overlay

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

    def run(self, given: Input, publications: int, seed: int) -> WovenRun:
        from weft.trees.weave import FAN_OUT

        bound = FAN_OUT if self.fan_out is None else self.fan_out
        return WovenRun(given, self.overlay, bound, publications, seed, self.from_issuers)
