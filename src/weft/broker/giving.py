"""Retained messages for new subscriptions, taken from the store as their receiver takes them.

A client may subscribe to all that is retained, which may be more than fits into memory once for each who asks: so what
it is to be given is a walk through the store, which goes on for as long as its connection keeps up. What is published
and retained meanwhile comes to the client as any publication, and is not given.

What is owed to a session that is kept, with QoS 1 or 2, is not left to the connection: it goes into the session's
queue, and the journal, before SUBACK (subscribing.py). The walk then gives the rest.
"""

from collections.abc import Iterator

from weft.broker.backlog import Backlog
from weft.broker.connection import Connection
from weft.broker.distribution import Distribution
from weft.broker.outbound import Outbound
from weft.broker.publication import Publication
from weft.broker.retained import RetainedMessages
from weft.broker.session import Session
from weft.broker.subscription import Subscription

STEPS, BYTES = 500, 1 << 18  # of a slice: messages, with places of the store without one, and bytes


class Giving:
    def __init__(
        self, retained: RetainedMessages, distribution: Distribution, outbound: Outbound, backlog: Backlog
    ) -> None:
        self._retained = retained
        self._distribution = distribution
        self._outbound = outbound
        self._backlog = backlog

    def begin(self, connection: Connection, subscription: Subscription, now: float) -> None:
        """Give all that a filter matches; from the beginning, if that is under way."""
        self.end(connection, subscription.filter)
        if connection.given is None:
            connection.given = {}
        connection.given[subscription.filter] = subscription, self._retained.walk(subscription.filter, now)
        self._backlog.add(connection)

    def end(self, connection: Connection, filter_: str) -> None:
        """The client does not want it any more."""
        if connection.given is not None:
            connection.given.pop(filter_, None)

    def queue(self, session: Session, subscription: Subscription, now: float) -> Iterator[int]:
        """Owe a session what is to be kept for it, in steps."""
        for publication in self._retained.walk(subscription.filter, now):
            if publication is not None and _is_kept(session, subscription, publication):
                self._distribution.owe_retained(session, subscription, publication, now)
            yield 1

    def give(self, connection: Connection, now: float) -> bool:
        """A slice. Whether there is more that the connection can take at once."""
        session, steps, size = connection.session, STEPS, BYTES
        while connection.given and session is not None and not connection.closing:
            if steps <= 0 or size <= 0 or not self._outbound.can_give(session, connection):
                break
            filter_, (subscription, walk) = next(iter(connection.given.items()))
            for publication in walk:
                steps -= 1
                if publication is not None and not _is_kept(session, subscription, publication):
                    size -= publication.size()
                    self._distribution.give_retained(session, subscription, publication, now)
                    break
                if steps <= 0:
                    break
            else:
                del connection.given[filter_]
        connection.given = connection.given or None
        return connection.given is not None and session is not None and self._outbound.can_give(session, connection)


def _is_kept(session: Session, subscription: Subscription, publication: Publication) -> bool:
    return session.persistent and min(publication.qos, subscription.qos) > 0
