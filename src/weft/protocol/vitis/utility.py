"""What a link to a peer is worth (formula 1): the closer in interest and in time, the more.

    utility(i, j) = (1 / d(i, j))^n * rates of the topics of both / rates of the topics of either

The distance d is the round-trip time in milliseconds. With n = 0 this is plain Vitis, which does not look at distance.
The paper's section 4.1 describes what a sum of the two would do, similarity + (1 / d)^n, so that can be had as well.
"""

from collections.abc import Callable, Iterable, Sequence

from weft.protocol.vitis.descriptor import Descriptor
from weft.protocol.vitis.parameters import Parameters


class Utility:
    """How useful peers are to a node. Rates are added up in the order of the topics, as in the kernels."""

    def __init__(
        self,
        interest: Iterable[int],
        rates: Sequence[float],  # publications on every topic in some time
        distance: Callable[[int], float],  # round trip to a peer, milliseconds
        parameters: Parameters,
    ) -> None:
        self.interest = frozenset(interest)
        self.rates = rates
        self.distance = distance
        self.exponent, self.floor = parameters.exponent, parameters.floor
        self.is_sum = parameters.utility == "sum"
        self._rate = self._sum(sorted(self.interest))

    def __call__(self, peer: Descriptor) -> float:
        common = self._sum(topic for topic in peer.interest if topic in self.interest)
        similarity = common / (self._rate + self._sum(peer.interest) - common) if common > 0 else 0.0
        closeness = float((1.0 / max(self.distance(peer.node), self.floor)) ** self.exponent)
        return similarity + closeness if self.is_sum else similarity * closeness

    def _sum(self, topics: Iterable[int]) -> float:
        total = 0.0
        for topic in topics:  # not sum(), which compensates for rounding since Python 3.12
            total += self.rates[topic]
        return total
