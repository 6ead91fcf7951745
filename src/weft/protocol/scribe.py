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

How trees mend. What a link could not carry is sent again: what ascends, and what asks for a place in the tree, over
the fingers that the node has by then; what descends, to the child as long as a link leads there. Where a link closes,
both ends hear of it (`Unlinked`). The parent forgets the child. The child, which has a part of the tree below it,
looks for a new parent as a subscriber would, and says that it does so again: whoever takes it for a child sends it the
publications of late, among which are those that could not be carried. It passes on those that it has not had. A root
that is the root no more, since a node nearer to the topic's identifier has joined, looks for a parent in the same
manner, and who finds none nearer than itself is the root, and has no parent. There is no cycle: in Scribe every parent
lies nearer to the identifier; in iScribe a graft that was asked for again is better than all before it, by the time at
the root, so that along the parents grafts get younger, and among those of the same time hops fewer. A graft that was
under way when its link closed makes no parent.

Who unsubscribes, and has no child, leaves the tree; so do relays that are left without one.

Every node does each step once with a publication (`Recall`), so that clients get it once. A publication is lost where
the node that has it fails before a neighbour does, and where more than `kept` others came in before a part was joined
again.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf

from weft.protocol.finger import FingerTable
from weft.protocol.recall import Recall, Recent
from weft.protocol.router import (
    Control,
    Deliver,
    Effect,
    Event,
    Membership,
    Message,
    Packet,
    Publication,
    Published,
    Received,
    Rewired,
    Router,
    Send,
    Subscribed,
    Undelivered,
    Unlinked,
    Unsubscribed,
)

TRANSIT = 500.0  # milliseconds that a message is on a link at most
DELIVERED, PASSED_ON = 1, 2  # steps that are taken once with each publication


@dataclass(frozen=True)
class Memory:
    milliseconds: float = 60_000.0  # for which a publication is remembered; longer than any travels
    kept: int = 1_000  # publications that a node keeps for children that come again, at most
    patience: float = 30_000.0  # milliseconds after which a place in a tree is asked for again, above 0

    def __post_init__(self) -> None:
        if not (self.milliseconds >= 0 and self.kept >= 0 and self.patience > 0):
            raise ValueError(f"{self}: give milliseconds and kept from 0, and a patience above 0")


DEFAULT_MEMORY = Memory()


@dataclass(frozen=True, slots=True)
class Ascending(Message):
    pass


@dataclass(frozen=True, slots=True)
class Descending(Message):
    pass


@dataclass(frozen=True, slots=True)
class Join(Control):
    """The sender wants to be a child of the receiver."""

    again: bool = False  # it had a parent before, and may have missed something


@dataclass(frozen=True, slots=True)
class Request(Control):
    subscriber: int  # ring id
    again: bool = False


@dataclass(frozen=True, slots=True)
class Graft(Control):
    subscriber: int  # ring id
    hops: int  # from the root, this one included
    last: int  # the ring id of the node that sends it
    again: float = 0.0  # milliseconds, when the root sent it, where it was asked for again; 0: for the first time


@dataclass(frozen=True, slots=True)
class Release(Control):
    """The sender is no child of the receiver, having a better parent."""


@dataclass(frozen=True, slots=True)
class Refuse(Control):
    """The receiver is no child of the sender: their link has been closed since it asked."""


@dataclass(frozen=True, slots=True)
class Leave(Control):
    """The sender is no child of the receiver, and in the tree no more."""


class Rendezvous(Router):
    """What both have in common: all but how the trees grow."""

    def __init__(
        self,
        node: int,
        fingers: FingerTable,
        membership: Membership,
        rendezvous: Callable[[int], int],
        memory: Memory = DEFAULT_MEMORY,
    ) -> None:
        self.node = node
        self.fingers = fingers
        self.membership = membership
        self.rendezvous = rendezvous  # topic -> identifier
        self.children: dict[int, set[int]] = {}  # peers, for every topic whose tree this node is in
        self._closed: dict[int, float] = {}  # peers, when their link was closed lately
        self._recall = Recall(memory.milliseconds)
        self._recent = Recent(memory.milliseconds / 4, memory.kept)  # what is passed on late is remembered longer

    def handle(self, event: Event, now: float) -> list[Effect]:
        match event:
            case Published(publication):
                self._recall.is_first(DELIVERED, publication.identity, now)
                return self._ascend(publication, 0, now)
            case Received(_, Ascending(publication, hops)):
                return self._ascend(publication, hops, now)
            case Received(sender, Descending(publication, hops)):
                return [*self._correct(sender, publication.topic), *self._descend(publication, hops, now)]
            case Undelivered(_, Ascending(publication, hops)):
                return self._ascend(publication, hops - 1, now)
            case Undelivered(peer, Descending() as message):
                return [] if self._has_closed(peer, now, 4 * TRANSIT) else [Send(peer, message)]
            case Received(sender, Join(topic)) if self._has_closed(sender, now):
                return [Send(sender, Refuse(topic))]
            case Received(sender, Refuse(topic)) if topic in self.children and self._parent(topic) == sender:
                self._forget_parent(topic)
                return self._seek(topic, now)
            case Undelivered(peer, Refuse() as message) if self._has_closed(peer, now, 4 * TRANSIT):
                return [Send(peer, message)]
            case Received(sender, Release(topic)):
                self.children.get(topic, set()).discard(sender)
                return []
            case Received(sender, Leave(topic)):
                self.children.get(topic, set()).discard(sender)
                return self._shrink(topic)
            case Unsubscribed(topic):
                return self._shrink(topic)
            case Rewired(fingers):
                self.fingers = fingers
                return [each for topic in self._in_order() for each in self._place_again(topic, now)]
            case Unlinked(peer):
                return self._part(peer, now)
        return self._grow(event, now)

    def check_invariants(self) -> None:
        self.fingers.check_invariants()
        for topic, children in self.children.items():
            assert self.node not in children, f"node {self.node} is its own child in the tree of topic {topic}"

    def _grow(self, event: Event, now: float) -> list[Effect]:
        raise NotImplementedError

    def _parent(self, topic: int) -> int | None:
        """The peer above this node in a topic's tree; None at the root, and where there is none yet."""
        raise NotImplementedError

    def _forget_parent(self, topic: int) -> None:
        raise NotImplementedError

    def _seek(self, topic: int, now: float) -> list[Effect]:
        """Look for a parent, again."""
        raise NotImplementedError

    def _in_order(self) -> list[int]:
        """The topics whose trees this node is in."""
        return sorted(self.children)

    def _correct(self, sender: int, topic: int) -> list[Effect]:
        """Tell a peer that takes this node for its child by mistake: what told it so was lost."""
        if topic not in self.children and not self.membership.subscribes(self.node, topic):
            return [Send(sender, Leave(topic))]
        return [Send(sender, Release(topic))] if self._parent(topic) not in (None, sender) else []

    def _has_closed(self, peer: int, now: float, since: float = TRANSIT) -> bool:
        """Whether the link with a peer was closed so lately that a message may have been under way."""
        return now - self._closed.get(peer, -inf) < since

    def _is_root(self, topic: int) -> bool:
        return self.fingers.towards(self.rendezvous(topic)) is None

    def _place_again(self, topic: int, now: float) -> list[Effect]:
        """Find this node's place with other fingers: the root has no parent, and others look for one that have none."""
        parent = self._parent(topic)
        if self._is_root(topic):
            self._forget_parent(topic)
            return [] if parent is None else [Send(parent, Release(topic))]
        return self._seek(topic, now) if parent is None else []

    def _part(self, peer: int, now: float) -> list[Effect]:
        """Do without a peer that no link leads to any more."""
        self._closed = {each: time for each, time in self._closed.items() if now - time < 4 * TRANSIT} | {peer: now}
        effects = []
        for topic in self._in_order():
            self.children[topic].discard(peer)
            if self._parent(topic) == peer:
                self._forget_parent(topic)
                effects += self._shrink(topic)
                if topic in self.children:
                    effects += self._seek(topic, now)
            else:
                effects += self._shrink(topic)
        return effects

    def _shrink(self, topic: int) -> list[Effect]:
        """Leave the tree where this node is of no use in it."""
        if topic not in self.children or self.children[topic] or self.membership.subscribes(self.node, topic):
            return []
        parent = self._parent(topic)
        del self.children[topic]
        self._forget_parent(topic)
        return [] if parent is None else [Send(parent, Leave(topic))]

    def _missed(self, topic: int, child: int, now: float) -> list[Effect]:
        """What a child that has come again may have missed."""
        return [Send(child, Descending(said, hops + 1)) for said, hops in self._recent.of(topic, now)]

    def _ascend(self, publication: Publication, hops: int, now: float) -> list[Effect]:
        climb = self._towards_root(publication.topic, Ascending(publication, hops + 1))
        return climb or self._descend(publication, hops, now)

    def _descend(self, publication: Publication, hops: int, now: float) -> list[Effect]:
        if not self._recall.is_first(PASSED_ON, publication.identity, now):
            return []
        self._recent.add(publication, hops, now)
        children = sorted(self.children.get(publication.topic, ()))
        return [
            *self._deliver(publication, hops, now),
            *(Send(child, Descending(publication, hops + 1)) for child in children),
        ]

    def _deliver(self, publication: Publication, hops: int, now: float) -> list[Effect]:
        wanted = self.membership.subscribes(self.node, publication.topic) and self.node != publication.issuer
        first = wanted and self._recall.is_first(DELIVERED, publication.identity, now)
        return [Deliver(publication, hops)] if first else []

    def _towards_root(self, topic: int, message: Packet) -> list[Effect]:
        """Send towards the root; nothing where this node is the root."""
        finger = self.fingers.towards(self.rendezvous(topic))
        return [] if finger is None else [Send(finger.peer, message)]


class Scribe(Rendezvous):
    def __init__(
        self,
        node: int,
        fingers: FingerTable,
        membership: Membership,
        rendezvous: Callable[[int], int],
        memory: Memory = DEFAULT_MEMORY,
    ) -> None:
        super().__init__(node, fingers, membership, rendezvous, memory)
        self._parents: dict[int, int] = {}  # by topic

    def _grow(self, event: Event, now: float) -> list[Effect]:
        match event:
            case Subscribed(topic):
                return self._enter(Join(topic))
            case Received(sender, Join(topic, again) as join):
                effects = self._enter(join)
                self.children[topic].add(sender)
                return effects + (self._missed(topic, sender, now) if again else [])
            case Undelivered(peer, Join(topic) as join) if self._parents.get(topic) == peer:
                return [Send(peer, join)]
        return []

    def _parent(self, topic: int) -> int | None:
        return self._parents.get(topic)

    def _forget_parent(self, topic: int) -> None:
        self._parents.pop(topic, None)

    def _enter(self, join: Join) -> list[Effect]:
        """Enter the tree, if this node is not in it yet."""
        if join.topic in self.children:
            return []
        self.children[join.topic] = set()
        return self._climb(join)

    def _seek(self, topic: int, now: float) -> list[Effect]:
        return self._climb(Join(topic, again=True))

    def _climb(self, join: Join) -> list[Effect]:
        finger = self.fingers.towards(self.rendezvous(join.topic))
        if finger is None:
            return []
        self._parents[join.topic] = finger.peer
        return [Send(finger.peer, join)]


class IScribe(Rendezvous):
    def __init__(
        self,
        node: int,
        fingers: FingerTable,
        membership: Membership,
        rendezvous: Callable[[int], int],
        memory: Memory = DEFAULT_MEMORY,
    ) -> None:
        super().__init__(node, fingers, membership, rendezvous, memory)
        # By topic: when the graft was asked for again, negative so that the last is the least; hops from the root over
        # the parent, its ring id, and the parent. The least is the best.
        self.parents: dict[int, tuple[float, int, int, int]] = {}
        self._patience = memory.patience
        self._awaited: dict[int, float] = {}  # by topic, when a graft that has not come is asked for again

    def next_deadline(self) -> float | None:
        return min(self._awaited.values(), default=None)

    def on_timer(self, now: float) -> list[Effect]:
        due = sorted(topic for topic, time in self._awaited.items() if time <= now)
        return [each for topic in due for each in self._seek(topic, now)]

    def _grow(self, event: Event, now: float) -> list[Effect]:
        match event:
            case Subscribed(topic):
                self.children.setdefault(topic, set())
                return self._ask(Request(topic, self.fingers.ring_id), now)
            case Received(_, Request() as request) | Undelivered(_, Request() as request):
                return self._request(request, now)
            case Received(sender, Graft() as graft):
                self.children.setdefault(graft.topic, set())
                chosen = self._choose_parent(sender, graft, now)
                return [*chosen, *self._graft(graft, now), *self._shrink(graft.topic)]
            case Undelivered(peer, Graft(topic, subscriber) as graft):
                if peer in self.children.get(topic, ()):
                    return [Send(peer, graft)]
                return self._request(Request(topic, subscriber, again=True), now)  # this node may have left the tree
            case Received(sender, Join(topic)):
                self.children.setdefault(topic, set()).add(sender)
                return self._place_again(topic, now)  # this node may have left the tree meanwhile
            case Undelivered(peer, Join(topic) as message) if self._parent(topic) == peer:
                return [Send(peer, message)]
        return []

    def _parent(self, topic: int) -> int | None:
        return self.parents[topic][-1] if topic in self.parents else None

    def _forget_parent(self, topic: int) -> None:
        self.parents.pop(topic, None)
        self._awaited.pop(topic, None)

    def _seek(self, topic: int, now: float) -> list[Effect]:
        return self._ask(Request(topic, self.fingers.ring_id, again=True), now)

    def _ask(self, request: Request, now: float) -> list[Effect]:
        """Ask the root for a graft, until it comes: the node that had it may fail."""
        climb = self._towards_root(request.topic, request)
        if climb:
            self._awaited[request.topic] = now + self._patience
        else:
            self._awaited.pop(request.topic, None)
        return climb

    def _request(self, request: Request, now: float) -> list[Effect]:
        climb = self._towards_root(request.topic, request)
        again = now if request.again else 0.0
        return climb or self._graft(Graft(request.topic, request.subscriber, 0, self.fingers.ring_id, again), now)

    def _graft(self, graft: Graft, now: float) -> list[Effect]:
        finger = self.fingers.towards(graft.subscriber)
        if finger is None:
            return []
        self.children.setdefault(graft.topic, set()).add(finger.peer)
        onward = Send(finger.peer, replace(graft, hops=graft.hops + 1, last=self.fingers.ring_id))
        return [onward, *(self._missed(graft.topic, finger.peer, now) if graft.again else [])]

    def _choose_parent(self, sender: int, graft: Graft, now: float) -> list[Effect]:
        topic, offered = graft.topic, (-graft.again, graft.hops, graft.last, sender)
        if self._has_closed(sender, now):
            return self._seek(topic, now) if topic not in self.parents else []
        self._awaited.pop(topic, None)
        if self._is_root(topic):
            return [Send(sender, Release(topic))]
        parent = self.parents.get(topic, offered)
        self.parents[topic] = min(parent, offered)
        if parent[-1] == sender:
            return [Send(sender, Join(topic))] if graft.again else []  # what released it may be on its way there
        if parent < offered:
            return [Send(sender, Release(topic))]
        return [Send(parent[-1], Release(topic)), Send(sender, Join(topic))]
