"""Reordering buffers (section 4.5): publications of an advertisement are handed over in the order they were said.

What is next in order is handed over at once. What came too early is held, but not for longer than a fixed time, because
a number that is missing may be of a publication that matches nobody here. What comes after that time is late, and is
handed over out of order rather than not at all.
"""

from heapq import heappop, heappush
from math import inf

from weft.protocol.popsub.message import Notify


class Reorder:
    def __init__(self, hold: float) -> None:
        self.hold = hold  # milliseconds
        self._next: dict[int, int] = {}  # the next number, by advertisement
        self._held: dict[int, list[tuple[int, float, Notify]]] = {}  # a heap by number, with deadlines

    def arrange(self, notice: Notify, now: float) -> list[Notify]:
        """What is to be handed over now that this one has come."""
        publication = notice.publication
        heappush(self._held.setdefault(publication.topic, []), (publication.number, now + self.hold, notice))
        return self._release(publication.topic, now)

    def due(self, now: float) -> list[Notify]:
        return [notice for advertisement in sorted(self._held) for notice in self._release(advertisement, now)]

    def next_deadline(self) -> float:
        return min((deadline for held in self._held.values() for _, deadline, _ in held), default=inf)

    def _release(self, advertisement: int, now: float) -> list[Notify]:
        """All up to the last one whose time is up, and what follows it in order."""
        held = self._held[advertisement]
        up = max((number for number, deadline, _ in held if deadline <= now), default=-1)
        released = []
        while held and held[0][0] <= max(up, self._next.get(advertisement, 0)):
            number, _, notice = heappop(held)
            self._next[advertisement] = max(self._next.get(advertisement, 0), number + 1)
            released.append(notice)
        if not held:
            del self._held[advertisement]
        return released
