"""What a node knows of the network: the ring around it, who is linked, which filters others hold, who is down.

All of it comes from the master, in order. With the master gone it is what it was.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from weft.broker.filter import FilterIndex
from weft.protocol.finger import Finger, FingerTable
from weft.protocol.router import Membership
from weft.wire.frame import NOBODY, Filters, Holder, Listed, NeighbourInterests, Peer, Peers
from weft.wire.frame_field import FrameError
from weft.wire.mqtt.topic import is_shared, split_shared

RING = 2**63


@dataclass(frozen=True, slots=True)
class Absence:
    """A node that is down, and what its sessions hold."""

    ring_id: int
    filters: FilterIndex[bool] = field(compare=False)
    groups: FilterIndex[set[str]] = field(compare=False)  # shared ones, by what they match

    def wants(self, name: str) -> bool:
        return bool(self.filters.match(name) or self.groups.match(name))


def absence_of(ring_id: int, filters: Iterable[str]) -> Absence:
    absence = Absence(ring_id, FilterIndex(), FilterIndex())
    for pattern in filters:
        parts = split_shared(pattern) if is_shared(pattern) else None
        if parts is None:
            absence.filters.setdefault(pattern, lambda: True)
        else:
            absence.groups.setdefault(parts[1], set).add(pattern)
    return absence


class SharedGroup:
    """The nodes with members of a shared subscription. Nodes take turns, by the number of their members.

    Every issuer begins with the node behind it. If all began with the same one, this would get most of what many nodes
    publish seldom.
    """

    def __init__(self, filter_: str, holders: tuple[Holder, ...], issuer: int = NOBODY) -> None:
        self.filter = filter_
        self.holders = holders
        self._issuer = issuer
        self._given = {one.node: 0 for one in holders}

    def next_to(self, node: int) -> Holder | None:
        """The node behind one, by number and round again; who asks one after the other has asked all."""
        others = sorted((one for one in self.holders if one.node != node), key=lambda one: one.node)
        behind = [one for one in others if one.node > node]
        return next(iter(behind or others), None)

    def choose(self, preferred: int | None = None) -> Holder | None:
        """The node that has been given least for its members, unless there is a preferred one."""
        if not self.holders:
            return None
        if preferred is not None and (same := [one for one in self.holders if one.node == preferred]):
            return same[0]
        chosen = min(self.holders, key=self._turn)
        self._given[chosen.node] += 1
        return chosen

    def _turn(self, one: Holder) -> tuple[float, bool, int]:
        return (self._given[one.node] + 1) / one.members, one.node <= self._issuer, one.node


class Atlas(Membership):
    def __init__(self) -> None:
        self.node = NOBODY
        self.ring_id = 0
        self.ring_size = RING
        self.version = 0  # of the plan
        self.peers: dict[int, Peer] = {}
        self.up: set[int] = set()  # peers with a link
        self.congested: set[int] = set()  # of these, peers whose links take no more at the moment
        self.fingers = FingerTable(0, RING, [])  # that can be used
        self.is_whole = True  # the next node on the ring can be reached, as far as this one knows
        self.held: set[int] = set()  # topics of this node's clients
        self.wild: FilterIndex[str] = FilterIndex()  # wildcard filters of all nodes
        self.groups: FilterIndex[dict[str, SharedGroup]] = FilterIndex()  # shared ones, by what they match
        self.down: dict[int, Absence] = {}
        self.places: dict[int, int] = {}  # ring ids of nodes that have one, those that are down included
        self._interests: dict[int, set[int]] = {}  # of peers

    # Membership

    def subscribes(self, node: int, topic: int) -> bool:
        return topic in (self.held if node == self.node else self._interests.get(node, ()))

    def nearest_subscriber(self, topic: int) -> int | None:
        """Any node may subscribe, as far as this one knows: the next on the ring."""
        fingers = self.fingers.fingers
        return fingers[0].ring_id if fingers else None

    # The ring

    def refresh(self) -> None:
        """Peers or links have changed."""
        known = [one for one in self.peers.values() if one.is_finger and one.node in self.up]
        fingers = [Finger(one.node, one.ring_id) for one in known]
        self.fingers = FingerTable(self.ring_id, self.ring_size, fingers)
        self.is_whole = not self.peers or min(self.peers.values(), key=self._distance).node in self.up

    def place(self, ring_id: int, ring_size: int) -> None:
        """Have a place on the ring."""
        if ring_id >= ring_size:
            raise FrameError(f"The place {ring_id} is not on a ring of {ring_size}.")
        self.ring_id, self.ring_size = ring_id, ring_size

    def towards(self, node: int, ring_id: int) -> int | None:
        """The peer to send to what is for a node."""
        if node in self.up:
            return node
        finger = self.fingers.towards(ring_id)
        return finger.peer if finger is not None else None

    def _distance(self, peer: Peer) -> int:
        return (peer.ring_id - self.ring_id) % self.ring_size

    # News of the master

    def rewire(self, news: Peers) -> tuple[list[Peer], list[int]]:
        """Links to make, and links to end."""
        places = {one.ring_id for one in news.peers}
        if len(places) < len(news.peers) or news.ring_id in places or max(places, default=0) >= news.ring_size:
            raise FrameError("Peers share a place on the ring, or have one that is not on it.")
        self.place(news.ring_id, news.ring_size)
        before, self.peers = self.peers, {one.node: one for one in news.peers}
        made = [one for one in news.peers if before.get(one.node) != one]
        ended = [node for node in before if node not in self.peers]
        for node in ended:
            self._interests.pop(node, None)
        return made, ended

    def enlist(self, news: Filters) -> None:
        if news.whole:
            self.wild, self.groups = FilterIndex(), FilterIndex()
        for one in news.added:
            self._list_one(one)
        for pattern in news.removed:
            self._unlist(pattern)

    def learn(self, news: NeighbourInterests) -> None:
        interests = self._interests.setdefault(news.node, set())
        if news.whole:
            interests.clear()
        interests.update(news.added)
        interests.difference_update(news.removed)

    def owed(self, name: str) -> list[int]:
        """Nodes that are down and whose sessions want what is published on a name."""
        return [node for node, absence in self.down.items() if absence.filters.match(name)]

    def shared(self, name: str) -> list[str]:
        """Shared filters that match a name, those of nodes that are down included."""
        there = [filter_ for groups in self.groups.match(name) for filter_ in groups]
        return there + [
            one for absence in self.down.values() for some in absence.groups.match(name) for one in sorted(some)
        ]

    def absent_holders(self, filter_: str) -> list[int]:
        """Nodes that are down, with members of a shared subscription whose sessions are kept."""
        parts = split_shared(filter_)
        if parts is None:
            return []
        return [node for node, absence in self.down.items() if filter_ in (absence.groups.get(parts[1]) or ())]

    def group(self, filter_: str) -> SharedGroup | None:
        parts = split_shared(filter_)
        found = self.groups.get(parts[1]) if parts is not None else None
        return found.get(filter_) if found is not None else None

    def _list_one(self, one: Listed) -> None:
        parts = split_shared(one.filter) if is_shared(one.filter) else None
        if parts is None:
            self.wild.setdefault(one.filter, lambda: one.filter)
        else:
            self.groups.setdefault(parts[1], dict)[one.filter] = SharedGroup(one.filter, one.holders, self.node)

    def _unlist(self, pattern: str) -> None:
        parts = split_shared(pattern) if is_shared(pattern) else None
        if parts is None:
            self.wild.remove(pattern)
            return
        groups = self.groups.get(parts[1])
        if groups is not None:
            groups.pop(pattern, None)
            if not groups:
                self.groups.remove(parts[1])
