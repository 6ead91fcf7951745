"""The membership service that BeaConvey assumes (Data Structure 3), with deltas.

A node keeps the nearest subscriber clockwise of every topic, which is Theta(|T|), and which of its fingers subscribe to
what. The service, at a master, knows all subscriptions and where nodes are on the ring. A change of one of them changes
few tables: if x becomes a subscriber of a topic, it is the nearest one for the nodes from its last subscriber before x
up to x, and for no others; if x ends its subscription, the same nodes get the next one after it. Besides, the nodes
that have a finger to x hear what it subscribes to. So a change of a topic with s subscribers among n nodes costs n / s
entries on average, and log2 n for the fingers.

The service gives deltas, by node; who carries them is not its concern. Deltas that come late cost detours and nothing
else: a message towards a subscriber that is none is divided there as at any node. (A subscriber that somebody has not
heard of may be missed, so a subscription is in place when its deltas have come.)
"""

from bisect import bisect_left, insort
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Delta:
    """What changes at one node."""

    nearest: Mapping[int, int | None] = field(default_factory=dict)  # topic -> ring id; None: there is none any more
    gained: frozenset[tuple[int, int]] = frozenset()  # peers and topics that they subscribe to
    lost: frozenset[tuple[int, int]] = frozenset()  # the same, that they do not any more

    def __len__(self) -> int:
        return len(self.nearest) + len(self.gained) + len(self.lost)


class NearestTable:
    """What one node knows; a router's Membership."""

    def __init__(self) -> None:
        self._nearest: dict[int, int] = {}  # topic -> ring id
        self._interests: set[tuple[int, int]] = set()  # this node and peers, with topics

    def __len__(self) -> int:
        return len(self._nearest)

    def apply(self, delta: Delta) -> None:
        for topic, ring_id in delta.nearest.items():
            if ring_id is None:
                self._nearest.pop(topic, None)
            else:
                self._nearest[topic] = ring_id
        self._interests |= delta.gained
        self._interests -= delta.lost

    def subscribes(self, node: int, topic: int) -> bool:
        return (node, topic) in self._interests

    def nearest_subscriber(self, topic: int) -> int | None:
        return self._nearest.get(topic)


class MembershipService:
    """Subscriptions and places on the ring; every change gives the deltas of the nodes that it concerns."""

    def __init__(self) -> None:
        self._ring: list[tuple[int, int]] = []  # ring id and node, ascending
        self._ids: dict[int, int] = {}
        self._topics: dict[int, set[int]] = {}  # of every node
        self._subscribers: dict[int, list[int]] = {}  # topic -> ring ids, ascending
        self._fingers: dict[int, frozenset[int]] = {}  # node -> peers
        self._followers: dict[int, set[int]] = {}  # node -> nodes that have a finger to it

    def enter(self, node: int, ring_id: int) -> None:
        """A node is on the ring from now on, and subscribes to nothing yet."""
        self._ids[node] = ring_id
        insort(self._ring, (ring_id, node))
        self._topics[node] = set()
        self._fingers[node] = frozenset()

    def whole(self, node: int) -> Delta:
        """All that a node has to know, for one that knows nothing."""
        nearest = {topic: self.nearest(node, topic) for topic in sorted(self._subscribers)}
        known = {topic: found for topic, found in nearest.items() if found is not None}
        return Delta(known, self._interests({node, *self._fingers[node]}))

    def leave(self, node: int) -> dict[int, Delta]:
        deltas = [self.unsubscribe(node, topic) for topic in sorted(self._topics[node])]
        self.rewire(node, ())
        self._ring.remove((self._ids.pop(node), node))
        del self._topics[node], self._fingers[node]
        self._followers.pop(node, None)
        return {other: delta for other, delta in merged(deltas).items() if other != node}

    def rewire(self, node: int, peers: Iterable[int]) -> dict[int, Delta]:
        """A node has these fingers from now on: it gets the interests of those that are new."""
        before, after = self._fingers[node], frozenset(peers)
        for peer in before - after:
            self._followers[peer].discard(node)
        for peer in after - before:
            self._followers.setdefault(peer, set()).add(node)
        self._fingers[node] = after
        gained, lost = self._interests(after - before), self._interests(before - after)
        return {node: Delta(gained=gained, lost=lost)} if gained or lost else {}

    def subscribe(self, node: int, topic: int) -> dict[int, Delta]:
        if topic in self._topics[node]:
            return {}
        self._topics[node].add(topic)
        insort(self._subscribers.setdefault(topic, []), self._ids[node])
        return self._changed(node, topic, Delta(gained=frozenset({(node, topic)})))

    def unsubscribe(self, node: int, topic: int) -> dict[int, Delta]:
        if topic not in self._topics[node]:
            return {}
        self._topics[node].discard(topic)
        self._subscribers[topic].remove(self._ids[node])
        if not self._subscribers[topic]:
            del self._subscribers[topic]
        return self._changed(node, topic, Delta(lost=frozenset({(node, topic)})))

    def nearest(self, node: int, topic: int) -> int | None:
        """The ring id of the first other subscriber clockwise."""
        ring, own = self._subscribers.get(topic, []), self._ids[node]
        found = ring[bisect_left(ring, own + 1) % len(ring)] if ring else own
        return None if found == own else found

    def _changed(self, node: int, topic: int, interest: Delta) -> dict[int, Delta]:
        arc = merged([{each: Delta({topic: self.nearest(each, topic)})} for each in self._before(node, topic)])
        return merged([arc, *({each: interest} for each in [node, *sorted(self._followers.get(node, ()))])])

    def _before(self, node: int, topic: int) -> list[int]:
        """The nodes before a node, down to the last other subscriber before it, that one included."""
        own = self._ids[node]
        others = [each for each in self._subscribers.get(topic, []) if each != own]
        last = others[bisect_left(others, own) - 1] if others else own
        start, end = (bisect_left(self._ring, (ring_id, -1)) for ring_id in (last, own))
        found = self._ring[start:end] if last < own else self._ring[start:] + self._ring[:end]
        return [each for _, each in found if each != node]

    def _interests(self, nodes: Iterable[int]) -> frozenset[tuple[int, int]]:
        return frozenset((node, topic) for node in nodes for topic in self._topics.get(node, ()))


def merged(parts: Iterable[Mapping[int, Delta]]) -> dict[int, Delta]:
    """Deltas of several changes in one for each node; what comes later holds."""
    found: dict[int, Delta] = {}
    for part in parts:
        for node, delta in part.items():
            old = found.get(node, Delta())
            gained = (old.gained - delta.lost) | delta.gained
            lost = (old.lost - delta.gained) | delta.lost
            found[node] = Delta({**old.nearest, **delta.nearest}, gained, lost)
    return found
