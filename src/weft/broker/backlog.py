"""Work that takes longer than one event may: done a slice at a time, in turns, with all other events in between.

There are two kinds: turns of connections, and work that nobody waits for. While there is any, the broker's next
deadline is at once. A slice is a number of steps and not a time, so that the same events have the same effects.
"""

from collections import deque
from collections.abc import Callable, Iterator
from itertools import islice

from weft.broker.connection import Connection

STEPS = 500  # of a slice of what nobody waits for: some milliseconds


class Backlog:
    def __init__(self) -> None:
        self._due: deque[Connection] = deque()
        self._aside: deque[Iterator[None]] = deque()
        self._begun = 0  # steps that were done at once, since there was a turn

    def __bool__(self) -> bool:
        return bool(self._due or self._aside)

    def add(self, connection: Connection) -> None:
        """Give a turn to a connection that has something to do."""
        if not connection.is_due:
            connection.is_due = True
            self._due.append(connection)

    def put_aside(self, work: Iterator[None]) -> None:
        """Do it later, all of it."""
        self._aside.append(work)

    def begin(self, work: Iterator[None]) -> None:
        """Do it now, which is mostly little; but no more than a slice of all that begins at a time."""
        left = STEPS - self._begun
        done = sum(1 for _ in islice(work, left))
        self._begun += done
        if done == left:
            self.put_aside(work)

    def run(self, take_turn: Callable[[Connection], bool]) -> Connection | None:
        """A slice of each kind. A turn says whether more is to be done. The connection whose turn it was, if any."""
        self._begun = 0
        left = STEPS
        while self._aside and left > 0:
            left -= sum(1 for _ in islice(self._aside[0], left))
            if left > 0:
                self._aside.popleft()
                left -= 1
        if not self._due:
            return None
        connection = self._due.popleft()
        connection.is_due = False
        if take_turn(connection):
            self.add(connection)
        return connection
