"""PopSub's brokers in a world, and what their messages count as (docs/popsub.md, "What is counted")."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from weft.protocol.popsub.broker import Broker
from weft.protocol.popsub.message import Batch, Direct, Forward, Gossip, Notify, Publication, Retrieved
from weft.protocol.popsub.parameters import Parameters, Way
from weft.protocol.router import Deliver, Packet


def brokers_of(
    nodes: int, links: Iterable[tuple[int, int]], way: Way, parameters: Parameters, seed: int = 0
) -> list[Broker]:
    """Brokers on the tree of these links, one a node."""
    peers: list[list[int]] = [[] for _ in range(nodes)]
    for one, other in links:
        peers[one].append(other)
        peers[other].append(one)
    return [Broker(node, peers[node], way, parameters, seed) for node in range(nodes)]


class Delivery(NamedTuple):
    time: float  # milliseconds
    node: int
    subscription: int
    publication: Publication
    popular: bool


@dataclass
class Ledger:
    """A tracer of a world of brokers."""

    brokers: Sequence[Broker]
    deliveries: list[Delivery] = field(default_factory=list)
    forwards: int = 0
    pure_forwards: int = 0
    out_of_overlay: int = 0
    controls: int = 0

    def sent(self, now: float, sender: int, receiver: int, message: Packet) -> None:
        match message:
            case Forward(Publication() as publication):
                self._forwarded(sender, (publication,))
            case Batch(publications):
                self._forwarded(sender, publications)
            case Direct() | Retrieved():
                self.out_of_overlay += 1
            case Gossip(publications=publications) if publications:
                self.out_of_overlay += 1
            case _:
                self.controls += 1

    def delivered(self, now: float, node: int, delivery: Deliver) -> None:
        match delivery:
            case Notify(Publication() as publication, _, subscriptions, popular):
                self.deliveries.extend(Delivery(now, node, number, publication, popular) for number in subscriptions)

    def _forwarded(self, sender: int, publications: Sequence[Publication]) -> None:
        self.forwards += 1
        if publications[0].issuer != sender and not self.brokers[sender].serves(publications):
            self.pure_forwards += 1
