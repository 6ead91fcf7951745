"""What is preferred among links that contribute the same, among fingers that contribute nothing, and by distance."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from weft.arrays import Floats, Int32s
from weft.model.latency import Latency

Tie = Literal["random", "overlap"]
Fill = Literal["random", "overlap"]


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


@dataclass(frozen=True, eq=False)
class Preference:
    tie: Tie = "random"  # of links that contribute the same: any, or one of the largest overlap
    fill: Fill = "random"  # of fingers where none contributes: the same
    closeness: Closeness | None = None  # weighs contributions; a finger without contribution then goes to the nearest


NO_PREFERENCE = Preference()
