"""Memory of sessions: publications that each was given, by which it is not given them twice.

A publication may come to a session twice, at two nodes, or with two parts of it: each session knows what it was given
(`Session.had`), and takes that along. It may forget what nobody sends again (seen.py), some time after; but nothing
while parts of it are at other nodes, or have come lately, for what comes with those may be old.

The journal is told what a session has forgotten, many at once: else all of it would be back after a crash.

Sessions that have come lately, and those of before a restart, are newcomers: what is sent again they are offered, for
they may have been on their way when it came for the first time. Nobody else is given anything again.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace

from weft.broker.broker import Broker
from weft.broker.deadline import Deadlines
from weft.broker.effect import ArrivedAgain, Event
from weft.broker.publication import Publication
from weft.broker.session import Session
from weft.node import record
from weft.node.fetch import Fetches
from weft.node.seen import Seen, oldest_of

FORGOTTEN = 1024  # publications that a session forgets before the journal is told


class SessionMemory:
    def __init__(
        self,
        broker: Broker,
        seen: Seen,
        fetches: Fetches,
        deadlines: Deadlines,
        linger: float,  # seconds for which more may follow a session that has come
        happen: Callable[[Event, float], None],  # an event of the broker
        keep: Callable[[record.Record], None],  # in the journal
    ) -> None:
        self._broker = broker
        self._seen = seen
        self._fetches = fetches
        self._lingerings = deadlines.timer(lambda *_: self._forget_restored())
        self._linger = linger
        self._happen = happen
        self._keep = keep
        self._restored: frozenset[str] = frozenset()  # those of before a restart, which may have come shortly before it
        self._lingering: dict[str, float] = {}  # clients whose sessions came here, and until when more may follow
        self._forgotten: dict[str, int] = {}  # by client: how much its session forgot since the journal knows

    def offer(self, publication: Publication, now: float) -> None:
        """What has come before goes to sessions that have come since."""
        newcomers = self._lingering.keys() | self._restored | self._fetches.clients()
        if newcomers:
            self._happen(ArrivedAgain(replace(publication, number=0), newcomers), now)

    def note_arrival(self, client: str, now: float) -> None:
        self._lingering[client] = now + self._linger

    def prune(self, now: float) -> None:
        """Forget what sessions were given long ago."""
        self._lingering = {client: until for client, until in self._lingering.items() if until > now}
        waiting = self._fetches.clients()
        forgotten, self._forgotten = self._forgotten, {}
        for session in self._broker.sessions():
            if session.had and session.client not in self._lingering and session.client not in waiting:
                had, session.had = session.had, self._seen.left_of(session.had, now)
                self._note_forgotten(session, forgotten.get(session.client, 0) + len(had) - len(session.had))

    def restore(self, clients: Iterable[str], now: float) -> None:
        self._restored = frozenset(clients)
        self._lingerings.at(now + self._linger)

    def records(self) -> list[record.Record]:
        return [record.Had(one.client, tuple(one.had)) for one in self._broker.sessions() if one.had and one.persistent]

    def _note_forgotten(self, session: Session, count: int) -> None:
        if count < FORGOTTEN:
            self._forgotten[session.client] = count
        elif session.persistent:
            self._keep(record.Forgotten(session.client, oldest_of(session.had)))

    def _forget_restored(self) -> None:
        self._restored = frozenset()
