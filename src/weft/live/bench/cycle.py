"""Which stream a publisher publishes on next, and the number of the publication in its stream.

A publisher goes through a cycle of streams again and again, so both are functions of how many it has published: there
is nothing else to keep. Streams with the same weight come in turn; otherwise the cycle is drawn by their weights.
"""

import numpy as np

from weft.arrays import Floats, Int64s

DRAWN = 4096  # places of a cycle that is drawn


class Cycle:
    def __init__(self, streams: Int64s, weights: Floats, seed: int) -> None:
        even = bool((weights == weights[0]).all())
        rng = np.random.default_rng(seed)
        self.places = np.arange(len(streams)) if even else rng.choice(len(streams), DRAWN, p=weights / weights.sum())
        self.streams = streams
        self.length = len(self.places)
        self._laps = np.bincount(self.places, minlength=len(streams))  # publications on each in a whole cycle
        order = np.argsort(self.places, kind="stable")
        begin = np.cumsum(self._laps) - self._laps
        self._rank = np.empty(self.length, np.int64)  # how many of the same stream come before in the cycle
        self._rank[order] = np.arange(self.length) - begin[self.places[order]]

    def numbers(self, first: int, count: int) -> tuple[Int64s, Int64s]:
        """Places of the streams, and numbers in them, of so many publications from one on."""
        at = np.arange(first, first + count)
        lap, at = np.divmod(at, self.length)
        places = self.places[at]
        return places, lap * self._laps[places] + self._rank[at]

    def number(self, index: int) -> tuple[int, int]:
        """Place and number of one publication."""
        lap, at = divmod(index, self.length)
        place = int(self.places[at])
        return place, lap * int(self._laps[place]) + int(self._rank[at])

    def counts(self, published: int) -> Int64s:
        """How many of the first publications are of each stream."""
        lap, rest = divmod(published, self.length)
        return lap * self._laps + np.bincount(self.places[:rest], minlength=len(self.streams))
