"""Rendezvous routing: Scribe, and iScribe, whose trees grow from the root (BeaConvey section 5.1).

Every topic has a tree rooted at its rendezvous point. A publication ascends greedily from its issuer to the root and
descends over the whole tree from there: it is delivered on the way down only, and to all but its issuer.
Nothing is cached: each publication is routed to the root by itself, as in the paper's evaluation.

- Scribe: a subscriber sends a join towards the root; each node that it comes by takes the one before for a child, and
  passes it on if the node was not in the tree itself. Publications descend against the direction of these fingers.
- iScribe: a subscriber's request goes to the root, which sends a graft back, greedily; each node that the graft
  comes by takes the next one for a child.

By the clockwise distance the routes from a root make a tree by themselves. By the absolute one two of them may meet
again, so a node of iScribe keeps the parent whose graft came over the fewest hops, of several the one of the lowest
identifier, whatever the order in which the grafts come. It releases any other, and joins the better one itself, whose
child it may have ceased to be before. Hops from the root grow along the parents, so there is no cycle.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from weft.protocol.finger import FingerTable
from weft.protocol.router import (
    Control,
    Deliver,
    Effect,
    Event,
    Membership,
    Message,
    Publication,
    Published,
    Received,
    Router,
    Send,
    Subscribed,
)


@dataclass(frozen=True, slots=True)
class Ascending(Message):
    pass


@dataclass(frozen=True, slots=True)
class Descending(Message):
    pass


@dataclass(frozen=True, slots=True)
class Join(Control):
    pass


@dataclass(frozen=True, slots=True)
class Request(Control):
    subscriber: int  # ring id


@dataclass(frozen=True, slots=True)
class Graft(Control):
    subscriber: int  # ring id
    hops: int  # from the root, this one included
    last: int  # the ring id of the node that sends it


@dataclass(frozen=True, slots=True)
class Release(Control):
    """The sender is no child of the receiver."""


class Rendezvous(Router):
    """What both have in common: all but how the trees grow."""

    def __init__(
        self, node: int, fingers: FingerTable, membership: Membership, rendezvous: Callable[[int], int]
    ) -> None:
        self.node = node
        self.fingers = fingers
        self.membership = membership
        self.rendezvous = rendezvous  # topic -> identifier
        self.children: dict[int, set[int]] = {}  # peers, for every topic whose tree this node is in

    def handle(self, event: Event, now: float) -> list[Effect]:
        match event:
            case Published(publication):
                return self._ascend(publication, 0)
            case Received(_, Ascending(publication, hops)):
                return self._ascend(publication, hops)
            case Received(_, Descending(publication, hops)):
                return self._descend(publication, hops)
        return self._grow(event)

    def check_invariants(self) -> None:
        self.fingers.check_invariants()
        for topic, children in self.children.items():
            assert self.node not in children, f"node {self.node} is its own child in the tree of topic {topic}"

    def _grow(self, event: Event) -> list[Effect]:
        raise NotImplementedError

    def _ascend(self, publication: Publication, hops: int) -> list[Effect]:
        climb = self._towards_root(publication.topic, Ascending(publication, hops + 1))
        return climb or self._descend(publication, hops)

    def _descend(self, publication: Publication, hops: int) -> list[Effect]:
        children = sorted(self.children.get(publication.topic, ()))
        return [
            *self._deliver(publication, hops),
            *(Send(child, Descending(publication, hops + 1)) for child in children),
        ]

    def _deliver(self, publication: Publication, hops: int) -> list[Effect]:
        interested = self.membership.subscribes(self.node, publication.topic)
        return [Deliver(publication, hops)] if interested and self.node != publication.issuer else []

    def _towards_root(self, topic: int, message: Message | Control) -> list[Effect]:
        """Send towards the root; nothing where this node is the root."""
        finger = self.fingers.towards(self.rendezvous(topic))
        return [] if finger is None else [Send(finger.peer, message)]


class Scribe(Rendezvous):
    def _grow(self, event: Event) -> list[Effect]:
        match event:
            case Subscribed(topic):
                return self._enter(topic)
            case Received(sender, Join(topic)):
                effects = self._enter(topic)
                self.children[topic].add(sender)
                return effects
        return []

    def _enter(self, topic: int) -> list[Effect]:
        """Enter the tree, if this node is not in it yet."""
        if topic in self.children:
            return []
        self.children[topic] = set()
        return self._towards_root(topic, Join(topic))


class IScribe(Rendezvous):
    def __init__(
        self, node: int, fingers: FingerTable, membership: Membership, rendezvous: Callable[[int], int]
    ) -> None:
        super().__init__(node, fingers, membership, rendezvous)
        self.parents: dict[int, tuple[int, int, int]] = {}  # by topic: hops from the root over it, its ring id, peer

    def _grow(self, event: Event) -> list[Effect]:
        match event:
            case Subscribed(topic):
                return self._request(Request(topic, self.fingers.ring_id))
            case Received(_, Request() as request):
                return self._request(request)
            case Received(sender, Graft() as graft):
                return [*self._choose_parent(sender, graft), *self._graft(graft)]
            case Received(sender, Join(topic)):
                self.children.setdefault(topic, set()).add(sender)
            case Received(sender, Release(topic)):
                self.children.get(topic, set()).discard(sender)
        return []

    def _request(self, request: Request) -> list[Effect]:
        climb = self._towards_root(request.topic, request)
        return climb or self._graft(Graft(request.topic, request.subscriber, 0, self.fingers.ring_id))

    def _graft(self, graft: Graft) -> list[Effect]:
        finger = self.fingers.towards(graft.subscriber)
        if finger is None:
            return []
        self.children.setdefault(graft.topic, set()).add(finger.peer)
        return [Send(finger.peer, replace(graft, hops=graft.hops + 1, last=self.fingers.ring_id))]

    def _choose_parent(self, sender: int, graft: Graft) -> list[Effect]:
        topic, offered = graft.topic, (graft.hops, graft.last, sender)
        parent = self.parents.get(topic, offered)
        self.parents[topic] = min(parent, offered)
        if parent[-1] == sender:
            return []
        if parent < offered:
            return [Send(sender, Release(topic))]
        return [Send(parent[-1], Release(topic)), Send(sender, Join(topic))]
