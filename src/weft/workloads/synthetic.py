"""Unif, Zipf and Expo: every node draws its topics without replacement, by popularity (BeaConvey 5.2, NSMF).

Topic t, counted from 0, is drawn with p(t) proportional to

    Unif   1
    Zipf   (t + 1)^-exponent       2.0 in the papers
    Expo   e^(-rate * t / topics)  the papers do not give the rate

With the rate of 10 the most popular topic has about 10 times the mean popularity (exactly rate / (1 -
e^-rate), for many topics) and half of all subscriptions fall on 7 % of the topics, so Expo stands between
Unif, where all are equal, and Zipf, where the first topic alone is in almost every node's interest.
"""

from dataclasses import dataclass

import numpy as np

from weft.arrays import Floats, Int32s, Int64s
from weft.errors import WeftError
from weft.kernels.draw.distinct import draw_rows
from weft.workloads.regular import Regular

STEEPEST = 1e6  # of exponents and rates: log p(t) stays a finite number with digits to spare


class Synthetic(Regular):
    def log_weights(self) -> Floats:
        """log p(t) for every topic t, up to a constant."""
        raise NotImplementedError

    def rows(self, seed: int, nodes: Int64s) -> Int32s:
        return draw_rows(seed, nodes, self.subscriptions, self.log_weights())


@dataclass(frozen=True)
class Unif(Synthetic):
    def log_weights(self) -> Floats:
        return np.zeros(self.topics)


@dataclass(frozen=True)
class Zipf(Synthetic):
    exponent: float = 2.0  # from 0, which is Unif, to STEEPEST

    def __post_init__(self) -> None:
        super().__post_init__()
        _require_steepness("exponent", self.exponent)

    def log_weights(self) -> Floats:
        ranks = np.arange(1, self.topics + 1, dtype=np.float64)
        return np.log(ranks) * -self.exponent


@dataclass(frozen=True)
class Expo(Synthetic):
    rate: float = 10.0  # from 0, which is Unif, to STEEPEST

    def __post_init__(self) -> None:
        super().__post_init__()
        _require_steepness("rate", self.rate)

    def log_weights(self) -> Floats:
        return -self.rate * np.arange(self.topics) / self.topics


def _require_steepness(option: str, value: float) -> None:
    if not 0.0 <= value <= STEEPEST:
        raise WeftError(f"`{option}` {value} is out of range: give a number from 0 to {STEEPEST:.0f}.", option)
