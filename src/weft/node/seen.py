"""Publications that a node has had, so that its clients get each once.

Of QoS 0 they are remembered for a time, longer than any travels. Of QoS 1 and 2 until the issuer does not send them
again: it says with each message from which count on it may (its floor). What is forgotten was below the floor when that
was looked at before: the issuer may have more to send to a node that was away than it says to others, and may forget in
a crash that it has settled something; and this node's clock may jump, or the node stand still.

What is for a group, or for one session, is counted apart from what is for all, by the group or session (message.py).
Clients make groups as they like, so of one that nothing has come for since nothing stays: the floor is the issuer's.

A node that means no good may name issuers that there are not, and floors that never rise. So there is a bound for all
of it: the issuers of which nothing has come for longest are forgotten first.

Across a crash a node remembers by session (Session.had), which is what counts: nobody else is there after it.
"""

from collections.abc import Iterable
from math import inf
from struct import Struct

from weft.broker.publication import UNISSUED, Origin

Issuer = tuple[int, int]  # node and incarnation
MOST, OF_ISSUER = 5_000_000, 8  # counts that are remembered of all, and how many an issuer is worth itself
FLOORS = 100_000  # issuers whose floors are known
ORIGIN = Struct(">IQQ")  # a publication's number, as it is on the wire


class _Taken:
    __slots__ = ("counts", "issuer", "passed", "pruned")

    def __init__(self, issuer: Issuer, now: float) -> None:
        self.issuer = issuer
        self.counts: set[int] = set()
        self.pruned = now
        self.passed = 0  # the floor then

    def prune(self, floor: int, now: float) -> None:
        self.counts = {count for count in self.counts if count >= self.passed}
        self.pruned, self.passed = now, floor


class Seen:
    def __init__(self, memory: float) -> None:
        self._memory = memory  # seconds
        self._new: set[bytes] = set()
        self._old: set[bytes] = set()
        self._turned = 0.0
        # Also by what stands for an issuer and a group; those of which something has come lately last
        self._taken: dict[Issuer, _Taken] = {}
        self._size = 0  # of those
        self._floors: dict[Issuer, int] = {}

    def is_first(self, origin: bytes, now: float) -> bool:
        """Whether it is the first time, by the bytes of its number; QoS 0, and this node's own."""
        self._turn(now)
        if origin in self._new or origin in self._old:
            return False
        self._new.add(origin)
        return True

    def take(self, origin: Origin, floor: int, now: float, issuer: Issuer | None = None) -> bool:
        """Whether it is the first time; QoS 1 and 2. The issuer is named where it does not stand in the origin."""
        taken = self._taken.pop(origin[:2], None)
        if taken is None:
            taken = _Taken(issuer or origin[:2], now)
            self._size += OF_ISSUER
        self._taken[origin[:2]] = taken
        self._note_floor(taken.issuer, floor)
        if now - taken.pruned > self._memory / 2:
            self._prune(taken, floor, now)
        if origin[2] in taken.counts:
            return False
        taken.counts.add(origin[2])
        self._size += 1
        if self._size > MOST:
            self._bound()
        return True

    def _note_floor(self, issuer: Issuer, floor: int) -> None:
        if issuer not in self._floors and len(self._floors) >= FLOORS:
            known = {taken.issuer for taken in self._taken.values()}
            self._floors = {one: kept for one, kept in self._floors.items() if one in known}
        self._floors[issuer] = floor

    def _prune(self, taken: _Taken, floor: int, now: float) -> None:
        before = len(taken.counts)
        taken.prune(floor, now)
        self._size -= before - len(taken.counts)

    def _bound(self) -> None:
        """Forget the issuers of which nothing has come for longest; of the last one, its lower counts."""
        while self._size > MOST and len(self._taken) > 1:
            taken = self._taken.pop(next(iter(self._taken)))
            self._size -= OF_ISSUER + len(taken.counts)
        if self._size > MOST:
            (taken,) = self._taken.values()
            taken.counts = set(sorted(taken.counts)[MOST // 2 :])
            self._size = OF_ISSUER + len(taken.counts)

    def forget(self, origin: Origin) -> None:
        taken = self._taken.get(origin[:2])
        if taken is not None and origin[2] in taken.counts:
            taken.counts.remove(origin[2])
            self._size -= 1

    def raise_floor(self, issuer: Issuer, floor: int) -> None:
        """This node's own, which it does not receive."""
        self._floors[issuer] = floor

    def prune(self, now: float) -> None:
        """Forget what nothing has come for lately, and may not come again."""
        self._turn(now)
        for key, taken in list(self._taken.items()):
            if now - taken.pruned > self._memory / 2:
                self._prune(taken, self._floors.get(taken.issuer, 0), now)
                if not taken.counts:
                    del self._taken[key]
                    self._size -= OF_ISSUER

    def _turn(self, now: float) -> None:
        if now - self._turned > self._memory / 2:
            self._old, self._new, self._turned = self._new, set(), now

    def left_of(self, had: dict[Origin, float], now: float) -> dict[Origin, float]:
        """What of a session's publications may still come again, and since when others may not."""
        left = {}
        for origin, since in had.items():
            passed = since == inf and self._is_passed(origin)
            if since > now - self._memory:
                left[origin] = now if passed else since
        return left

    def _is_passed(self, origin: Origin) -> bool:
        """Whether nobody sends it again; what nobody has issued comes with sessions alone."""
        return origin[0] == UNISSUED or origin[2] < self._floors.get(origin[:2], 0)


def oldest_of(had: Iterable[Origin]) -> tuple[Origin, ...]:
    """The first of every issuer."""
    least: dict[Issuer, int] = {}
    for node, incarnation, count in had:
        least[node, incarnation] = min(count, least.get((node, incarnation), count))
    return tuple((*issuer, count) for issuer, count in least.items())
