"""Fetches: parts of sessions that wait at other nodes, for clients who are here.

A session that has been at several nodes has a part at each that was down, or out of reach, when it left. Each is asked
for it, and asked again, until it says that it has nothing. A node that is down is asked when it is back, and one that
is removed never: what it had is lost.

A node is asked only when the disk here knows that the session comes: it gives the session away then, and this node must
not forget that. So a fetch is in the journal from when it is made until it is ended, and is taken up after a crash.

Where a client is in before all of its session is, what it does here counts for more than what it did there: a filter
that it had when it was let in (`known`), and has given up since, does not come back with the rest. Nor do filters
come with a part that is older than what the master knows (`claim`): its node has lost its last claim, and all that the
client did since, with its power.

A session that has ended here has no claim any more. What is left of it elsewhere is ended by the claim that it had: the
other node has an earlier one, unless its client is there again.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from weft.broker.broker import Broker
from weft.broker.deadline import Deadlines
from weft.broker.session import Session
from weft.node import record
from weft.node.atlas import Atlas
from weft.wire.frame import FetchSession, Frame, SessionComing, SessionMoved


@dataclass(slots=True)
class Fetch:
    client: str
    node: int
    ring_id: int
    known: frozenset[str] | None  # filters that the session came with; None until its client is in
    claim: int = 0  # of who last told the master what the session holds; or by which this node had it when it ended
    clean: bool = False  # it is to be ended there
    first: int = 0  # token of the first question whose answer would do; 0 before it
    token: int = 0  # of the last one: a node that is far away answers an earlier one
    position: int = -1  # of the journal, which is to be written up to there first
    awaited: float = 0.0  # until when the client waits for it, longer than for others
    is_held_up: bool = False  # filters of the session are not in place here yet, which its node gives up with it
    seen: int = 0  # parts that had come when it was looked at last
    is_taken: bool = False  # it is here, and the other node has yet to hear that
    parts: dict[int, dict[int, SessionMoved]] = field(default_factory=dict)  # by token

    def is_answered_by(self, frame: SessionMoved | SessionComing) -> bool:
        return 0 < self.first <= frame.token <= self.token

    def came(self) -> int:
        """Parts that have come."""
        return sum(map(len, self.parts.values()))

    def add(self, frame: SessionMoved) -> SessionMoved | None:
        """All of it as one, when all parts have come."""
        parts = self.parts.setdefault(frame.token, {})
        parts[frame.part] = frame
        last = parts[max(parts)]
        if not last.last or len(parts) <= last.part:
            return None
        records = tuple(one for part in sorted(parts) for one in parts[part].records)
        return SessionMoved(frame.client, frame.token, 0, True, records, last.had, last.rest, last.claim)


class Fetches:
    def __init__(
        self,
        broker: Broker,
        atlas: Atlas,
        deadlines: Deadlines,
        patience: float,  # seconds until a node that does not answer is asked again
        moving: float,  # seconds that a client waits for its session, from when that could be asked for
        tokens: Iterator[int],
        claim_of: Callable[[str], int],  # number of the claim by which this node has a client's session
        is_here: Callable[[str], bool],  # whether the client is in, or waits to be let in
        send: Callable[[int, int, Frame], None],  # to any node, by number and ring id
        keep: Callable[[record.Record], None],  # in the journal
    ) -> None:
        self._broker = broker
        self._atlas = atlas
        self._looks = deadlines.timer(self._look)  # by client and node
        self._patience = patience
        self._moving = moving
        self._tokens = tokens
        self._claim_of = claim_of
        self._is_here = is_here
        self._send = send
        self._keep = keep
        self._synced = broker.position
        self._fetches: dict[tuple[str, int], Fetch] = {}  # by client and node
        self._unwritten: dict[tuple[str, int], Fetch] = {}  # those of which the disk does not know yet

    def __iter__(self) -> Iterator[Fetch]:
        return iter(self._fetches.values())

    def get(self, client: str, node: int) -> Fetch | None:
        return self._fetches.get((client, node))

    def of(self, client: str) -> list[Fetch]:
        return [one for one in self._fetches.values() if one.client == client]

    def missing(self, client: str) -> list[Fetch]:
        """Fetches of a client whose parts are not here yet."""
        return [one for one in self.of(client) if not one.is_taken]

    def clients(self) -> set[str]:
        return {client for client, _ in self._fetches}

    def is_unwritten(self, client: str) -> bool:
        """Whether another node is yet to be asked, for the disk here does not know of it."""
        return any(one == client for one, _ in self._unwritten)

    def is_unasked(self, client: str) -> bool:
        """Whether a node that is there is yet to be asked, for the disk here, or the network, does not know of it."""
        return any(not one.token and one.node not in self._atlas.down for one in self.missing(client))

    # Begun and ended

    def begin(
        self,
        client: str,
        node: int,
        ring_id: int,
        known: frozenset[str] | None,
        claim: int = 0,
        clean: bool = False,
    ) -> Fetch:
        self._looks.drop((client, node))
        fetch = self._fetches[client, node] = Fetch(client, node, ring_id, known, claim, clean)
        self._keep(_record_of(fetch))
        return fetch

    def end(self, fetch: Fetch) -> None:
        del self._fetches[fetch.client, fetch.node]
        self._looks.drop((fetch.client, fetch.node))
        self._keep(record.Fetched(fetch.client, fetch.node))

    def end_session(self, client: str) -> None:
        """The session has ended here: so it does wherever more of it waits."""
        for fetch in self.of(client):
            if fetch.is_taken:
                self.end(fetch)
            else:
                fetch.clean, fetch.claim = True, self._claim_of(client) or fetch.claim
                self._keep(_record_of(fetch))

    def remove(self, node: int) -> None:
        """A node will not come back, and what waits there is lost."""
        for fetch in [one for one in self._fetches.values() if one.node == node]:
            self.end(fetch)

    def note_client(self, client: str) -> None:
        """The client is in: what it does from now on counts for more than what it did where its session was."""
        for fetch in self.of(client):
            if fetch.known is None:
                fetch.known = filters_of(self._broker.session(client))
                self._keep(_record_of(fetch))

    # Asking

    def ask(self, fetch: Fetch, now: float) -> None:
        """Ask for what waits at another node: it gives it away then, and this one must not forget that it comes."""
        is_open = self._fetches.get((fetch.client, fetch.node)) is fetch
        if not is_open or fetch.is_held_up or fetch.node in self._atlas.down:
            return
        if fetch.position < 0:
            fetch.position = self._broker.position
        if fetch.position > self._synced:
            self._unwritten[fetch.client, fetch.node] = fetch
            return
        if not fetch.token:
            fetch.awaited = max(fetch.awaited, now + self._moving)
        fetch.token = next(self._tokens)
        fetch.first = fetch.first or fetch.token
        claim, is_here = self._claim_of(fetch.client) or fetch.claim, self._is_here(fetch.client)
        self._send(fetch.node, fetch.ring_id, FetchSession(fetch.client, fetch.token, claim, fetch.clean, is_here))
        self._look_after(fetch, now)

    def put_in_place(self, fetches: Iterable[Fetch], now: float) -> None:
        """Ask for parts of a session whose filters are in place now."""
        for fetch in fetches:
            fetch.is_held_up = False
            self.ask(fetch, now)

    def ask_again(self, fetch: Fetch, now: float) -> None:
        """Both the other node and the master may miss that it is here: the other is asked until it has nothing."""
        fetch.is_taken, fetch.first, fetch.token, fetch.parts = True, 0, 0, {}
        self._looks.drop((fetch.client, fetch.node))
        fetch.position = self._broker.position
        if fetch.known is not None:
            fetch.known |= filters_of(self._broker.session(fetch.client))
            self._keep(_record_of(fetch))
        self.ask(fetch, now)

    def come_back(self, node: int, now: float) -> None:
        """A node is there again: what waits there for sessions that are here can follow."""
        for fetch in list(self._fetches.values()):
            if fetch.node == node:
                self.ask(fetch, now)

    def retry(self, now: float) -> None:
        """This node is in the network again."""
        for fetch in list(self._fetches.values()):
            self.ask(fetch, now)

    def sync(self, position: int, now: float) -> None:
        """The journal has been written."""
        self._synced = position
        while self._unwritten and (fetch := next(iter(self._unwritten.values()))).position <= position:
            del self._unwritten[fetch.client, fetch.node]
            self.ask(fetch, now)

    def _look_after(self, fetch: Fetch, now: float) -> None:
        """Ask again if nothing has come for a while."""
        fetch.seen = fetch.came()
        self._looks.at(now + self._patience, (fetch.client, fetch.node))

    def _look(self, key: tuple[str, int], now: float) -> None:
        fetch = self._fetches[key]
        if fetch.came() > fetch.seen:
            self._look_after(fetch, now)
        else:
            self.ask(fetch, now)

    # What outlives a crash

    def restore(self, kept: Iterable[record.Fetching]) -> None:
        for one in kept:
            known = None if one.known is None else frozenset(one.known)
            self._fetches[one.client, one.node] = Fetch(one.client, one.node, one.ring_id, known, one.claim, one.clean)

    def records(self) -> list[record.Record]:
        return [_record_of(one) for one in self._fetches.values()]


def filters_of(session: Session | None) -> frozenset[str]:
    return frozenset(session.subscriptions) if session is not None else frozenset()


def _record_of(fetch: Fetch) -> record.Fetching:
    known = None if fetch.known is None else tuple(sorted(fetch.known))
    return record.Fetching(fetch.client, fetch.node, fetch.ring_id, known, fetch.claim, fetch.clean)
