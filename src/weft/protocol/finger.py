"""A node's view of the ring: its own identifier, its fingers, and the nodes that have a finger to it.

The nearest finger is the successor. No node knows which identifiers are taken, only that no node lies between it and
its successor, and none between it and the nearest node before it that has a finger to it.

All that depends on the reading of the papers (weft.model.forwarding) is here: over which of its links a node sends, by
which distance, and which of them are next hops.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

from weft.model.forwarding import AS_PRINTED, Forwarding
from weft.model.ring import clockwise


@dataclass(frozen=True, slots=True)
class Finger:
    peer: int
    ring_id: int


class FingerTable:
    def __init__(
        self,
        ring_id: int,
        ring_size: int,
        fingers: Iterable[Finger],
        pointing: Iterable[Finger] = (),  # the nodes that have a finger to this one
        forwarding: Forwarding = AS_PRINTED,
    ) -> None:
        self.ring_id = ring_id
        self.ring_size = ring_size
        self.forwarding = forwarding
        own = set(fingers)
        self.fingers = self._by_distance(own)
        neighbours = self._by_distance(own | set(pointing))
        self._links = neighbours if forwarding.links == "both" else self.fingers
        self._pivots = neighbours if forwarding.pivots == "neighbours" else self.fingers
        self._link_distances = self._distances(self._links)
        self._pivot_distances = self._distances(self._pivots)

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
        """The link that comes nearest to an identifier; None where this node is the nearest already.

        By the clockwise distance that is the nearest that does not pass. By the absolute distance it is that one or
        the first beyond, whichever is nearer, and of two as near the first; this node stands in for one that is not.
        """
        here = self.distance(ring_id)
        found = bisect_right(self._link_distances, here)
        before = self._links[found - 1] if found else None
        if self.forwarding.distance == "clockwise":
            return before
        beyond = self._links[found] if found < len(self._links) else None
        short = here - (0 if before is None else self.distance(before.ring_id))
        far = (self.ring_size if beyond is None else self.distance(beyond.ring_id)) - here
        return before if short <= far else beyond

    def first_from(self, ring_id: int) -> Finger | None:
        """The first node at or after an identifier to which this one is the nearest: the successor, or None for this.

        A route to an identifier that nobody has ends beside it, at the last node before or the first after.
        """
        return self.successor if 0 < self.distance(ring_id) <= self.distance(self.successor.ring_id) else None

    def between(self, near: int, far: int) -> list[Finger]:
        """The possible next hops at distances near..far-1, nearest first."""
        return self._pivots[bisect_left(self._pivot_distances, near) : bisect_left(self._pivot_distances, far)]

    def check_invariants(self) -> None:
        assert 0 <= self.ring_id < self.ring_size
        for links in (self.fingers, self._links, self._pivots):
            distances = self._distances(links)
            assert all(near < far for near, far in zip([0, *distances], distances, strict=False)), (
                f"node {self.ring_id} has a finger to itself, or two to the same place: {links}"
            )

    def _by_distance(self, fingers: Iterable[Finger]) -> list[Finger]:
        return sorted(fingers, key=lambda finger: self.distance(finger.ring_id))

    def _distances(self, fingers: Iterable[Finger]) -> list[int]:
        return [self.distance(finger.ring_id) for finger in fingers]
