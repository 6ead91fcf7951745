"""Spare links: those that the bound leaves over when every node has its fingers.

Fingers take two thirds of a node's links in the mean. In a small network the rest join so large a part of all pairs
that many publications need one hop less, and few need a relay (docs/benchmarks.md, "Hops"). Above FULL nodes a spare
link joins too few pairs to pay for its upkeep, and what is left over is for those who come.

Links of before are kept as long as there is room, so that little changes; fingers always come first. Then who has
fewest links chooses first, the node with room that has most topics in common. At the end two nodes with room may be
left that are linked already, as when nodes have joined one by one: a spare link between two others, with as little in
common as any, makes way for a link to each of these.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations

from weft.master.link import Link, link
from weft.model.ring import phase_count

FULL = 64  # nodes, up to which links are filled up

Interests = Mapping[int, set[int]]  # node -> topics


def most_links(nodes: int) -> int:
    """Links of a node in a network of so many, at most."""
    return 3 * max(1, phase_count(nodes))


def spare_links(
    peers: Mapping[int, set[int]], bound: int, interests: Interests, before: Iterable[Link] = (), *, fill: bool = True
) -> set[Link]:
    """Links beside those that nodes have, up to the bound."""
    filling = Filling(peers, min(bound, len(peers) - 1), interests)
    filling.keep(before)
    if fill and len(peers) <= FULL:
        filling.fill()
        filling.exchange()
    return filling.spare


class Filling:
    def __init__(self, peers: Mapping[int, set[int]], bound: int, interests: Interests) -> None:
        self.spare: set[Link] = set()
        self._peers = {node: set(own) for node, own in peers.items()}
        self._bound = bound
        self._interests = interests
        self._counted: dict[Link, int] = {}  # topics in common

    def keep(self, before: Iterable[Link]) -> None:
        """Take links of before, the best first, as far as there is room."""
        known = [pair for pair in before if pair[0] in self._peers and pair[1] in self._peers]
        for one, other in sorted(known, key=lambda pair: (-self._shared(*pair), pair)):
            if one not in self._peers[other] and self._room(one) > 0 and self._room(other) > 0:
                self._open(one, other)

    def fill(self) -> None:
        choosing = {node for node in self._peers if self._room(node) > 0}
        while choosing:
            node = min(choosing, key=lambda one: (len(self._peers[one]), one))
            others = choosing - self._peers[node] - {node}
            if not others:
                choosing.discard(node)
                continue
            best = max(others, key=lambda one: (self._shared(node, one), self._room(one), -one))
            self._open(node, best)
            choosing -= {one for one in (node, best) if self._room(one) == 0}

    def exchange(self) -> None:
        """Let spare links make way for two each, as long as there is room for these."""
        while found := next(self._exchanges(), None):
            gone, *new = found
            self._close(*gone)
            for pair in new:
                self._open(*pair)

    def _exchanges(self) -> Iterator[tuple[Link, Link, Link]]:
        """A spare link that may go, and two links that take its place."""
        room = [node for node in sorted(self._peers) for _ in range(self._room(node))]
        spare = sorted(self.spare, key=lambda pair: (self._shared(*pair), pair)) if len(room) > 1 else []
        for one, other in combinations(room, 2):
            for first, second in spare:
                for near, far in ((first, second), (second, first)):
                    apart = {one, other}.isdisjoint((near, far))
                    if apart and near not in self._peers[one] and far not in self._peers[other]:
                        yield (first, second), (one, near), (other, far)

    def _room(self, node: int) -> int:
        return max(0, self._bound - len(self._peers[node]))

    def _shared(self, one: int, other: int) -> int:
        """How many topics they have in common; sets are large, and pairs compared again and again."""
        between = link(one, other)
        if between not in self._counted:
            self._counted[between] = len(self._interests[one] & self._interests[other])
        return self._counted[between]

    def _open(self, one: int, other: int) -> None:
        self._peers[one].add(other)
        self._peers[other].add(one)
        self.spare.add(link(one, other))

    def _close(self, one: int, other: int) -> None:
        self._peers[one].discard(other)
        self._peers[other].discard(one)
        self.spare.discard(link(one, other))
