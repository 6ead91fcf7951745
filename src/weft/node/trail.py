"""Trails: sessions that have gone from here, and where to.

What a node has given it keeps until the other has it on its disk (SessionTaken), and gives again to who asks again.
It is answered when the disk here knows that the session has gone: else a node that forgets with its power that it gave
a session would have a copy, which takes publications that no client gets.

What still comes here for the session, because somebody did not know yet or owed it to this node while it was down, goes
after it for some time (`linger`), to this session alone. Of QoS 1 and 2 only, and not of shared subscriptions: those
another member gets.

Until the disk knows, the other node is told at once what the client has said with QoS 2 and is not to say again, and
what it has got (SessionComing), as far as the disk here has that.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from weft.broker import record as r
from weft.broker.broker import Broker
from weft.broker.deadline import Deadlines
from weft.broker.filter import FilterIndex
from weft.broker.publication import Origin
from weft.broker.session import Receipt
from weft.node import record
from weft.node.atlas import Atlas
from weft.node.carrier import Carrier
from weft.node.message import SESSION
from weft.node.promise import Promises
from weft.wire.frame import FetchSession, Frame, Message, SessionComing, SessionMoved, SessionTaken

PART = 1 << 20  # bytes of records in a frame


@dataclass(slots=True)
class Trail:
    """Where a session has gone from here."""

    given: record.Given
    filters: FilterIndex[bool]
    had: dict[Origin, None]  # what it was given until it left, which went with it
    position: int  # of the journal, which is to be written up to there before the session is said to have gone
    received: dict[int, Receipt]  # as the session has it
    sent: dict[Origin, int]  # what the client was sent, and may come again: positions of the journal that know it

    @property
    def client(self) -> str:
        return self.given.client


class Trails:
    def __init__(
        self,
        broker: Broker,
        atlas: Atlas,
        carrier: Carrier,
        deadlines: Deadlines,
        promises: Promises,
        linger: float,  # seconds
        send: Callable[[int, int, Frame], None],  # to any node, by number and ring id
        keep: Callable[[record.Record], None],  # in the journal
        changed: Callable[[], None],  # publications may go elsewhere
    ) -> None:
        self._broker = broker
        self._atlas = atlas
        self._carrier = carrier
        self._endings = deadlines.timer(lambda client, _: self._end(client))
        self._promises = promises
        self._linger = linger
        self._send = send
        self._keep = keep
        self._changed = changed
        self._trails: dict[str, Trail] = {}  # by client

    def get(self, client: str) -> Trail | None:
        return self._trails.get(client)

    # Publications

    def matching(self, name: str) -> list[Trail]:
        """Trails of sessions that want what is published on a name."""
        return [trail for trail in self._trails.values() if self.leads_on(trail.client) and trail.filters.match(name)]

    def leads_on(self, client: str) -> bool:
        """Whether what comes for a session goes after it.

        Also where its client is back, and the master does not know yet: its subscriptions are where it was until then.
        """
        session = self._broker.session(client)
        return session is None or session.alone

    def send_after(self, message: Message, trail: Trail) -> None:
        """Send a message that has come for a session to the node that has it now."""
        ring_id = self._atlas.places.get(trail.given.node, trail.given.ring_id)
        self._carrier.send_to(ring_id, message, SESSION + trail.client)

    # Sessions

    def lay(self, given: record.Given, received: dict[int, Receipt], sent: dict[Origin, int], now: float) -> None:
        """A session leaves."""
        filters: FilterIndex[bool] = FilterIndex()
        for pattern in given.filters:
            filters.setdefault(pattern, lambda: True)
        had, position = dict.fromkeys(given.had), self._broker.position
        self._trails[given.client] = Trail(given, filters, had, position, received, sent)
        self._changed()
        self._endings.at(now + self._linger, given.client)

    def erase(self, client: str) -> None:
        if self._trails.pop(client, None) is not None:
            self._endings.drop(client)
            self._changed()
            self._keep(record.GivenUp(client))

    def answer(self, source: int, ring_id: int, frame: FetchSession) -> None:
        """Say what was given when the disk knows that it was; nothing, where no session has gone from here."""
        trail, position = self._trails.get(frame.client), self._broker.position
        given = record.Given(frame.client, source, ring_id, (), (), (), ())
        if trail is not None:
            given, position = trail.given, trail.position
            self._announce(source, ring_id, frame, trail)
        for part, last, some in _parts(given.records):
            more = (given.had, given.rest, given.claim) if last else ()
            moved = SessionMoved(frame.client, frame.token, part, last, some, *more)
            self._promises.make(position, source, ring_id, moved, part)

    def release(self, frame: SessionTaken) -> None:
        """The other node has it on its disk."""
        trail = self._trails.get(frame.client)
        if trail is not None and trail.given.records:
            old = trail.given
            trail.given = replace(old, records=(), had=tuple(trail.had), rest=())
            self._keep(trail.given)

    def _announce(self, source: int, ring_id: int, frame: FetchSession, trail: Trail) -> None:
        """Say what the client is not to say or get again, if the disk knows that, and not that the session has gone."""
        synced = self._promises.synced
        known = tuple((packet_id, one.content) for packet_id, one in trail.received.items() if one.position <= synced)
        sent = tuple(origin for origin, position in trail.sent.items() if position <= synced)
        if (trail.received or sent) and trail.position > synced:
            is_whole = len(known) == len(trail.received)
            self._send(source, ring_id, SessionComing(frame.client, frame.token, known, is_whole, sent))

    def _end(self, client: str) -> None:
        """Nothing more comes; what the other node has not taken it may still ask for."""
        if not self._trails[client].given.records:
            self.erase(client)

    # What outlives a crash

    def restore(self, given: Iterable[record.Given], now: float) -> None:
        for one in given:
            self.lay(one, _received(one), {}, now)

    def records(self) -> list[record.Record]:
        return [trail.given for trail in self._trails.values()]


def _received(given: record.Given) -> dict[int, Receipt]:
    """Identifiers that the session had which was given away, and is on the disk."""
    noted = [one for one in map(r.decode, given.records) if isinstance(one, r.ReceiptNoted)]
    return {one.packet_id: Receipt(0, one.content) for one in noted if not one.late}


def _parts(records: tuple[bytes, ...]) -> Iterator[tuple[int, bool, tuple[bytes, ...]]]:
    """Records in frames of a size; at least one frame, the last one marked."""
    parts: list[list[bytes]] = [[]]
    size = 0
    for one in records:
        if size > PART:
            parts.append([])
            size = 0
        parts[-1].append(one)
        size += len(one)
    for number, part in enumerate(parts):
        yield number, number == len(parts) - 1, tuple(part)
