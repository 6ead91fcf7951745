"""Whether this node may rely on what it knows of the others.

A client hears that it is subscribed when every node has applied what that means, or cannot be relied on any more: the
master waits until a node that it has lost has no lease. A node has one for some seconds from when it asked for it, if
the master has answered. So while its lease runs it knows of every subscription that has been granted anywhere, but for
those granted without the master; and what it issues by that knowledge reaches all who must have it.

What it issues without a lease is in doubt: whoever it has reached, there may be others. It is kept, and issued again
when there is a lease (attempt.py). Whether one runs is looked at before anything else of an event: the process may have
stood still, and must not act by what it knew when it stopped.
"""

from collections.abc import Callable
from math import inf

from weft.broker.deadline import Deadlines


class Lease:
    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._asked: dict[int, float] = {}  # by token: when
        self._last = 0
        self._until = -inf

    def runs(self, now: float) -> bool:
        return now < self._until

    def ask(self, now: float) -> int:
        """A token, for the master to answer with."""
        self._last += 1
        self._asked = {token: at for token, at in self._asked.items() if at + self._seconds > now}
        self._asked[self._last] = now
        return self._last

    def grant(self, token: int) -> float:
        """The master has answered. When the lease ends."""
        asked = self._asked.pop(token, None)
        if asked is not None:
            self._until = max(self._until, asked + self._seconds)
        return self._until

    def lose(self) -> None:
        """The master is out of reach, or has forgotten this node."""
        self._asked.clear()
        self._until = -inf


class Reliance:
    """A node's lease, and whether it ran when that was last looked at, which is what others go by."""

    def __init__(
        self,
        seconds: float,
        deadlines: Deadlines,
        doubt: float,  # seconds that a node with a new lease waits for others to be named
        changed: Callable[[], None],
        dispel: Callable[[float], None],  # issues again what was issued in doubt
    ) -> None:
        self.lease = Lease(seconds)
        self.is_informed = False  # the master has said, since this node started, who wants what
        self.is_sure = False
        self._looks = deadlines.timer(lambda _, now: self.look(now))
        self._dispels = deadlines.timer(lambda _, now: dispel(now))
        self._doubt = doubt
        self._changed = changed

    def look(self, now: float) -> None:
        """Notice that the lease has ended."""
        if self.is_sure and not self.lease.runs(now):
            self.is_sure = False
            self._changed()

    def grant(self, token: int, now: float) -> None:
        """The master has answered."""
        until = self.lease.grant(token)
        if self.lease.runs(now) and self.is_informed and not self.is_sure:
            self.is_sure = True
            self._changed()
            self._dispels.at(now + self._doubt)
        self._looks.at(until)

    def lose(self, now: float) -> None:
        self.lease.lose()
        self.look(now)
