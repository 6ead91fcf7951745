"""A tracer that keeps what it sees of publications."""

from dataclasses import dataclass, field
from typing import NamedTuple

from weft.protocol.router import Deliver, Message, Packet, Publication


class Hop(NamedTuple):
    time: float  # when it was sent, milliseconds
    sender: int
    receiver: int
    publication: Publication


class Delivery(NamedTuple):
    time: float  # milliseconds
    node: int
    publication: Publication
    hops: int  # from the issuer


@dataclass
class Record:
    hops: list[Hop] = field(default_factory=list)
    deliveries: list[Delivery] = field(default_factory=list)
    controls: int = 0  # messages that carry no publication

    def sent(self, now: float, sender: int, receiver: int, message: Packet) -> None:
        if isinstance(message, Message):
            self.hops.append(Hop(now, sender, receiver, message.publication))
        else:
            self.controls += 1

    def delivered(self, now: float, node: int, delivery: Deliver) -> None:
        self.deliveries.append(Delivery(now, node, delivery.publication, delivery.hops))
