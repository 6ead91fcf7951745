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
for it gives nothing away, and will ask the other itself, or whom it has given the session to will. A node may claim
late what it had when the master was gone, or before it was restarted: where the client is at another node by then, that
claims it again.

With the master out of reach a client is let in on this node's own authority (admission.py). The session is claimed when
the master is back, and gathered then. So is, after a restart, every session on which the journal has no claim: it was
begun without the master, or in the place of another. A session that it was to replace, at another node, is gathered
then and not ended, for the client may have been there since; from the master's answer on the journal has that it is to
be ended (fetch.py).

A publication may come to a session twice, at two nodes, or with two parts of it, and is given once (session_memory.py).
What comes to the other node for the session later is passed on to where the session is (trail.py).

The other node is asked when this one's disk knows that the session comes here (fetch.py), answers when its own knows
that it has gone (promise.py), and keeps what it has given until that is on the disk here. Both remember across a crash:
who asked asks again, who gave gives again. It is asked once more then, and until it says that it has nothing: it may
not have heard, and what a session was given is not remembered for ever. A client who wants no session (clean) has it
ended there instead.

A disk that is full or slow may keep the other node from answering until the client is let in without its session, and
says again with QoS 2 what nobody has acknowledged. It would travel as another publication: so the other node says at
once what of that its disk has (SessionComing). If it has taken more than its disk has, the client waits as long as it
says so: it will pass that on, or lose it with its power, and nobody knows which. Where a client comes back before its
session has got anywhere, this node knows that itself. The other node also says what the client has got there: an issuer
that does not know this may issue it again, and here it would come a second time. For the same reason a node that gets
a session back knows what that had when it left, until it has come.
"""

from collections.abc import Callable, Iterable
from math import inf

from weft.broker import record as r
from weft.broker.broker import Broker
from weft.broker.deadline import Deadlines
from weft.broker.effect import ALL, Event, SessionArrived, SessionOutdated
from weft.broker.effect import SessionClaimed as ClaimedElsewhere
from weft.broker.effect import SessionComing as ComingHere
from weft.broker.effect import SessionMoved as MovedAway
from weft.broker.publication import Origin
from weft.broker.session import LATE, Receipt, Session
from weft.node import record
from weft.node.admission import Admissions, PendingClaim
from weft.node.atlas import Atlas
from weft.node.directory import Directory
from weft.node.effect import MASTER
from weft.node.fetch import Fetch, Fetches, filters_of
from weft.node.figure import Figures
from weft.node.parameters import Parameters
from weft.node.promise import Promises
from weft.node.session_memory import SessionMemory
from weft.node.trail import Trails
from weft.wire.frame import (
    NOBODY,
    FetchSession,
    Frame,
    Owned,
    SessionAt,
    SessionClaimed,
    SessionComing,
    SessionGathered,
    SessionMoved,
    SessionTaken,
)
from weft.wire.mqtt.topic import is_shared

OLD = frozenset({ALL})  # known filters of a session at a node that it has been at before others: theirs count

Place = tuple[int, int]  # a node, and its place on the ring
Standing = tuple[int, int, bool]  # the same, and whether it is up


class Moving:
    def __init__(
        self,
        broker: Broker,
        atlas: Atlas,
        directory: Directory,
        deadlines: Deadlines,
        figures: Figures,
        parameters: Parameters,
        admissions: Admissions,
        fetches: Fetches,
        trails: Trails,
        promises: Promises,
        memory: SessionMemory,
        happen: Callable[[Event, float], None],  # an event of the broker
        keep: Callable[[record.Record], None],  # in the journal
        send: Callable[[int, int, Frame], None],  # to any node, by number and ring id
    ) -> None:
        self._broker = broker
        self._atlas = atlas
        self._directory = directory
        self._announcements = deadlines.timer(self._announce_again)  # by client and node
        self._leavings = deadlines.timer(lambda filter_, _: directory.let_go([filter_]))
        self._figures = figures
        self._parameters = parameters
        self._admissions = admissions
        self._fetches = fetches
        self._trails = trails
        self._promises = promises
        self._memory = memory
        self._happen = happen
        self._keep = keep
        self._send = send

    # The master

    def answer(self, news: SessionAt, now: float) -> None:
        """The master has said who had the session."""
        claim = self._admissions.take_answered(news.token)
        if claim is None:
            self._note_later(news)
            return  # its client has left, and is elsewhere perhaps: it stays where it is
        if claim.connection is not None:
            self._admissions.receive(claim.client, claim.connection, now)
        if claim.is_kept:
            self._keep(record.Fetched(claim.client, NOBODY))
        self._directory.claims[claim.client] = news.claim
        self._keep(record.Claimed(claim.client, news.claim))
        session = news.session if news.session is not None and news.session.expiry else None
        places = [place for place in news.places if place[2] or session is not None]
        if places:
            self._claim(claim, news.owner, places, session, now)
        elif session is None or claim.clean:
            self._trails.erase(claim.client)  # it has ended
        else:
            self._take_back(claim.client, now)
        if (here := self._broker.session(claim.client)) is not None:
            here.alone = False
            self._directory.note_session(claim.client, here)
        self._admissions.welcome(claim.client, now)
        self._give_up(claim.client)

    def _note_later(self, news: SessionAt) -> None:
        """A claim that was repeated, since its answer was slow, has another number, and it is this that counts."""
        client = news.session.client if news.session is not None else ""
        here = self._broker.session(client)
        if here is not None and 0 < self._directory.claims.get(client, 0) < news.claim:
            self._directory.claims[client] = news.claim
            self._keep(record.Claimed(client, news.claim))
            self._directory.note_session(client, here)

    def _give_up(self, client: str) -> None:
        """Let the master forget a session that this node has claimed, and that has ended before, here and elsewhere."""
        is_had = self._broker.session(client) is not None or self._admissions.is_here(client)
        if client in self._directory.claims and not is_had and not self._fetches.of(client):
            self._directory.note_session(client, None)
            self._keep(record.Claimed(client, 0))

    def note_claim(self, frame: SessionClaimed, now: float) -> None:
        """Another node has asked the master for a session. Claim it again, if its client is here and not there."""
        if frame.is_there or not self._admissions.is_here(frame.client):
            self._doubt(frame.client)
        elif not self._admissions.is_to_claim(frame.client):
            self._admissions.ask_for(frame.client)

    def lose_master(self, now: float) -> None:
        for session in self._broker.sessions():
            self.doubt_session(session.client)
        self._admissions.lose_master(now)

    def doubt_session(self, client: str) -> None:
        """Another node may claim what nobody uses here, and without the master this one does not hear of it."""
        if MASTER not in self._atlas.up:
            self._doubt(client)

    def _doubt(self, client: str) -> None:
        session = self._broker.session(client)
        if session is not None and session.connection is None:
            session.unsure = True

    def _claim(
        self, claim: PendingClaim, owner: int, places: list[Standing], session: Owned | None, now: float
    ) -> None:
        """The session is this node's, and what waits for it is at others."""
        here = self._broker.session(claim.client)
        is_in = here is not None and (claim.is_kept or not here.unsure)
        known = filters_of(here) | claim.base if is_in else None
        old = claim.base if owner != self._atlas.node else frozenset()
        if here is not None and here.connection is None and owner != self._atlas.node:
            self._happen(SessionOutdated(claim.client), now)
        fetches = []
        told = session.claim if session is not None else 0
        for node, ring_id, _ in places:
            before = self._fetches.get(claim.client, node)
            filters, since, clean = known, told, claim.clean
            if node != owner:
                filters, since = (OLD, 0) if before is None else (before.known, before.claim)
                clean |= before is not None and before.clean
            fetches.append(self._fetches.begin(claim.client, node, ring_id, filters, since, clean))
            fetches[-1].is_held_up = True
        self._announce(fetches, now)
        if session is not None and not claim.clean:
            self._make(session, known, old, now)
            self._remember(claim.client, now)
            self._admissions.go_on_later(claim.client, now)
        self._ask_in_place(fetches, now)

    def _announce(self, fetches: list[Fetch], now: float) -> None:
        """Say that a session is this node's until it can be asked for: the master's news may be slow."""
        left = [one for one in fetches if self._fetches.get(one.client, one.node) is one and one.is_held_up]
        for fetch in left:
            is_here = self._admissions.is_here(fetch.client)
            self._send(fetch.node, fetch.ring_id, SessionClaimed(fetch.client, is_here))
            self._announcements.at(now + self._parameters.patience, (fetch.client, fetch.node))

    def _announce_again(self, key: tuple[str, int], now: float) -> None:
        fetch = self._fetches.get(*key)
        if fetch is not None:
            self._announce([fetch], now)

    def _ask_in_place(self, fetches: list[Fetch], now: float) -> None:
        """Ask for a session when its filters are in place here: its node gives them up then, and none may be missed."""

        def ask(then: float, alone: bool) -> None:
            if alone:
                self._ask_in_place(fetches, then)
            else:
                self._fetches.put_in_place(fetches, then)

        self._directory.wait(ask, now)

    # Other nodes

    def hear(self, source: int, ring_id: int, frame: Frame, now: float) -> None:
        """What another node says of sessions."""
        match frame:
            case FetchSession():
                self._give(source, ring_id, frame, now)
            case SessionComing():
                self._foresee(source, frame, now)
            case SessionMoved():
                self._take(source, ring_id, frame, now)
            case SessionTaken():
                self._trails.release(frame)
            case SessionClaimed():
                self.note_claim(frame, now)

    # Giving

    def _give(self, source: int, ring_id: int, frame: FetchSession, now: float) -> None:
        """Another node asks for a session."""
        client = frame.client
        if self._admissions.is_to_claim(client):
            return  # it is not known yet where it was; the other asks again
        own, trail = self._directory.claims.get(client), self._trails.get(client)
        if own is not None and frame.claim <= own:
            return  # claimed by this node since, which asks in its turn; or its own claim, of which others tell it
        if own is None and trail is not None and frame.claim < trail.given.claim:
            return  # the same, and it has gone to who claimed it later still
        if not frame.is_there and self._admissions.is_here(client):
            self._admissions.ask_for(client)  # its client is here, and there no more, where it may have wanted none
            return
        self._admissions.turn_away(client)
        self._happen(ClaimedElsewhere(client), now)
        rest = self._fetches.missing(client)
        for one in self._fetches.of(client):
            self._fetches.end(one)
        if frame.clean:
            self._end_everywhere(client, rest, frame.claim, now)
        else:
            self._give_away(client, (source, ring_id), rest, frame.claim, now)
        self._trails.answer(source, ring_id, frame)

    def _give_away(self, client: str, to: Place, rest: list[Fetch], claim: int, now: float) -> None:
        session = self._broker.session(client)
        if session is None and not rest:
            return
        before, received, sent = self._trails.get(client), _unreleased(session), _sent(session)
        if session is not None and before is not None:  # nobody has taken that
            received, sent = before.received | received, before.sent | sent
            self._arrive(client, frozenset(session.subscriptions), before.given.records, before.given.had, now)
        ended = [one for one in rest if one.clean and session is not None]
        self._end_at_others(ended, claim)
        places = tuple((one.node, one.ring_id, tuple(sorted(one.known or ()))) for one in rest if one not in ended)
        self._figures.sessions_given += 1
        records = self._broker.export(client)
        had = tuple(session.had) if session is not None else ()
        own = self._directory.claims.get(client, 0)
        given = record.Given(client, *to, records, had, places, _trailed(session), own)
        self._keep(given)
        self._trails.lay(given, received, sent, now)
        for filter_ in sorted(filters_of(session)):
            self._leavings.at(now + self._parameters.moving, filter_)
        self._directory.is_giving = True
        self._happen(MovedAway(client), now)
        self._directory.is_giving = False

    def _end_everywhere(self, client: str, rest: list[Fetch], claim: int, now: float) -> None:
        self._trails.erase(client)
        self._end_at_others(rest, claim)
        self._happen(MovedAway(client, ended=True), now)

    def _end_at_others(self, parts: list[Fetch], claim: int) -> None:
        for one in parts:
            self._send(one.node, one.ring_id, FetchSession(one.client, 0, claim, clean=True, is_there=True))

    # Taking

    def _take(self, source: int, ring_id: int, frame: SessionMoved, now: float) -> None:
        fetch = self._fetches.get(frame.client, source)
        if fetch is None or not fetch.is_answered_by(frame):
            return
        moved = fetch.add(frame)
        if moved is None:
            return
        is_all = fetch.clean or not moved.records
        if is_all:
            self._fetches.end(fetch)
        if not fetch.clean:
            self._take_over(fetch, moved, now)
        position = self._broker.position
        self._promises.make(position, source, ring_id, SessionTaken(frame.client, frame.token))
        self._promises.make(position, MASTER, 0, SessionGathered(frame.client, source), source)
        if not is_all:
            self._fetches.ask_again(fetch, now)
        self._admissions.welcome(frame.client, now)
        self._give_up(frame.client)

    def _foresee(self, source: int, frame: SessionComing, now: float) -> None:
        """The other node cannot give it yet. Its client may be let in before: what it has said or got is no news."""
        fetch = self._fetches.get(frame.client, source)
        if fetch is None or not fetch.is_answered_by(frame) or fetch.clean:
            return
        is_in = fetch.known is not None
        here = self._broker.session(frame.client)
        had = tuple(here.had) if here is not None else ()
        self._happen(ComingHere(frame.client, () if is_in else frame.received, given=frozenset(frame.given)), now)
        if here is not None and (gone := tuple(one for one in had if one not in here.had)):
            self._keep(record.NotHad(frame.client, gone))
        if not is_in and not frame.whole:
            fetch.awaited = max(fetch.awaited, now + 2 * self._parameters.patience)  # it is asked again meanwhile

    def _take_over(self, fetch: Fetch, moved: SessionMoved, now: float) -> None:
        """What another node has given. What this one had given itself, and nobody has taken, belongs to it too.

        Who asked for that names this node, or another who does: it is kept until all have answered.
        """
        client, trail = fetch.client, self._trails.get(fetch.client)
        is_outdated = moved.claim < fetch.claim  # the other has lost its later claim, and all since, with its power
        self._arrive(client, OLD if is_outdated else fetch.known, moved.records, moved.had, now)
        rest = moved.rest
        older = [known for node, _, known in rest if node == self._atlas.node]
        is_lost = not (moved.records or moved.had or rest)
        is_back = trail is not None and bool(trail.given.records) and (bool(older) or is_lost)
        if trail is not None and is_back:
            known = filters_of(self._broker.session(client)).union(fetch.known or (), *older) if older else fetch.known
            self._arrive(client, known, trail.given.records, trail.given.had, now)
            rest += trail.given.rest
        here = filters_of(self._broker.session(client))
        for node, ring_id, filters in rest:
            before = self._fetches.get(client, node)
            if node != self._atlas.node and (before is None or before.known == OLD):
                self._fetches.ask(self._fetches.begin(client, node, ring_id, here.union(filters)), now)
        if is_back or all(one is fetch for one in self._fetches.missing(client)):
            self._trails.erase(client)

    def _take_back(self, client: str, now: float) -> None:
        """What this node has given, and who asked for it has lost."""
        trail, here = self._trails.get(client), self._broker.session(client)
        if trail is not None and trail.given.records:
            known = frozenset(here.subscriptions) if here is not None else None
            self._arrive(client, known, trail.given.records, trail.given.had, now)
            self._trails.erase(client)

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
            self._memory.note_arrival(client, now)
            self._happen(SessionArrived(records, frozenset(had), known), now)
            self._keep(record.Had(client, had))

    def _make(self, session: Owned, known: frozenset[str] | None, old: frozenset[str], now: float) -> None:
        """A session with the subscriptions that the master knows. Of old ones that are here these alone count."""
        opened = r.SessionOpened(session.client, session.version, session.expiry, 0)
        subscribed = [
            r.Subscribed(session.client, one.filter, one.options, one.identifier) for one in session.subscriptions
        ]
        self._memory.note_arrival(session.client, now)
        records = tuple(map(r.encode, [opened, *subscribed]))
        self._happen(SessionArrived(records, known=known, partial=known is not None, old=old), now)
        made_here = self._broker.session(session.client)
        if made_here is not None and known is None:
            made_here.unsure = True  # who comes before it is gathered waits too

    def _remember(self, client: str, now: float) -> None:
        """Remember a session whose client comes back before anybody has said that it has got where it went."""
        trail = self._trails.get(client)
        if trail is not None and trail.given.records:
            received = tuple((packet_id, one.content) for packet_id, one in trail.received.items())
            self._happen(ComingHere(client, received, late=True), now)
        self._expect_back(client, now)

    def _expect_back(self, client: str, now: float) -> None:
        """Expect what a session had when it left this node: it is with the rest, which may be out of reach for long.

        Not what it has here, which may have come back with another part, and wait.
        """
        trail, here = self._trails.get(client), self._broker.session(client)
        if trail is not None and here is not None and self._fetches.missing(client):
            self._happen(ComingHere(client, (), given=frozenset(trail.had.keys() - here.had.keys())), now)

    # What outlives a crash

    def restore(
        self,
        clients: Iterable[str],
        fetching: dict[tuple[str, int], record.Fetching],
        given: dict[str, record.Given],
        now: float,
    ) -> None:
        clients = list(clients)
        self._memory.restore(clients, now)
        self._trails.restore(given.values(), now)
        alone = {one.client: one for one in fetching.values() if one.node == NOBODY}
        begun = {one: record.Fetching(one, NOBODY, 0, ()) for one in clients if one not in self._directory.claims}
        self._admissions.restore((begun | alone).values())
        self._fetches.restore(one for one in fetching.values() if one.node != NOBODY)

    def expect_all_back(self, now: float) -> None:
        """Expect again, when sessions are restored, what comes with those that are to come."""
        for client in sorted(self._fetches.clients()):
            self._expect_back(client, now)

    def records(self) -> list[record.Record]:
        claims = [record.Claimed(client, claim) for client, claim in self._directory.claims.items()]
        waiting = [*self._fetches.records(), *self._admissions.records()]
        return [*waiting, *self._memory.records(), *claims, *self._trails.records()]


def _trailed(session: Session | None) -> tuple[str, ...]:
    """The filters for which something may come that must go after a session."""
    subscriptions = session.subscriptions.values() if session is not None else ()
    return tuple(one.filter for one in subscriptions if one.qos and not is_shared(one.filter))


def _unreleased(session: Session | None) -> dict[int, Receipt]:
    """What its client has said with QoS 2, and says again if it is let in elsewhere."""
    received = session.received.items() if session is not None else ()
    return {packet_id: one for packet_id, one in received if one.position != LATE}


def _sent(session: Session | None) -> dict[Origin, int]:
    """What its client was sent, of what may still be issued again. Of QoS 2 nothing is sent that the disk has not."""
    if session is None:
        return {}
    positions = {one.publication.origin: one.position for one in session.inflight.values()}
    waiting = {one.publication.origin for one in session.queue}
    had = (origin for origin, since in session.had.items() if since == inf and origin not in waiting)
    return {origin: positions.get(origin, 0) for origin in had}
