"""Places on the ring, with room between them: a node that joins gets one without moving anybody else.

There are 2^62 identifiers, so that a gap can be halved dozens of times. A newcomer is placed beside the node that is
most alike, on the side of the neighbour that is more alike; where nobody is, in the middle of the widest gap.
"""

from bisect import bisect_left, insort
from collections.abc import Callable, Sequence
from heapq import heappop, heappush

from weft.model.ring import clockwise

SIZE = 1 << 62


class Ring:
    def __init__(self) -> None:
        self.id_of: dict[int, int] = {}  # node -> identifier
        self._node_at: dict[int, int] = {}
        self._ids: list[int] = []  # ascending
        self._gaps: list[tuple[int, int]] = []  # a heap: minus the width, and where it begins; some are out of date

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def order(self) -> list[int]:
        """All nodes, clockwise."""
        return [self._node_at[ring_id] for ring_id in self._ids]

    def is_free(self, ring_id: int) -> bool:
        return ring_id not in self._node_at

    def add(self, node: int, ring_id: int) -> None:
        assert self.is_free(ring_id)
        assert node not in self.id_of
        self.id_of[node] = ring_id
        self._node_at[ring_id] = node
        insort(self._ids, ring_id)
        self._note_gap(node)
        self._note_gap(self.predecessor(node))

    def remove(self, node: int) -> None:
        before = self.predecessor(node)
        ring_id = self.id_of.pop(node)
        del self._node_at[ring_id]
        del self._ids[bisect_left(self._ids, ring_id)]
        if before != node:
            self._note_gap(before)

    def successor(self, node: int) -> int:
        """The next node clockwise; the node itself where it is alone."""
        return self._beside(node, 1)

    def predecessor(self, node: int) -> int:
        return self._beside(node, -1)

    def place(self, alike: Callable[[int], float] | None = None) -> int:
        """A free identifier beside the node that is most alike (the highest number above 0), or in the widest gap."""
        if not self._ids:
            return 0
        if alike is not None:
            best, likeness = max(((node, alike(node)) for node in sorted(self.id_of)), key=lambda pair: pair[1])
            before, after = self.predecessor(best), self.successor(best)
            first = before if alike(before) > alike(after) else best
            if likeness > 0 and self._gap(first) > 1:
                return self._middle(first)
        return self._middle(self._before_widest_gap())

    def _before_widest_gap(self) -> int:
        """The node before it; of several such gaps the first."""
        while True:
            width, ring_id = self._gaps[0]
            node = self._node_at.get(ring_id)
            if node is not None and self._gap(node) == -width:
                return node
            heappop(self._gaps)  # it has been divided, or joined with another

    def _note_gap(self, node: int) -> None:
        heappush(self._gaps, (-self._gap(node), self.id_of[node]))

    def _beside(self, node: int, step: int) -> int:
        place = bisect_left(self._ids, self.id_of[node]) + step
        return self._node_at[self._ids[place % len(self._ids)]]

    def _gap(self, node: int) -> int:
        """How far the successor is."""
        return clockwise(self.id_of[node], self.id_of[self.successor(node)], SIZE) or SIZE

    def _middle(self, node: int) -> int:
        """An identifier between a node and its successor."""
        return (self.id_of[node] + self._gap(node) // 2) % SIZE


def even_places(order: Sequence[int]) -> dict[int, int]:
    """Identifiers of nodes in that order, evenly spaced."""
    return {node: rank * (SIZE // len(order)) for rank, node in enumerate(order)}
