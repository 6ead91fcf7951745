"""What a router is: it takes events and returns effects, and has no clock, sockets or random numbers of its own.

The simulator and the live node drive the same routers. A driver hands over each event with the time it happened,
carries out the effects in order, and calls `on_timer` when `next_deadline` has come. Same events, same effects.

The issuer of a publication has it already: a router delivers to every other subscriber, and never to the issuer,
whether it subscribes or not. Messages that carry a publication count their hops from the issuer.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Protocol

from weft.protocol.finger import FingerTable


@dataclass(frozen=True, slots=True)
class Publication:
    issuer: int  # node
    number: int  # distinguishes the publications of an issuer
    topic: int
    content: bytes = b""

    @property
    def identity(self) -> Hashable:
        """What tells it from all others, on its topic."""
        return self.issuer, self.number, self.topic


class Packet:
    """What travels on a link."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Message(Packet):
    """Carries a publication over a link; every router adds what it needs to know at the other end."""

    publication: Publication
    hops: int  # links travelled since the issuer, this one included


@dataclass(frozen=True, slots=True)
class Control(Packet):
    """Tells a peer about a topic, and carries no publication."""

    topic: int


class Gossip(Packet):
    """Tells a peer about nodes and links, for the upkeep of the overlay."""

    __slots__ = ()


class Event:
    """What happened, as a driver reports it to a router."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Published(Event):
    """A client of this node has said something."""

    publication: Publication


@dataclass(frozen=True, slots=True)
class Received(Event):
    sender: int
    message: Packet


@dataclass(frozen=True, slots=True)
class Subscribed(Event):
    """This node has become a subscriber, and its membership service says so."""

    topic: int


@dataclass(frozen=True, slots=True)
class Undelivered(Event):
    """A message of this node has not reached its peer, as far as the link knows: it may have arrived all the same."""

    peer: int
    message: Packet


@dataclass(frozen=True, slots=True)
class Rewired(Event):
    """This node has other fingers from now on."""

    fingers: FingerTable


@dataclass(frozen=True, slots=True)
class Unlinked(Event):
    """The link with a peer is closed for good: it has left or failed, or the overlay has changed.

    A node that has other fingers now has heard of them before.
    """

    peer: int


@dataclass(frozen=True, slots=True)
class Assigned(Event):
    """The master has given this node a table for a topic, or, by None, taken away the one it had."""

    topic: int
    neighbours: frozenset[int] | None
    safe: bool = False  # the tree only grew, or only shrank


@dataclass(frozen=True, slots=True)
class Directed(Event):
    """The master has told this node its way into the tree of a topic that it publishes on: peers, in their order."""

    topic: int
    way: tuple[int, ...]  # the last one is in the tree; none where the node is to find its own


@dataclass(frozen=True, slots=True)
class Unsubscribed(Event):
    topic: int


@dataclass(frozen=True, slots=True)
class Joined(Event):
    """This node has entered the network."""

    contact: object  # what the router needs to know of one node that is in it; None for the first


@dataclass(frozen=True, slots=True)
class Left(Event):
    """This node is to leave the network."""


@dataclass(frozen=True, slots=True)
class Send:
    peer: int
    message: Packet


@dataclass(frozen=True, slots=True)
class Deliver:
    """Deliver to the clients of this node."""

    publication: Publication
    hops: int


Effect = Send | Deliver


class Router(Protocol):
    def handle(self, event: Event, now: float) -> list[Effect]: ...

    def next_deadline(self) -> float | None:
        return None

    def on_timer(self, now: float) -> list[Effect]:
        return []

    def check_invariants(self) -> None: ...


class Membership(Protocol):
    """What a node knows of the interest around it; where the knowledge comes from is not a router's concern."""

    def subscribes(self, node: int, topic: int) -> bool:
        """Whether the node subscribes: this one, or a peer that it has a finger to."""
        ...

    def nearest_subscriber(self, topic: int) -> int | None:
        """The ring id of the first other subscriber clockwise; None where there is no other."""
        ...
