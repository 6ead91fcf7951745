"""Versions that nodes have applied, so that a client hears that it is subscribed when everybody knows.

Every node answers what it is told by the version that it has applied. An interest is in place when all nodes have
applied what they had been told by then; the node that it comes from need not answer, since it hears of it last.
"""

from collections.abc import Mapping, Set
from dataclasses import dataclass, field

from weft.wire import frame as w

VERSIONED = (w.Peers, w.Tables, w.Filters, w.Way)


@dataclass
class Asking:
    sequence: int
    waits_for: dict[int, int] | None = None  # node -> the version that it has yet to apply; None: not told yet


@dataclass
class Applying:
    _behind: dict[int, int] = field(default_factory=dict)  # nodes that have yet to apply a version
    _new: list[tuple[int, Asking]] = field(default_factory=list)  # what nobody has been told of
    _asked: dict[int, list[Asking]] = field(default_factory=dict)  # by node, in order

    def ask(self, node: int, sequence: int) -> None:
        asking = Asking(sequence)
        self._asked.setdefault(node, []).append(asking)
        self._new.append((node, asking))

    def told(self, frames: Mapping[int, list[w.Frame]], version: int, present: Set[int]) -> None:
        """What nodes have been told; others hear of the interest of a node when it is woven in."""
        for node, many in frames.items():
            if any(isinstance(frame, VERSIONED) for frame in many):
                self._behind[node] = version
        for node, asking in self._new:
            if node in present:
                asking.waits_for = {other: told for other, told in self._behind.items() if other != node}
        self._new = [(node, asking) for node, asking in self._new if asking.waits_for is None]

    def applied(self, node: int, version: int) -> None:
        if self._behind.get(node, version + 1) <= version:
            del self._behind[node]
        for askings in self._asked.values():
            for asking in askings:
                if asking.waits_for is not None and asking.waits_for.get(node, version + 1) <= version:
                    del asking.waits_for[node]

    def forget(self, node: int) -> None:
        """A node is gone, and nobody waits for it."""
        self._behind.pop(node, None)
        self._asked.pop(node, None)
        self._new = [each for each in self._new if each[0] != node]
        for askings in self._asked.values():
            for asking in askings:
                if asking.waits_for is not None:
                    asking.waits_for.pop(node, None)

    def in_place(self, present: Set[int]) -> list[tuple[int, int]]:
        """Nodes, and the sequence up to which their interest is in place now; a node that is not woven in waits."""
        done = []
        for node in sorted(self._asked.keys() & present):
            askings, latest = self._asked[node], None
            while askings and askings[0].waits_for == {}:
                latest = askings.pop(0).sequence
            if latest is not None:
                done.append((node, latest))
            if not askings:
                del self._asked[node]
        return done
