"""What became of the publications: which are missing, which came twice, which came too late.

A **pair** is a subscriber and a stream that it should hear. Numbers of a stream come from 0 without gaps, so a pair
needs only the number that comes next and the ranges that were passed over:

    the next number    in order
    a higher one       what lies between is missing, for now
    a lower one        missing: it came late, an order violation; not missing: it came twice

Publications are taken in batches, in the order of their arrival for each subscriber. Sorted by pair, stably, a batch
that has nothing but numbers that rise needs no loop.
"""

from bisect import bisect_right

import numpy as np

from weft.arrays import Int64s


class Tally:
    def __init__(self, subscribers: list[Int64s], streams: int) -> None:
        """The streams that each subscriber should hear, ascending."""
        own = [n * streams + heard for n, heard in enumerate(subscribers)]
        self._keys = np.concatenate(own) if own else np.empty(0, np.int64)
        self._streams = streams
        self._next = np.zeros(len(self._keys), np.int64)
        self._gaps: dict[int, _Gaps] = {}  # by pair
        self.distinct = 0
        self.duplicates = 0
        self.late = 0  # order violations
        self.strays = 0  # publications for somebody who had not subscribed to them

    def take(self, subscribers: Int64s, streams: Int64s, numbers: Int64s) -> None:
        keys = subscribers * self._streams + streams
        pairs = np.searchsorted(self._keys, keys)
        known = pairs < len(self._keys)
        known[known] = self._keys[pairs[known]] == keys[known]
        if not known.all():
            self.strays += int(np.count_nonzero(~known))
            pairs, numbers = pairs[known], numbers[known]
        if len(pairs):
            order = np.argsort(pairs, kind="stable")
            self._take_sorted(pairs[order], numbers[order])

    def _take_sorted(self, pairs: Int64s, numbers: Int64s) -> None:
        first = np.r_[True, pairs[1:] != pairs[:-1]]
        expected = np.empty(len(pairs), np.int64)
        expected[1:] = numbers[:-1] + 1
        expected[first] = self._next[pairs[first]]
        if (numbers < expected).any():
            for pair, number in zip(pairs.tolist(), numbers.tolist(), strict=True):
                self._take_one(pair, number)
            return
        last = np.r_[first[1:], True]
        self._next[pairs[last]] = numbers[last] + 1
        self.distinct += len(pairs)
        for at in np.flatnonzero(numbers > expected).tolist():
            self._missed(int(pairs[at]), int(expected[at]), int(numbers[at]))

    def _take_one(self, pair: int, number: int) -> None:
        expected = int(self._next[pair])
        if number >= expected:
            self._next[pair] = number + 1
            self.distinct += 1
            if number > expected:
                self._missed(pair, expected, number)
        elif pair in self._gaps and self._gaps[pair].fill(number):
            self.distinct += 1
            self.late += 1
        else:
            self.duplicates += 1

    def _missed(self, pair: int, begin: int, end: int) -> None:
        self._gaps.setdefault(pair, _Gaps()).append(begin, end)

    def expected(self, sent: Int64s) -> int:
        """Deliveries that all should come to, if so many were sent of each stream."""
        return int(sent[self._keys % self._streams].sum())

    def missing(self, sent: Int64s, excused: set[tuple[int, int]]) -> int:
        """Publications that did not come, but for those (stream and number) that nobody promised."""
        streams = self._keys % self._streams
        tails = np.maximum(sent[streams] - self._next, 0).sum()
        held = sum(gaps.count for gaps in self._gaps.values())
        return int(tails) + held - sum(self._missing_pairs(stream, number) for stream, number in excused)

    def _missing_pairs(self, stream: int, number: int) -> int:
        pairs = np.flatnonzero(self._keys % self._streams == stream)
        gaps = (self._gaps[pair] for pair in pairs.tolist() if pair in self._gaps)
        return int(np.count_nonzero(self._next[pairs] <= number)) + sum(one.has(number) for one in gaps)


class _Gaps:
    """Numbers that were passed over: ranges, ascending."""

    def __init__(self) -> None:
        self._begins: list[int] = []
        self._ends: list[int] = []
        self.count = 0

    def append(self, begin: int, end: int) -> None:
        self._begins.append(begin)
        self._ends.append(end)
        self.count += end - begin

    def has(self, number: int) -> bool:
        at = bisect_right(self._begins, number) - 1
        return at >= 0 and number < self._ends[at]

    def fill(self, number: int) -> bool:
        """Take a number out; False if it is in no range."""
        if not self.has(number):
            return False
        at = bisect_right(self._begins, number) - 1
        rest = [(self._begins[at], number), (number + 1, self._ends[at])]
        kept = [(begin, end) for begin, end in rest if begin < end]
        self._begins[at : at + 1] = [begin for begin, _ in kept]
        self._ends[at : at + 1] = [end for _, end in kept]
        self.count -= 1
        return True
