"""Sessions that follow their clients from node to node.

A client comes, and this node does not have its session. The master says who had it until now; from then on it is this
node's, which no other can be at the same time. What follows depends on who had it:

- nobody: the client is new;
- a node that is there: the session is made here with the subscriptions that the master knows. When these are in place,
  the other node is asked for it: it closes the client's old connection and gives what waits for the client, which comes
  before what has come here meanwhile. Publications that came to both are told apart by their numbers. The client is let
  in when that is done;
- a node that is down: the client is let in with its subscriptions, and what waits at the other node follows when that
  is back.

What comes to the other node for the session later, because somebody did not know yet or owed it to that node while it
was down, is passed on for some time to where the session is (`Trail`). There it is given to this session alone, unless
the session has had it: what has come since the session is here is noted for as long. And what it was given at the other
node, and comes here later, it does not get again: the other node says what it has had of late.

The other node keeps what it has given until this one has it on its disk. Both remember across a crash: who asked asks
again, who gave gives again. A client who wants no session (clean) has it ended there instead.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count

from weft.broker import record as r
from weft.broker.broker import Broker
from weft.broker.deadline import Deadlines
from weft.broker.effect import Admitted, Event, SessionArrived, SessionClaimed
from weft.broker.effect import SessionMoved as MovedAway
from weft.broker.filter import FilterIndex
from weft.broker.publication import Origin
from weft.broker.recovery import Recovery as BrokerRecovery
from weft.node import record
from weft.node.atlas import Atlas
from weft.node.directory import Directory
from weft.node.effect import MASTER
from weft.node.figure import Figures
from weft.node.outbox import Outbox
from weft.node.parameters import Parameters
from weft.node.seen import Seen
from weft.wire.frame import (
    NOBODY,
    FetchSession,
    FindSession,
    Frame,
    Owned,
    SessionAt,
    SessionMoved,
    SessionTaken,
)
from weft.wire.mqtt.topic import is_shared

PART = 1 << 20  # bytes of records in a frame
NOTED = 100_000  # publications that are noted for a session that has come
HELD = "moving"  # the reason for which a connection is not read


@dataclass(slots=True)
class _Arrival:
    connection: int
    client: str
    clean: bool


@dataclass(slots=True)
class _Fetch:
    client: str
    node: int
    ring_id: int
    clean: bool = False
    token: int = 0
    parts: dict[int, tuple[bytes, ...]] = field(default_factory=dict)
    size: int | None = None  # how many parts there are, when that is known
    connections: list[int] = field(default_factory=list)  # that wait for it
    had: tuple[Origin, ...] = ()  # publications that the session was given there

    def add(self, frame: SessionMoved) -> tuple[bytes, ...] | None:
        """All records, when all parts have come."""
        self.parts[frame.part] = frame.records
        self.had += frame.had
        if frame.last:
            self.size = frame.part + 1
        if self.size is None or len(self.parts) < self.size:
            return None
        return tuple(one for part in sorted(self.parts) for one in self.parts[part])


@dataclass(slots=True)
class Trail:
    """Where a session has gone from here."""

    client: str
    node: int
    ring_id: int
    filters: FilterIndex[bool]
    records: tuple[bytes, ...]  # none when the other node has them
    had: dict[Origin, None] = field(default_factory=dict)  # what came for it while it was here


class Moving:
    def __init__(
        self,
        broker: Broker,
        seen: Seen,
        atlas: Atlas,
        directory: Directory,
        outbox: Outbox,
        deadlines: Deadlines,
        figures: Figures,
        parameters: Parameters,
        happen: Callable[[Event, float], None],  # an event of the broker
        keep: Callable[[record.Record], None],  # in the journal
        send: Callable[[int, int, Frame], None],  # to any node, by number and ring id
    ) -> None:
        self._broker = broker
        self._seen = seen
        self._atlas = atlas
        self._directory = directory
        self._outbox = outbox
        self._deadlines = deadlines
        self._figures = figures
        self._parameters = parameters
        self._happen = happen
        self._keep = keep
        self._send = send
        self._tokens = count(1)
        self._has_joined = False  # since this node started
        self._asked: dict[int, _Arrival] = {}
        self._fetches: dict[str, _Fetch] = {}
        self._trails: dict[str, Trail] = {}
        self._had: dict[str, dict[Origin, None]] = {}  # by client: what has come since its session came
        self._promised: list[tuple[int, int, int, Frame]] = []  # position, node, ring id: to say when on the disk

    # A client comes

    def connect(self, connection: int, client: str, clean: bool, now: float) -> None:
        if MASTER not in self._atlas.up and self._has_joined:
            self._admit(connection, now)
            return
        self._outbox.hold(connection, HELD)
        token = next(self._tokens)
        self._asked[token] = _Arrival(connection, client, clean)
        if self._has_joined:
            self._outbox.tell(MASTER, FindSession(client, token))
        self._deadlines.at(now + self._parameters.patience, lambda then: self._lose_patience(token, then))

    def join(self, now: float) -> None:
        """This node is part of the network: who came before that is asked for now."""
        if not self._has_joined:
            self._has_joined = True
            for token, arrival in self._asked.items():
                self._outbox.tell(MASTER, FindSession(arrival.client, token))

    def answer(self, news: SessionAt, now: float) -> None:
        """The master has said who had the session."""
        arrival = self._asked.pop(news.token, None)
        if arrival is None:
            return
        if news.node in (NOBODY, self._atlas.node):
            self._admit(arrival.connection, now)
            return
        session = news.session if news.session is not None and news.session.expiry else None
        fetch = _Fetch(arrival.client, news.node, news.ring_id, arrival.clean)
        if session is not None and not arrival.clean:
            self._make(session, fetch, now)
        if news.is_up:
            fetch.connections.append(arrival.connection)
            self._fetches[fetch.client] = fetch
            self._directory.wait(lambda then: self._fetch(fetch, then), now)
            self._deadlines.at(now + self._parameters.moving, lambda then: self._let_in(fetch, then))
        else:
            if session is not None:
                self._fetches[fetch.client] = fetch
            self._admit(arrival.connection, now)

    def forget(self, connection: int) -> None:
        """The connection is gone."""
        self._asked = {token: one for token, one in self._asked.items() if one.connection != connection}
        for fetch in self._fetches.values():
            if connection in fetch.connections:
                fetch.connections.remove(connection)

    def note(self, origin: Origin | None) -> None:
        """A publication has come to the sessions of this node, those on their way included."""
        if origin is not None:
            for had in self._had.values():
                had[origin] = None
                if len(had) > NOTED:
                    del had[next(iter(had))]

    def has_had(self, client: str, origin: Origin) -> bool:
        return origin in self._had.get(client, ())

    def trail(self, client: str) -> Trail | None:
        return self._trails.get(client)

    def trails(self, name: str) -> list[Trail]:
        """Sessions that have gone from here, and want what is published on a name."""
        return [trail for trail in self._trails.values() if trail.filters.match(name)]

    def lose_master(self, now: float) -> None:
        asked, self._asked = self._asked, {}
        for arrival in asked.values():
            self._admit(arrival.connection, now)

    # Between the nodes

    def give(self, source: int, ring_id: int, frame: FetchSession, now: float) -> None:
        """Another node asks for a session."""
        self._happen(SessionClaimed(frame.client), now)
        if frame.clean:
            self._erase(frame.client)
            self._happen(MovedAway(frame.client, ended=True), now)
        elif records := self._broker.export(frame.client):
            self._figures.sessions_given += 1
            given = record.Given(frame.client, source, ring_id, records)
            self._keep(given)
            self._lay(given, now)
            self._happen(MovedAway(frame.client), now)
        trail = self._trails.get(frame.client)
        had = tuple(self._seen.had(trail.filters.match)) if trail is not None else ()
        for part, last, some in _parts(trail.records if trail is not None else ()):
            moved = SessionMoved(frame.client, frame.token, part, last, some, had if last else ())
            self._send(source, ring_id, moved)

    def take(self, source: int, ring_id: int, frame: SessionMoved, now: float) -> None:
        fetch = self._fetches.get(frame.client)
        if fetch is None or fetch.token != frame.token:
            return
        records = fetch.add(frame)
        if records is None:
            return
        del self._fetches[frame.client]
        if records and not fetch.clean:
            self._figures.sessions_fetched += 1
            here, there = frozenset(self._had.get(frame.client, ())), frozenset(fetch.had)
            self._happen(SessionArrived(records, here, there), now)
            session = self._broker.session(frame.client)
            if session is not None:
                self._deadlines.at(now + self._parameters.linger, lambda _: session.skip.clear())
        self._keep(record.Fetched(frame.client))
        self._promised.append((self._broker.position, source, ring_id, SessionTaken(frame.client, frame.token)))
        self._let_in(fetch, now)

    def let_go(self, frame: SessionTaken) -> None:
        """The other node has it on its disk."""
        if frame.client in self._trails:
            self._trails[frame.client].records = ()

    def come_back(self, node: int, ring_id: int, now: float) -> None:
        """A node is there again: what waits there for sessions that are here can follow."""
        for fetch in list(self._fetches.values()):
            if fetch.node == node:
                fetch.ring_id = ring_id
                self._fetch(fetch, now)

    def sync(self, synced: int) -> None:
        while self._promised and self._promised[0][0] <= synced:
            _, node, ring_id, frame = self._promised.pop(0)
            self._send(node, ring_id, frame)

    # What outlives a crash

    def restore(
        self,
        fetching: dict[str, tuple[int, int]],
        had: dict[str, set[Origin]],
        given: dict[str, record.Given],
        now: float,
    ) -> None:
        for one in given.values():
            self._lay(one, now)
        for client, (node, ring_id) in fetching.items():
            self._fetches[client] = _Fetch(client, node, ring_id)
            self._had[client] = dict.fromkeys(had.get(client, ()))

    def retry(self, now: float) -> None:
        """This node is in the network again."""
        for fetch in list(self._fetches.values()):
            self._fetch(fetch, now)

    def records(self) -> Iterator[record.Record]:
        fetches = [record.Fetching(one.client, one.node, one.ring_id) for one in self._fetches.values()]
        given = [record.Given(one.client, one.node, one.ring_id, one.records) for one in self._trails.values()]
        had = [record.Had(client, tuple(self._had.get(client, ()))) for client in self._fetches]
        return iter([*fetches, *had, *given])

    def _make(self, session: Owned, fetch: _Fetch, now: float) -> None:
        """A session with the subscriptions that the master knows."""
        made = [r.SessionOpened(session.client, session.version, session.expiry, 0)]
        subscribed = [r.Subscribed(session.client, *_fields(one)) for one in session.subscriptions]
        self._keep(record.Fetching(fetch.client, fetch.node, fetch.ring_id))
        self._erase(fetch.client)
        had: dict[Origin, None] = {}
        self._had[fetch.client] = had
        self._deadlines.at(now + self._parameters.linger, lambda _: self._forget(fetch.client, had))
        self._happen(SessionArrived(tuple(map(r.encode, [*made, *subscribed]))), now)

    def _lay(self, given: record.Given, now: float) -> None:
        """What comes for a session that leaves goes after it."""
        kept = BrokerRecovery()
        kept.replay(given.records)
        filters: FilterIndex[bool] = FilterIndex()
        for one in kept.sessions.values():
            for pattern in one.subscriptions:
                if not is_shared(pattern):
                    filters.setdefault(pattern, lambda: True)
        had = self._had.pop(given.client, {})
        trail = Trail(given.client, given.node, given.ring_id, filters, given.records, had)
        self._trails[given.client] = trail
        self._deadlines.at(now + self._parameters.linger, lambda _: self._end(trail))

    def _end(self, trail: Trail) -> None:
        """Nothing more comes; what the other node has not taken it may still ask for."""
        if self._trails.get(trail.client) is trail and not trail.records:
            self._erase(trail.client)

    def _erase(self, client: str) -> None:
        if self._trails.pop(client, None) is not None:
            self._keep(record.GivenUp(client))

    def _forget(self, client: str, had: dict[Origin, None]) -> None:
        if self._had.get(client) is had:
            del self._had[client]

    def _fetch(self, fetch: _Fetch, now: float) -> None:
        if self._fetches.get(fetch.client) is not fetch or fetch.node in self._atlas.down:
            return
        fetch.token = next(self._tokens)
        fetch.parts, fetch.size, fetch.had = {}, None, ()
        self._send(fetch.node, fetch.ring_id, FetchSession(fetch.client, fetch.token, fetch.clean))
        self._deadlines.at(now + self._parameters.moving, lambda then: self._fetch_again(fetch, fetch.token, then))

    def _fetch_again(self, fetch: _Fetch, token: int, now: float) -> None:
        if fetch.token == token:
            self._fetch(fetch, now)

    def _let_in(self, fetch: _Fetch, now: float) -> None:
        waiting, fetch.connections = fetch.connections, []
        for connection in waiting:
            self._admit(connection, now)

    def _lose_patience(self, token: int, now: float) -> None:
        arrival = self._asked.pop(token, None)
        if arrival is not None:
            self._admit(arrival.connection, now)

    def _admit(self, connection: int, now: float) -> None:
        self._outbox.resume(connection, HELD)
        self._happen(Admitted(connection), now)


def _fields(one: object) -> tuple[str, int, int]:
    return one.filter, one.options, one.identifier  # type: ignore[attr-defined]


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
