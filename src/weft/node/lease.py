"""Whether this node may rely on what it knows of the others.

A client hears that it is subscribed when every node has applied what that means, or cannot be relied on any more: the
master waits until a node that it has lost has no lease. A node has one for some seconds from when it asked for it, if
the master has answered. So while its lease runs it knows of every subscription that has been granted anywhere, but for
those granted without the master; and what it issues by that knowledge reaches all who must have it.

What it issues without a lease is in doubt: whoever it has reached, there may be others. It is kept, and issued again
when there is a lease.
"""

from math import inf


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
