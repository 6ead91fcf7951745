"""A broker's state out of records, and records out of its state.

`Recovery` replays records, of a snapshot and of what was appended since, into plain values. `records` goes the other
way, session by session, while the broker goes on: what changes meanwhile is in the records that are appended, and
replaying both gives the state after the last of them (record.py says why).

Sessions as values are also what moves from node to node when a client does.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from weft.broker import record as r
from weft.broker.publication import Delivery, Publication
from weft.broker.retained import SYS, RetainedMessages
from weft.broker.session import Session
from weft.broker.sessions import Sessions
from weft.broker.subscription import Subscription
from weft.wire.mqtt.packet import Will


@dataclass(slots=True)
class Kept:
    """A session as records tell it."""

    version: int
    expiry: int
    left: float | None = None
    last: int = 0
    will: Will | None = None
    subscriptions: dict[str, Subscription] = field(default_factory=dict)
    deliveries: dict[int, Delivery] = field(default_factory=dict)  # by number, in order
    sent: dict[int, Delivery] = field(default_factory=dict)  # of those, what has an identifier, in the order of sending
    received: set[int] = field(default_factory=set)


class Recovery:
    def __init__(self) -> None:
        self.sessions: dict[str, Kept] = {}
        self.retained: dict[str, Publication] = {}
        self.number = 0  # the highest of any publication

    def apply(self, data: bytes) -> None:
        record = r.decode(data)
        match record:
            case r.SessionOpened(client, version, expiry, last):
                self._open(client, version, expiry, last)
            case r.SessionEnded(client):
                self.sessions.pop(client, None)
            case r.Queued(publication, receivers):
                self._queue(publication, receivers)
            case r.Retained(publication):
                self.retained[publication.topic.decode()] = publication
            case r.Unretained(topic):
                self.retained.pop(topic, None)
            case _:
                kept = self.sessions.get(record.client)  # type: ignore[attr-defined]
                if kept is not None:
                    _change(kept, record)

    def _open(self, client: str, version: int, expiry: int, last: int) -> None:
        kept = self.sessions.setdefault(client, Kept(version, expiry))
        kept.version, kept.expiry, kept.left = version, expiry, None
        kept.last = max(kept.last, last)
        self.number = max(self.number, last)

    def _queue(self, publication: Publication, receivers: tuple[tuple[str, int, tuple[int, ...]], ...]) -> None:
        self.number = max(self.number, publication.number)
        for client, flags, identifiers in receivers:
            kept = self.sessions.get(client)
            if kept is not None and publication.number > kept.last:
                kept.last = publication.number
                delivery = Delivery(publication, flags & 3, bool(flags & 4), identifiers)
                kept.deliveries[publication.number] = delivery


def _change(kept: Kept, record: r.Record) -> None:
    match record:
        case r.SessionLeft(_, at, expiry):
            kept.left, kept.expiry = at, expiry
        case r.WillSet(_, will):
            kept.will = will
        case r.Subscribed(_, pattern, options, identifier):
            kept.subscriptions[pattern] = Subscription.of(pattern, options, identifier)
        case r.Unsubscribed(_, pattern):
            kept.subscriptions.pop(pattern, None)
        case r.Sent(_, number, packet_id):
            if number in kept.deliveries:
                kept.deliveries[number].packet_id = packet_id
                kept.sent[number] = kept.deliveries[number]
        case r.Released(_, number):
            if number in kept.deliveries:
                kept.deliveries[number].released = True
        case r.Done(_, number):
            kept.deliveries.pop(number, None)
            kept.sent.pop(number, None)
        case r.ReceiptNoted(_, packet_id):
            kept.received.add(packet_id)
        case r.ReceiptCleared(_, packet_id):
            kept.received.discard(packet_id)


def restored(kept: Kept, session: Session) -> None:
    """Fill a session that has nothing yet, but for its subscriptions."""
    session.last, session.left, session.will = kept.last, kept.left, kept.will
    session.recorded = True
    session.received = set(kept.received)
    for delivery in kept.sent.values():
        session.inflight[delivery.packet_id] = delivery
    session.next_id = 1 + max(session.inflight, default=0) % 65_535
    for delivery in kept.deliveries.values():
        if not delivery.packet_id:
            session.queue.offer(delivery, len(kept.deliveries), 2**62)


def records(sessions: Sessions, retained: RetainedMessages) -> Iterator[bytes]:
    """A snapshot. What is added after it began is in the journal; what is gone is skipped."""
    for session in list(sessions):
        if session.persistent and sessions.get(session.client) is session:
            yield from [r.encode(one) for one in session_records(session)]
    for name in list(retained.by_name):
        publication = retained.by_name.get(name)
        if publication is not None and not name.startswith(SYS):
            yield r.encode(r.Retained(publication))


def session_records(session: Session) -> Iterator[r.Record]:
    """One session, at one moment."""
    client = session.client
    yield r.SessionOpened(client, session.version, session.expiry, 0)
    if session.left is not None:
        yield r.SessionLeft(client, session.left, session.expiry)
    if session.will is not None:
        yield r.WillSet(client, session.will)
    for one in session.subscriptions.values():
        yield r.Subscribed(client, one.filter, one.options, one.identifier)
    for packet_id in sorted(session.received):
        yield r.ReceiptNoted(client, packet_id)
    for delivery in sorted([*session.inflight.values(), *session.queue], key=lambda one: one.publication.number):
        flags = delivery.qos | delivery.retain << 2
        yield r.Queued(delivery.publication, ((client, flags, delivery.identifiers),))
    for delivery in session.inflight.values():
        yield r.Sent(client, delivery.publication.number, delivery.packet_id)
        if delivery.released:
            yield r.Released(client, delivery.publication.number)
    yield r.SessionOpened(client, session.version, session.expiry, session.last)
    if session.left is not None:
        yield r.SessionLeft(client, session.left, session.expiry)
