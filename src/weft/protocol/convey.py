"""BeaConvey's routing: Po (which is NSMF), Pie and Pal.

Cites BeaConvey, Protocols 4 and 5. A message travels to `low` and answers for all subscribers in [low, high).
At `low` it is divided: next hops X0, X1, ... are chosen in the range, and each Xj is sent a message for [Xj, Xj+1).

- Po takes the nearest subscriber and the fingers that subscribe. The rest of a range has no subscriber before X0.
- Pie adds a pivot, the nearest finger in the distant half of the range, if Po has nothing there.
- Pal does as Pie, and where there is no such finger makes a pivot of the first identifier in the distant half.

The distant range is [(low + high) / 2, high), so of an odd number of identifiers it is the smaller part.

Gaps. A node does not know which identifiers are taken, so Pal's pivot may be one that nobody has. The range [q, high)
of such a pivot q belongs to the first node at or after q, if that one is before high. A greedy route towards q ends at
the node nearest to q. By the clockwise distance it never passes q, so that is the last node before q, the only one to
know who comes first after q: its own successor. By the absolute distance it may also be the first node after q itself.
`low` is corrected to the identifier of that first node, and the message sent there, or, when the first node is not in
the range, dropped, for nobody is in the range then. Hence:
- a message is divided by the one node whose identifier is `low`, and its range starts at that node;
- the ranges into which it is divided are disjoint, so nobody is served twice;
- what they leave out, between low and X0 and in the gap before a corrected pivot, has no subscriber: nobody is missed;
- each hop brings a message closer to `low`, and each division makes its range smaller, so it all ends.
An overlay needs but one thing for this: every node has its successor among its fingers. Whatever the reading of
weft.model.forwarding, one of the links that a node may send over then leads closer to any other node: by the clockwise
distance its successor, by the absolute one its successor or its predecessor.

Losses. A message that a link could not carry is sent again, over the fingers that the node has by then, until it is
carried. A link may report a message that has arrived, so that it comes twice; and where nodes come and go, two messages
may answer for the same part of the ring. So a node remembers what it has done with the publications of late: it divides
the same range once, and its clients get a publication once. What comes twice costs its own hops, and no more.
"""

from dataclasses import dataclass, replace

from weft.model.ring import contains, width
from weft.protocol.finger import FingerTable
from weft.protocol.recall import Recall
from weft.protocol.router import (
    Deliver,
    Effect,
    Event,
    Membership,
    Message,
    Published,
    Received,
    Rewired,
    Router,
    Send,
    Undelivered,
)

MEMORY = 60_000.0  # milliseconds for which a publication is remembered; longer than any travels
DELIVERED, DIVIDED = 1, 2  # steps that are taken once: with a publication, with a range of it


@dataclass(frozen=True, slots=True)
class Ranged(Message):
    low: int  # where it goes, an identifier; the range starts here
    high: int  # where the range ends, exclusive; equal to low it is the whole ring


class Po(Router):
    """Routing without a pivot."""

    def __init__(self, node: int, fingers: FingerTable, membership: Membership) -> None:
        self.node = node
        self.fingers = fingers
        self.membership = membership
        self._recall = Recall(MEMORY)

    def handle(self, event: Event, now: float) -> list[Effect]:
        match event:
            case Published(publication):
                self._recall.is_first(DELIVERED, publication.identity, now)
                return self._spread(Ranged(publication, 0, self.fingers.ring_id, self.fingers.ring_id), now)
            case Received(_, Ranged() as message) if message.low == self.fingers.ring_id:
                return self._divide(message, now)
            case Received(_, Ranged() as message):
                return self._send(message, now)
            case Undelivered(peer, Ranged() as message):
                back = replace(message, hops=message.hops - 1)
                is_here = message.low == self.fingers.ring_id  # this node has moved since
                return self.handle(Received(peer, back), now) if is_here else self._send(back, now)
            case Rewired(fingers):
                self.fingers = fingers
        return []

    def check_invariants(self) -> None:
        self.fingers.check_invariants()

    def _divide(self, message: Ranged, now: float) -> list[Effect]:
        """Deliver, and answer for the range; nothing where this node has done so before."""
        identity = message.publication.identity
        if not self._recall.is_first(DIVIDED, (identity, message.low, message.high), now):
            return []
        wanted = self.membership.subscribes(self.node, message.publication.topic)
        first = wanted and self._recall.is_first(DELIVERED, identity, now)
        delivered: list[Effect] = [Deliver(message.publication, message.hops)] if first else []
        return delivered + self._spread(message, now)

    def _spread(self, message: Ranged, now: float) -> list[Effect]:
        hops = self._next_hops(message)
        ends = [*hops[1:], message.high]
        return [
            effect
            for low, high in zip(hops, ends, strict=False)
            for effect in self._send(Ranged(message.publication, message.hops, low, high), now)
        ]

    def _send(self, message: Ranged, now: float) -> list[Effect]:
        link = self.fingers.towards(message.low)
        if link is not None:
            return [Send(link.peer, replace(message, hops=message.hops + 1))]
        first = self.fingers.first_from(message.low)
        low = self.fingers.ring_id if first is None else first.ring_id
        if not contains(message.low, message.high, low, self.fingers.ring_size):
            return []
        if first is None:
            return self._divide(replace(message, low=low), now)
        return [Send(first.peer, replace(message, hops=message.hops + 1, low=low))]

    def _next_hops(self, message: Ranged) -> list[int]:
        """Identifiers, nearest first."""
        topic = message.publication.topic
        reach = width(message.low, message.high, self.fingers.ring_size)
        nearest = self.membership.nearest_subscriber(topic)
        if nearest is None or self.fingers.distance(nearest) >= reach:
            return []
        matched = [
            finger.ring_id
            for finger in self.fingers.between(self.fingers.distance(nearest) + 1, reach)
            if self.membership.subscribes(finger.peer, topic)
        ]
        hops = [nearest, *matched]
        middle = (reach + 1) // 2
        if self.fingers.distance(hops[-1]) >= middle:
            return hops
        return hops + self._pivot(middle, reach)

    def _pivot(self, middle: int, reach: int) -> list[int]:
        """One identifier or none, at a distance of middle..reach-1."""
        return []


class Pie(Po):
    """Routing with a pivot where a finger offers one."""

    def _pivot(self, middle: int, reach: int) -> list[int]:
        return [finger.ring_id for finger in self.fingers.between(middle, reach)[:1]]


class Pal(Pie):
    """Routing with a pivot always."""

    def _pivot(self, middle: int, reach: int) -> list[int]:
        return super()._pivot(middle, reach) or [self.fingers.at(middle)]
