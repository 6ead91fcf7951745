"""What happens when: a heap of (time, sequence, action), so that what happens at the same time happens in the order in
which it was caused, and a run is the same each time."""

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count

Action = Callable[[], None]


class Agenda:
    def __init__(self, now: float) -> None:
        self.now = now  # seconds
        self.done = 0  # actions
        self._heap: list[tuple[float, int, Action]] = []
        self._sequence = count()

    def at(self, time: float, action: Action) -> None:
        heappush(self._heap, (max(time, self.now), next(self._sequence), action))

    def after(self, seconds: float, action: Action) -> None:
        self.at(self.now + seconds, action)

    def run(self, until: float) -> None:
        """All that happens until a time, and what that causes."""
        while self._heap and self._heap[0][0] <= until:
            self.now, _, action = heappop(self._heap)
            self.done += 1
            action()
        self.now = max(self.now, until)
