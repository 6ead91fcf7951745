"""Sessions that follow their clients from node to node.

A client comes, and this node does not have its session, or may not have it any more. The master says who had it until
now; from then on it is this node's, which no other can be at the same time. What follows depends on who had it:

- nobody, or this node: the client is let in;
- a node that is there: the session is made here with the subscriptions that the master knows. When these are in place,
  the other node is asked for it: it closes the client's old connection and gives what waits for the client, which comes
  before what has come here meanwhile. The client is let in when that is done;
- a node that is down: the client is let in with its subscriptions, and what waits at the other node follows when that
  is back.

A node that is asked gives what it has, and names the nodes that it is still waiting for itself (`rest`): the asker goes
on to these, so that a session that has been at many nodes, some of them down, is gathered by who has it now. The master
knows these nodes too, and drops each when the owner has on its disk what that had: an answer that is lost, or a claim
that is lost with the power, is made again. Claims are numbered: a node that has claimed a session later than who asks
for it gives nothing away, and will ask the other itself. A node may claim late what it had when the master was gone, or
before it was restarted: where the client is at another node by then, that claims it again.

With the master out of reach a client is let in on this node's own authority. The session is claimed when the master is
back, and gathered then.

A publication may come to a session twice, at two nodes, or with two parts of it: each session knows what it was given
(`Session.had`), and takes that along. What comes to the other node for the session later, because somebody did not know
yet or owed it to that node while it was down, is passed on for some time to where the session is (`Trail`), and given
to this session alone. What had come here before the session did, and is sent again because the other node had not got
it, it gets as well.

The other node is asked when this one's disk knows that the session comes here, answers when its own knows that it has
gone, and keeps what it has given until that is on the disk here. Both remember across a crash: who asked asks again,
who gave gives again. It is asked once more then, and until it says that it has nothing: it may not have heard, and what
a session was given is not remembered for ever. A client who wants no session (clean) has it ended there instead.

A disk that is full or slow may keep the other node from answering until the client is let in without its session, and
says again with QoS 2 what nobody has acknowledged. It would travel as another publication: so the other node says at
once what of that its disk has (SessionComing). If it has taken more than its disk has, the client waits as long as it
says so: it will pass that on, or lose it with its power, and nobody knows which. Where a client comes back before its
session has got anywhere, this node knows that itself.
"""

from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import dataclass, field, replace
from itertools import count

from weft.broker import record as r
from weft.broker.broker import Broker
from weft.broker.deadline import Deadlines
from weft.broker.effect import ALL, Admitted, Close, Event, SessionArrived, SessionClaimed
from weft.broker.effect import SessionComing as ComingHere
from weft.broker.effect import SessionGathered as GatheredHere
from weft.broker.effect import SessionMoved as MovedAway
from weft.broker.filter import FilterIndex
from weft.broker.publication import Origin
from weft.broker.session import LATE, Session
from weft.node import record
from weft.node.atlas import Atlas
from weft.node.directory import Directory
from weft.node.effect import MASTER
from weft.node.figure import Figures
from weft.node.outbox import Outbox
from weft.node.parameters import Parameters
from weft.node.seen import Seen, oldest_of
from weft.wire.frame import (
    NOBODY,
    FetchSession,
    FindSession,
    Frame,
    Owned,
    SessionAt,
    SessionComing,
    SessionGathered,
    SessionMoved,
    SessionTaken,
)
from weft.wire.mqtt.topic import is_shared

PART = 1 << 20  # bytes of records in a frame
OLD = frozenset({ALL})  # known filters of a session at a node that it has been at before others: theirs count
FORGOTTEN = 1024  # publications that a session forgets before the journal is told
HELD = "moving"  # the reason for which a connection is not read

Place = tuple[int, int]  # a node, and its place on the ring
Standing = tuple[int, int, bool]  # the same, and whether it is up
Answer = SessionMoved | SessionTaken | SessionGathered
Promise = tuple[int, type[Answer], str, int]  # to whom, what, of which client, which of several


@dataclass(slots=True)
class _Arrival:
    """A session that this node wants, or has taken without being asked; the master's answer is awaited."""

    client: str
    clean: bool
    connection: int | None  # that waits to be let in
    is_sent: bool = False  # the master may have been asked
    is_kept: bool = False  # in the journal: the client is in


@dataclass(slots=True)
class _Fetch:
    client: str
    node: int
    ring_id: int
    known: frozenset[str] | None  # filters that the session came with; None until its client is in
    clean: bool = False
    token: int = 0
    position: int = -1  # of the journal, which is to be written up to there first
    awaited: float = 0.0  # until when the client waits for it, longer than for others
    is_taken: bool = False  # it is here, and the other node has yet to hear that
    parts: dict[int, SessionMoved] = field(default_factory=dict)

    def add(self, frame: SessionMoved) -> SessionMoved | None:
        """All of it as one, when all parts have come."""
        self.parts[frame.part] = frame
        last = self.parts[max(self.parts)]
        if not last.last or len(self.parts) <= last.part:
            return None
        records = tuple(one for part in sorted(self.parts) for one in self.parts[part].records)
        return SessionMoved(frame.client, frame.token, 0, True, records, last.had, last.rest)


@dataclass(slots=True)
class Trail:
    """Where a session has gone from here."""

    given: record.Given
    filters: FilterIndex[bool]
    had: dict[Origin, None]  # what it was given while it was here, and what was sent after it
    position: int  # of the journal, which is to be written up to there before the session is said to have gone
    received: dict[int, int]  # as the session has it

    @property
    def client(self) -> str:
        return self.given.client


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
        replan: Callable[[], None],  # publications may go elsewhere
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
        self._replan = replan
        self._tokens = count(1)
        self._has_joined = False  # since this node started
        self._asked: dict[int, _Arrival] = {}  # by token
        self._fetches: dict[tuple[str, int], _Fetch] = {}  # by client and node
        self._guests: dict[str, int] = {}  # by client: the connection that waits for fetches
        self._trails: dict[str, Trail] = {}
        self._restored: frozenset[str] = frozenset()  # those of before a restart, which may have come shortly before it
        self._lingering: dict[str, float] = {}  # clients whose sessions came here, and until when more may follow
        self._forgotten: dict[str, int] = {}  # by client: how much its session forgot since the journal knows
        self._synced = broker.position
        self._unwritten: dict[tuple[str, int], _Fetch] = {}  # by client and node: to be asked for when on the disk
        self._promised: dict[Promise, tuple[int, int, int, Frame]] = {}  # position, node, ring id, what to say then

    # A client comes

    def connect(self, connection: int, client: str, clean: bool, now: float) -> None:
        self._turn_away(client)
        arrival = _Arrival(client, clean, connection)
        token = next(self._tokens)
        self._asked[token] = arrival
        if MASTER not in self._atlas.up and self._has_joined:
            self._let_in_alone(arrival, now)
            return
        self._outbox.hold(connection, HELD)
        if self._has_joined:
            self._ask(token, arrival)
        self._deadlines.at(now + self._parameters.patience, lambda then: self._let_in_alone(arrival, then))

    def join(self) -> None:
        """This node is part of the network, again perhaps: the master is asked for all who came meanwhile."""
        self._has_joined = True
        for token, arrival in self._asked.items():
            self._ask(token, arrival)

    def answer(self, news: SessionAt, now: float) -> None:
        """The master has said who had the session."""
        arrival = self._asked.pop(news.token, None)
        if arrival is None:
            return
        if arrival.connection is not None:
            self._receive(arrival.client, arrival.connection, now)
        if arrival.is_kept:
            self._keep(record.Fetched(arrival.client, NOBODY))
        self._directory.claims[arrival.client] = news.claim
        self._keep(record.Claimed(arrival.client, news.claim))
        session = news.session if news.session is not None and news.session.expiry else None
        places = [place for place in news.places if place[2] or session is not None]
        if places:
            self._claim(arrival, news.owner, places, session, now)
        elif session is None or arrival.clean:
            self._erase(arrival.client)  # it has ended
        else:
            self._take_back(arrival.client, now)
        if (here := self._broker.session(arrival.client)) is not None:
            self._directory.note_session(arrival.client, here)
        self._welcome(arrival.client, now)

    def forget(self, connection: int) -> None:
        """The connection is gone. The session is this node's all the same, if the master was asked for it."""
        for token, arrival in list(self._asked.items()):
            if arrival.connection == connection:
                arrival.connection = None
                if not arrival.is_sent:
                    del self._asked[token]
        self._guests = {client: one for client, one in self._guests.items() if one != connection}

    def end(self, client: str) -> None:
        """The session has ended here: so it does wherever more of it waits."""
        for fetch in self._fetches_of(client):
            if fetch.is_taken:
                self._end_fetch(fetch)
            fetch.clean = True

    def newcomers(self) -> Set[str]:
        """Clients whose sessions may have come here lately."""
        return self._lingering.keys() | self._restored | {client for client, _ in self._fetches}

    def trail(self, client: str) -> Trail | None:
        return self._trails.get(client)

    def trails(self, name: str) -> list[Trail]:
        """Sessions that have gone from here, and want what is published on a name."""
        return [
            trail
            for trail in self._trails.values()
            if self._broker.session(trail.client) is None and trail.filters.match(name)
        ]

    def lose_master(self, now: float) -> None:
        for session in self._broker.sessions():
            self.doubt_session(session.client)
        for arrival in list(self._asked.values()):
            self._let_in_alone(arrival, now)

    def doubt_session(self, client: str) -> None:
        """Another node may claim what nobody uses here, and without the master this one does not hear of it."""
        session = self._broker.session(client)
        if session is not None and session.connection is None and MASTER not in self._atlas.up:
            session.unsure = True

    # Between the nodes

    def give(self, source: int, ring_id: int, frame: FetchSession, now: float) -> None:
        """Another node asks for a session."""
        client = frame.client
        if self._is_to_claim(client):
            return  # it is not known yet where it was; the other asks again
        if frame.claim < self._directory.claims.get(client, 0):
            return  # it has been claimed by this node since, which asks the other in its turn
        if not frame.clean and not frame.is_there and self._is_here(client):
            self._claim_again(client)
            return
        self._turn_away(client)
        self._happen(SessionClaimed(client), now)
        rest = self._missing(client)
        for one in self._fetches_of(client):
            self._end_fetch(one)
        if frame.clean:
            self._end_everywhere(client, rest, frame.claim, now)
        else:
            self._give_away(client, (source, ring_id), rest, frame.claim, now)
        self._answer_with_trail(source, ring_id, frame)

    def _is_to_claim(self, client: str) -> bool:
        """Whether this node is about to claim a session: it has asked, or will, and the client is here.

        Where the client has left since, who asks has it, and there is nothing to claim.
        """
        is_here = self._is_in(client)
        for token, arrival in list(self._asked.items()):
            if arrival.client == client and (arrival.is_sent or is_here):
                return True
            if arrival.client == client and arrival.connection is None:
                del self._asked[token]
                self._keep(record.Fetched(client, NOBODY))
        return False

    def _is_in(self, client: str) -> bool:
        session = self._broker.session(client)
        return session is not None and session.connection is not None

    def _is_here(self, client: str) -> bool:
        """Whether the client is in, or waits to be let in."""
        waits = any(one.client == client and one.connection is not None for one in self._asked.values())
        return waits or client in self._guests or self._is_in(client)

    def _claim_again(self, client: str) -> None:
        """Another node has claimed a session late, when its client was there no more: the client is here."""
        token, arrival = next(self._tokens), _Arrival(client, False, None, is_kept=True)
        self._asked[token] = arrival
        self._keep(record.Fetching(client, NOBODY, 0, ()))
        if self._has_joined:
            self._ask(token, arrival)

    def take(self, source: int, ring_id: int, frame: SessionMoved, now: float) -> None:
        fetch = self._fetches.get((frame.client, source))
        if fetch is None or fetch.token != frame.token:
            return
        moved = fetch.add(frame)
        if moved is None:
            return
        is_all = fetch.clean or not moved.records
        if is_all:
            self._end_fetch(fetch)
        if not fetch.clean:
            self._take_over(fetch, moved, now)
        position = self._broker.position
        self._promise(position, source, ring_id, SessionTaken(frame.client, frame.token))
        self._promise(position, MASTER, 0, SessionGathered(frame.client, source), source)
        if not is_all:
            self._ask_again(fetch, now)
        self._welcome(frame.client, now)

    def _ask_again(self, fetch: _Fetch, now: float) -> None:
        """Both the other node and the master may miss that it is here: the other is asked until it has nothing."""
        fetch.is_taken, fetch.token, fetch.position = True, 0, self._broker.position
        if fetch.known is not None:
            fetch.known |= self._filters(fetch.client)
            self._keep(_fetching(fetch))
        self._fetch(fetch, now)

    def foresee(self, source: int, frame: SessionComing, now: float) -> None:
        """The other node cannot give it yet. Its client may be let in before: what it says again is no news."""
        fetch = self._fetches.get((frame.client, source))
        if fetch is not None and fetch.token == frame.token and fetch.known is None and not fetch.clean:
            self._happen(ComingHere(frame.client, frame.received), now)
            if not frame.whole:
                fetch.awaited = now + 2 * self._parameters.patience  # the other is asked again meanwhile

    def let_go(self, frame: SessionTaken) -> None:
        """The other node has it on its disk."""
        trail = self._trails.get(frame.client)
        if trail is not None and trail.given.records:
            old = trail.given
            trail.given = replace(old, records=(), had=tuple(trail.had), rest=())
            self._keep(trail.given)

    def come_back(self, node: int, now: float) -> None:
        """A node is there again: what waits there for sessions that are here can follow."""
        for fetch in list(self._fetches.values()):
            if fetch.node == node:
                self._fetch(fetch, now)

    def remove(self, node: int) -> None:
        """A node will not come back, and what waits there is lost."""
        for fetch in [one for one in self._fetches.values() if one.node == node]:
            self._end_fetch(fetch)

    def sync(self, synced: int, now: float) -> None:
        self._synced = synced
        while self._promised and (first := next(iter(self._promised.values())))[0] <= synced:
            del self._promised[next(iter(self._promised))]
            self._send(*first[1:])
        while self._unwritten and (fetch := next(iter(self._unwritten.values()))).position <= synced:
            del self._unwritten[fetch.client, fetch.node]
            self._fetch(fetch, now)

    def _promise(self, position: int, node: int, ring_id: int, frame: Answer, which: int = 0) -> None:
        """Say something when all records up to a position are on the disk, to who asks again once."""
        if position <= self._synced:
            self._send(node, ring_id, frame)
            return
        promise = (node, type(frame), frame.client, which)
        self._promised.pop(promise, None)
        self._promised[promise] = (position, node, ring_id, frame)

    def prune(self, now: float) -> None:
        """Forget what sessions were given long ago; for those that have come here lately more may follow."""
        self._lingering = {client: until for client, until in self._lingering.items() if until > now}
        waiting = {client for client, _ in self._fetches}
        forgotten, self._forgotten = self._forgotten, {}
        for session in self._broker.sessions():
            if session.had and session.client not in self._lingering and session.client not in waiting:
                had, session.had = session.had, self._seen.left_of(session.had, now)
                self._forget(session, forgotten.get(session.client, 0) + len(had) - len(session.had))

    def _forget(self, session: Session, count: int) -> None:
        """Say in the journal what a session has forgotten, many at once: else all of it would be back after a crash."""
        if count < FORGOTTEN:
            self._forgotten[session.client] = count
        elif session.persistent:
            self._keep(record.Forgotten(session.client, oldest_of(session.had)))

    # What outlives a crash

    def restore(
        self,
        clients: Iterable[str],
        fetching: dict[tuple[str, int], record.Fetching],
        given: dict[str, record.Given],
        now: float,
    ) -> None:
        self._restored = frozenset(clients)
        self._deadlines.at(now + self._parameters.linger, lambda _: self._forget_restored())
        for one in given.values():
            self._lay(one, now, _received(one))
        for each in fetching.values():
            if each.node == NOBODY:
                self._asked[next(self._tokens)] = _Arrival(each.client, False, None, is_kept=True)
            else:
                fetch = _Fetch(each.client, each.node, each.ring_id, frozenset(each.known))
                self._fetches[each.client, each.node] = fetch

    def _forget_restored(self) -> None:
        self._restored = frozenset()

    def retry(self, now: float) -> None:
        """This node is in the network again."""
        for fetch in list(self._fetches.values()):
            self._fetch(fetch, now)

    def records(self) -> Iterator[record.Record]:
        fetches = [_fetching(one) for one in self._fetches.values()]
        alone = [record.Fetching(one.client, NOBODY, 0, ()) for one in self._asked.values() if one.is_kept]
        had = [record.Had(one.client, tuple(one.had)) for one in self._broker.sessions() if one.had and one.persistent]
        claims = [record.Claimed(client, claim) for client, claim in self._directory.claims.items()]
        return iter([*fetches, *alone, *had, *claims, *(trail.given for trail in self._trails.values())])

    # Letting in

    def _ask(self, token: int, arrival: _Arrival) -> None:
        arrival.is_sent = True
        self._outbox.tell(MASTER, FindSession(arrival.client, token))

    def _let_in_alone(self, arrival: _Arrival, now: float) -> None:
        """The master does not answer: the client is in, and its session is claimed when the master is there."""
        if arrival.connection is None or arrival not in self._asked.values():
            return
        connection, arrival.connection = arrival.connection, None
        if not arrival.clean and not arrival.is_kept:
            arrival.is_kept = True
            self._keep(record.Fetching(arrival.client, NOBODY, 0, ()))
        self._admit(arrival.client, connection, now)

    def _claim(self, arrival: _Arrival, owner: int, places: list[Standing], session: Owned | None, now: float) -> None:
        """The session is this node's, and what waits for it is at others."""
        here = self._broker.session(arrival.client)
        is_in = here is not None and (arrival.is_kept or not here.unsure)
        known = frozenset(here.subscriptions) if here is not None and is_in else None
        for node, ring_id, _ in places:
            before = self._fetches.get((arrival.client, node))
            filters = known if node == owner else OLD if before is None else before.known
            fetch = self._fetches[arrival.client, node] = _Fetch(arrival.client, node, ring_id, filters, arrival.clean)
            self._keep(_fetching(fetch))
        if session is not None and not arrival.clean:
            self._make(session, known, now)
            self._remember(arrival.client, now)
            complete = GatheredHere(arrival.client)
            self._deadlines.at(now + self._parameters.moving, lambda then: self._happen(complete, then))
        there = [self._fetches[arrival.client, node] for node, _, is_up in places if is_up]
        self._directory.wait(lambda then, _: self._fetch_all(there, then), now)
        self._deadlines.at(now + self._parameters.patience, lambda then: self._fetch_all(there, then))

    def _fetch_all(self, fetches: list[_Fetch], now: float) -> None:
        """Ask for what waits elsewhere, when what it is for is in place here, or has been waited for long enough."""
        for fetch in fetches:
            if not fetch.token:
                self._fetch(fetch, now)

    def _welcome(self, client: str, now: float) -> None:
        """Let the client in, if nothing more of its session can be had at the moment."""
        if not any(fetch.node not in self._atlas.down for fetch in self._missing(client)):
            self._open_door(client, now)
            self._happen(GatheredHere(client), now)

    def _receive(self, client: str, connection: int, now: float) -> None:
        """A client may have to wait for its session, but not for ever."""

        def lose_patience(then: float) -> None:
            if self._guests.get(client) != connection:
                return
            if any(fetch.awaited > then for fetch in self._fetches_of(client)):
                self._deadlines.at(then + self._parameters.patience, lose_patience)
            else:
                self._hold_back(client, then)
                self._open_door(client, then)

        self._guests[client] = connection
        self._deadlines.at(now + self._parameters.moving, lose_patience)

    def _hold_back(self, client: str, now: float) -> None:
        """The client is let in before its session is whole: what comes for it waits for the rest, for as long again."""
        session = self._broker.session(client)
        if session is not None and session.persistent:
            session.gathering = True
            self._deadlines.at(now + self._parameters.moving, lambda then: self._happen(GatheredHere(client), then))

    def _open_door(self, client: str, now: float) -> None:
        connection = self._guests.pop(client, None)
        if connection is not None:
            self._admit(client, connection, now)

    def _turn_away(self, client: str) -> None:
        """Close whoever waits to be let in under a name: who comes now, here or elsewhere, goes first."""
        waiting = [one for one in self._asked.values() if one.client == client and one.connection is not None]
        for arrival in waiting:
            assert arrival.connection is not None
            self._close(arrival.connection)
            arrival.connection = None
        if (connection := self._guests.pop(client, None)) is not None:
            self._close(connection)

    def _close(self, connection: int) -> None:
        self._outbox.resume(connection, HELD)
        self._outbox.send(Close(connection))

    def _admit(self, client: str, connection: int, now: float) -> None:
        """The client is in: what it does from now on counts for more than what it did where its session was."""
        for fetch in self._fetches_of(client):
            if fetch.known is None:
                fetch.known = self._filters(client)
                self._keep(_fetching(fetch))
        self._outbox.resume(connection, HELD)
        self._happen(Admitted(connection), now)

    # Giving

    def _give_away(self, client: str, to: Place, rest: list[_Fetch], claim: int, now: float) -> None:
        session = self._broker.session(client)
        if session is None and not rest:
            return
        before, received = self._trails.get(client), _unreleased(session)
        if session is not None and before is not None:  # nobody has taken that
            received = before.received | received
            self._arrive(client, frozenset(session.subscriptions), before.given.records, before.given.had, now)
        ended = [one for one in rest if one.clean and session is not None]
        for one in ended:
            self._send(one.node, one.ring_id, FetchSession(client, 0, claim, clean=True, is_there=True))
        places = tuple((one.node, one.ring_id, tuple(sorted(one.known or ()))) for one in rest if one not in ended)
        self._figures.sessions_given += 1
        records = self._broker.export(client)
        had = tuple(session.had) if session is not None else ()
        given = record.Given(client, *to, records, had, places, _trailed(session))
        self._keep(given)
        self._lay(given, now, received)
        self._happen(MovedAway(client), now)

    def _end_everywhere(self, client: str, rest: list[_Fetch], claim: int, now: float) -> None:
        self._erase(client)
        for one in rest:
            self._send(one.node, one.ring_id, FetchSession(client, 0, claim, clean=True, is_there=True))
        self._happen(MovedAway(client, ended=True), now)

    def _answer_with_trail(self, source: int, ring_id: int, frame: FetchSession) -> None:
        """Say what was given when the disk knows that it was.

        Nobody asks again for what another node has: a copy here, of a node that has forgotten with its power that it
        gave it, would take publications that no client gets.
        """
        trail, position = self._trails.get(frame.client), self._broker.position
        given = record.Given(frame.client, source, ring_id, (), (), (), ())
        if trail is not None:
            given, position = trail.given, trail.position
            self._announce(source, ring_id, frame, trail)
        for part, last, some in _parts(given.records):
            more = (given.had, given.rest) if last else ((), ())
            moved = SessionMoved(frame.client, frame.token, part, last, some, *more)
            self._promise(position, source, ring_id, moved, part)

    def _announce(self, source: int, ring_id: int, frame: FetchSession, trail: Trail) -> None:
        """Say what the client is not to say again, if the disk knows that, and not yet that the session has gone."""
        known = tuple(packet_id for packet_id, position in trail.received.items() if position <= self._synced)
        if trail.received and trail.position > self._synced:
            is_whole = len(known) == len(trail.received)
            self._send(source, ring_id, SessionComing(frame.client, frame.token, known, is_whole))

    def _lay(self, given: record.Given, now: float, received: dict[int, int]) -> None:
        """What comes for a session that leaves goes after it."""
        filters: FilterIndex[bool] = FilterIndex()
        for pattern in given.filters:
            filters.setdefault(pattern, lambda: True)
        had, position = dict.fromkeys(given.had), self._broker.position
        trail = self._trails[given.client] = Trail(given, filters, had, position, received)
        self._replan()
        self._deadlines.at(now + self._parameters.linger, lambda _: self._end(trail))

    def _end(self, trail: Trail) -> None:
        """Nothing more comes; what the other node has not taken it may still ask for."""
        if self._trails.get(trail.client) is trail and not trail.given.records:
            self._erase(trail.client)

    def _erase(self, client: str) -> None:
        if self._trails.pop(client, None) is not None:
            self._replan()
            self._keep(record.GivenUp(client))

    # Taking

    def _make(self, session: Owned, known: frozenset[str] | None, now: float) -> None:
        """A session with the subscriptions that the master knows."""
        made = [r.SessionOpened(session.client, session.version, session.expiry, 0)]
        subscribed = [r.Subscribed(session.client, *_fields(one)) for one in session.subscriptions]
        self._lingering[session.client] = now + self._parameters.linger
        records = tuple(map(r.encode, [*made, *subscribed]))
        self._happen(SessionArrived(records, known=known, partial=known is not None), now)
        made_here = self._broker.session(session.client)
        if made_here is not None and known is None:
            made_here.unsure = True  # who comes before it is gathered waits too

    def _remember(self, client: str, now: float) -> None:
        """Its client comes back, and nobody has said that the session which went from here has got there."""
        trail = self._trails.get(client)
        if trail is not None and trail.given.records:
            self._happen(ComingHere(client, tuple(trail.received), late=True), now)

    def _take_over(self, fetch: _Fetch, moved: SessionMoved, now: float) -> None:
        """What another node has given. What this one had given itself, and nobody has taken, belongs to it too.

        Who asked for that names this node, or another who does: it is kept until all have answered.
        """
        client, trail = fetch.client, self._trails.get(fetch.client)
        self._arrive(client, fetch.known, moved.records, moved.had, now)
        rest = moved.rest
        older = [known for node, _, known in rest if node == self._atlas.node]
        is_lost = not (moved.records or moved.had or rest)
        is_back = trail is not None and bool(trail.given.records) and (bool(older) or is_lost)
        if trail is not None and is_back:
            known = self._filters(client).union(fetch.known or (), *older) if older else fetch.known
            self._arrive(client, known, trail.given.records, trail.given.had, now)
            rest += trail.given.rest
        here = self._filters(client)
        for node, ring_id, filters in rest:
            before = self._fetches.get((client, node))
            if node != self._atlas.node and (before is None or before.known == OLD):
                one = self._fetches[client, node] = _Fetch(client, node, ring_id, here.union(filters))
                self._keep(_fetching(one))
                self._fetch(one, now)
        if is_back or all(one is fetch for one in self._missing(client)):
            self._erase(client)

    def _filters(self, client: str) -> frozenset[str]:
        session = self._broker.session(client)
        return frozenset(session.subscriptions) if session is not None else frozenset()

    def _take_back(self, client: str, now: float) -> None:
        """What this node has given, and who asked for it has lost."""
        trail, here = self._trails.get(client), self._broker.session(client)
        if trail is not None and trail.given.records:
            known = frozenset(here.subscriptions) if here is not None else None
            self._arrive(client, known, trail.given.records, trail.given.had, now)
            self._erase(client)

    def _arrive(
        self,
        client: str,
        known: frozenset[str] | None,
        records: tuple[bytes, ...],
        had: tuple[Origin, ...],
        now: float,
    ) -> None:
        if records:
            self._figures.sessions_fetched += 1
            self._lingering[client] = now + self._parameters.linger
            self._happen(SessionArrived(records, frozenset(had), known), now)
            self._keep(record.Had(client, had))

    def _fetches_of(self, client: str) -> list[_Fetch]:
        return [one for one in self._fetches.values() if one.client == client]

    def _missing(self, client: str) -> list[_Fetch]:
        """Parts of a session that are not here yet."""
        return [one for one in self._fetches_of(client) if not one.is_taken]

    def _end_fetch(self, fetch: _Fetch) -> None:
        del self._fetches[fetch.client, fetch.node]
        self._keep(record.Fetched(fetch.client, fetch.node))

    def _fetch(self, fetch: _Fetch, now: float) -> None:
        """Ask for what waits at another node: it gives it away then, and this one must not forget that it comes."""
        if self._fetches.get((fetch.client, fetch.node)) is not fetch or fetch.node in self._atlas.down:
            return
        if fetch.position < 0:
            fetch.position = self._broker.position
        if fetch.position > self._synced:
            self._unwritten[fetch.client, fetch.node] = fetch
            return
        fetch.token, claim = next(self._tokens), self._directory.claims.get(fetch.client, 0)
        fetch.parts = {}
        asking = FetchSession(fetch.client, fetch.token, claim, fetch.clean, self._is_here(fetch.client))
        self._send(fetch.node, fetch.ring_id, asking)
        self._look_after(fetch, now)

    def _look_after(self, fetch: _Fetch, now: float) -> None:
        """Ask again if nothing has come for a while."""
        token, before = fetch.token, len(fetch.parts)

        def look(then: float) -> None:
            if fetch.token == token and len(fetch.parts) > before:
                self._look_after(fetch, then)
            elif fetch.token == token:
                self._fetch(fetch, then)

        self._deadlines.at(now + self._parameters.patience, look)


def _trailed(session: Session | None) -> tuple[str, ...]:
    """The filters for which something may come that must go after a session."""
    subscriptions = session.subscriptions.values() if session is not None else ()
    return tuple(one.filter for one in subscriptions if one.qos and not is_shared(one.filter))


def _unreleased(session: Session | None) -> dict[int, int]:
    """What its client has said with QoS 2, and says again if it is let in elsewhere."""
    received = session.received.items() if session is not None else ()
    return {packet_id: position for packet_id, position in received if position != LATE}


def _received(given: record.Given) -> dict[int, int]:
    """Identifiers that the session had which was given away, and is on the disk."""
    return {one.packet_id: 0 for one in map(r.decode, given.records) if isinstance(one, r.ReceiptNoted)}


def _fetching(fetch: _Fetch) -> record.Fetching:
    return record.Fetching(fetch.client, fetch.node, fetch.ring_id, tuple(sorted(fetch.known or ())))


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
