"""What is to happen when: a heap of (time, sequence, action), so that ties are deterministic.

Nothing is taken out again: an action looks whether it is still due. Silence of ten thousand clients costs one entry
each, which is put off when it comes up, and nothing for each packet.
"""

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count

Action = Callable[[float], None]
JUMP = 1.0  # seconds behind its time from which an action has not been waited for


class Deadlines:
    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Action]] = []
        self._sequence = count()

    def at(self, time: float, action: Action) -> None:
        heappush(self._heap, (time, next(self._sequence), action))

    def after(self, seconds: float, action: Action, now: float) -> None:
        """Act after some time; if this process stood still then, or its clock jumped, after as much again."""
        due = now + seconds

        def act(then: float) -> None:
            if then > due + JUMP:
                self.after(seconds, action, then)
            else:
                action(then)

        self.at(due, act)

    def next(self) -> float | None:
        return self._heap[0][0] if self._heap else None

    def run(self, now: float) -> None:
        while self._heap and self._heap[0][0] <= now:
            heappop(self._heap)[2](now)
