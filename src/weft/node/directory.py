"""What this node tells the master of its clients: the filters that they hold, and their sessions.

A client whose SUBSCRIBE brings a filter that nobody here held is answered when the filter is in place in the whole
network, which the master says; one whose session is kept in any case, for the master must know what the session holds
wherever the client goes. Without the master it is answered after some patience, and the filter is this node's
alone until the master is back; by then no other node relies on what it knew of before (lease.py), if the master was
gone for all.

Filters of a session that is given to another node stay this node's for some seconds, for those that its client has
subscribed to lately may not be in place there: what comes by them goes after the session (trail.py), or to other
members of a shared subscription (group.py), and the issuer tries again until there is one.
"""

from collections.abc import Callable, Iterable
from itertools import count

from weft.broker.deadline import Deadlines
from weft.broker.effect import FilterHeld, SessionSubscribed
from weft.broker.session import Session
from weft.node.atlas import Atlas
from weft.node.effect import MASTER
from weft.node.outbox import Outbox
from weft.wire.frame import (
    EVERYBODY,
    Held,
    Interest,
    Owned,
    SessionEnded,
    SessionOwned,
    Subscribed,
    topic_of,
)
from weft.wire.mqtt.topic import is_shared

MOST = 30.0  # seconds that a client waits even for a master that is there: it has lost sight of something
Waiting = Callable[[float, bool], None]  # when, and whether this node goes on alone


class Directory:
    def __init__(
        self,
        atlas: Atlas,
        outbox: Outbox,
        deadlines: Deadlines,
        patience: float,
        session_of: Callable[[str], Session | None],
    ) -> None:
        self._atlas = atlas
        self._outbox = outbox
        self._patiences = deadlines.timer(self._lose_patience)  # by number of the wait
        self._longest = deadlines.timer(self._go_on_alone)  # the same
        self._patience = patience
        self._session_of = session_of
        self.sequence = 0  # of Interest
        self._placed = 0  # the sequence up to which all is in place
        self._unknown: dict[str, int] = {}  # filters that are not in place, and the sequence that they came with
        self._changed: dict[str, Held] = {}  # in this event
        self._sessions: dict[str, Session | SessionEnded] = {}  # in this event: whole, or gone
        self._subscriptions: dict[str, dict[str, Subscribed | None]] = {}  # in this event
        self._is_awaited = False  # somebody waits until the master has what this event has changed of sessions
        self._waiting: dict[int, tuple[int, Waiting]] = {}  # for a sequence, by number
        self._waits = count()
        self.is_giving = False  # a session is given to another node: its filters stay for a while
        self._leaving: dict[str, FilterHeld] = {}  # those, until they are given up
        self.claims: dict[str, int] = {}  # by client: number of the claim by which this node has its session
        atlas.held.add(EVERYBODY)

    def note_filter(self, effect: FilterHeld) -> None:
        self._leaving.pop(effect.filter, None)
        if self.is_giving and not effect.members:
            self._leaving[effect.filter] = effect
            return
        self._changed[effect.filter] = Held(effect.filter, effect.members, effect.persistent)
        topic = topic_of(effect.filter)
        is_new = effect.members == 1 if is_shared(effect.filter) else topic not in self._atlas.held
        if not is_shared(effect.filter):
            (self._atlas.held.add if effect.members else self._atlas.held.discard)(topic)
        if not effect.members:
            self._unknown.pop(effect.filter, None)
        elif is_new:
            self._unknown[effect.filter] = self.sequence + 1

    def is_leaving(self, filter_: str) -> bool:
        """Whether a filter went with a session, and is this node's still to the network."""
        return filter_ in self._leaving

    def let_go(self, filters: Iterable[str]) -> None:
        """Give up filters that went with a session: they are in place where it is now."""
        for effect in [self._leaving[one] for one in filters if one in self._leaving]:
            self.note_filter(effect)

    def let_all_go(self) -> None:
        """Give up all of these: this node leaves."""
        self.let_go(list(self._leaving))

    def is_unknown(self, filter_: str) -> bool:
        """Whether others have yet to hear of a filter before it has an effect."""
        return filter_ in self._unknown

    def unknown_topics(self) -> set[int]:
        """Topics of those filters."""
        return {topic_of(filter_) for filter_ in self._unknown if not is_shared(filter_)}

    def note_session(self, client: str, session: Session | None) -> None:
        self._subscriptions.pop(client, None)
        if session is None:
            self._sessions[client] = SessionEnded(client, self.claims.pop(client, 0))
        else:
            self._sessions[client] = session

    def note_subscription(self, effect: SessionSubscribed) -> None:
        made = effect.subscription
        subscribed = None if made is None else Subscribed(effect.filter, made.options, made.identifier)
        self._subscriptions.setdefault(effect.client, {})[effect.filter] = subscribed

    def flush(self) -> None:
        """Tell the master what this event has changed."""
        if not (self._changed or self._sessions or self._subscriptions or self._is_awaited):
            return
        sessions, self._sessions = self._sessions, {}
        subscriptions, self._subscriptions = self._subscriptions, {}
        changed, self._changed = self._changed, {}
        is_news, self._is_awaited = bool(changed) or self._is_awaited, False
        self.sequence += is_news
        if MASTER not in self._atlas.up:
            return
        for session in sessions.values():
            frame = session if isinstance(session, SessionEnded) else SessionOwned(self.owned(session))
            self._outbox.tell(MASTER, frame)
        for client, changes in subscriptions.items():
            if client not in sessions:
                self._tell_subscriptions(client, changes)
        if is_news:
            added = tuple(one for one in changed.values() if one.members)
            removed = tuple(one.filter for one in changed.values() if not one.members)
            self._outbox.tell(MASTER, Interest(self.sequence, added, removed))

    def owned(self, session: Session) -> Owned:
        held: tuple[Subscribed, ...] = ()
        if session.persistent:
            held = tuple(Subscribed(one.filter, one.options, one.identifier) for one in session.subscriptions.values())
        claim = self.claims.get(session.client, 0)
        return Owned(session.client, session.expiry, session.version, held, claim)

    def wait(self, action: Waiting, now: float) -> None:
        """Act when what has been told until now is in place, or has been waited for long enough."""
        self._is_awaited |= bool(self._subscriptions)
        sequence = self.sequence + (bool(self._changed) or self._is_awaited)
        if sequence <= self._placed:
            action(now, False)
            return
        number = next(self._waits)
        self._waiting[number] = sequence, action
        self._longest.at(now + MOST, number)
        if MASTER not in self._atlas.up:
            self._patiences.at(now + self._patience, number)

    def lose_master(self, now: float) -> None:
        for number in self._waiting:
            self._patiences.at(now + self._patience, number)

    def in_place(self, sequence: int, now: float) -> None:
        self._placed = max(self._placed, sequence)
        self._unknown = {filter_: since for filter_, since in self._unknown.items() if since > sequence}
        ready = [number for number, one in self._waiting.items() if one[0] <= sequence]
        for action in [self._end_wait(number) for number in ready]:
            action(now, False)

    def _lose_patience(self, number: int, now: float) -> None:
        if MASTER not in self._atlas.up:
            self._go_on_alone(number, now)

    def _go_on_alone(self, number: int, now: float) -> None:
        self._end_wait(number)(now, True)

    def _end_wait(self, number: int) -> Waiting:
        """What is to be done now."""
        self._patiences.drop(number)
        self._longest.drop(number)
        return self._waiting.pop(number)[1]

    def _tell_subscriptions(self, client: str, changes: dict[str, Subscribed | None]) -> None:
        added = tuple(one for one in changes.values() if one is not None)
        removed = tuple(filter_ for filter_, one in changes.items() if one is None)
        session = self._session_of(client)
        if session is not None:
            changed = Owned(client, session.expiry, session.version, added, self.claims.get(client, 0))
            self._outbox.tell(MASTER, SessionOwned(changed, whole=False, removed=removed))
