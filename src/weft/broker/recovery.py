"""A broker's state out of records, and records out of its state.

`Recovery` replays records, of a snapshot and of what was appended since, into plain values. `records` goes the other
way: what changes is copied at once, bytes are made of it while the broker goes on.

Sessions as values are also what moves from node to node when a client does.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from weft.access.guard import SYS
from weft.broker import record as r
from weft.broker.publication import Delivery, Publication
from weft.broker.retained import RetainedMessages
from weft.broker.session import LATE, Receipt, Session
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
    received: dict[int, Receipt] = field(default_factory=dict)

    def receipts(self, position: int) -> dict[int, Receipt]:
        """Known from a position on; what the client may have released stays so."""
        return {
            packet_id: one._replace(position=max(position, one.position)) for packet_id, one in self.received.items()
        }


class Recovery:
    def __init__(self) -> None:
        self.sessions: dict[str, Kept] = {}
        self.retained: dict[str, Publication] = {}
        self.number = 0  # the highest of any publication

    def replay(self, records: Iterable[bytes]) -> None:
        for data in records:
            self.apply(data)

    def apply(self, data: bytes) -> r.Record:
        record = r.decode(data)
        match record:
            case r.SessionOpened(client, version, expiry, last):
                self._open(client, version, expiry, last)
            case r.SessionEnded(client):
                self.sessions.pop(client, None)
            case r.Queued(publication, receivers, receipt):
                self._queue(publication, receivers)
                if receipt and publication.publisher in self.sessions:
                    self.sessions[publication.publisher].received[receipt] = Receipt(0, publication.content())
            case r.Retained(publication):
                self.retained[publication.topic.decode()] = publication
            case r.Unretained(topic):
                self.retained.pop(topic, None)
            case _:
                kept = self.sessions.get(record.client)  # type: ignore[attr-defined]
                if kept is not None:
                    _change(kept, record)
        return record

    def _open(self, client: str, version: int, expiry: int, last: int) -> None:
        kept = self.sessions.setdefault(client, Kept(version, expiry))
        kept.version, kept.expiry, kept.left = version, expiry, None
        kept.last = max(kept.last, last)
        self.number = max(self.number, last)

    def _queue(self, publication: Publication, receivers: tuple[r.Receiver, ...]) -> None:
        self.number = max(self.number, publication.number)
        for client, flags, identifiers, group in receivers:
            kept = self.sessions.get(client)
            if kept is not None and publication.number > kept.last:
                kept.last = publication.number
                delivery = Delivery(publication, flags & 3, bool(flags & 4), identifiers, group)
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
        case r.ReceiptNoted(_, packet_id, content, late):
            noted = Receipt(LATE if late else 0, content)
            before = kept.received.get(packet_id, noted)
            kept.received[packet_id] = noted.joined(before._replace(position=LATE))
        case r.ReceiptCleared(_, packet_id):
            kept.received.pop(packet_id, None)


def restored(kept: Kept, session: Session) -> None:
    """Fill a session that has nothing yet, but for its subscriptions."""
    session.last, session.left, session.will = kept.last, kept.left, kept.will
    session.recorded = True
    session.received = dict(kept.received)
    for delivery in kept.sent.values():
        session.inflight[delivery.packet_id] = delivery
    session.next_id = 1 + max(session.inflight, default=0) % 65_535
    for delivery in kept.deliveries.values():
        if not delivery.packet_id:
            session.queue.offer(delivery, len(kept.deliveries), 2**62)


def records(sessions: Sessions, retained: RetainedMessages) -> Iterator[bytes]:
    """A snapshot of this moment, whose bytes are made later."""
    kept = [_Copy(one) for one in sessions if one.persistent]
    messages = [retained.by_name.get(name) for name in retained.by_name if not name.startswith(SYS)]
    return _encoded(kept, [one for one in messages if one is not None])


def session_records(session: Session) -> tuple[bytes, ...]:
    """One session as a value."""
    return tuple(map(r.encode, _Copy(session).records()))


def _encoded(kept: "list[_Copy]", messages: list[Publication]) -> Iterator[bytes]:
    for copy in kept:
        yield from map(r.encode, copy.records())
    for publication in messages:
        yield r.encode(r.Retained(publication))


class _Copy:
    """What of a session may change, copied. Publications and subscriptions do not."""

    __slots__ = ("inflight", "opened", "queue", "rest", "subscriptions")

    def __init__(self, session: Session) -> None:
        client = session.client
        self.opened = r.SessionOpened(client, session.version, session.expiry, 0)
        self.subscriptions = list(session.subscriptions.values())
        self.inflight = [(one, one.packet_id, one.released) for one in session.inflight.values()]
        self.queue = list(session.queue)
        self.rest: list[r.Record] = [
            r.ReceiptNoted(client, packet_id, content, one.position == LATE)
            for packet_id, one in sorted(session.received.items())
            for content in (one.content, *sorted(one.others))
        ]
        self.rest.append(r.SessionOpened(client, session.version, session.expiry, session.last))
        if session.will is not None:
            self.rest.append(r.WillSet(client, session.will))
        if session.left is not None:
            self.rest.append(r.SessionLeft(client, session.left, session.expiry))

    def records(self) -> Iterator[r.Record]:
        client = self.opened.client
        yield self.opened
        for one in self.subscriptions:
            yield r.Subscribed(client, one.filter, one.options, one.identifier)
        owed = [*(one for one, _, _ in self.inflight), *self.queue]
        for delivery in sorted(owed, key=lambda one: one.publication.number):
            yield r.Queued(delivery.publication, (r.receiver(client, delivery),))
        for delivery, packet_id, released in self.inflight:
            yield r.Sent(client, delivery.publication.number, packet_id)
            if released:
                yield r.Released(client, delivery.publication.number)
        yield from self.rest
