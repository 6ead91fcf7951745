"""Weave: every topic has one tree of the overlay's links, which all its publications share.

A node in the tree of a topic, a subscriber or a relay, has a table: its neighbours in the tree. What comes from one of
them goes to all others. Who publishes on a topic without a table for it has a way to the tree, which the master told it
when it asked, and keeps it for each such topic: the peers that the publication goes by, one to three mostly. It carries
the rest of its way, so that the nodes on it keep nothing, and the first one with a table lets it into the tree. Where
there is no way, or it leads nowhere any more, the publication goes on to the nearest subscriber over the ring.

Tables come from a master (weft.protocol.loom), which may change them at any time, and nodes and links may fail. Where
a node cannot rely on its table it falls back on Pie over the whole ring, which needs no tables and reaches everyone:

- it has no table, though a neighbour or a subscription of its own says it should;
- the publication comes from somebody who is not in its table;
- its table was changed a short time ago (`settling`), so that others may not have theirs yet;
- its neighbour could not be given the publication.

Why nobody is missed by a change: suppose that tables come to a node in the order in which they were given out, and all
tables of a change within `settling`, less the time that a publication travels. If the publication comes to a node that
has a changed table, that node falls back. Otherwise it comes to nodes with the tables from before alone, and these are
a whole tree. (Who subscribes is served from when all tables of its subscription have come.) A publication may come to a
node in several ways then, so that nodes remember for a time what they have delivered: clients get it once. While tables
rest, each member receives it exactly once. What a node has not handed over when it fails is lost with it; what the ring
does not carry is sent again until it does.

A change that only adds to a tree, or only takes ends away, needs no such care (`safe`): tables of before and after, in
any mixture, lead over all of the smaller tree. A new table is relied on at once then, and a node whose table was taken
away lately keeps silent where somebody has not heard of it yet.

Without a ring there is no fallback, and only members can publish.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass

from weft.protocol.convey import Pie, Ranged
from weft.protocol.finger import FingerTable
from weft.protocol.recall import Recall
from weft.protocol.router import (
    Assigned,
    Deliver,
    Directed,
    Effect,
    Event,
    Membership,
    Message,
    Publication,
    Published,
    Received,
    Rewired,
    Router,
    Send,
    Undelivered,
)

NOBODY: frozenset[int] = frozenset()
DELIVERED, PASSED_ON, FALLEN_BACK = 1, 2, 4  # steps that are taken once with each publication


@dataclass(frozen=True)
class Patience:
    settling: float = 5_000.0  # milliseconds after its change for which a table is not relied on
    memory: float = 60_000.0  # milliseconds for which a publication is remembered; longer than any travels

    def __post_init__(self) -> None:
        if not 0 <= self.settling <= self.memory:
            raise ValueError(f"settling is {self.settling} and memory {self.memory}: 0 <= settling <= memory is wanted")


DEFAULT_PATIENCE = Patience()


@dataclass(frozen=True, slots=True)
class Woven(Message):
    """A message within the tree."""


@dataclass(frozen=True, slots=True)
class Entering(Message):
    """A message on its path to the tree."""

    way: tuple[int, ...] = ()  # the peers that are left of it; by the ring where none are


class Weave(Router):
    def __init__(
        self,
        node: int,
        membership: Membership,
        fingers: FingerTable | None,
        tables: Mapping[int, frozenset[int]] | None = None,
        patience: Patience = DEFAULT_PATIENCE,
        ways: Mapping[int, tuple[int, ...]] | None = None,
    ) -> None:
        self.node = node
        self.membership = membership
        self.pie = None if fingers is None else Pie(node, fingers, membership)
        self.tables = dict(tables or {})  # topic -> neighbours; these are relied on at once
        self.ways = dict(ways or {})  # topic -> peers on the way to its tree
        self.patience = patience
        self._recall = Recall(patience.memory)
        self._settled: dict[int, float] = {}  # by topic, when its table can be relied on
        self._left: dict[int, float] = {}  # by topic, until when others may think that this node is in the tree

    def handle(self, event: Event, now: float) -> list[Effect]:
        match event:
            case Published(publication):
                self.own(publication.identity, now)
                return self._enter(publication, 0, self.ways.get(publication.topic, ()), now)
            case Received(sender, Woven(publication, hops)):
                return self._pass_on(publication, hops, sender, now)
            case Received(_, Entering(publication, hops, way)):
                return self._enter(publication, hops, way, now)
            case Undelivered(_, Woven(publication, hops)):
                return self._fall_back(publication, hops - 1, now)
            case Undelivered(_, Entering(publication, hops)):
                return self._enter(publication, hops - 1, (), now)
            case Received(_, Ranged()) | Undelivered(_, Ranged()) | Rewired():
                return self._by_pie(event, now)
            case Assigned(topic, neighbours, safe):
                self._assign(topic, neighbours, safe, now)
            case Directed(topic, way):
                self.ways[topic] = way
        return []

    def check_invariants(self) -> None:
        if self.pie is not None:
            self.pie.check_invariants()
        for topic, neighbours in self.tables.items():
            assert self.node not in neighbours, f"node {self.node} is its own neighbour in the tree of topic {topic}"

    def _assign(self, topic: int, neighbours: frozenset[int] | None, safe: bool, now: float) -> None:
        self._left.pop(topic, None)
        if neighbours is None:
            self.tables.pop(topic, None)
            self._settled.pop(topic, None)
            if safe:
                self._left[topic] = now + self.patience.settling
        else:
            self.tables[topic] = neighbours
            if not safe:
                self._settled[topic] = now + self.patience.settling

    def _enter(self, publication: Publication, hops: int, way: tuple[int, ...], now: float) -> list[Effect]:
        if publication.topic in self.tables:
            return self._pass_on(publication, hops, None, now)
        if way:
            return [Send(way[0], Entering(publication, hops + 1, way[1:]))]
        if self.pie is None or self.membership.subscribes(self.node, publication.topic):
            return self._fall_back(publication, hops, now)
        nearest = self.membership.nearest_subscriber(publication.topic)
        finger = None if nearest is None else self.pie.fingers.towards(nearest)
        return [] if finger is None else [Send(finger.peer, Entering(publication, hops + 1))]

    def _pass_on(self, publication: Publication, hops: int, sender: int | None, now: float) -> list[Effect]:
        """Deliver and forward to all neighbours but the sender, which is None where the publication enters the tree."""
        found = self.spread(publication.identity, publication.topic, sender, now)
        if found is None:
            return []
        peers, is_delivered = found
        effects: list[Effect] = [Deliver(publication, hops)] if is_delivered else []
        effects += [Send(peer, Woven(publication, hops + 1)) for peer in sorted(peers)]
        if self.relies_on_table(publication.topic, sender, now):
            return effects
        return effects + self._fall_back(publication, hops, now)

    def own(self, identity: Hashable, now: float, steps: int = DELIVERED) -> None:
        """Note a publication of this node's: it is not delivered here, and passed on if that is among the steps."""
        self._recall.is_first(steps, identity, now)

    def spread(
        self, identity: Hashable, topic: int, sender: int | None, now: float
    ) -> tuple[frozenset[int], bool] | None:
        """The neighbours that a publication goes on to, and whether it is delivered here; None if it came before.

        Where the table is relied on this is all that there is to do. Who carries many publications asks for it
        directly, and spares the events and effects.
        """
        is_delivered = self.take(identity, self.membership.subscribes(self.node, topic), now)
        return None if is_delivered is None else (self.tables.get(topic, NOBODY) - {sender}, is_delivered)

    def take(self, identity: Hashable, subscribes: bool, now: float) -> bool | None:
        """Note that a publication is passed on. Whether it is delivered here; None if it came before."""
        if not self._recall.is_first(PASSED_ON, identity, now):
            return None
        return subscribes and self._recall.is_first(DELIVERED, identity, now)

    def relies_on_table(self, topic: int, sender: int | None, now: float) -> bool:
        if topic not in self.tables:
            return now < self._left.get(topic, now)
        known = sender is None or sender in self.tables[topic]
        return known and now >= self._settled.get(topic, now)

    def _fall_back(self, publication: Publication, hops: int, now: float) -> list[Effect]:
        if not self._recall.is_first(FALLEN_BACK, publication.identity, now):
            return []
        if self.pie is None:
            return self._deliver(publication, hops, now)
        ring_id = self.pie.fingers.ring_id
        return self._by_pie(Received(self.node, Ranged(publication, hops, ring_id, ring_id)), now)

    def _by_pie(self, event: Event, now: float) -> list[Effect]:
        effects = [] if self.pie is None else self.pie.handle(event, now)
        sends: list[Effect] = [effect for effect in effects if isinstance(effect, Send)]
        delivers = [effect for effect in effects if isinstance(effect, Deliver)]
        return [
            *(each for own in delivers for each in self._deliver(own.publication, own.hops, now)),
            *sends,
        ]

    def _deliver(self, publication: Publication, hops: int, now: float) -> list[Effect]:
        if not self.membership.subscribes(self.node, publication.topic):
            return []
        return [Deliver(publication, hops)] if self._recall.is_first(DELIVERED, publication.identity, now) else []
