"""How much something grows, and how sure that is: least squares over pieces that each have a level of their own.

Neighbouring points are alike, so the error is that of as many independent points as their residuals' correlation
leaves (lag one, n (1 - r) / (1 + r)). What rises and falls, as a journal that is compacted, is judged by its peaks.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from weft.arrays import Floats

LEAST = 10  # points for a slope
LEAST_PEAKS = 3
FALL = 0.2  # share of what was there that is gone at once: what is compacted
Piece = tuple[Floats, Floats]  # hours, values


@dataclass(frozen=True)
class Slope:
    points: int
    mean: float
    percent: float  # of the mean, an hour
    error: float  # two standard errors of it

    def grows(self, beyond: float) -> bool:
        return self.percent - self.error > beyond


def slope(pieces: Sequence[Piece], least: int = LEAST) -> Slope | None:
    """The common slope of pieces, where there are points enough."""
    pieces = [(hours, values) for hours, values in pieces if len(hours) > 1]
    points = sum(len(hours) for hours, _ in pieces)
    if points < max(least, len(pieces) + 2):
        return None
    across = np.concatenate([hours - hours.mean() for hours, _ in pieces])
    up = np.concatenate([values - values.mean() for _, values in pieces])
    mean = float(np.concatenate([values for _, values in pieces]).mean())
    spread = float(across @ across)
    steepness = float(across @ up) / spread
    rest = up - steepness * across
    alike = correlation(rest)
    variance = float(rest @ rest) / (points - len(pieces) - 1)
    error = 2 * (variance / spread * (1 + alike) / (1 - alike)) ** 0.5
    return Slope(points, mean, 100 * steepness / mean, 100 * error / mean) if mean else None


def hours_of(pieces: Sequence[Piece]) -> float:
    """How long all of them are together."""
    return sum(float(hours[-1] - hours[0]) for hours, _ in pieces if len(hours))


def correlation(rest: Floats) -> float:
    """The correlation of neighbours, where they are alike."""
    whole = float(rest @ rest)
    return min(0.98, max(0.0, float(rest[1:] @ rest[:-1]) / whole)) if whole else 0.0


def peaks(piece: Piece) -> Piece:
    """The last points before falls."""
    hours, values = piece
    falls = np.flatnonzero(values[1:] < values[:-1] * (1 - FALL))
    return hours[falls], values[falls]
