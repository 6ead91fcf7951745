"""Admission of clients: who comes waits until it is known where its session is, and as much of it is here as can be.

The master is asked who had the session (FindSession). With the master out of reach, or not reached within `patience`
seconds of the start, a client is let in on this node's own authority: the session is claimed when the master is back,
and the journal keeps that it must be, unless it has ended by then. A master that is there and slow is waited for: the
session may have been elsewhere, and what waits here be old. When the answer has come the client waits as a guest for
what is fetched (fetch.py), for `moving` seconds at most, unless a node that has taken more than its disk has says so,
or this node is kept from asking, by its disk or by a slow master. What comes for a client that is let in before its
session is whole waits for the rest, for as long again.

Of two that come under one name the later goes first, and the earlier is closed,
wherever it waits: a session must never have two clients. One that closes before the master has answered leaves the
session where it is: this node, its owner by then, says and fetches nothing (master/directory.py).
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from weft.broker.broker import Broker
from weft.broker.deadline import Deadlines
from weft.broker.effect import Admitted, Close, Event
from weft.broker.effect import SessionGathered as GatheredHere
from weft.node import record
from weft.node.atlas import Atlas
from weft.node.directory import MOST
from weft.node.effect import MASTER
from weft.node.fetch import Fetches, filters_of
from weft.node.outbox import Outbox
from weft.node.parameters import Parameters
from weft.wire.frame import NOBODY, FindSession


@dataclass(slots=True)
class PendingClaim:
    """A session that this node wants, or has taken without being asked; the master's answer is awaited."""

    client: str
    clean: bool
    connection: int | None  # that waits to be let in; None where the client is in
    is_sent: bool = False  # the master may have been asked
    is_kept: bool = False  # in the journal: the client is in
    base: frozenset[str] = frozenset()  # filters that it was let in with, or has given up since: not those made here


@dataclass(slots=True)
class Guest:
    """A connection that waits for the session of its client."""

    connection: int
    left: float  # seconds for which it may wait yet


class Admissions:
    def __init__(
        self,
        broker: Broker,
        atlas: Atlas,
        outbox: Outbox,
        deadlines: Deadlines,
        parameters: Parameters,
        fetches: Fetches,
        tokens: Iterator[int],
        happen: Callable[[Event, float], None],  # an event of the broker
        keep: Callable[[record.Record], None],  # in the journal
    ) -> None:
        self._broker = broker
        self._atlas = atlas
        self._outbox = outbox
        self._patiences = deadlines.timer(self._lose_patience)  # by token
        self._longest = deadlines.timer(self._stop_asking)  # the same
        self._visits = deadlines.timer(self._wait_on)  # by client
        self._waits = deadlines.timer(self._go_on_if_written)  # the same
        self._parameters = parameters
        self._fetches = fetches
        self._tokens = tokens
        self._happen = happen
        self._keep = keep
        self._has_joined = False  # since this node started
        self._pending: dict[int, PendingClaim] = {}  # by token
        self._tokens_of: dict[str, list[int]] = {}  # of those, by client
        self._changed: dict[int, PendingClaim] = {}  # of those, what the journal is to be told with this event
        self._guests: dict[str, Guest] = {}  # by client

    # The master is asked

    def connect(self, connection: int, client: str, clean: bool, now: float) -> None:
        """A client comes."""
        self.turn_away(client)
        claim = PendingClaim(client, clean, connection)
        token = self._await(claim)
        if MASTER not in self._atlas.up and self._has_joined:
            self._let_in_alone(claim, now)
            return
        if self._has_joined:
            self._ask(token, claim)
        self._patiences.after(self._parameters.patience, token, now)
        self._longest.after(MOST, token, now)

    def join(self, now: float) -> None:
        """This node is part of the network, again perhaps: the master is asked for all who came meanwhile.

        What comes for those who are in waits for the answer: they may have given up elsewhere what they held here.
        """
        self._has_joined = True
        for token, claim in self._pending.items():
            self._ask(token, claim)
            if claim.connection is None:
                self._hold_back(claim.client, now)

    def ask_for(self, client: str) -> None:
        """Claim the session of a client that is in."""
        token = self._note_alone(client)
        self._keep(record.Fetching(client, NOBODY, 0, ()))
        if self._has_joined:
            self._ask(token, self._pending[token])

    def note_subscription(self, client: str, filter_: str, is_made: bool) -> None:
        """A client has subscribed, or given that up. Where it was let in alone, that counts for more than elsewhere.

        A filter that it was let in with, and has given up elsewhere before, it may have wanted again since.
        """
        session = self._broker.session(client)
        if session is None or not session.alone:
            return
        for token, claim in self._of(client):
            if claim.is_kept and (filter_ in claim.base) == is_made:
                claim.base ^= {filter_}
                self._changed[token] = claim

    def flush(self) -> None:
        """Tell the journal once what this event has changed, however many filters that were."""
        if self._changed:
            changed, self._changed = self._changed, {}
            for claim in changed.values():
                self._keep(_record_of(claim))

    def take_answered(self, token: int) -> PendingClaim | None:
        """What the master has answered."""
        return self._remove(token) if token in self._pending else None

    def lose_master(self, now: float) -> None:
        for claim in list(self._pending.values()):
            self._let_in_alone(claim, now)

    def forget(self, connection: int) -> None:
        """The connection is gone."""
        for token in [token for token, one in self._pending.items() if one.connection == connection]:
            self._remove(token)
        for client in [client for client, one in self._guests.items() if one.connection == connection]:
            self._end_visit(client)

    def is_to_claim(self, client: str) -> bool:
        """Whether this node is about to claim a session: it has asked, or will, and the client is here.

        Where the client has left since, who asks has it, and there is nothing to claim.
        """
        is_in = self._is_in(client)
        for token, claim in self._of(client):
            if claim.is_sent or is_in:
                return True
            if claim.connection is None:
                self._drop(token, client)
        return False

    def withdraw(self, client: str) -> None:
        """Claim no session that has ended, unless it is to be ended elsewhere too: its client wanted none."""
        for token, claim in self._of(client):
            if claim.connection is None and not claim.is_sent and not claim.clean:
                self._drop(token, client)

    def _drop(self, token: int, client: str) -> None:
        self._remove(token)
        self._keep(record.Fetched(client, NOBODY))

    def is_here(self, client: str) -> bool:
        """Whether the client is in, or waits to be let in."""
        waits = any(one.connection is not None for _, one in self._of(client))
        return waits or client in self._guests or self._is_in(client)

    def _is_in(self, client: str) -> bool:
        session = self._broker.session(client)
        return session is not None and session.connection is not None

    def _ask(self, token: int, claim: PendingClaim) -> None:
        claim.is_sent = True
        is_in = claim.connection is None
        is_there = not is_in or self._is_in(claim.client)
        self._outbox.tell(MASTER, FindSession(claim.client, token, is_in, is_there))

    def _note_alone(self, client: str, base: frozenset[str] = frozenset()) -> int:
        """The token under which the master is to be asked for a client that is in."""
        return self._await(PendingClaim(client, False, None, is_kept=True, base=base))

    def _await(self, claim: PendingClaim) -> int:
        """The token under which the master is to be asked."""
        token = next(self._tokens)
        self._pending[token] = claim
        self._tokens_of.setdefault(claim.client, []).append(token)
        return token

    def _of(self, client: str) -> list[tuple[int, PendingClaim]]:
        return [(token, self._pending[token]) for token in self._tokens_of.get(client, ())]

    def _remove(self, token: int) -> PendingClaim:
        self._changed.pop(token, None)
        self._patiences.drop(token)
        self._longest.drop(token)
        claim = self._pending.pop(token)
        tokens = self._tokens_of[claim.client]
        tokens.remove(token)
        if not tokens:
            del self._tokens_of[claim.client]
        return claim

    # Letting in

    def receive(self, client: str, connection: int, now: float) -> None:
        """A client may have to wait for its session, but not for ever."""
        self._guests[client] = Guest(connection, MOST - self._parameters.moving)
        self._visits.after(self._parameters.moving, client, now)

    def _wait_on(self, client: str, now: float) -> None:
        """Let a client in, unless who has its session cannot give it yet, or could not be asked; that for a time."""
        guest, is_unasked = self._guests[client], self._is_unasked(client)
        if any(fetch.awaited > now for fetch in self._fetches.of(client)) or (is_unasked and guest.left > 0):
            guest.left -= self._parameters.patience
            self._visits.after(self._parameters.patience, client, now)
        else:
            self._hold_back(client, now)
            self._open_door(client, now)

    def _is_unasked(self, client: str) -> bool:
        """Whether its session can be asked for when the disk has room, or the master, which is there, has answered."""
        is_held_up = MASTER in self._atlas.up and self._fetches.is_unasked(client)
        return is_held_up or self._fetches.is_unwritten(client)

    def welcome(self, client: str, now: float) -> None:
        """Let the client in, if nothing more of its session can be had at the moment."""
        if not any(fetch.node not in self._atlas.down for fetch in self._fetches.missing(client)):
            self._open_door(client, now)
            self._go_on(client, now)

    def turn_away(self, client: str) -> None:
        """Close whoever waits to be let in under a name: who comes now, here or elsewhere, goes first."""
        for token, claim in self._of(client):
            if claim.connection is not None:
                self._remove(token)
                self._close(claim.connection)
        if (connection := self._end_visit(client)) is not None:
            self._close(connection)

    def _end_visit(self, client: str) -> int | None:
        """The connection that waited."""
        self._visits.drop(client)
        guest = self._guests.pop(client, None)
        return guest.connection if guest is not None else None

    def _lose_patience(self, token: int, now: float) -> None:
        if MASTER not in self._atlas.up:
            self._stop_asking(token, now)

    def _stop_asking(self, token: int, now: float) -> None:
        self._let_in_alone(self._pending[token], now)

    def _let_in_alone(self, claim: PendingClaim, now: float) -> None:
        """The master does not answer: the client is in, and its session is claimed when the master is there."""
        if claim.connection is None or all(one is not claim for _, one in self._of(claim.client)):
            return
        connection, claim.connection = claim.connection, None
        if not claim.clean and not claim.is_kept:
            claim.base, claim.is_kept = self._base_of(claim.client), True
            self._keep(_record_of(claim))
        self._admit(claim.client, connection, now)
        if (session := self._broker.session(claim.client)) is not None:
            session.alone = True

    def _base_of(self, client: str) -> frozenset[str]:
        """Filters of a session whose client is let in alone: those of the first time, if the master has yet to hear."""
        before = [one.base for _, one in self._of(client) if one.is_kept]
        return before[0] if before else filters_of(self._broker.session(client))

    def _hold_back(self, client: str, now: float) -> None:
        """Let what comes for a client that is in wait for the rest of its session, as long as it has waited itself."""
        session = self._broker.session(client)
        if session is not None and session.persistent:
            session.gathering = True
            self.go_on_later(client, now)

    def go_on_later(self, client: str, now: float) -> None:
        """Let what comes for a client wait for the rest of its session; longer while the disk keeps it from asking.

        A publication of QoS 2 would wait for that disk too.
        """

        self._waits.after(self._parameters.moving, client, now)

    def _go_on_if_written(self, client: str, now: float) -> None:
        if self._fetches.is_unwritten(client):
            self.go_on_later(client, now)
        else:
            self._go_on(client, now)

    def _go_on(self, client: str, now: float) -> None:
        self._waits.drop(client)
        self._happen(GatheredHere(client), now)

    def _open_door(self, client: str, now: float) -> None:
        connection = self._end_visit(client)
        if connection is not None:
            self._admit(client, connection, now)

    def _admit(self, client: str, connection: int, now: float) -> None:
        self._fetches.note_client(client)
        self._happen(Admitted(connection), now)

    def _close(self, connection: int) -> None:
        self._outbox.send(Close(connection))

    # What outlives a crash

    def restore(self, kept: Iterable[record.Fetching]) -> None:
        """Clients that were let in without the master, and whose sessions are to be claimed."""
        for one in kept:
            self._note_alone(one.client, frozenset(one.known or ()))

    def records(self) -> list[record.Record]:
        return [_record_of(one) for one in self._pending.values() if one.is_kept]


def _record_of(claim: PendingClaim) -> record.Fetching:
    return record.Fetching(claim.client, NOBODY, 0, tuple(sorted(claim.base)))
