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
from weft.node import record
from weft.node.atlas import Atlas
from weft.node.directory import Directory
from weft.node.effect import MASTER
from weft.node.figure import Figures
from weft.node.outbox import Outbox
from weft.node.parameters import Parameters
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

PART = 1 << 20  # bytes of records in a frame
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

    def add(self, frame: SessionMoved) -> tuple[bytes, ...] | None:
        """All records, when all parts have come."""
        self.parts[frame.part] = frame.records
        if frame.last:
            self.size = frame.part + 1
        if self.size is None or len(self.parts) < self.size:
            return None
        return tuple(one for part in sorted(self.parts) for one in self.parts[part])


class Moving:
    def __init__(
        self,
        broker: Broker,
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
        self._asked: dict[int, _Arrival] = {}
        self._fetches: dict[str, _Fetch] = {}
        self._given: dict[str, tuple[bytes, ...]] = {}
        self._promised: list[tuple[int, int, int, Frame]] = []  # position, node, ring id: to say when on the disk

    # A client comes

    def connect(self, connection: int, client: str, clean: bool, now: float) -> None:
        if MASTER not in self._atlas.up:
            self._admit(connection, now)
            return
        self._outbox.hold(connection, HELD)
        token = next(self._tokens)
        self._asked[token] = _Arrival(connection, client, clean)
        self._outbox.tell(MASTER, FindSession(client, token))
        self._deadlines.at(now + self._parameters.patience, lambda then: self._lose_patience(token, then))

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

    def lose_master(self, now: float) -> None:
        asked, self._asked = self._asked, {}
        for arrival in asked.values():
            self._admit(arrival.connection, now)

    # Between the nodes

    def give(self, source: int, ring_id: int, frame: FetchSession, now: float) -> None:
        """Another node asks for a session."""
        self._happen(SessionClaimed(frame.client), now)
        if frame.clean:
            self._given.pop(frame.client, None)
            self._happen(MovedAway(frame.client), now)
        elif records := self._broker.export(frame.client):
            self._figures.sessions_given += 1
            self._given[frame.client] = records
            self._keep(record.Given(frame.client, records))
            self._happen(MovedAway(frame.client), now)
        for part, last, records in _parts(self._given.get(frame.client, ())):
            self._send(source, ring_id, SessionMoved(frame.client, frame.token, part, last, records))

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
            self._happen(SessionArrived(records), now)
        self._keep(record.Fetched(frame.client))
        self._promised.append((self._broker.position, source, ring_id, SessionTaken(frame.client, frame.token)))
        self._let_in(fetch, now)

    def let_go(self, frame: SessionTaken) -> None:
        """The other node has it on its disk."""
        if self._given.pop(frame.client, None) is not None:
            self._keep(record.GivenUp(frame.client))

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

    def restore(self, fetching: dict[str, tuple[int, int]], given: dict[str, tuple[bytes, ...]]) -> None:
        self._given = dict(given)
        for client, (node, ring_id) in fetching.items():
            self._fetches[client] = _Fetch(client, node, ring_id)

    def retry(self, now: float) -> None:
        """This node is in the network again."""
        for fetch in list(self._fetches.values()):
            self._fetch(fetch, now)

    def records(self) -> Iterator[record.Record]:
        fetches = [record.Fetching(one.client, one.node, one.ring_id) for one in self._fetches.values()]
        return iter([*fetches, *(record.Given(client, records) for client, records in self._given.items())])

    def _make(self, session: Owned, fetch: _Fetch, now: float) -> None:
        """A session with the subscriptions that the master knows."""
        made = [r.SessionOpened(session.client, session.version, session.expiry, 0)]
        subscribed = [r.Subscribed(session.client, *_fields(one)) for one in session.subscriptions]
        self._keep(record.Fetching(fetch.client, fetch.node, fetch.ring_id))
        self._happen(SessionArrived(tuple(map(r.encode, [*made, *subscribed]))), now)

    def _fetch(self, fetch: _Fetch, now: float) -> None:
        if self._fetches.get(fetch.client) is not fetch or fetch.node in self._atlas.down:
            return
        fetch.token = next(self._tokens)
        fetch.parts, fetch.size = {}, None
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
