"""What a node remembers of the publications of late: the steps that it has taken with each, and the publications."""

from collections import deque
from collections.abc import Hashable
from math import inf

from weft.protocol.router import Publication


class Recall:
    """Which steps a node has taken with the publications of late.

    Two generations, so that nothing is taken out one by one: to look for the oldest at the front of a dict costs more
    the more have been taken from there.
    """

    def __init__(self, memory: float) -> None:
        self._memory = memory  # milliseconds that a step is remembered at least, and at most twice as long
        self._new: dict[Hashable, int] = {}  # steps by publication
        self._old: dict[Hashable, int] = {}
        self._turned = -inf

    def is_first(self, step: int, identity: Hashable, now: float) -> bool:
        """True once for each step and publication."""
        if now - self._turned > self._memory:
            self._old, self._new, self._turned = self._new, {}, now
        taken = self._new.get(identity)
        if taken is None:
            taken = self._old.get(identity, 0)
        self._new[identity] = taken | step
        return not taken & step

    def __len__(self) -> int:
        return len(self._new) + len(self._old)


class Recent:
    """The last publications that came to a node, for those to whom a link that failed did not bring them."""

    def __init__(self, memory: float, most: int) -> None:
        self._memory = memory  # milliseconds
        self._kept: deque[tuple[float, Publication, int]] = deque(maxlen=most)

    def add(self, publication: Publication, hops: int, now: float) -> None:
        self._kept.append((now, publication, hops))

    def of(self, topic: int, now: float) -> list[tuple[Publication, int]]:
        """Publications on a topic, the oldest first, each with its hops from the issuer."""
        since = now - self._memory
        return [(said, hops) for time, said, hops in self._kept if time >= since and said.topic == topic]
