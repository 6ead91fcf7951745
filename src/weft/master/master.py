"""The master: who is there, who subscribes to what, and what every node must know of it. Events in, effects out.

Same events, same effects. A driver hands over each event with the time it happened (seconds since 1970, never going
back), carries out the effects in order, and calls `on_timer` when `next_deadline` has come.

Two thousand clients that subscribe at once are as many events. Where more of them wait, what nodes say of their clients
is taken together: one bulletin for all of it.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, ClassVar

from weft.errors import defect_sentence
from weft.master import effect as e
from weft.master.answer import status
from weft.master.applying import Applying
from weft.master.belief import require_weight
from weft.master.bulletin import Bulletin
from weft.master.changes import Changes
from weft.master.designing import Designing
from weft.master.directory import weight_of_session
from weft.master.keeping import recall, records_of
from weft.master.link import link
from weft.master.membership import Membership
from weft.master.network import Network
from weft.master.operating import Operating
from weft.master.parameters import Parameters
from weft.master.record import Record
from weft.master.roster import State
from weft.master.turn import Turn
from weft.wire import frame as w
from weft.wire.frame_field import FrameError
from weft.wire.weight import weight_of, weight_of_all

TOGETHER = (
    *(w.Interest, w.Applied, w.SessionOwned, w.SessionEnded, w.FindSession, w.SessionGathered, w.FindWay, w.Measured),
    w.ForgetWays,
    w.LinkMade,  # the loom hears of links when they have been gathered
)


class Master:
    requests = Operating.requests

    def __init__(self, parameters: Parameters, cluster: str, now: float, seed: int = 1) -> None:
        self.network = Network(parameters, cluster)
        self._turn = Turn(now)
        self._applying = Applying()
        self._bulletin = Bulletin(self.network)
        self.membership = Membership(self.network, self._turn, self._applying)
        self.designing = Designing(self.network, self._turn, seed, lambda: self.membership.is_awaiting)
        self.membership.redesign = self.designing.redesign
        self._operating = Operating(self.network, self._turn, self.membership, self.designing)

    def handle(self, event: e.Event, now: float, more: bool = False) -> list[e.Effect]:
        """What an event leads to. Where more follow at once, some of it comes with theirs, or with `finish`."""
        self._turn.now = now
        self._EVENTS[type(event)](self, event)
        if more and type(event) is e.Heard and type(event.frame) in TOGETHER:
            return []
        return self.finish()

    def finish(self) -> list[e.Effect]:
        """What the events since the last time lead to."""
        changes, self.network.changes = self.network.changes, Changes()
        told, records = {}, []
        if changes != Changes():
            self.network.version += 1
            told, records = self._bulletin.issue(changes), records_of(self.network, changes)
        if self.network.is_parted and changes != Changes():
            for node in self.network.woven:
                told.setdefault(node, []).insert(0, w.Parted())
        self._applying.told(told, self.network.version, self.network.woven, self._turn.now)
        for node, sequence in self._applying.in_place(self.network.woven, self._turn.now):
            told.setdefault(node, []).append(w.InPlace(sequence))
        return self._turn.finish(records, told, self.membership.connection_of)

    def next_deadline(self) -> float | None:
        times = [*self.membership.deadlines(), *self._operating.deadlines()]
        times += self._applying.deadlines(self.network.woven)
        if self.designing.redesign.until is not None:
            times.append(self.designing.redesign.until)
        if self.network.parameters.automatic:
            times.append(self.designing.review_at)
        return min(times, default=None)

    def on_timer(self, now: float) -> list[e.Effect]:
        self._turn.now = now
        self.membership.go_on()
        if self.designing.go_on() and self.membership.pending:
            self.membership.gather_soon()
        self._operating.go_on()
        self.designing.review()
        return self.finish()

    def restore(self, records: Iterable[Record], now: float) -> list[e.Effect]:
        """Begin with what a store has. Nodes that were up are waited for before anything is planned."""
        self._turn.now = now
        memory = recall(self.network, records)
        self.designing.designed = memory.quality
        self._operating.snapshots = memory.snapshots
        self.membership.expect(memory)
        self.network.gathering.restore(now)
        return self.finish()

    def status(self) -> dict[str, Any]:
        return status(self.network, self.membership, self.designing, self._turn.now)

    def check_invariants(self) -> None:
        self.network.plan.check_invariants()
        assert self.network.woven <= self.network.placed
        assert self.network.made <= self.network.links
        for number in self.network.woven:
            assert self.network.roster[number].state is State.UP

    # Events

    def _hear(self, event: e.Heard) -> None:
        """What a frame brings about; one that leads to an error costs who says it its connection, and nobody else."""
        try:
            self._take(event)
        except FrameError as error:
            self.membership.expel(event.connection, str(error))
        except Exception as error:
            self._turn.note("defect", detail=defect_sentence(type(event.frame).__name__, error))
            self.membership.expel(event.connection, "What it says has met a defect of Weft: see the master's log.")

    def _take(self, event: e.Heard) -> None:
        connection = self.membership.connection(event.connection)
        if isinstance(event.frame, w.Hello):
            self.membership.greet(event.connection, event.frame)
        elif isinstance(event.frame, w.Join) and connection.greeted:
            self.membership.join(event.connection, event.frame)
            if connection.number is not None:
                self._bulletin.forget_all_ways(connection.number)
        elif connection.number is None:
            self.membership.refuse(event.connection, "A node says Hello and Join before anything else.")
        elif type(event.frame) in self._FRAMES:
            self._FRAMES[type(event.frame)](self, connection.number, event.frame)

    def _prove(self, event: e.Proved) -> None:
        self.membership.prove(event.connection, event.name)

    def _revoke(self, event: e.Revoked) -> None:
        self.membership.revoke(event.names)

    def _close(self, event: e.Closed) -> None:
        self.membership.close(event.connection)

    def _read_clock(self, event: e.ClockRead) -> None:
        self.membership.read_clock(event.connection, event.time)

    def _read_certificates(self, event: e.CertificatesRead) -> None:
        self.membership.certificates = event.ends

    def _ask(self, event: e.Asked) -> None:
        self._operating.ask(event.ticket, event.request, event.options)

    def _take_design(self, event: e.Designed) -> None:
        self.designing.take(event)

    def _fail_design(self, event: e.DesignFailed) -> None:
        self.designing.fail(event)

    _EVENTS: ClassVar[dict[type[e.Event], Callable[["Master", Any], None]]] = {
        e.Heard: _hear,
        e.Proved: _prove,
        e.Revoked: _revoke,
        e.Closed: _close,
        e.ClockRead: _read_clock,
        e.CertificatesRead: _read_certificates,
        e.Asked: _ask,
        e.Designed: _take_design,
        e.DesignFailed: _fail_design,
    }

    # What nodes say

    def _interest(self, node: int, frame: w.Interest) -> None:
        held = self.network.directory.held[node]
        self._require_room(node, weight_of_all(one.filter for one in frame.added if one.filter not in held))
        self.network.interest(node, frame.added, frame.removed)
        self._applying.ask(node, frame.sequence)

    def _applied(self, node: int, frame: w.Applied) -> None:
        self._applying.applied(node, frame.version, self._turn.now)

    def _confirm(self, node: int, frame: w.Confirm) -> None:
        if node in self.network.woven and not self.network.is_parted:
            self.network.changes.tell_late(node, w.Confirmed(frame.token))
            self._applying.lend(node, self._turn.now)

    def _session_owned(self, node: int, frame: w.SessionOwned) -> None:
        owned = frame.session
        known = self.network.directory.sessions.get(owned.client)
        if not frame.whole and known is not None:
            changed = {*frame.removed, *(one.filter for one in owned.subscriptions)}
            kept = tuple(one for one in known.owned.subscriptions if one.filter not in changed)
            owned = replace(owned, subscriptions=kept + owned.subscriptions)
        known_here = weight_of_session(known.owned) if known is not None and known.node == node else 0
        self._require_room(node, weight_of_session(owned) - known_here)
        self.network.own(node, owned)

    def _require_room(self, node: int, more: int) -> None:
        if more > 0:
            require_weight(self.network.directory.weight(node) + more)

    def _session_ended(self, node: int, frame: w.SessionEnded) -> None:
        if self.network.directory.may_change(node, frame.client, frame.claim):
            self.network.end_session(frame.client)
            self.network.gathering.look_at(frame.client, self._turn.now)

    def _find_session(self, node: int, frame: w.FindSession) -> None:
        """The asker owns it from now on."""
        session = self.network.directory.sessions.get(frame.client)
        if session is None or session.node != node:
            self._require_room(node, weight_of(frame.client) if session is None else weight_of_session(session.owned))
        members = [self.network.roster[one] for one in self.network.claim(node, frame.client, frame.is_in)]
        places = tuple((one.number, one.ring_id or 0, one.state is State.UP) for one in members)
        owner, owned = (w.NOBODY, None) if session is None else (session.place, session.owned)
        self.network.gathering.look_at(frame.client, self._turn.now)
        at = w.SessionAt(frame.token, self.network.directory.claims, owner, places, owned)
        self.network.changes.tell(node, at)
        for one in members:
            if one.number in self.network.woven:
                self.network.changes.tell(one.number, w.SessionClaimed(frame.client, frame.is_there))

    def _session_gathered(self, node: int, frame: w.SessionGathered) -> None:
        self.network.gather(node, frame.client, frame.node)
        self.network.gathering.look_at(frame.client, self._turn.now)

    def _find_way(self, node: int, frame: w.FindWay) -> None:
        self._bulletin.find_way(node, frame.filter)

    def _forget_ways(self, node: int, frame: w.ForgetWays) -> None:
        self._bulletin.forget_ways(node, frame.filters)

    def _link_made(self, node: int, frame: w.LinkMade) -> None:
        if frame.peer not in self.network.roster:
            return
        if frame.round_trip > 0:  # the end that took the link has not measured it
            self.network.traffic.time(node, frame.peer, frame.round_trip)
        if self.network.link_made(node, frame.peer):
            self.membership.unreachable.pop(link(node, frame.peer), None)
            self.membership.gather_soon()

    def _link_lost(self, node: int, frame: w.LinkLost) -> None:
        self.network.link_lost(node, frame.peer, self._turn.now)
        self.membership.suspect(frame.peer)

    def _measured(self, node: int, frame: w.Measured) -> None:
        known = tuple(each for each in frame.round_trips if each[0] in self.network.roster)
        self.network.traffic.measure(node, replace(frame, round_trips=known), self._turn.now)

    def _leave(self, node: int, frame: w.Leaving) -> None:
        self.membership.leave(node)

    def _traced(self, node: int, frame: w.Traced) -> None:
        self._operating.follow(node, frame)

    _FRAMES: ClassVar[dict[type[w.Frame], Callable[["Master", int, Any], None]]] = {
        w.Interest: _interest,
        w.Applied: _applied,
        w.Confirm: _confirm,
        w.SessionOwned: _session_owned,
        w.SessionEnded: _session_ended,
        w.FindWay: _find_way,
        w.ForgetWays: _forget_ways,
        w.FindSession: _find_session,
        w.SessionGathered: _session_gathered,
        w.LinkMade: _link_made,
        w.LinkLost: _link_lost,
        w.Measured: _measured,
        w.Leaving: _leave,
        w.Traced: _traced,
    }
