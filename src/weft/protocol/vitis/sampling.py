"""Peer sampling by Cyclon (Voulgaris, Gavidia, van Steen 2005): a small view of random nodes, shuffled every round.

A node takes the oldest peer out of its view, sends it a few others and itself, and gets a few in return. What it got
takes the place of what it sent. A peer that has failed does not answer and is out of the view already.

All that came in during a round is taken in at once: first what was not sent, then what came, then what was sent as far
as there is room; among equals by chance.
"""

from collections.abc import Iterable

from weft.protocol.vitis.chance import ANSWER, KEEP, SHUFFLE, first, key, priority
from weft.protocol.vitis.descriptor import Descriptor, freshest
from weft.protocol.vitis.parameters import Parameters

UNSENT, CAME, SENT = 0, 1, 2


class Sampling:
    def __init__(self, node: int, seed: int, parameters: Parameters) -> None:
        self.node = node
        self.seed = seed
        self.parameters = parameters
        self.view: dict[int, Descriptor] = {}
        self._sent: set[int] = set()
        self._came: list[Descriptor] = []

    def receive(self, descriptors: Iterable[Descriptor]) -> None:
        self._came += descriptors

    def update(self, when: int) -> None:
        """Takes in what has come since the last round."""
        came = {descriptor.node for descriptor in self._came} - {self.node}
        known = freshest(descriptor.older() for descriptor in (*self.view.values(), *self._came))
        known.pop(self.node, None)
        chooser = key(self.seed, self.node, when, KEEP)

        def rank(peer: int) -> tuple[int, int]:
            unsent = peer in self.view and peer not in self._sent
            group = UNSENT if unsent else CAME if peer in came else SENT
            return group, priority(chooser, peer)

        self.view = {peer: known[peer] for peer in sorted(known, key=rank)[: self.parameters.view]}
        self._sent, self._came = set(), []

    def request(self, when: int, own: Descriptor) -> tuple[int, list[Descriptor]] | None:
        """The peer to shuffle with, which leaves the view, and what to send it."""
        if not self.view:
            return None
        oldest = min(self.view.values(), key=lambda descriptor: (-descriptor.age, descriptor.node))
        del self.view[oldest.node]
        chosen = first(key(self.seed, self.node, when, SHUFFLE), self.view, self.parameters.shuffle - 1)
        self._sent |= set(chosen)
        return oldest.node, [own, *(self.view[peer] for peer in chosen)]

    def answer(self, when: int, requester: int) -> list[Descriptor]:
        peers = self.view.keys() - {requester}
        chosen = first(key(self.seed, self.node, when, ANSWER + requester), peers, self.parameters.shuffle)
        self._sent |= set(chosen)
        return [self.view[peer] for peer in chosen]

    def forget(self, peer: int) -> None:
        self.view.pop(peer, None)
        self._came = [descriptor for descriptor in self._came if descriptor.node != peer]
