"""What is preferred among links that contribute the same, among fingers that contribute nothing, and by distance."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from weft.arrays import Floats, Int32s, Int64s
from weft.errors import WeftError
from weft.model.instance import Instance
from weft.model.latency import Latency, PlacedLatency, require_latency_of

Tie = Literal["random", "overlap"]
Fill = Literal["random", "overlap"]
CLOSENESS = 0.5


@dataclass(frozen=True, eq=False)
class Closeness:
    """What distance makes of a contribution: (1 / d)^n of it, as in Vitis' formula (1)."""

    latency: Latency
    exponent: float  # n, from 0
    floor: float = 1.0  # milliseconds; a shorter round trip counts as so long

    def logarithms(self, sources: Int32s, targets: Int32s) -> Floats:
        """Logarithms of the weights of links; the lowest is 0."""
        trips = np.maximum(self.latency.round_trip(sources, targets), self.floor)
        logarithms: Floats = self.exponent * np.log(trips.max(initial=self.floor) / trips)
        return logarithms

    def among(self, nodes: Int64s) -> "Closeness":
        """The same for some of the nodes, which are numbered by their places among these."""
        return Closeness(PlacedLatency(self.latency, nodes, np.zeros(len(nodes))), self.exponent, self.floor)


def closeness_of(instance: Instance, latency: Latency | None, exponent: float) -> Closeness | None:
    """What distance makes of contributions in an instance; None where no latencies are known."""
    if not 0 <= exponent < np.inf:
        raise WeftError(f"`closeness` {exponent} is out of range: give a number from 0.", "closeness")
    if latency is None:
        return None
    require_latency_of(latency, instance.nodes)
    return Closeness(latency, exponent)


@dataclass(frozen=True, eq=False)
class Preference:
    tie: Tie = "random"  # of links that contribute the same: any, or one of the largest overlap
    fill: Fill = "random"  # of fingers where none contributes: the same
    closeness: Closeness | None = None  # weighs contributions; a finger without contribution then goes to the nearest

    def among(self, nodes: Int64s) -> "Preference":
        """The same for some of the nodes, which are numbered by their places among these."""
        return self if self.closeness is None else replace(self, closeness=self.closeness.among(nodes))


NO_PREFERENCE = Preference()
