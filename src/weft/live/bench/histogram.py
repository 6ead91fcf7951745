"""Latencies, counted in ranges that are one 64th of an octave wide: within 1.1 %, from a nanosecond to 18 minutes."""

import numpy as np

from weft.arrays import Floats, Int64s

PARTS = 64
RANGES = 40 * PARTS
SHARES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99_9": 0.999}


class Histogram:
    def __init__(self) -> None:
        self.counts = np.zeros(RANGES, np.int64)
        self.total = 0  # nanoseconds
        self.largest = 0

    def add(self, nanoseconds: Int64s) -> None:
        if len(nanoseconds):
            held = np.maximum(nanoseconds, 1)
            places = np.minimum((np.log2(held) * PARTS).astype(np.int64), RANGES - 1)
            self.counts += np.bincount(places, minlength=RANGES)
            self.total += int(held.sum())
            self.largest = max(self.largest, int(held.max()))

    def merge(self, other: "Histogram") -> None:
        self.counts += other.counts
        self.total += other.total
        self.largest = max(self.largest, other.largest)

    def quantile(self, share: float) -> float:
        """Nanoseconds that this share of them does not exceed."""
        upto = np.cumsum(self.counts)
        place = int(np.searchsorted(upto, share * upto[-1]))
        return min(float(2 ** ((place + 1) / PARTS)), float(self.largest))

    def figures(self) -> dict[str, float | None]:
        """Milliseconds; None where nothing was counted."""
        count = int(self.counts.sum())
        if not count:
            return dict.fromkeys(("mean", *SHARES, "max"))
        found: Floats = np.array(
            [self.total / count, *(self.quantile(share) for share in SHARES.values()), self.largest]
        )
        return {name: round(float(one) / 1e6, 4) for name, one in zip(("mean", *SHARES, "max"), found, strict=True)}
