"""Publications that a node has had, so that its clients get each once.

Of QoS 0 they are remembered for a time, longer than any travels. Of QoS 1 and 2 until the issuer does not send them
again: it says with each message from which count on it may. What persistent sessions have been given is in the journal
with its number, so that a node that comes back remembers it; to forget waits some time, for the issuer may have more to
send to a node that was away than it says to others.
"""

from collections.abc import Iterator

Issuer = tuple[int, int]  # node and incarnation


class _Taken:
    __slots__ = ("counts", "floor", "pruned")

    def __init__(self, now: float) -> None:
        self.counts: set[int] = set()
        self.floor = 0
        self.pruned = now


class Seen:
    def __init__(self, memory: float) -> None:
        self._memory = memory  # seconds
        self._new: set[tuple[int, int, int]] = set()
        self._old: set[tuple[int, int, int]] = set()
        self._turned = 0.0
        self._taken: dict[Issuer, _Taken] = {}

    def is_first(self, issuer: int, incarnation: int, count: int, now: float) -> bool:
        """Of QoS 0."""
        if now - self._turned > self._memory / 2:
            self._old, self._new, self._turned = self._new, set(), now
        key = issuer, incarnation, count
        if key in self._new or key in self._old:
            return False
        self._new.add(key)
        return True

    def is_taken(self, issuer: int, incarnation: int, count: int) -> bool:
        taken = self._taken.get((issuer, incarnation))
        return taken is not None and count in taken.counts

    def take(self, issuer: int, incarnation: int, count: int, floor: int, now: float) -> bool:
        """Of QoS 1 and 2: whether it is the first time."""
        taken = self._taken.get((issuer, incarnation))
        if taken is None:
            taken = self._taken[issuer, incarnation] = _Taken(now)
        taken.floor = floor
        if now - taken.pruned > self._memory:
            taken.counts = {one for one in taken.counts if one >= floor}
            taken.pruned = now
        if count in taken.counts:
            return False
        taken.counts.add(count)
        return True

    def restore(self, issuer: int, incarnation: int, counts: Iterator[int], now: float) -> None:
        self._taken.setdefault((issuer, incarnation), _Taken(now)).counts.update(counts)

    def taken(self) -> Iterator[tuple[int, int, list[int]]]:
        """For a snapshot, of this moment."""
        return iter([(*issuer, sorted(one.counts)) for issuer, one in self._taken.items()])
