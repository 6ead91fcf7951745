"""The plan: every node's place on the ring, and the fingers that it owns; with their other ends, and with spare links
beside them (spare.py), these are the links.

With p = max(1, ceil(log2 n)) phases, as `swico-even` does: a node owns at most p fingers, one to its successor always,
and at most 2p point at it, so that nobody has more than 3p links; spare ones are up to that. A node of phase i is at
2^i to 2^(i + 1) - 1 places clockwise.

A design fills all phases by what links contribute over the whole network. Between designs changes are small and local:

- a newcomer gets a place beside nodes alike, and a finger in every phase, to the node with room there that shares most
  of the topics for which it has no neighbour yet;
- who has an empty phase and a finger to spare opens one, so that the ring stays short;
- who has a finger too many, since the network has shrunk or a successor has come, gives up the one that matters least:
  of a phase that has two, and with little in common.

All of it is a function of what came before, in its order: no chance is involved.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from weft.master.link import Link, link
from weft.master.ring import Ring
from weft.master.spare import Interests, most_links, spare_links
from weft.model.ring import phase, phase_count

CANDIDATES = 16  # of a phase that are looked at, evenly spaced


@dataclass
class Plan:
    ring: Ring = field(default_factory=Ring)
    fingers: dict[int, set[int]] = field(default_factory=dict)  # that a node owns
    pointing: dict[int, set[int]] = field(default_factory=dict)  # the owners of fingers that point at a node
    spare: set[Link] = field(default_factory=set)  # beside fingers
    _links: frozenset[Link] | None = None  # all of these, when they were last asked for

    @property
    def phases(self) -> int:
        return max(1, phase_count(len(self.ring)))

    @property
    def bound(self) -> int:
        """Links of a node, at most."""
        return most_links(len(self.ring))

    @property
    def links(self) -> frozenset[Link]:
        if self._links is None:
            fingers = {link(owner, peer) for owner, peers in self.fingers.items() for peer in peers}
            self._links = frozenset(fingers | self.spare)
        return self._links

    def peers(self, node: int) -> set[int]:
        """Other ends of a node's fingers, and of those that point at it."""
        return self.fingers[node] | self.pointing[node]

    def join(self, node: int, interests: Interests, ring_id: int | None = None) -> None:
        """A node comes, to the place that it had, if that is free; `mend` gives it links."""
        if ring_id is None or not self.ring.is_free(ring_id):
            own = interests[node]
            ring_id = self.ring.place((lambda other: len(own & interests[other])) if own else None)
        self.ring.add(node, ring_id)
        self.fingers[node], self.pointing[node] = set(), set()

    def leave(self, node: int) -> None:
        for peer in list(self.fingers[node]):
            self._close(node, peer)
        for owner in list(self.pointing[node]):
            self._close(owner, node)
        del self.fingers[node], self.pointing[node]
        self.spare = {each for each in self.spare if node not in each}
        self.ring.remove(node)

    def take_up(self, fingers: Mapping[int, Iterable[int]], spare: Iterable[Link] = ()) -> None:
        """Links from before, as far as both ends are there; `mend` sees to the bounds."""
        for owner, peers in fingers.items():
            for peer in peers:
                if owner in self.fingers and peer in self.fingers:
                    self._open(owner, peer)
        self.spare |= {each for each in spare if each[0] in self.fingers and each[1] in self.fingers}

    def mend(self, interests: Interests, *, fill: bool = True) -> None:
        """Put everything in order after nodes have come or gone: one change for all of them.

        Without `fill` there are no new spare links.
        """
        if len(self.ring) < 2:
            return
        order = self.ring.order
        rank = {node: place for place, node in enumerate(order)}
        for node in order:
            self._open(node, self.ring.successor(node))
        for node in order:
            self._give_up(node, rank, interests)
        for node in order:
            self._fill(node, order, rank, interests)
        peers = {node: self.peers(node) for node in order}
        self.spare, self._links = spare_links(peers, self.bound, interests, self.spare, fill=fill), None

    def replace(
        self, places: Mapping[int, int], fingers: Iterable[tuple[int, int]], spare: Iterable[Link] = ()
    ) -> None:
        """Another plan for the same nodes."""
        assert places.keys() == self.fingers.keys()
        self.ring = Ring()
        for node, ring_id in places.items():
            self.ring.add(node, ring_id)
        self.fingers, self.pointing = {node: set() for node in places}, {node: set() for node in places}
        self.spare, self._links = set(spare), None
        for owner, peer in fingers:
            self._open(owner, peer)

    def over_bound(self) -> dict[int, int]:
        """Nodes with more links than the bound, and how many they have."""
        counts = Counter(node for each in self.links for node in each)
        return {node: count for node, count in counts.items() if count > self.bound}

    def check_invariants(self) -> None:
        for node, peers in self.fingers.items():
            assert node not in peers
            assert all(node in self.pointing[peer] for peer in peers)
            if len(self.ring) > 1:
                assert self.ring.successor(node) in peers, f"node {node} has no link to its successor"
        assert sum(map(len, self.fingers.values())) == sum(map(len, self.pointing.values()))
        assert all(one in self.fingers and other in self.fingers for one, other in self.spare)

    def _open(self, owner: int, peer: int) -> None:
        self.fingers[owner].add(peer)
        self.pointing[peer].add(owner)
        self._links = None

    def _close(self, owner: int, peer: int) -> None:
        self.fingers[owner].discard(peer)
        self.pointing[peer].discard(owner)
        self._links = None

    def _give_up(self, node: int, rank: Mapping[int, int], interests: Interests) -> None:
        """Fingers beyond the bounds, those that the node owns and those that point at it."""
        while len(self.fingers[node]) > self.phases:
            spare = self.fingers[node] - {self.ring.successor(node)}
            self._close(node, min(spare, key=lambda peer: self._worth(node, peer, rank, interests)))
        while len(self.pointing[node]) > 2 * self.phases:
            spare = self.pointing[node] - {self.ring.predecessor(node)}
            self._close(min(spare, key=lambda owner: self._worth(owner, node, rank, interests)), node)

    def _worth(
        self, owner: int, peer: int, rank: Mapping[int, int], interests: Interests
    ) -> tuple[bool, bool, int, int, int]:
        """What a finger is worth, to compare it with others."""
        own = self._phase(owner, peer, rank)
        alone = all(self._phase(owner, other, rank) != own for other in self.fingers[owner] - {peer})
        there_anyway = owner in self.fingers[peer]
        return not there_anyway, alone, len(interests[owner] & interests[peer]), -owner, -peer

    def _fill(self, node: int, order: list[int], rank: Mapping[int, int], interests: Interests) -> None:
        """A finger in every phase that has none, as long as the node may open one."""
        taken = {self._phase(node, peer, rank) for peer in self.fingers[node]}
        empty = [phase_ for phase_ in range(self.phases) if phase_ not in taken]
        if not empty or len(self.fingers[node]) >= self.phases:
            return
        missing = interests[node].difference(*(interests[peer] for peer in self.peers(node)))
        for phase_ in empty[: self.phases - len(self.fingers[node])]:
            found = self._candidates(node, phase_, order, rank)
            if found:
                best = max(found, key=lambda peer: self._promise(node, peer, missing, interests))
                self._open(node, best)
                missing = missing - interests[best]

    def _candidates(self, node: int, phase_: int, order: list[int], rank: Mapping[int, int]) -> list[int]:
        """Nodes of a phase that another finger may point at, and that are no neighbours yet."""
        first, last = 1 << phase_, min(2 << phase_, len(order))
        step = max(1, (last - first) // CANDIDATES)
        near = [order[(rank[node] + distance) % len(order)] for distance in range(first, last, step)]
        room, peers = 2 * self.phases, self.peers(node)
        return [peer for peer in near if len(self.pointing[peer]) < room and peer not in peers]

    def _promise(self, node: int, peer: int, missing: set[int], interests: Interests) -> tuple[int, int, int, int]:
        return (
            len(missing & interests[peer]),
            len(interests[node] & interests[peer]),
            -len(self.pointing[peer]),
            -peer,
        )

    def _phase(self, node: int, peer: int, rank: Mapping[int, int]) -> int:
        return phase((rank[peer] - rank[node]) % len(rank))
