"""What PopSub brokers hear from their clients, say to each other, and hand over to their clients.

`Forward`, `Batch` and the five controls after them travel on links of the tree; the rest goes from any broker to any
other, out of the overlay. A publication's topic is the number of the advertisement that it is said under.
"""

from dataclasses import dataclass, field
from enum import StrEnum

from weft.errors import Exit, WeftError
from weft.model.content import Advertisement, Content, Subscription
from weft.protocol import router
from weft.protocol.router import Deliver, Event, Packet


@dataclass(frozen=True, slots=True)
class Publication(router.Publication):
    """Numbers of one advertisement ascend in the order in which they were said."""

    said: Content = field(kw_only=True)


@dataclass(frozen=True, slots=True)
class Advertised(Event):
    """A client of this broker advertised; the next three events are clients' too."""

    advertisement: Advertisement


@dataclass(frozen=True, slots=True)
class Unadvertised(Event):
    advertisement: int


@dataclass(frozen=True, slots=True)
class Subscribed(Event):
    subscription: Subscription


@dataclass(frozen=True, slots=True)
class Unsubscribed(Event):
    subscription: int


@dataclass(frozen=True, slots=True)
class Queued(Event):
    """The driver found so many messages waiting for this broker."""

    length: int


@dataclass(frozen=True, slots=True)
class Linked(Event):
    """A link of the tree has come up; what either end says over it arrives in order."""

    peer: int


@dataclass(frozen=True, slots=True)
class Unlinked(Event):
    """A link of the tree has gone, and what was under way on it does not arrive any more."""

    peer: int


@dataclass(frozen=True, slots=True)
class Notify(Deliver):
    """Deliver to the clients that own these subscriptions."""

    subscriptions: tuple[int, ...]
    popular: bool  # it came along the tree and was not batched


class MessageError(WeftError):
    """Another broker sent what is no message of these."""

    exit_code = Exit.SURROUNDINGS


class Switch(StrEnum):
    """What a forwarded publication announces to the subscribers about those that follow."""

    NONE = "none"
    GOSSIP = "gossip"
    TREE = "tree"


@dataclass(frozen=True, slots=True)
class Forward(router.Message):
    switch: Switch = Switch.NONE
    view: tuple[int, ...] = ()  # members to gossip with
    digest: tuple[int, ...] = ()  # what was gossiped before the switch back to the tree


@dataclass(frozen=True, slots=True)
class Batch(Packet):
    publications: tuple[Publication, ...]  # all of one advertisement
    hops: int


@dataclass(frozen=True, slots=True)
class Advertise(Packet):
    advertisement: Advertisement


@dataclass(frozen=True, slots=True)
class Unadvertise(Packet):
    advertisement: int


@dataclass(frozen=True, slots=True)
class Subscribe(Packet):
    subscription: Subscription
    origin: int
    hops: int  # links from the origin, this one included


@dataclass(frozen=True, slots=True)
class Unsubscribe(Packet):
    subscription: int


@dataclass(frozen=True, slots=True)
class Sweep(Packet):
    """The issuer is about to forget these publications: who lacks any may ask for them."""

    advertisement: int
    issuer: int
    digest: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Direct(Packet):
    publication: Publication


@dataclass(frozen=True, slots=True)
class Join(Packet):
    """Invitation to a group, for a subscriber that came after the switch to gossip."""

    advertisement: int
    issuer: int
    latest: int  # publication when it was sent
    view: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Gossip(Packet):
    advertisement: int
    publications: tuple[Publication, ...]
    digest: tuple[int, ...]
    joined: tuple[int, ...]
    left: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Retrieve(Packet):
    advertisement: int
    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Retrieved(Packet):
    publications: tuple[Publication, ...]
