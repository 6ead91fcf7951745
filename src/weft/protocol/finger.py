"""A node's view of the ring: its own identifier and its fingers, the nearest of which is its successor.

No node knows which identifiers are taken, only that no node lies between it and its successor.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

from weft.model.ring import clockwise


@dataclass(frozen=True, slots=True)
class Finger:
    peer: int
    ring_id: int


class FingerTable:
    def __init__(self, ring_id: int, ring_size: int, fingers: Iterable[Finger]) -> None:
        self.ring_id = ring_id
        self.ring_size = ring_size
        self.fingers = sorted(fingers, key=lambda finger: self.distance(finger.ring_id))
        self._distances = [self.distance(finger.ring_id) for finger in self.fingers]

    def distance(self, ring_id: int) -> int:
        """Clockwise distance from this node."""
        return clockwise(self.ring_id, ring_id, self.ring_size)

    def at(self, distance: int) -> int:
        """The identifier so far clockwise from this node."""
        return (self.ring_id + distance) % self.ring_size

    @property
    def successor(self) -> Finger:
        return self.fingers[0]

    def towards(self, ring_id: int) -> Finger | None:
        """The finger nearest to an identifier without passing it; None where this node is the nearest already."""
        found = bisect_right(self._distances, self.distance(ring_id))
        return self.fingers[found - 1] if found else None

    def between(self, near: int, far: int) -> list[Finger]:
        """The fingers at distances near..far-1, nearest first."""
        return self.fingers[bisect_left(self._distances, near) : bisect_left(self._distances, far)]

    def check_invariants(self) -> None:
        assert 0 <= self.ring_id < self.ring_size
        assert all(near < far for near, far in zip([0, *self._distances], self._distances, strict=False)), (
            f"node {self.ring_id} has a finger to itself, or two to the same place: {self.fingers}"
        )
