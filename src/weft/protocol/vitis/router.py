"""A node of Vitis (section 3.1; docs/vitis.md says how we read what the paper leaves open).

It takes its part in the overlay and passes publications on. Rounds are cut at the multiples of the period.
"""

from collections.abc import Callable, Iterable, Sequence

from weft.protocol.router import (
    Effect,
    Event,
    Gossip,
    Joined,
    Left,
    Published,
    Received,
    Router,
    Subscribed,
    Unsubscribed,
)
from weft.protocol.vitis.descriptor import Descriptor
from weft.protocol.vitis.dissemination import Dissemination
from weft.protocol.vitis.message import Notification, Pull, Pulled
from weft.protocol.vitis.neighbourhood import Neighbourhood
from weft.protocol.vitis.parameters import Parameters


class Vitis(Router):
    def __init__(
        self,
        node: int,
        interest: Iterable[int],
        parameters: Parameters,
        *,
        rates: Sequence[float],  # publications on every topic in some time
        distance: Callable[[int], float],  # round trip to a peer, milliseconds
        rendezvous: Callable[[int], int],  # topic -> identifier
        seed: int,  # the same at all nodes
    ) -> None:
        self.period = parameters.period
        self.neighbourhood = Neighbourhood(node, interest, parameters, rates, distance, rendezvous, seed)
        self.dissemination = Dissemination(self.neighbourhood)
        self._round: int | None = None  # the present one; None while out of the network

    def next_deadline(self) -> float | None:
        return None if self._round is None else (self._round + 1) * self.period

    def on_timer(self, now: float) -> list[Effect]:
        when = self._round = round(now / self.period)
        return [*self.neighbourhood.begin(when), *self.dissemination.pull_again(when)]

    def handle(self, event: Event, now: float) -> list[Effect]:
        match event:
            case Joined(contact):
                self._round = int(now // self.period)
                if isinstance(contact, Descriptor):
                    self.neighbourhood.meet(contact)
            case Left():
                self._round = None
                return self.neighbourhood.leave()
            case Subscribed(topic):
                self.neighbourhood.subscribe(topic)
            case Unsubscribed(topic):
                self.neighbourhood.unsubscribe(topic)
            case Published(publication) if self._round is not None:
                return self.dissemination.publish(publication, self._round)
            case Received() if self._round is not None:
                return self._receive(event, self._round)
        return []

    def check_invariants(self) -> None:
        self.neighbourhood.check_invariants()

    def _receive(self, event: Received, when: int) -> list[Effect]:
        sender = event.sender
        match event.message:
            case Gossip() as gossip:
                return self.neighbourhood.receive(sender, gossip, when)
            case Notification() as notification:
                return self.dissemination.notified(sender, notification, when)
            case Pull(_, issuer, number):
                return self.dissemination.pulled_by(sender, (issuer, number))
            case Pulled(publication):
                return self.dissemination.pulled(publication)
        return []
