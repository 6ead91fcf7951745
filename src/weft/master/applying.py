"""Versions that nodes have applied, so that a client hears that it is subscribed when everybody knows.

Every node answers what it is told by the version that it has applied. An interest is in place when all nodes have
applied what they had been told by then; the node that it comes from need not answer, since it hears of it last.

A node that is lost may go on by what it knew as long as its lease runs (node/lease.py): until then nothing that it has
not applied is in place. And what is told because it is lost must be applied by the others: they may have sent to it,
and it to nobody else.

A node that was gone comes back when all others have applied that it was. From when they hear that it is down until they
have tables with it they owe it what its sessions want, and one of them on a publication's way is enough. Tables of
before it was gone and of after it is back, in a mixture, need not lead to it, and nobody would owe it anything. One
that is lost, and may not have heard, goes on by its tables of before as long as its lease runs.

All wait for each node, so each has its time: a node that has not applied in PATIENCE what it was told is late, whatever
else is heard of it, and counts as lost from then on (membership.py). Versions that it is told meanwhile do not prolong
that, and have the same time from then on: so none takes longer than twice that. Where it is the master that was busy,
all have as long again, once.
"""

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field
from itertools import chain
from math import inf

from weft.wire import frame as w
from weft.wire.lease import LEASE

VERSIONED = (w.Peers, w.Tables, w.Filters, w.Way)
PATIENCE = 5.0  # seconds that a node has to apply what it is told
BUSY = 0.5  # seconds behind such a deadline from which the master was busy


@dataclass
class Notice:
    """What others are told because of one node: that it is gone, or, with a sequence, what it holds."""

    sequence: int = 0
    waits_for: dict[int, int] | None = None  # node -> the version that it has yet to apply; None: not told yet
    until: float = -inf  # and until leases of nodes that are lost have ended

    def begin(self, node: int, behind: Mapping[int, int], lost: Iterable[float]) -> None:
        self.waits_for = {other: version for other, version in behind.items() if other != node}
        self.until = max(self.until, *lost, -inf)

    def note(self, node: int, version: int) -> None:
        """A node has applied a version."""
        if self.waits_for is not None and self.waits_for.get(node, version + 1) <= version:
            del self.waits_for[node]

    def is_known(self, now: float) -> bool:
        return self.waits_for == {} and self.until <= now


@dataclass
class Applying:
    _behind: dict[int, int] = field(default_factory=dict)  # nodes that have yet to apply a version
    _due: dict[int, tuple[int, float]] = field(default_factory=dict)  # of these: a version, and when it must be applied
    _excused: set[int] = field(default_factory=set)  # of these, nodes that have as long again
    _new: list[tuple[int, Notice]] = field(default_factory=list)  # what nobody has been told of
    _asked: dict[int, list[Notice]] = field(default_factory=dict)  # by node, in order
    _leases: dict[int, float] = field(default_factory=dict)  # node -> until when
    _lost: dict[int, float] = field(default_factory=dict)  # the same of nodes that are lost
    _gone: dict[int, Notice] = field(default_factory=dict)  # by node

    def ask(self, node: int, sequence: int) -> None:
        before = self._asked.get(node)
        if before and before[-1].waits_for is None:  # others have yet to be told of that too
            before[-1].sequence = sequence
            return
        asking = Notice(sequence)
        self._asked.setdefault(node, []).append(asking)
        self._new.append((node, asking))

    def ask_anew(self, node: int, sequence: int) -> None:
        """A node that joins says all that it holds; one that was restarted counts anew, by other things than before."""
        self._forget_asked(node)
        self.ask(node, sequence)

    def lend(self, node: int, now: float) -> None:
        """The node is told that it knows all."""
        self._leases[node] = now + LEASE

    def told(self, frames: Mapping[int, list[w.Frame]], version: int, present: Set[int], now: float) -> None:
        """What nodes have been told; others hear of the interest of a node when it is woven in."""
        for node, many in frames.items():
            if any(isinstance(frame, VERSIONED) for frame in many):
                self._behind[node] = version
                self._due.setdefault(node, (version, now + PATIENCE))
        for node, asking in self._new:
            if node in present:
                asking.begin(node, self._behind, self._lost.values())
        self._new = [(node, asking) for node, asking in self._new if asking.waits_for is None]
        for gone, absence in self._gone.items():
            if absence.waits_for is None:
                absence.begin(gone, self._behind, [until for node, until in self._lost.items() if node != gone])

    def applied(self, node: int, version: int, now: float) -> None:
        if self._behind.get(node, version + 1) <= version:
            del self._behind[node]
        if node in self._due and self._due[node][0] <= version:
            del self._due[node]
            self._excused.discard(node)
            if node in self._behind:
                self._due[node] = self._behind[node], now + PATIENCE
        for notice in chain(self._gone.values(), *self._asked.values()):
            notice.note(node, version)

    def late(self, now: float) -> list[int]:
        """Nodes that have had their time."""
        for node, (version, until) in self._due.items():
            if until + BUSY < now and node not in self._excused:
                self._excused.add(node)
                self._due[node] = version, now + PATIENCE
        return sorted(node for node, (_, until) in self._due.items() if until <= now)

    def may_return(self, node: int, now: float) -> bool:
        """Whether all others have applied that a node was gone, or do not go by what they knew before."""
        return node not in self._gone or self._gone[node].is_known(now)

    def forget(self, node: int, now: float, *, in_order: bool) -> None:
        """A node is gone; where it did not say so, it may not know."""
        self._lost = {other: until for other, until in self._lost.items() if until > now}
        until = self._leases.pop(node, -inf)
        if not in_order and until > now:
            self._lost[node] = until
        self._behind.pop(node, None)
        self._due.pop(node, None)
        self._excused.discard(node)
        self._forget_asked(node)
        self._gone = {gone: absence for gone, absence in self._gone.items() if not absence.is_known(now)}
        for absence in self._gone.values():
            if absence.waits_for is not None and absence.waits_for.pop(node, None) is not None:
                absence.until = max(absence.until, self._lost.get(node, -inf))
        self._gone[node] = Notice()
        for other, askings in self._asked.items():
            for asking in askings:
                if asking.waits_for is not None and node in asking.waits_for:
                    asking.waits_for = None
                    self._new.append((other, asking))

    def deadlines(self, present: Set[int]) -> list[float]:
        """When what waits for leases alone is in place, and nodes have had their time."""
        waiting = [self._asked[node][0] for node in self._asked.keys() & present]
        return [one.until for one in waiting if one.waits_for == {}] + [until for _, until in self._due.values()]

    def in_place(self, present: Set[int], now: float) -> list[tuple[int, int]]:
        """Nodes, and the sequence up to which their interest is in place now; a node that is not woven in waits."""
        done = []
        for node in sorted(self._asked.keys() & present):
            askings, latest = self._asked[node], None
            while askings and askings[0].is_known(now):
                latest = askings.pop(0).sequence
            if latest is not None:
                done.append((node, latest))
            if not askings:
                del self._asked[node]
        return done

    def _forget_asked(self, node: int) -> None:
        self._asked.pop(node, None)
        self._new = [each for each in self._new if each[0] != node]
