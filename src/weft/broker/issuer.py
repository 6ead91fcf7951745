"""Numbers what clients of this node publish, where other nodes may want it.

A number is (node, incarnation, count): no other publication of the network has it, ever. What only sessions of this
node get has none, until it goes to another node with one of them: several nodes may be given it there (node/moving.py),
and whoever has the session in the end must know that it is the same. It is not this node's to send, so that its number
has no node.

Times of issue of retained
messages do not go back on a topic, even where clocks do: who publishes has seen, or could have seen, what was there.
"""

from collections.abc import Callable
from dataclasses import replace
from math import inf

from weft.broker.publication import UNISSUED, Origin, Publication
from weft.broker.route import UNSURE, Lead
from weft.broker.session import Session

TICK = 1e-6  # seconds


class Issuer:
    def __init__(
        self,
        wanted: Callable[[Publication], bool] = lambda _: True,
        lead: Callable[[bytes], Lead] = lambda _: UNSURE,
    ) -> None:
        self.lead = lead  # where publications of QoS 0 on a name go
        self.node = 0
        self.incarnation = 0
        self.count = 0
        self._wanted = wanted  # whether any other node wants it

    def sign(self, publication: Publication, now: float, groups: bool, before: Publication | None) -> None:
        """Give a publication its number, if anybody but this node's own sessions is to decide about it.

        Of what is retained nodes that come later decide which is the last.
        """
        publication.issued = now
        if before is not None:
            publication.issued = max(now, before.issued + TICK)
        if groups or publication.retain or self._wanted(publication):
            self.numbered(publication)

    def numbered(self, publication: Publication) -> Publication:
        publication.origin = self.next_origin()
        return publication

    def sign_waiting(self, session: Session) -> None:
        """A session leaves this node: what waits for it has a number from now on, and it knows that it has had it."""
        for delivery in [*session.inflight.values(), *session.queue]:
            if delivery.publication.origin is None:
                origin = (UNISSUED, *self.next_origin()[1:])
                delivery.publication = replace(delivery.publication, origin=origin)
            assert delivery.publication.origin is not None
            session.had.setdefault(delivery.publication.origin, inf)

    def next_origin(self) -> Origin:
        self.count += 1
        return self.node, self.incarnation, self.count
