"""A member of an advertisement's gossip group: lpbcast (Eugster et al. 2003), as section 4.5 uses it.

A member knows a few others, its view. Once a round it sends what is new to it to some of them, with a digest of what
it has seen lately and with the members that it heard came or went. What a receiver lacks of a digest it asks for. A
publication is pushed once by each member, which reaches about four in five; digests and retrieval do the rest.
A member that hears of another's leaving ignores it for some rounds, unless it hears from that member itself.
Who joins says so at once to some of the members that it was told of, as lpbcast's subscriptions do: rounds are long,
and a group of which only the issuer is known would wait for one before anybody hears anything.
"""

from collections.abc import Iterable
from random import Random

from weft.protocol.popsub.message import Gossip, Publication
from weft.protocol.popsub.parameters import Parameters
from weft.protocol.router import Send


class Member:
    def __init__(
        self, node: int, advertisement: int, issuer: int, parameters: Parameters, random: Random, now: float
    ) -> None:
        self.node = node
        self.advertisement = advertisement
        self.issuer = issuer
        self.parameters = parameters
        self.random = random
        self.view: list[int] = []
        self.next_round = now + random.random() * parameters.round
        self._fresh: list[Publication] = []  # to be pushed
        self._known: dict[int, tuple[float, Publication]] = {}  # by number, with the time, oldest first
        self._joined: list[int] = []
        self._left: dict[int, float] = {}  # until when their leaving is announced

    def push(self, publication: Publication, now: float) -> None:
        self._fresh.append(publication)
        self.keep(publication, now)

    def keep(self, publication: Publication, now: float) -> None:
        """Announce it, but do not push it."""
        self._known[publication.number] = (now, publication)

    def meet(self, nodes: Iterable[int]) -> None:
        for node in nodes:
            if node != self.node and node not in self.view and node not in self._left:
                self.view.append(node)
                self._joined.append(node)
        self._drop_some(self.view, self.parameters.view)
        self._drop_some(self._joined, self.parameters.view)

    def hear(self, sender: int, gossip: Gossip, now: float) -> None:
        """Learn of members; what the gossip says of publications is the broker's to judge."""
        for node in gossip.left:
            self._left[node] = now + self.parameters.digest_time
            if node in self.view:
                self.view.remove(node)
        if sender not in gossip.left:
            self._left.pop(sender, None)
        self.meet(gossip.joined)

    def gossip(self, now: float) -> list[Send]:
        """The round that is due."""
        self.next_round = now + self.parameters.round
        self._left = {node: until for node, until in self._left.items() if until > now}
        self._forget(now)
        return self._tell((self.node, *self._joined), tuple(self._left), now)

    def announce(self) -> list[Send]:
        """The first gossip, which says only that this member has joined."""
        return self._send(Gossip(self.advertisement, (), (), (self.node,), ()))

    def leave(self, now: float) -> list[Send]:
        """The last gossip, which says so."""
        return self._tell(tuple(self._joined), (self.node, *self._left), now)

    def find(self, numbers: Iterable[int]) -> list[Publication]:
        return [self._known[number][1] for number in numbers if number in self._known]

    def _tell(self, joined: tuple[int, ...], left: tuple[int, ...], now: float) -> list[Send]:
        since = now - self.parameters.digest_time
        digest = tuple(number for number, (first, _) in self._known.items() if first >= since)
        sends = self._send(Gossip(self.advertisement, tuple(self._fresh), digest, joined, left))
        if sends:  # an issuer may not have heard of any member yet
            self._fresh = []
        return sends

    def _send(self, gossip: Gossip) -> list[Send]:
        known = self.view or [node for node in (self.issuer,) if node != self.node]
        return [Send(peer, gossip) for peer in self.random.sample(known, min(self.parameters.fanout, len(known)))]

    def _forget(self, now: float) -> None:
        since = now - self.parameters.digest_time - self.parameters.answer_time
        while self._known and next(iter(self._known.values()))[0] < since:
            del self._known[next(iter(self._known))]

    def _drop_some(self, nodes: list[int], most: int) -> None:
        while len(nodes) > most:
            nodes.pop(self.random.randrange(len(nodes)))

    def check_invariants(self) -> None:
        assert len(self.view) <= self.parameters.view
        assert self.node not in self.view
        assert len(set(self.view)) == len(self.view)
