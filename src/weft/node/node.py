"""A node of a network: its broker, and all that makes it one of many. Events in, effects out, time as an argument.

It is driven as a broker is (broker/effect.py), and told besides of links and of what comes on them (effect.py). Same
events, same effects.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from math import inf
from typing import Any, ClassVar

from weft.access.guard import Guard
from weft.broker import effect as e
from weft.broker import record as r
from weft.broker.broker import Broker
from weft.broker.deadline import Deadlines
from weft.broker.issuer import Issuer
from weft.broker.parameters import Parameters as BrokerParameters
from weft.broker.publication import Publication
from weft.node import effect as n
from weft.node import record
from weft.node.atlas import Absence, Atlas, absence_of
from weft.node.carrier import DIRECT, SESSION, Carrier, Key, is_for_all, origin_of
from weft.node.debt import Debts
from weft.node.directory import Directory
from weft.node.effect import MASTER
from weft.node.figure import Figures
from weft.node.grafting import Grafting
from weft.node.identity import Identity
from weft.node.issuing import Issuing
from weft.node.lane import Lane
from weft.node.moving import Moving
from weft.node.outbox import Gate, Outbox
from weft.node.parameters import DEFAULT, Parameters
from weft.node.recovery import Recovery
from weft.node.retention import Retention, publication_of
from weft.node.seen import ORIGIN, Seen
from weft.protocol.custody import Custody, ranges_of
from weft.wire import content
from weft.wire import frame as w
from weft.wire.content import Run
from weft.wire.frame_codec import MASTERS_WORDS, NODES_WORDS, decode_body, encode_body, message_of
from weft.wire.frame_field import FrameError
from weft.wire.mqtt.topic import is_shared

BURIAL = 3600.0  # seconds between looks for retained messages that were taken away long ago
RELAYS = 64  # nodes that a routed frame may pass


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
        self.traffic = Figures()  # of the network; the broker has its own
        self._durable = durable
        self._outbox = Outbox()
        self._deadlines = Deadlines()
        self._issuer = Issuer(
            lambda publication: self._issuing.is_wanted(publication), lambda name: self._issuing.lead(name)
        )
        self._issuer.incarnation = identity.incarnation
        self.broker = Broker(parameters, now, seed, durable, position, version, self._issuer, guard)
        self.atlas = Atlas()
        self.custody = Custody()
        self._seen = Seen(network.memory)
        self.debts = Debts(network)
        self._carrier = Carrier(self.atlas, self.custody, self._seen, self.traffic, network)
        self._issuing = Issuing(
            self.atlas,
            self._carrier,
            self.custody,
            self.debts,
            self._outbox,
            self._deadlines,
            self.traffic,
            network,
            self.broker.groups,
            self.broker.has_taker,
            self._choose_own,
            self.broker.reroute,
            self._issuer.numbered,
            self._keep,
            self._offer,
            lambda name: self._moving.trails(name),
        )
        alone = network.lease * 1.2  # seconds; the leases of others have ended by then
        self._directory = Directory(self.atlas, self._outbox, self._deadlines, alone, self.broker.session)
        self._moving = Moving(
            self.broker,
            self._seen,
            self.atlas,
            self._directory,
            self._outbox,
            self._deadlines,
            self.traffic,
            network,
            self._happen,
            self._keep,
            self._send,
            self._issuing.replan,
        )
        assert self.broker.replica is not None
        self._retention = Retention(self.broker.replica, self.atlas, self._outbox, self._retain)
        self._lane = Lane(
            self.atlas,
            self._carrier,
            self._issuing,
            self._issuer,
            self._seen,
            self._outbox,
            self.traffic,
            self.broker,
        )
        self.grafting = Grafting(
            self.atlas, self._carrier, self._outbox, self._deadlines, network.patience, self._note_table
        )
        self._source: int | None = None  # the connection that this event came from
        self._synced = position
        self._ready = 0  # the position from which on this node may speak
        self._congested: set[int] = set()  # peers
        self._stopping = False
        self._is_listed = False  # the master has told all filters since this node started
        self._told_down: set[int] = set()  # nodes, since this one joined
        self._is_new = False  # it has joined, and has yet to hear of its links
        self._become(identity.node)
        self._deadlines.at(now + network.measuring, self._measure)
        self._deadlines.at(now + network.gossip, self._gossip)
        self._deadlines.at(now + BURIAL, self._bury)

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
        effects = self._in_lane(event, now)
        if effects is not None:
            return effects
        self._issuing.look_at_lease(now)
        handler = self._EVENTS.get(type(event))
        if handler is not None:
            handler(self, event, now)
        else:
            self._source = event.connection if type(event) is e.Received else None
            self._happen(event, now)
            if type(event) is e.Closed:
                self._moving.forget(event.connection)
                self._outbox.drop(event.connection)
        effects = self._finish(now)
        self._source = None
        return effects

    def _in_lane(self, event: e.Event, now: float) -> list[e.Effect] | None:
        """What an event leads to, if the lane takes it."""
        if type(event) is n.Heard:
            frame = event.frames[0] if len(event.frames) == 1 else None
            if type(frame) is w.Passing and event.peer in self.atlas.up:
                return self._lane.pass_on(event.peer, frame, now)
        elif type(event) is e.Received and not self._congested:
            self._issuing.look_at_lease(now)
            return self._lane.publish(event, now)
        return None

    def next_deadline(self) -> float | None:
        own, broker = self._deadlines.next(), self.broker.next_deadline()
        return own if broker is None or (own is not None and own < broker) else broker

    def on_timer(self, now: float) -> list[e.Effect]:
        due = self.broker.next_deadline()
        if due is not None and due <= now:
            self._digest(self.broker.on_timer(now), now)
        self._deadlines.run(now)
        return self._finish(now)

    def restore(self, recovery: Recovery, now: float) -> list[e.Effect]:
        """Begin with what a journal had, or with nothing."""
        self._issuer.count = recovery.next_count
        self._keep(record.Started(self.identity.incarnation, recovery.next_count))
        self._ready = self.broker.position
        self._directory.claims = dict(recovery.claims)
        self._moving.restore(recovery.broker.sessions, recovery.fetching, recovery.given, now)
        self._digest(self.broker.restore(recovery.broker, now), now)
        for session in self.broker.sessions():
            session.had = dict.fromkeys(recovery.had.get(session.client, ()), inf)
        for count, publication in recovery.owed.items():
            self._issuing.restore(publication, recovery.owing.get(count), recovery.run, now)
        return self._finish(now)

    def records(self) -> Iterator[bytes]:
        """A snapshot of all that a journal must keep, of this moment; it may be read while events go on."""
        own: list[record.Record] = [record.Started(self.identity.incarnation, self._issuer.count)]
        debts = sorted((debt for debt in self.debts if not debt.group), key=lambda debt: debt.count)
        own += [self._issuing.owing(debt) for debt in debts if debt.owed or debt.targets]
        own += self._moving.records()
        return _snapshot([debt.publication for debt in debts], own, self.broker.records())

    def is_drained(self) -> bool:
        """Whether everybody has what this node's clients have published, as far as that can be."""
        return not self.debts.under_way

    def check_invariants(self) -> None:
        self.broker.check_invariants()
        self.custody.check_invariants()
        self._carrier.router.check_invariants()

    # Links

    def _link(self, event: n.Linked, now: float) -> None:
        self.atlas.up.add(event.peer)
        if event.peer == MASTER:
            if self._synced >= self._ready:
                self._join()
            return
        self.custody.open(event.peer)
        self._carrier.rewire(now)
        self._issuing.hurry(now)
        self._retention.compare_with(event.peer)
        self.grafting.link(event.peer, now)
        if MASTER in self.atlas.up:
            self._outbox.tell(MASTER, w.LinkMade(event.peer, event.round_trip))

    def _unlink(self, event: n.Unlinked, now: float) -> None:
        if event.peer not in self.atlas.up:
            return
        self.atlas.up.discard(event.peer)
        self._lane.forget()
        if event.peer == MASTER:
            self._issuing.lose_lease(now)
            self._directory.lose_master(now)
            self._moving.lose_master(now)
            for topic in self._directory.unknown_topics():
                self.grafting.seek(topic, now)
            return
        self._carrier.rewire(now)
        self._carrier.lose(event.peer, now)
        self.grafting.unlink(event.peer, now)
        self._deadlines.at(now + self.network.settling, lambda _: self._retention.compare_with_all())
        self._drain(n.LinkDrained(event.peer), now)
        if MASTER in self.atlas.up:
            self._outbox.tell(MASTER, w.LinkLost(event.peer))

    def _congest(self, event: n.LinkCongested, now: float) -> None:
        self._congested.add(event.peer)
        self._deadlines.at(now + self.network.link_patience, lambda _: self._lose_patience(event.peer))

    def _lose_patience(self, peer: int) -> None:
        if peer in self._congested:
            self._carrier.stuck.add(peer)
            self._lane.forget()
            self._outbox.release(("link", peer))

    def _drain(self, event: n.LinkDrained, now: float) -> None:
        self._congested.discard(event.peer)
        self._carrier.stuck.discard(event.peer)
        self._outbox.release(("link", event.peer))

    def _sync(self, event: n.Synced, now: float) -> None:
        was_ready = self._synced >= self._ready
        self._synced = event.position
        self.custody.sync(event.position)
        self._moving.sync(event.position, now)
        self._issuing.sync(event.position, now)
        if not was_ready and self._synced >= self._ready and MASTER in self.atlas.up:
            self._join()

    def _stop(self, event: e.Stopping, now: float) -> None:
        self._happen(event, now)
        self._stopping = True
        self._deadlines.at(now + self.network.leaving, lambda _: self._part())

    def _part(self) -> None:
        """All is said: the master is told, and the driver."""
        if self._stopping:
            self._stopping = False
            if MASTER in self.atlas.up:
                self._outbox.tell(MASTER, w.Leaving())
            self._outbox.add(n.Left())

    # Frames

    def _hear(self, event: n.Heard, now: float) -> None:
        version = self.atlas.version
        arrived: list[Publication | Run] = []
        kept: list[tuple[Key, bytes]] = []
        for frame in event.frames:
            if type(frame) in (NODES_WORDS if event.peer == MASTER else MASTERS_WORDS):
                continue  # tables are the master's, and publications other nodes'
            if isinstance(frame, w.Carry | w.Passing):
                with suppress(FrameError):  # of a peer that does not speak as agreed
                    if event.peer in self.atlas.up:
                        messages = (message_of(frame),) if isinstance(frame, w.Passing) else frame.messages
                        self._take(event.peer, messages, arrived, kept, now)
                continue
            self._arrive(arrived, kept, now)
            handler = self._FRAMES.get(type(frame))
            if handler is not None:
                with suppress(FrameError):
                    handler(self, event.peer, frame, now)
        self._arrive(arrived, kept, now)
        if self.atlas.version != version:
            self._outbox.tell(MASTER, w.Applied(self.atlas.version))

    def _take(
        self,
        peer: int,
        messages: tuple[w.Message, ...],
        arrived: list[Publication | Run],
        kept: list[tuple[Key, bytes]],
        now: float,
    ) -> None:
        for message in messages:
            content.check(message.content)
            first = self._carrier.receive(peer, message, now)
            if message.token:
                self._trace_here(peer, message, now)
                continue
            if message.kept:
                key = (message.issuer, message.incarnation, message.count, message.attempt)
                kept.append((key, b"" if message.group else content.name_of(message.content)))
            if is_for_all(message):
                if first:
                    self._retain(_publication(message, now), now)
                continue
            if message.kept and message.group in ("", DIRECT):
                for trail in self._moving.trails(content.name_of(message.content).decode()):
                    self._issuing.send_after(message, trail)
            if not first:
                if message.kept and message.attempt > 1 and message.group in ("", DIRECT):
                    self._offer(_publication(message, now), now)
                continue
            self.traffic.arrived += content.count_of(message.content)
            if message.group.startswith(SESSION):
                self._take_for_session(message, now)
            elif message.group not in ("", DIRECT):
                self._take_for_group(message, now)
            elif content.is_run(message.content):
                arrived.append(content.decode_run(message.content))
            elif content.is_retained(message.content) or self.broker.audience(content.name_of(message.content)):
                arrived.append(_publication(message, now))

    def _arrive(self, arrived: list[Publication | Run], kept: list[tuple[Key, bytes]], now: float) -> None:
        """What has come goes to the clients; what is in custody is done with when that is on the disk."""
        if arrived:
            self._happen(e.ArrivedTogether(tuple(arrived)), now)
            arrived.clear()
        for key, name in kept:
            if self.custody.is_engaged(key):
                self.custody.keep(key, self.broker.position)
                if not self._issuing.is_sure:
                    self.custody.doubt(key)
                if name and self.atlas.down:
                    self.custody.owe(key, self.atlas.owed(name.decode()))
        kept.clear()

    def _take_for_group(self, message: w.Message, now: float) -> None:
        publication = publication_of(content.decode(message.content), origin_of(message), now)
        if self.broker.has_taker(message.group, publication.topic, publication.qos):
            self._happen(e.ArrivedForGroup(publication, message.group), now)
        elif message.group in self.broker.groups(publication.topic.decode()):
            self._issuing.pass_round(message)
        elif self._carrier.is_to_pass(message, now) and not self._issuing.pass_on(message):
            self._carrier.give_up(message)

    def _take_for_session(self, message: w.Message, now: float) -> None:
        client = message.group.removeprefix(SESSION)
        origin = (message.issuer, message.incarnation, message.count)
        if self.broker.session(client) is not None:
            publication = publication_of(content.decode(message.content), origin, now)
            self._happen(e.ArrivedForSession(publication, client), now)
            return
        trail = self._moving.trail(client)
        if trail is not None and origin not in trail.had and self._carrier.is_to_pass(message, now):
            self._issuing.send_after(message, trail)

    def _trace_here(self, peer: int, message: w.Message, now: float) -> None:
        name = content.name_of(message.content)
        self._outbox.tell(MASTER, w.Traced(message.token, peer, message.hops, now, self.broker.audience(name)))

    def _acked(self, peer: int, frame: w.Acked, now: float) -> None:
        if peer in self.atlas.up:
            troubles = [(one.sequence, one.owed, one.failed, one.unsure) for one in frame.troubles]
            self.custody.acknowledge(peer, frame.ranges, troubles)

    def _routed(self, peer: int, frame: w.Routed, now: float) -> None:
        if not frame.hops and frame.source != peer:
            return  # who sends a frame on its way says who it is
        if frame.target == self.atlas.node:
            self._take_routed(frame, decode_body(frame.frame), now)
        elif frame.hops < RELAYS and (towards := self.atlas.towards(frame.target, frame.ring_id)) is not None:
            on = (frame.target, frame.ring_id, frame.source, frame.source_ring_id, frame.hops + 1, frame.frame)
            self._outbox.tell(towards, w.Routed(*on))

    def _take_routed(self, routed: w.Routed, frame: w.Frame, now: float) -> None:
        match frame:
            case w.FetchSession():
                self._moving.give(routed.source, routed.source_ring_id, frame, now)
            case w.SessionComing():
                self._moving.foresee(routed.source, frame, now)
            case w.SessionMoved():
                self._moving.take(routed.source, routed.source_ring_id, frame, now)
            case w.SessionTaken():
                self._moving.let_go(frame)

    def _graft(self, peer: int, frame: w.Graft, now: float) -> None:
        if peer in self.atlas.up:
            self.grafting.take_in(peer, frame, now)

    def _grafted(self, peer: int, frame: w.Grafted, now: float) -> None:
        if peer in self.atlas.up:
            self.grafting.hear(peer, frame, now)

    def _ungrafted(self, peer: int, frame: w.Ungrafted, now: float) -> None:
        if peer in self.atlas.up:
            self.grafting.end(peer, frame, now)

    def _compare(self, peer: int, frame: w.RetainedDigest, now: float) -> None:
        self._retention.answer(peer, frame, now)

    def _retained(self, peer: int, frame: w.RetainedSync, now: float) -> None:
        self._retention.take(peer, frame, now)

    # News of the master

    def _welcomed(self, peer: int, frame: w.Welcome, now: float) -> None:
        self.atlas.ring_id, self.atlas.ring_size = frame.ring_id, frame.ring_size
        self._told_down, self._is_new = set(), True
        if frame.node != self.atlas.node:
            self._become(frame.node)
            self._outbox.add(n.Named(frame.node))
        self._carrier.rewire(now)
        self._lane.forget()
        self._issuing.replan()
        self._issuing.ask_again(now)
        self._deadlines.at(now + self.network.settling, lambda then: self._moving.retry(then))

    def _refused(self, peer: int, frame: w.Refused, now: float) -> None:
        self._outbox.add(n.Turned(frame.reason))

    def _rewired(self, peer: int, frame: w.Peers, now: float) -> None:
        made, ended = self.atlas.rewire(frame)
        for one in made:
            self._outbox.add(n.Link(one))
        for one in frame.peers if self._is_new else made:
            if one.node in self.atlas.up:  # since before it was wanted, perhaps
                self._outbox.tell(MASTER, w.LinkMade(one.node, 0.0))
        self._is_new = False
        for node in ended:
            self._end_link(node, now)
        self._carrier.rewire(now)
        self._changed(frame.version, now)

    def _end_link(self, node: int, now: float) -> None:
        """When what is on it has arrived, and others know as well."""

        def end(_: float) -> None:
            if node not in self.atlas.peers:
                self._outbox.add(n.Unlink(node))

        self._deadlines.at(now + self.network.settling, end)

    def _assigned(self, peer: int, frame: w.Tables, now: float) -> None:
        named = {one.topic for one in frame.tables}
        if frame.whole:
            for topic in [one for one in self._carrier.router.tables if one not in named]:
                self.grafting.assign(topic, None, False, now)
        for one in frame.tables:
            neighbours = None if one.neighbours is None else frozenset(one.neighbours)
            if not frame.whole or self.grafting.table(one.topic) != neighbours:
                self.grafting.assign(one.topic, neighbours, one.safe, now)
        if self._is_listed and not self._issuing.is_informed:
            self._issuing.is_informed = True
        if frame.whole:
            self._moving.join()
            self._outbox.tell(MASTER, w.Confirm(self._issuing.lease.ask(now)))
        self._changed(frame.version, now)

    def _directed(self, peer: int, frame: w.Way, now: float) -> None:
        self.atlas.version = max(self.atlas.version, frame.version)
        self._lane.forget()
        self._issuing.answer(frame.filter, frame.is_held, frame.peers, now)

    def _listed(self, peer: int, frame: w.Filters, now: float) -> None:
        self.atlas.enlist(frame)
        self._is_listed |= frame.whole
        if frame.whole:
            for node in [one for one in self.atlas.down if one not in self._told_down]:
                self._back(peer, w.Back(node, self.atlas.places[node]), now)  # while the master was out of reach
        self._changed(frame.version, now)

    def _neighbours(self, peer: int, frame: w.NeighbourInterests, now: float) -> None:
        self.atlas.learn(frame)

    def _down(self, peer: int, frame: w.Down, now: float) -> None:
        self._told_down.add(frame.node)
        brief = absence_of(frame.ring_id, (*frame.filters, *frame.others))
        self.atlas.down[frame.node] = brief
        self.atlas.places[frame.node] = frame.ring_id
        self._issuing.replan()
        if frame.others:
            self._deadlines.at(now + 1.0, lambda then: self._miss(frame, brief, self.network.absence, then))

    def _miss(self, frame: w.Down, brief: Absence, seconds: float, now: float) -> None:
        """A node gone for so long is owed only what outlives connections; a jump of the clock is one step."""
        if self.atlas.down.get(frame.node) is not brief:
            return
        if seconds > 1.0:
            self._deadlines.at(now + 1.0, lambda then: self._miss(frame, brief, seconds - 1.0, then))
            return
        absence = absence_of(frame.ring_id, frame.filters)
        self.atlas.down[frame.node] = absence
        self._issuing.replan()
        self.debts.forgive(frame.node, absence.wants)

    def _back(self, peer: int, frame: w.Back, now: float) -> None:
        self.atlas.down.pop(frame.node, None)
        self.atlas.places[frame.node] = frame.ring_id
        self._issuing.replan()
        self._issuing.come_back(frame.node, now)
        self._moving.come_back(frame.node, now)

    def _removed(self, peer: int, frame: w.Removed, now: float) -> None:
        self.atlas.down.pop(frame.node, None)
        self.atlas.places.pop(frame.node, None)
        self._issuing.replan()
        self.debts.forgive(frame.node)
        self._moving.remove(frame.node)

    def _confirmed(self, peer: int, frame: w.Confirmed, now: float) -> None:
        self._issuing.take_lease(frame.token, now)

    def _placed(self, peer: int, frame: w.Places, now: float) -> None:
        self.atlas.places.update(frame.places)

    def _parted(self, peer: int, frame: w.Parted, now: float) -> None:
        self._issuing.lose_lease(now)

    def _session_at(self, peer: int, frame: w.SessionAt, now: float) -> None:
        self._moving.answer(frame, now)

    def _session_claimed(self, peer: int, frame: w.SessionClaimed, now: float) -> None:
        session = self.broker.session(frame.client)
        if session is not None and session.connection is None:
            session.unsure = True

    def _in_place(self, peer: int, frame: w.InPlace, now: float) -> None:
        self._directory.in_place(frame.sequence, now)
        self.grafting.settle(self._directory.unknown_topics(), now)

    def _leave(self, peer: int, frame: w.Leave, now: float) -> None:
        self._outbox.add(n.Turned("The master has told this node to leave."))

    def _trace(self, peer: int, frame: w.Trace, now: float) -> None:
        name = frame.name.encode()
        self._outbox.tell(MASTER, w.Traced(frame.token, w.NOBODY, 0, now, self.broker.audience(name)))
        self._issuing.trace(frame.name, frame.token, now)

    def _changed(self, version: int, now: float) -> None:
        self.atlas.version = max(self.atlas.version, version)
        self._lane.forget()
        self._issuing.replan()
        self._issuing.hurry(now)

    # The broker

    def _happen(self, event: e.Event, now: float) -> None:
        self._digest(self.broker.handle(event, now), now)

    def _digest(self, effects: list[e.Effect], now: float) -> None:
        """What the broker's effects mean for the network; the rest goes on to the driver."""
        news = False
        for effect in effects:
            kind = type(effect)
            if kind is e.Send or kind is e.Close:
                if news and self._source == effect.connection:  # type: ignore[attr-defined]
                    self._await_network(effect.connection, now)  # type: ignore[attr-defined]
                    news = False
                self._outbox.send(effect)  # type: ignore[arg-type]
            elif kind is e.Accepted:
                self._issue(effect.publication, now)  # type: ignore[attr-defined]
            elif kind is e.AcceptedRun:
                self._issuing.issue_run(effect.lead, effect.run, now)  # type: ignore[attr-defined]
            elif kind is e.FilterHeld:
                self._directory.note_filter(effect)  # type: ignore[arg-type]
                self._note_filter(effect, now)  # type: ignore[arg-type]
                self._issuing.replan()
            elif kind is e.SessionSubscribed:
                self._directory.note_subscription(effect)  # type: ignore[arg-type]
                news |= effect.subscription is not None  # type: ignore[attr-defined]
            elif kind is e.FilterAsked:
                news |= self._directory.is_unknown(effect.filter)  # type: ignore[attr-defined]
            else:
                self._digest_one(effect, now)

    def _note_filter(self, effect: e.FilterHeld, now: float) -> None:
        """Get into the tree of a filter that is new here without the master, if that is out of reach."""
        if MASTER in self.atlas.up or is_shared(effect.filter):
            return
        if not effect.members:
            self.grafting.release(w.topic_of(effect.filter), now)
        elif self._directory.is_unknown(effect.filter):
            self.grafting.seek(w.topic_of(effect.filter), now)

    def _note_table(self) -> None:
        self._lane.forget()
        self._issuing.replan()

    def _issue(self, publication: Publication, now: float) -> None:
        assert publication.origin is not None
        self._seen.is_first(ORIGIN.pack(*publication.origin), now)
        answer, after = self._answer_to(publication), self._position_of(publication)
        self._issuing.issue(publication, self._source, now, answer, after)

    def _position_of(self, publication: Publication) -> int:
        """What of the journal must be written before it goes to others, which may not get it under another number."""
        session = self.broker.session(publication.publisher)
        waits = self._durable and publication.qos == 2 and session is not None and session.persistent
        return self.broker.position if waits else 0

    def _answer_to(self, publication: Publication) -> Callable[[], None] | None:
        """The acknowledgement, and all that the client is sent behind it, waits (acknowledge = tree)."""
        session = self.broker.session(publication.publisher)
        if self.network.acknowledge == "disk" or not publication.qos or session is None or session.connection is None:
            return None
        connection = session.connection.number
        gate = self._outbox.shut(connection)
        return lambda: self._outbox.open(connection, gate)

    def _await_tree(self, connection: int, client: str) -> None:
        """A client has said again what this node has: the answer waits as the first one did (acknowledge = tree)."""
        debts = self.debts.unsettled(client) if self.network.acknowledge == "tree" else []
        for debt in debts:
            gate = self._outbox.shut(connection)
            debt.answers.append(lambda gate=gate: self._outbox.open(connection, gate))  # type: ignore[misc]

    def _digest_one(self, effect: e.Effect, now: float) -> None:
        match effect:
            case e.Hold(connection):
                self._outbox.hold(connection, "broker")
            case e.Resume(connection):
                self._outbox.resume(connection, "broker")
            case e.Connecting(connection, client, clean):
                self._moving.connect(connection, client, clean, now)
            case e.SessionHere(client):
                self._directory.note_session(client, self.broker.session(client))
                self._moving.doubt_session(client)
            case e.SessionGone(client):
                self._moving.end(client)
                self._directory.note_session(client, self.broker.session(client))
            case e.Repeated(connection, client):
                self._await_tree(connection, client)
            case e.Declined(publication, filter_):
                self._issuing.reissue(filter_, publication, now)
            case _:
                self._outbox.add(effect)

    def _await_network(self, connection: int, now: float) -> None:
        """The answer to SUBSCRIBE waits until what was subscribed to is in place."""
        gate = self._outbox.shut(connection)
        self._directory.wait(lambda _, alone: self._open_gate(connection, gate, alone), now)

    def _open_gate(self, connection: int, gate: Gate, alone: bool) -> None:
        if alone:
            self._outbox.add(e.Note("subscribed_alone", connection))
        self._outbox.open(connection, gate)

    def _choose_own(self, filter_: str, publication: Publication, now: float) -> None:
        self._happen(e.ArrivedForGroup(publication, filter_), now)

    def _offer(self, publication: Publication, now: float) -> None:
        """What has come before goes to sessions that have come since."""
        if clients := self._moving.newcomers():
            self._happen(e.ArrivedAgain(replace(publication, number=0), clients), now)

    def _retain(self, publication: Publication, now: float) -> None:
        self._digest(self.broker.retain(publication), now)

    def _keep(self, kept: record.Record) -> None:
        for effect in self.broker.append(record.encode(kept)):
            self._outbox.add(effect)

    # Out

    def _finish(self, now: float) -> list[e.Effect]:
        """All that an event leads to."""
        while conclusions := self.custody.conclusions():
            for conclusion in conclusions:
                self._issuing.conclude(conclusion, now)
        if settled := self.debts.take_settled():
            self._keep(record.Settled(ranges_of(settled)))
        self._directory.flush()
        if self._stopping and self.is_drained():
            self._part()
        for peer, carry in self._carrier.take():
            self._outbox.tell(peer, carry)
            if peer in self._congested and self._source is not None and peer not in self._carrier.stuck:
                self._outbox.hold(self._source, ("link", peer))
        for peer, ranges, troubles in self.custody.acknowledgements():
            told = tuple(w.Trouble(one[0], tuple(sorted(one[1])), *one[2:]) for one in troubles)
            self._outbox.tell(peer, w.Acked(ranges, told))
        return self._outbox.flush()

    def _become(self, number: int) -> None:
        self.atlas.node = number
        self._issuer.node = max(number, 0)
        self._carrier.name(number, self.identity.incarnation)

    def _join(self) -> None:
        held = tuple(w.Held(filter_, one.members, one.persistent > 0) for filter_, one in self.broker.held().items())
        self._outbox.tell(
            MASTER,
            w.Join(
                self.identity.name,
                self.identity.incarnation,
                self.atlas.node,
                self.identity.address,
                self.identity.listeners,
                self.atlas.version,
                held,
                tuple(self._directory.owned(session) for session in self.broker.sessions()),
                tuple(sorted(one for one in self.atlas.up if one != MASTER)),
                self._directory.sequence,
            ),
        )

    def _send(self, node: int, ring_id: int, frame: w.Frame) -> None:
        """Send a frame to the master, or to any node, over the ring."""
        if node == MASTER:
            self._outbox.tell(MASTER, frame)
            return
        ring_id = self.atlas.places.get(node, ring_id)
        routed = w.Routed(node, ring_id, self.atlas.node, self.atlas.ring_id, 0, encode_body(frame))
        towards = self.atlas.towards(node, ring_id)
        if towards is not None:
            self._outbox.tell(towards, routed)

    def _measure(self, now: float) -> None:
        self._deadlines.at(now + self.network.measuring, self._measure)
        rates, self._issuing.rates = self._issuing.rates, {}
        if MASTER not in self.atlas.up:
            return
        self._outbox.tell(MASTER, w.Confirm(self._issuing.lease.ask(now)))
        told = tuple((name, rate[0], rate[1]) for name, rate in rates.items())
        figures = self.broker.figures
        more = (
            ("connected", figures.connected),
            ("sessions", figures.sessions),
            ("subscriptions", figures.subscriptions),
            ("publications_received", figures.publications_received),
            ("publications_sent", figures.publications_sent),
            ("under_way", self.debts.under_way),
            ("owed", sum(self.debts.owed.values())),
            ("owed_dropped", self.debts.dropped),
        )
        self._outbox.tell(MASTER, w.Measured(told, (), (*self.traffic.counters(), *more)))

    def _gossip(self, now: float) -> None:
        self._deadlines.at(now + self.network.gossip, self._gossip)
        self._retention.compare()
        self._seen.raise_floor(self._carrier.own, self.debts.floor(self._issuer.count), now)
        self._moving.prune(now)

    def _bury(self, now: float) -> None:
        self._deadlines.at(now + BURIAL, self._bury)
        assert self.broker.replica is not None
        self.broker.replica.bury(now)

    _EVENTS: ClassVar[dict[type[e.Event], Callable[["Node", Any, float], None]]] = {
        n.Linked: _link,
        n.Unlinked: _unlink,
        n.Heard: _hear,
        n.LinkCongested: _congest,
        n.LinkDrained: _drain,
        n.Synced: _sync,
        e.Stopping: _stop,
    }
    _FRAMES: ClassVar[dict[type[w.Frame], Callable[["Node", int, Any, float], None]]] = {
        w.Acked: _acked,
        w.Routed: _routed,
        w.Graft: _graft,
        w.Grafted: _grafted,
        w.Ungrafted: _ungrafted,
        w.RetainedDigest: _compare,
        w.RetainedSync: _retained,
        w.Welcome: _welcomed,
        w.Refused: _refused,
        w.Peers: _rewired,
        w.Tables: _assigned,
        w.Way: _directed,
        w.Filters: _listed,
        w.NeighbourInterests: _neighbours,
        w.Down: _down,
        w.Back: _back,
        w.Removed: _removed,
        w.SessionAt: _session_at,
        w.SessionClaimed: _session_claimed,
        w.InPlace: _in_place,
        w.Confirmed: _confirmed,
        w.Parted: _parted,
        w.Places: _placed,
        w.Leave: _leave,
        w.Trace: _trace,
    }


def _publication(message: w.Message, now: float) -> Publication:
    return publication_of(content.decode(message.content), (message.issuer, message.incarnation, message.count), now)


def _snapshot(debts: list[Publication], own: list[record.Record], broker: Iterator[bytes]) -> Iterator[bytes]:
    """What is owed comes first, and then the count: own publications behind that are of sessions (recovery.py)."""
    for publication in debts:
        yield r.encode(r.Queued(publication, ()))
    for one in own:
        yield record.encode(one)
    yield from broker
