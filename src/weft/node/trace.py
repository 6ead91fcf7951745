"""Traces: the way of a publication that nobody gets, told to the master by each node that it comes to.

A message with a token is one. It is issued and passed on as any other of QoS 0, by the same tables, and is kept from
clients: who asks learns where a publication on a name would go, and how many would get it at each node.
"""

from collections.abc import Callable

from weft.broker.broker import Broker
from weft.broker.publication import Origin, Publication
from weft.node.carrier import Carrier
from weft.node.destination import Destinations
from weft.node.effect import MASTER
from weft.node.issuing import Issuing
from weft.node.message import message_for
from weft.node.outbox import Outbox
from weft.wire import content
from weft.wire.frame import NOBODY, Message, Trace, Traced


class Traces:
    def __init__(
        self,
        broker: Broker,
        carrier: Carrier,
        destinations: Destinations,
        issuing: Issuing,
        outbox: Outbox,
        next_origin: Callable[[], Origin],  # number of another publication
    ) -> None:
        self._broker = broker
        self._carrier = carrier
        self._destinations = destinations
        self._issuing = issuing
        self._outbox = outbox
        self._next_origin = next_origin

    def begin(self, frame: Trace, now: float) -> None:
        name = frame.name.encode()
        self._tell(frame.token, NOBODY, 0, name, now)
        publication = Publication(name, b"", issued=now, origin=self._next_origin())
        message = message_for(publication, self._carrier.own, now)
        message.token = frame.token
        self._issuing.put_on_trees(message, self._destinations.of(name).trees, False, now)

    def note(self, peer: int, message: Message, now: float) -> None:
        """A traced message has come."""
        self._tell(message.token, peer, message.hops, content.name_of(message.content), now)

    def _tell(self, token: int, peer: int, hops: int, name: bytes, now: float) -> None:
        self._outbox.tell(MASTER, Traced(token, peer, hops, now, self._broker.audience(name)))
