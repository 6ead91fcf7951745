"""What is to happen when: a time, a kind of deadline and a key, which is a name or a number of what it concerns.

Whoever acts finds by the key what it concerns, if that is still there. So nothing is held here beyond its key: no
payload, no connection, no session. Each kind (`Timer`) has one deadline at most for each key: to set it again takes the
place of what was set, and what ends takes its deadline along (`drop`). Void entries are swept (keyed_heap.py), for a
deadline may be a hundred years away. Deadlines at the same time come in the order in which they were set.

Silence of ten thousand clients costs one entry each, which is put off when it comes up, and nothing for each packet.
"""

from collections.abc import Callable
from typing import Any

from weft.broker.keyed_heap import KeyedHeap

Key = str | int | tuple[str | int, ...]
Action = Callable[[Any, float], None]  # what the key stands for, and the time
ONLY = ""  # key of a kind that has one deadline
SLICE = 50  # deadlines at a time: a hundred thousand may fall on one moment
JUMP = 1.0  # seconds behind its time from which an action has not been waited for


class Deadlines:
    def __init__(self) -> None:
        self._heap: KeyedHeap[tuple[int, Key]] = KeyedHeap()
        self._actions: list[Action] = []  # by kind
        self._waits: dict[tuple[int, Key], float] = {}  # seconds of those that have to be waited for

    def __len__(self) -> int:
        return len(self._heap)

    def timer(self, action: Action) -> "Timer":
        """A kind of deadline."""
        self._actions.append(action)
        return Timer(len(self._actions) - 1, self._heap, self._waits)

    def next(self) -> float | None:
        return self._heap.lowest()

    def run(self, now: float) -> None:
        """Act on what is due, as far as one event may: what is left is due at once."""
        for _ in range(SLICE):
            due = self._heap.lowest()
            if due is None or due > now:
                return
            kind, key = self._heap.pop()
            wait = self._waits.pop((kind, key), None)
            if wait is not None and now > due + JUMP:
                self._waits[kind, key] = wait
                self._heap.put((kind, key), now + wait)
            else:
                self._actions[kind](key, now)

    def check_invariants(self) -> None:
        self._heap.check_invariants()


class Timer:
    """Deadlines of one kind."""

    __slots__ = ("_heap", "_kind", "_waits")

    def __init__(self, kind: int, heap: KeyedHeap[tuple[int, Key]], waits: dict[tuple[int, Key], float]) -> None:
        self._kind = kind
        self._heap = heap
        self._waits = waits

    def __contains__(self, key: Key) -> bool:
        return (self._kind, key) in self._heap

    def at(self, time: float, key: Key = ONLY) -> None:
        self._waits.pop((self._kind, key), None)
        self._heap.put((self._kind, key), time)

    def after(self, seconds: float, key: Key, now: float) -> None:
        """Act after some time; if this process stood still then, or its clock jumped, after as much again."""
        self._heap.put((self._kind, key), now + seconds)
        self._waits[self._kind, key] = seconds

    def drop(self, key: Key = ONLY) -> None:
        self._waits.pop((self._kind, key), None)
        self._heap.remove((self._kind, key))
