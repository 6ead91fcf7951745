"""Keys by rank, the lowest first, each key with one rank at most: a heap from which any key can be taken.

A key that is taken out, or ranked anew, leaves a void entry in the heap. Void entries are dropped where they come up,
and swept when they are more than half of it: so it has never more than two entries for each key, and one. Keys of the
same rank come in the order in which they were ranked.
"""

from collections.abc import Hashable
from heapq import heapify, heappop, heappush
from itertools import count
from typing import Any, Generic, TypeVar

K = TypeVar("K", bound=Hashable)


class KeyedHeap(Generic[K]):
    def __init__(self) -> None:
        self._heap: list[tuple[Any, int, K]] = []
        self._serials: dict[K, int] = {}  # of the entry that holds, by key
        self._count = count()

    def __len__(self) -> int:
        return len(self._serials)

    def __contains__(self, key: K) -> bool:
        return key in self._serials

    def put(self, key: K, rank: Any) -> None:
        """Rank a key, which may have had another rank."""
        serial = self._serials[key] = next(self._count)
        heappush(self._heap, (rank, serial, key))
        self._sweep()

    def remove(self, key: K) -> None:
        if self._serials.pop(key, None) is not None:
            self._sweep()

    def lowest(self) -> Any | None:
        """The lowest rank, if there is a key."""
        while self._heap and self._is_void(self._heap[0]):
            heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def first(self) -> K:
        """The key of the lowest rank. There must be one."""
        self.lowest()
        return self._heap[0][2]

    def pop(self) -> K:
        """Take it out."""
        key = self.first()
        self.remove(key)
        return key

    def check_invariants(self) -> None:
        assert len(self._heap) <= 2 * len(self._serials) + 1
        assert sum(not self._is_void(entry) for entry in self._heap) == len(self._serials)

    def _is_void(self, entry: tuple[Any, int, K]) -> bool:
        return self._serials.get(entry[2]) != entry[1]

    def _sweep(self) -> None:
        if len(self._heap) > 2 * len(self._serials) + 1:
            self._heap = [entry for entry in self._heap if not self._is_void(entry)]
            heapify(self._heap)
