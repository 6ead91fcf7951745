"""Custody: how an issuer comes to know that everybody has a publication.

A publication spreads from its issuer over trees and, where these fail, over the ring; a node may get it several times,
and sends it on to others each time that a router says so. This is a diffusing computation, and its end is found as
Dijkstra and Scholten do (Termination detection for diffusing computations, 1980):

- a node that gets a message and is not engaged becomes engaged; who sent it is its parent;
- a node that is engaged acknowledges any further message at once, for its parent waits for it anyway;
- a node acknowledges its parent's message when all messages that it has sent itself are acknowledged, and what it must
  keep of the publication is on its disk. Then it is not engaged any more.

The issuer is engaged without a parent; when it ends, nobody has anything left to do. Nodes and links may fail, which
the two did not consider: messages on a link that is lost are not acknowledged any more. Who sent them sends by other
ways (the router's affair) and says with its own acknowledgement that somebody may have been missed. The issuer then
makes another attempt, which is another computation. A parent that is lost need not be told: who waits for it knows.

Nodes that are down, and whose sessions want the publication, are named with acknowledgements: the issuer owes them. And
who cannot tell whether its tables lead to everybody says so: it may know of trees in parts what the issuer has yet to
hear.

Messages on a link are numbered by both ends, so that acknowledgements are ranges of numbers and cost next to nothing.
"""

from collections.abc import Collection, Hashable, Iterable
from dataclasses import dataclass, field
from itertools import pairwise

Key = Hashable  # a publication and an attempt
Ranges = tuple[tuple[int, int], ...]
Trouble = tuple[int, Collection[int], bool, bool]  # of a sequence: nodes that are owed it, failed, unsure


@dataclass(frozen=True, slots=True)
class Conclusion:
    """An attempt of this node's own is over."""

    key: Key
    owed: frozenset[int]
    failed: bool
    unsure: bool = False


@dataclass(slots=True)
class _Hop:
    parent: tuple[int, int] | None  # peer, sequence; None at the issuer, and where the parent is lost
    is_root: bool
    sent: int = 0  # messages that are not acknowledged
    held: int = 0  # messages that are yet to be sent
    position: int = 0  # of the journal, that must be on the disk
    owed: set[int] = field(default_factory=set)
    failed: bool = False
    unsure: bool = False


@dataclass(slots=True)
class _Ledger:
    """One link."""

    sent: int = 0
    received: int = 0
    open: dict[int, tuple[Key, object, _Hop]] = field(default_factory=dict)  # by sequence: not acknowledged
    done: list[int] = field(default_factory=list)  # to acknowledge
    troubles: list[Trouble] = field(default_factory=list)


class Custody:
    def __init__(self) -> None:
        self._hops: dict[Key, _Hop] = {}
        self._links: dict[int, _Ledger] = {}
        self._touched: dict[Key, None] = {}  # may be over
        self._waiting: dict[Key, None] = {}  # for the disk alone
        self._answering: dict[int, None] = {}  # peers that there may be something to acknowledge to
        self._synced = 0

    def __len__(self) -> int:
        return len(self._hops)

    def is_engaged(self, key: Key) -> bool:
        return key in self._hops

    def open(self, peer: int) -> None:
        self._links[peer] = _Ledger()

    def begin(self, key: Key) -> None:
        """Begin an attempt of which this node is the issuer."""
        self._hops[key] = _Hop(None, is_root=True)
        self._touched[key] = None

    def receive(self, peer: int, key: Key) -> None:
        link = self._links[peer]
        link.received += 1
        if key in self._hops:
            link.done.append(link.received)
            self._answering[peer] = None
        else:
            self._hops[key] = _Hop((peer, link.received), is_root=False)
            self._touched[key] = None

    def send(self, peer: int, key: Key, message: object) -> None:
        link = self._links[peer]
        link.sent += 1
        hop = self._hops[key]
        link.open[link.sent] = key, message, hop
        hop.sent += 1

    def hold(self, key: Key) -> None:
        """Expect one message more of the attempt."""
        self._hops[key].held += 1

    def release(self, key: Key) -> None:
        """Expect one message less: it has been sent, or nobody wants it."""
        self._hops[key].held -= 1
        self._touched[key] = None

    def keep(self, key: Key, position: int) -> None:
        """Keep the attempt open until the journal is on the disk up to a position."""
        self._hops[key].position = max(self._hops[key].position, position)

    def owe(self, key: Key, nodes: Iterable[int]) -> None:
        self._hops[key].owed.update(nodes)

    def fail(self, key: Key) -> None:
        """Note that somebody may have been missed."""
        self._hops[key].failed = True

    def doubt(self, key: Key) -> None:
        """Note that somebody may have been missed whom this node does not know of."""
        self._hops[key].unsure = True

    def forget(self, key: Key) -> None:
        """An attempt of this node's own is given up; what comes of it still is nobody's concern.

        It may come back to this node, which is then engaged in it as any other: acknowledgements are not for that.
        """
        self._hops.pop(key, None)

    def acknowledge(self, peer: int, ranges: Ranges, troubles: Iterable[Trouble]) -> None:
        """What a peer says of messages to it. A range costs what it closes, however often and widely it is said."""
        link = self._links[peer]
        bad = {trouble[0]: trouble[1:] for trouble in troubles}
        for first, last in ranges:
            oldest = next(iter(link.open), link.sent + 1)
            for sequence in range(max(first, oldest), min(last, link.sent) + 1):
                self._close(link, sequence, *bad.get(sequence, ((), False, False)))

    def lose(self, peer: int) -> list[tuple[Key, object]]:
        """The messages on a link that is lost, which are not acknowledged; they count as failed."""
        link = self._links.pop(peer, None)
        if link is None:
            return []
        for hop in self._hops.values():
            if hop.parent is not None and hop.parent[0] == peer:
                hop.parent = None
        lost = list(link.open.values())
        for sequence in list(link.open):
            self._close(link, sequence, (), failed=True, unsure=False)
        return [(key, message) for key, message, hop in lost if self._hops.get(key) is hop]

    def sync(self, position: int) -> None:
        self._synced = position
        self._touched |= self._waiting
        self._waiting.clear()

    def conclusions(self) -> list[Conclusion]:
        """Ends what is over: acknowledges to parents, and says which attempts of this node's own those are."""
        own = []
        for key in self._touched:
            hop = self._hops.get(key)
            if hop is None or hop.sent or hop.held:
                continue
            if hop.position > self._synced:
                self._waiting[key] = None
                continue
            del self._hops[key]
            if hop.is_root:
                own.append(Conclusion(key, frozenset(hop.owed), hop.failed, hop.unsure))
            elif hop.parent is not None:
                self._answer(hop, *hop.parent)
        self._touched.clear()
        return own

    def acknowledgements(self) -> list[tuple[int, Ranges, list[Trouble]]]:
        """What to acknowledge to every peer since it was last asked: ranges, and those with trouble."""
        found = []
        answering, self._answering = self._answering, {}
        for peer in answering:
            link = self._links.get(peer)
            if link is not None and link.done:
                found.append((peer, ranges_of(link.done), link.troubles))
                link.done, link.troubles = [], []
        return found

    def check_invariants(self) -> None:
        open_by_key: dict[Key, int] = {}
        for link in self._links.values():
            for key, _, hop in link.open.values():
                open_by_key[key] = open_by_key.get(key, 0) + (self._hops.get(key) is hop)
        for key, hop in self._hops.items():
            assert hop.sent == open_by_key.get(key, 0), f"{key} waits for {hop.sent} and has {open_by_key.get(key, 0)}"

    def _close(self, link: _Ledger, sequence: int, owed: Collection[int], failed: bool, unsure: bool) -> None:
        key, _, hop = link.open.pop(sequence, (None, None, None))
        if hop is None or self._hops.get(key) is not hop:
            return
        hop.sent -= 1
        hop.owed.update(owed)
        hop.failed |= failed
        hop.unsure |= unsure
        self._touched[key] = None

    def _answer(self, hop: _Hop, peer: int, sequence: int) -> None:
        link = self._links[peer]
        link.done.append(sequence)
        self._answering[peer] = None
        if hop.owed or hop.failed or hop.unsure:
            link.troubles.append((sequence, frozenset(hop.owed), hop.failed, hop.unsure))


def ranges_of(numbers: list[int]) -> Ranges:
    """Ascending ranges, both ends included."""
    ordered = sorted(numbers)
    breaks = [at for at, (one, other) in enumerate(pairwise(ordered), 1) if other != one + 1]
    starts, ends = [0, *breaks], [*breaks, len(ordered)]
    return tuple((ordered[start], ordered[end - 1]) for start, end in zip(starts, ends, strict=True))
