"""What the nodes of a Vitis network send each other."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from weft.protocol.router import Control, Gossip, Message
from weft.protocol.vitis.descriptor import Descriptor
from weft.protocol.vitis.gateway import Proposal


@dataclass(frozen=True, slots=True)
class Shuffle(Gossip):
    descriptors: list[Descriptor]


@dataclass(frozen=True, slots=True)
class ShuffleAnswer(Gossip):
    descriptors: list[Descriptor]


@dataclass(frozen=True, slots=True)
class Exchange(Gossip):
    descriptors: list[Descriptor]


@dataclass(frozen=True, slots=True)
class ExchangeAnswer(Gossip):
    descriptors: list[Descriptor]


@dataclass(frozen=True, slots=True)
class Heartbeat(Gossip):
    profile: Descriptor  # of the sender
    chosen: bool  # the receiver is in the sender's table
    befriended: bool  # and there as a friend
    refused: bool  # the receiver has the sender as a friend, and is one too many
    proposals: Mapping[int, Proposal]  # by topic
    relayed: tuple[int, ...]  # topics for which the receiver is the sender's next hop to the rendezvous node


@dataclass(frozen=True, slots=True)
class RelayRequest(Gossip):
    """Request for a new relay path; heartbeats renew it."""

    topic: int


@dataclass(frozen=True, slots=True)
class Leave(Gossip):
    pass


class Way(Enum):
    CLUSTER = 0  # from subscriber to subscriber
    UP = 1  # towards the rendezvous node
    DOWN = 2  # away from it, along relay paths


# Bytes of messages without content: kind, topic (4), issuer (4), number (8); of a notification also hops (2) and way.
NOTIFICATION_BYTES, PULL_BYTES = 20, 17


@dataclass(frozen=True, slots=True)
class Notification(Control):
    issuer: int
    number: int
    hops: int  # links travelled since the issuer, this one included
    way: Way


@dataclass(frozen=True, slots=True)
class Pull(Control):
    issuer: int
    number: int


@dataclass(frozen=True, slots=True)
class Pulled(Message):
    pass
