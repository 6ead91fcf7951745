"""A node of a network: its broker, and all that makes it one of many. Events in, effects out, time as an argument.

It is driven as a broker is (broker/effect.py), and told besides of links and of what comes on them (effect.py). Same
events, same effects.

Here events and frames are handed to the parts that decide about them (assembly.py has them all). Who may say what is
decided by two tables, one of frames of the master and one of frames of peers. An event goes through three steps: the
part that it concerns acts, on the broker perhaps, whose effects are carried out at once (local_broker.py); then what
that has led to is concluded, told to the master and put on links, in this order; then all effects go to the driver.
"""

from collections.abc import Callable, Iterator
from math import inf
from typing import Any

from weft.access.guard import Guard
from weft.broker import effect as e
from weft.broker import record as r
from weft.broker.parameters import Parameters as BrokerParameters
from weft.broker.publication import Publication
from weft.errors import defect_sentence
from weft.node import effect as n
from weft.node import record
from weft.node.assembly import Assembly
from weft.node.effect import MASTER
from weft.node.identity import Identity
from weft.node.lane import Passed, effects_of
from weft.node.parameters import DEFAULT, Parameters
from weft.node.recovery import Recovery
from weft.protocol.custody import ranges_of
from weft.wire import frame as w
from weft.wire.frame_codec import encode, message_of
from weft.wire.frame_field import FrameError

BURIAL = 3600.0  # seconds between looks for retained messages that were taken away long ago


class Node:
    def __init__(
        self,
        identity: Identity,
        parameters: BrokerParameters,
        now: float,
        network: Parameters = DEFAULT,
        seed: int = 0,
        durable: bool = False,
        position: int = 0,
        version: str = "",
        guard: Guard | None = None,
    ) -> None:
        assert parameters.linked
        self.identity = identity
        self.parameters = parameters
        self.network = network
        self.parts = parts = Assembly(
            lambda: self.identity, parameters, network, now, seed, durable, position, version, guard
        )
        self.broker = parts.broker
        self.atlas = parts.atlas
        self.custody = parts.custody
        self.debts = parts.debts
        self.grafting = parts.grafting
        self.traffic = parts.figures  # of the network; the broker has its own
        # those of every event
        self._lane, self._links, self._local, self._reliance = parts.lane, parts.links, parts.local, parts.reliance
        self._events: dict[type[e.Event], Callable[[Any, float], None]] = {
            e.Closed: self._close,
            e.Stopping: self._stop,
            n.Linked: self._link,
            n.Unlinked: self._unlink,
            n.LinkCongested: lambda event, now: parts.links.congest(event.peer, now),
            n.LinkDrained: lambda event, now: parts.links.drain(event.peer),
            n.Heard: self._hear,
            n.Synced: self._sync,
        }
        self._of_master: dict[type[w.Frame], Callable[[Any, float], None]] = {
            w.Welcome: parts.registration.be_welcome,
            w.Refused: parts.registration.be_refused,
            w.Leave: parts.registration.be_sent_away,
            w.Revoked: lambda frame, _: parts.outbox.add(n.Revoked(frame.names)),
            w.Confirmed: lambda frame, now: parts.reliance.grant(frame.token, now),
            w.Parted: lambda _, now: parts.reliance.lose(now),
            w.Peers: parts.assignments.rewire,
            w.Tables: parts.assignments.put_tables,
            w.Way: parts.assignments.put_way,
            w.Filters: parts.assignments.put_filters,
            w.NeighbourInterests: parts.assignments.note_interests,
            w.Places: parts.assignments.note_places,
            w.InPlace: parts.assignments.note_in_place,
            w.Down: parts.absences.note_down,
            w.Back: parts.absences.note_back,
            w.Removed: parts.absences.note_removed,
            w.SessionAt: parts.moving.answer,
            w.SessionClaimed: parts.moving.note_claim,
            w.Trace: parts.traces.begin,
        }
        self._of_peers: dict[type[w.Frame], Callable[[int, Any, float], None]] = {
            w.Acked: parts.links.acknowledge,
            w.Routed: self._receive_routed,
            w.Graft: parts.grafting.take_in,
            w.Grafted: parts.grafting.hear,
            w.Ungrafted: parts.grafting.end,
            w.RetainedDigest: parts.retention.answer,
            w.RetainedSync: parts.retention.take,
        }
        parts.measurements.start(now)
        self._looks = parts.deadlines.timer(lambda _, now: self._look_ahead(now))
        self._gossips = parts.deadlines.timer(lambda _, now: self._gossip(now))
        self._burials = parts.deadlines.timer(lambda _, now: self._bury(now))
        self._looks.at(now + network.measuring)
        self._gossips.at(now + network.gossip)
        self._burials.at(now + BURIAL)

    @property
    def figures(self) -> Any:
        return self.broker.figures

    @property
    def position(self) -> int:
        return self.broker.position

    @property
    def number(self) -> int:
        """The master's number for this node, or NOBODY."""
        return self.atlas.node

    # Events

    def handle(self, event: e.Event, now: float) -> list[e.Effect]:
        passed = None
        if type(event) is n.Heard:
            if len(event.frames) == 1 and type(event.frames[0]) is w.Passing:
                passed = self.pass_on(event.peer, encode(event.frames[0]), now)
        elif type(event) is e.Received:
            passed = self.publish(event.connection, event.data, now)
        return self.handle_fully(event, now) if passed is None else effects_of(passed)

    def pass_on(self, peer: int, data: bytes, now: float) -> Passed | None:
        """What a frame Passing of a peer leads to, if the lane takes it."""
        return self._lane.pass_on(peer, data, now) if peer in self.atlas.up else None

    def publish(self, connection: int, data: bytes, now: float) -> Passed | None:
        """What bytes of a client lead to, if the lane takes them."""
        if self.atlas.congested:
            return None
        self._reliance.look(now)
        return self._lane.publish(connection, data, now)

    def handle_fully(self, event: e.Event, now: float) -> list[e.Effect]:
        """What an event leads to that is not for the lane."""
        self._reliance.look(now)
        self._local.source = event.connection if type(event) is e.Received else None
        self._events.get(type(event), self._local.handle)(event, now)
        effects = self._finish(now)
        self._local.source = None
        return effects

    def next_deadline(self) -> float | None:
        own, broker = self.parts.deadlines.next(), self.broker.next_deadline()
        return own if broker is None or (own is not None and own < broker) else broker

    def on_timer(self, now: float) -> list[e.Effect]:
        self._local.on_timer(now)
        self.parts.deadlines.run(now)
        effects = self._finish(now)
        self._local.source = None
        return effects

    def restore(self, recovery: Recovery, now: float) -> list[e.Effect]:
        """Begin with what a journal had, or with nothing."""
        self.parts.issuer.count = recovery.next_count
        self._local.keep(record.Started(self.identity.incarnation, recovery.next_count))
        self.parts.registration.start()
        self.parts.directory.claims = recovery.claims
        self.parts.moving.restore(recovery.broker.sessions, recovery.fetching, recovery.given, now)
        self._local.restore(recovery.broker, now)
        for session in self.broker.sessions():
            session.had = dict.fromkeys(recovery.had.get(session.client, ()), inf)
        self.parts.moving.expect_all_back(now)
        for number, publication in recovery.owed.items():
            group, owing = recovery.groups.get(number, ""), recovery.owing.get(number)
            self.parts.attempts.restore(publication, group, owing, recovery.run, now)
        return self._finish(now)

    def records(self) -> Iterator[bytes]:
        """A snapshot of all that a journal must keep, of this moment; it may be read while events go on.

        Debts of shared subscriptions are made again from what they are part of, if they are part of something.
        """
        own: list[record.Record] = [record.Started(self.identity.incarnation, self.parts.issuer.count)]
        debts = sorted((debt for debt in self.debts if debt.parent is None), key=lambda debt: debt.count)
        own += [self.parts.attempts.owing(debt) for debt in debts if (debt.owed or debt.targets) and not debt.group]
        own += self.parts.moving.records()
        return _snapshot([(debt.publication, debt.group) for debt in debts], own, self.broker.records())

    def is_drained(self) -> bool:
        """Whether everybody has what this node's clients have published, as far as that can be."""
        return not self.debts.under_way

    def check_invariants(self) -> None:
        self.broker.check_invariants()
        self.parts.deadlines.check_invariants()
        self.custody.check_invariants()
        self.parts.carrier.router.check_invariants()

    def _link(self, event: n.Linked, now: float) -> None:
        self.atlas.up.add(event.peer)
        if event.peer == MASTER:
            self.parts.registration.find_master()
        else:
            self._links.make(event.peer, event.round_trip, now)

    def _unlink(self, event: n.Unlinked, now: float) -> None:
        if event.peer not in self.atlas.up:
            return
        self.atlas.up.discard(event.peer)
        self._lane.forget()
        if event.peer == MASTER:
            self._lose_master(now)
        else:
            self._links.lose(event.peer, now)

    def _lose_master(self, now: float) -> None:
        """Go on without the master: rely on nothing, let in who waits, and get into trees by other nodes."""
        self._reliance.lose(now)
        self.parts.directory.lose_master(now)
        self.parts.moving.lose_master(now)
        for topic in self.parts.directory.unknown_topics():
            self.grafting.seek(topic, now)

    def _sync(self, event: n.Synced, now: float) -> None:
        self.custody.sync(event.position)
        self.parts.promises.sync(event.position)
        self.parts.fetches.sync(event.position, now)
        self.parts.attempts.sync(event.position, now)
        self.parts.registration.sync(event.position)

    def _stop(self, event: e.Stopping, now: float) -> None:
        self._local.handle(event, now)
        self.parts.registration.stop(now)

    def _close(self, event: e.Closed, now: float) -> None:
        self._local.handle(event, now)
        self.parts.admissions.forget(event.connection)
        self._local.drop(event.connection)

    # Frames

    def _hear(self, event: n.Heard, now: float) -> None:
        if event.peer == MASTER:
            self._hear_master(event.frames, now)
        elif event.peer in self.atlas.up:
            self._hear_peer(event.peer, event.frames, now)

    def _hear_master(self, frames: tuple[w.Frame, ...], now: float) -> None:
        """Tables are the master's: other nodes are not heard on these."""
        version = self.atlas.version
        for frame in frames:
            handler = self._of_master.get(type(frame))
            if handler is None:
                continue
            try:
                handler(frame, now)
            except Exception as error:
                self._break(MASTER, frame, error, now)
                return
        if self.atlas.version != version:
            self.parts.outbox.tell(MASTER, w.Applied(self.atlas.version))

    def _hear_peer(self, peer: int, frames: tuple[w.Frame, ...], now: float) -> None:
        """What a peer says; where that leads to an error it costs the peer its link, and nobody else anything."""
        said = frames[0] if frames else None
        try:
            try:
                for said in frames:
                    self._hear_one(peer, said, now)
            finally:
                self.parts.arrivals.hand_over(now)
        except Exception as error:
            self._break(peer, said, error, now)

    def _hear_one(self, peer: int, frame: w.Frame, now: float) -> None:
        if isinstance(frame, w.Carry):
            self.parts.arrivals.take(peer, frame.messages, now)
        elif isinstance(frame, w.Passing):
            self.parts.arrivals.take(peer, (message_of(frame),), now)
        elif (handler := self._of_peers.get(type(frame))) is not None:
            self.parts.arrivals.hand_over(now)
            handler(peer, frame, now)

    def _receive_routed(self, peer: int, routed: w.Routed, now: float) -> None:
        try:
            frame = self.parts.unicast.receive(peer, routed)
            if frame is not None:
                self.parts.moving.hear(routed.source, routed.source_ring_id, frame, now)
        except Exception as error:
            if not routed.hops:
                raise
            # else the peer has passed on what another wrote, unread; who waits for an answer asks again
            if not isinstance(error, FrameError):
                self._note_defect(routed, error)

    def _break(self, peer: int, frame: w.Frame | None, error: Exception, now: float) -> None:
        """End the link with a peer that does not speak as agreed, or whose words meet a defect.

        Messages are numbered by both ends (protocol/custody.py): were one left out, what comes behind it would count
        for another. Whatever was on the link is owed again.
        """
        reason = str(error)
        if isinstance(error, FrameError):
            who = "the master" if peer == MASTER else f"node {peer}"
            self.parts.outbox.note("unreadable", detail=f"{who}: {error}")
        else:
            self._note_defect(frame, error)
            reason = f"What it says has met a defect of Weft: see the log of {self.identity.name}."
        self._unlink(n.Unlinked(peer), now)
        self.parts.outbox.add(n.Break(peer, reason))

    def _note_defect(self, frame: w.Frame | None, error: Exception) -> None:
        self.parts.outbox.note("defect", detail=defect_sentence(type(frame).__name__, error))

    # What follows

    def _finish(self, now: float) -> list[e.Effect]:
        """All that an event leads to."""
        parts = self.parts
        while conclusions := self.custody.conclusions():
            for conclusion in conclusions:
                parts.attempts.conclude(conclusion, now)
        if settled := self.debts.take_settled():
            self._local.keep(record.Settled(ranges_of(settled)))
        parts.admissions.flush()
        parts.directory.flush()
        if parts.registration.is_stopping and self.is_drained():
            parts.registration.leave()
        self._local.weigh(now)
        self._links.flush(self._local.source)
        return parts.outbox.flush()

    def _look_ahead(self, now: float) -> None:
        """Have receivers known before something is published: while the report to the master is made anyway."""
        self._looks.at(now + self.network.measuring)
        self.broker.look_ahead()

    def _gossip(self, now: float) -> None:
        self._gossips.at(now + self.network.gossip)
        self.parts.retention.compare()
        self.parts.seen.raise_floor(self.parts.carrier.own, self.debts.floor(self.parts.issuer.count))
        self.parts.seen.prune(now)
        self.parts.memory.prune(now)

    def _bury(self, now: float) -> None:
        self._burials.at(now + BURIAL)
        assert self.broker.replica is not None
        self.broker.replica.bury(now)


def _snapshot(
    debts: list[tuple[Publication, str]], own: list[record.Record], broker: Iterator[bytes]
) -> Iterator[bytes]:
    """What is owed comes first, and then the count: own publications behind that are of sessions (recovery.py)."""
    for publication, group in debts:
        yield r.encode(r.Queued(publication, (r.any_member(publication, group),) if group else ()))
    for one in own:
        yield record.encode(one)
    yield from broker
