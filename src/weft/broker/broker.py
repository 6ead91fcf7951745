"""The broker of one node: events in, effects out, time as an argument.

Same events, same effects: what is left to chance (names for clients without one) comes from a seed. A driver hands
over each event with the time it happened (seconds since 1970, never going back), carries out the effects in order, and
calls `on_timer` when `next_deadline` has come. effect.py has both vocabularies.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, ClassVar

from weft.access.guard import Guard, Known, Question
from weft.access.name import parted, session_name
from weft.broker import effect as e
from weft.broker import window_lane
from weft.broker.admission import Admission
from weft.broker.connection import Connection
from weft.broker.deadline import Deadlines
from weft.broker.distribution import Distribution
from weft.broker.enforcement import Enforcement
from weft.broker.figure import Figures
from weft.broker.inbound import Inbound
from weft.broker.issuer import Issuer
from weft.broker.lane import PUBLISH, Lane, Lone
from weft.broker.outbound import Outbound
from weft.broker.outbox import Outbox
from weft.broker.parameters import Parameters
from weft.broker.parting import Parting
from weft.broker.publication import Publication
from weft.broker.recovery import Recovery, records, session_records
from weft.broker.replica import Replica
from weft.broker.restoration import Restoration
from weft.broker.retained import RetainedMessages
from weft.broker.session import Session
from weft.broker.sessions import Sessions
from weft.broker.subscribing import Subscribing
from weft.broker.subscriptions import Holding, Subscriptions
from weft.broker.sys_topic import SysTopics
from weft.broker.will import Wills
from weft.wire.content import Run
from weft.wire.mqtt import packet as p
from weft.wire.mqtt.parser import decode, frame
from weft.wire.mqtt.property import Property
from weft.wire.mqtt.reason import PacketError, Reason, protocol_error
from weft.wire.mqtt.writer import encode

PINGRESP = encode(p.Pingresp(), p.Version.V311)
NEVER = 2**62  # bytes: no read is worth another look
CONNECT_BYTES = 1 << 19  # of CONNECT: five fields of 64 KiB and properties; nobody is known before it


class Broker:
    def __init__(
        self,
        parameters: Parameters,
        now: float,
        seed: int = 0,
        durable: bool = False,  # there is a journal
        position: int = 0,  # records that it has
        version: str = "",  # of the software, for $SYS
        issuer: Issuer | None = None,  # where linked
        guard: Guard | None = None,  # none lets everybody do everything
    ) -> None:
        self.parameters = parameters
        self.figures = Figures(started=now)
        self._guard = guard or Guard()
        self._deadlines = Deadlines()
        self._outbox = Outbox(self._deadlines, self.figures, parameters.patience, durable, position)
        self._issuer = issuer = (issuer or Issuer()) if parameters.linked else None
        lead = issuer.lead if issuer is not None else lambda _: None
        self._subscriptions = Subscriptions(self._outbox, self.figures, parameters, lead)
        self.replica = Replica() if parameters.linked else None
        self._retained = RetainedMessages(
            self._outbox, self._deadlines, self.figures, parameters.retained_messages, self.replica
        )
        self._outbound = Outbound(self._outbox, self.figures, parameters)
        self._number = 0
        self._distribution = Distribution(
            self._outbox,
            self._outbound,
            self._subscriptions,
            self._retained,
            issuer,
            self._next_number,
        )
        self._inbound = Inbound(self._outbox, self._distribution, self._retained, self.figures, parameters, self._guard)
        self._wills = Wills(self._outbox, self._deadlines, self._distribution, self._guard)
        self._sessions = Sessions(
            self._outbox,
            self._deadlines,
            self.figures,
            self._subscriptions,
            self._distribution,
            self._wills,
            parameters.linked,
        )
        self._admission = Admission(
            self._outbox, self._sessions, self._wills, self.figures, parameters, seed, self._guard
        )
        self._parting = Parting(
            self._outbox, self._deadlines, self._sessions, self._wills, self._admission, self.figures, parameters
        )
        self._subscribing = Subscribing(
            self._outbox, self._subscriptions, self._retained, self._distribution, self.figures, parameters, self._guard
        )
        self._enforcement = Enforcement(self._outbox, self._subscribing, self._distribution, self.figures, self._guard)
        self._restoration = Restoration(
            self._outbox,
            self._sessions,
            self._subscriptions,
            self._retained,
            self._wills,
            self.figures,
            self._next_number,
        )
        self.lane = Lane(self._outbox, self._subscriptions.routes, self.figures, parameters)
        self._window_lane = window_lane.WindowLane(
            self._outbox, self._outbound, self._subscriptions.routes, self.figures, parameters.packet_bytes
        )
        self._connections: dict[int, Connection] = {}
        self._stopping = False
        self._sys = SysTopics(
            self._deadlines, self._distribution, self._retained, self.figures, parameters.sys_interval, version
        )
        if parameters.sys_interval:
            self._deadlines.at(now, self._sys.publish)

    # Events

    def handle(self, event: e.Event, now: float) -> list[e.Effect]:
        if type(event) is e.Received:
            connection = self._connections.get(event.connection)
            if connection is not None and not connection.closing:
                self._receive(connection, event.data, now)
                return self._outbox.flush(connection)
            return []
        self._EVENTS[type(event)](self, event, now)
        return self._outbox.flush(None)

    def next_deadline(self) -> float | None:
        return self._deadlines.next()

    def on_timer(self, now: float) -> list[e.Effect]:
        self._deadlines.run(now)
        return self._outbox.flush(None)

    def restore(self, recovery: Recovery, now: float) -> list[e.Effect]:
        """Begin with what a journal had. Clients that were connected have been away since now."""
        self._number = recovery.number
        self._restoration.restore(recovery, now)
        self._enforcement.enforce(self._sessions, now)
        self._deadlines.run(now)  # what has expired meanwhile
        return self._outbox.flush(None)

    def records(self) -> Iterator[bytes]:
        """A snapshot of all that a journal must keep, of this moment; it may be read while events go on."""
        return records(self._sessions, self._retained)

    def export(self, client: str) -> tuple[bytes, ...]:
        """A session as a value, for another node (`SessionArrived`); nothing if there is none to keep."""
        session = self._sessions.get(client)
        if session is None or not session.persistent:
            return ()
        if self._issuer is not None:
            self._issuer.sign_waiting(session)
        return session_records(session)

    @property
    def position(self) -> int:
        """Records so far."""
        return self._outbox.position

    def append(self, record: bytes) -> list[e.Effect]:
        """A record of somebody who shares the journal."""
        self._outbox.append_encoded(record)
        return self._outbox.flush(None)

    def reroute(self) -> None:
        """Other nodes want other publications than before."""
        self._subscriptions.routes.forget_all()

    def session(self, client: str) -> Session | None:
        return self._sessions.get(client)

    def sessions(self) -> Iterator[Session]:
        return iter(self._sessions)

    def held(self) -> dict[str, Holding]:
        """Filters of this node's clients, as they wrote them; in a network only."""
        return self._subscriptions.held

    def retain(self, publication: Publication) -> list[e.Effect]:
        """Take over what another node has retained; nobody is sent it."""
        self._retained.keep(publication)
        return self._outbox.flush(None)

    def retained(self) -> dict[str, Publication]:
        """Retained messages by name, the broker's own ($SYS) among them."""
        by_name = self._retained.by_name
        return {name: one for name in by_name if (one := by_name.get(name)) is not None}

    def groups(self, name: str) -> list[str]:
        """Shared filters with members here that match a name."""
        return self._distribution.groups(name)

    def has_taker(self, filter_: str, name: bytes, qos: int) -> bool:
        """Whether a member of a shared subscription here would get a publication."""
        return self._distribution.has_taker(filter_, name, qos)

    def audience(self, name: bytes) -> int:
        """Sessions and groups that would get a publication."""
        route = self._subscriptions.routes.route(name)
        return len(route.targets) + len(route.groups)

    def lone(self, event: e.Received) -> Lone | None:
        """What a read brings, if it is one publication that the lane is sure of, and nobody has to wait for it."""
        connection = self._connections.get(event.connection)
        if connection is None or connection.session is None or connection.closing or connection.pieces is not None:
            return None
        lone = self.lane.find(event.data, connection.version is p.Version.V5, connection.allowed)
        if lone is None:
            return None
        return None if any(one.congested for one in lone.route.receivers) else lone

    def take_lone(self, event: e.Received, lone: Lone, now: float) -> tuple[str, list[e.Effect]]:
        """The client that has published it, and what that leads to here."""
        connection = self._connections[event.connection]
        assert connection.session is not None
        connection.heard = now
        self.figures.bytes_received += len(event.data)
        self.lane.count_received(1, lone.payload)
        return connection.session.client, self.lane.give(lone)

    def check_invariants(self) -> None:
        connected = [one for one in self._sessions if one.connection is not None]
        assert self.figures.connected == len(connected)
        assert self.figures.waiting == sum(len(one.queue) for one in self._sessions)
        assert self.figures.subscriptions == sum(len(one.subscriptions) for one in self._sessions)
        for session in connected:
            connection = session.connection
            assert connection is not None
            assert connection.session is session
            assert connection.outstanding <= connection.window
            assert len(session.inflight) <= connection.outstanding + len(session.resend or ())
            assert not connection.out
            assert not connection.burst

    def _next_number(self) -> int:
        self._number += 1
        return self._number

    def _open(self, event: e.Opened, now: float) -> None:
        connection = self._connections[event.connection] = Connection(event.connection, now, event.visitor)
        welcome = self._guard.open(event.visitor, now)
        self.figures.connections += 1
        if self._stopping:
            self._parting.end(connection, now, will=False)
        elif self.figures.connections > self.parameters.connections * 2 or not welcome:
            self._parting.refuse_silently(connection, now)
        else:
            self._parting.await_greeting(connection, now)

    def _close(self, event: e.Closed, now: float) -> None:
        connection = self._connections.pop(event.connection, None)
        if connection is None:
            return
        self.figures.connections -= 1
        self._guard.close(connection.visitor)
        self._parting.lose(connection, now)

    def _congest(self, event: e.Congested, now: float) -> None:
        connection = self._connections.get(event.connection)
        if connection is not None:
            self._outbox.congest(connection, now)

    def _drain(self, event: e.Drained, now: float) -> None:
        connection = self._connections.get(event.connection)
        if connection is not None:
            self._outbox.drain(connection)
            if connection.session is not None:
                self._outbound.fill(connection.session, now)

    def _fill_up(self, event: e.JournalFilled, now: float) -> None:
        self._inbound.journal.full = True

    def _have_room(self, event: e.JournalFreed, now: float) -> None:
        self._inbound.journal.full = False

    def _arrive(self, event: e.Arrived, now: float) -> None:
        self._distribution.arrive(event.publication, now)

    def _arrive_together(self, event: e.ArrivedTogether, now: float) -> None:
        for one in event.publications:
            if type(one) is Run:
                self._arrive_run(one, now)
            else:
                self._distribution.arrive(one, now)  # type: ignore[arg-type]

    def _arrive_run(self, run: Run, now: float) -> None:
        """What the lane is not sure of goes the long way."""
        data, at, end = run.packets, 0, len(run.packets)
        while (at := self.lane.pass_in(data, at)) < end:
            try:
                framed = frame(data, at, end, self.parameters.packet_bytes, p.Version.V311)
                if framed is None or framed[1] > end:
                    return  # another node's mistake, and nobody's publication
                packet = decode(data, at, framed[0], framed[1], p.Version.V311)
            except PacketError:
                return
            at = framed[1]
            if type(packet) is p.Publish:
                one = Publication(packet.topic.encode(), packet.payload, publisher=run.publisher)
                self._distribution.arrive(one, now)

    def _arrive_for_group(self, event: e.ArrivedForGroup, now: float) -> None:
        self._distribution.to_member(event.filter, event.publication, now)

    def _arrive_for_session(self, event: e.ArrivedForSession, now: float) -> None:
        self._distribution.to_client(event.client, event.publication, now)

    def _arrive_again(self, event: e.ArrivedAgain, now: float) -> None:
        self._distribution.offer_again(event.publication, event.clients, now)

    def _go_on(self, event: e.Admitted, now: float) -> None:
        connection = self._connections.get(event.connection)
        if connection is None or connection.waiting is None or connection.closing:
            return
        packet, connection.waiting = connection.waiting, None
        self._enter(connection, packet, now)
        self._read_on(connection, now)

    def _read_on(self, connection: Connection, now: float) -> None:
        """What came behind CONNECT while it waited."""
        data, connection.pieces = b"".join(connection.pieces or ()), None
        try:
            self._read(connection, data, now)
        except PacketError as error:
            self._parting.give_up(connection, error, data, now)

    def _hear_password(self, event: e.PasswordChecked, now: float) -> None:
        connection = self._connections.get(event.connection)
        packet, question = (connection.waiting, connection.question) if connection is not None else (None, None)
        if connection is None or packet is None or question is None or connection.closing:
            self._guard.give_up_check()
            return
        connection.waiting = connection.question = None
        self._outbox.resume(connection)
        try:
            known = self._guard.answer(question, event.right, connection.visitor, now)
            self._let_in(connection, packet, known, now)
        except PacketError as error:
            self._parting.refuse(connection, packet.version, error, now)
            return
        if connection.waiting is None:
            self._read_on(connection, now)

    def _renew_access(self, event: e.AccessChanged, now: float) -> None:
        changed = self._guard.renew(event.access)
        for connection in self._connections.values():
            connection.allowed = None if self._guard.is_open else set()
        self._enforce(self._sessions, now, changed)

    def _enforce(self, sessions: Iterable[Session], now: float, changed: frozenset[str] = frozenset()) -> None:
        """End what may not be any more. The standard's only way to tell a client is DISCONNECT."""
        for session, reason in self._enforcement.enforce(sessions, now, changed):
            if session.connection is not None:
                self._parting.dismiss(session.connection, Reason.NOT_AUTHORIZED, reason, now)

    def _be_claimed(self, event: e.SessionClaimed, now: float) -> None:
        session = self._sessions.get(event.client)
        if session is not None and session.connection is not None:
            self._parting.take_over(session.connection, now)

    def _take_in(self, event: e.SessionArrived, now: float) -> None:
        taken = self._restoration.take_in(event, now)
        self._enforce(taken, now)
        for session in taken:
            self._outbound.fill(session, now)

    def _foresee(self, event: e.SessionComing, now: float) -> None:
        session = self._sessions.get(event.client)
        if session is not None:
            self._inbound.note(session, event.received, event.late)

    def _gather(self, event: e.SessionGathered, now: float) -> None:
        session = self._sessions.get(event.client)
        if session is not None and session.gathering:
            session.gathering = False
            self._outbound.fill(session, now)

    def _let_move(self, event: e.SessionMoved, now: float) -> None:
        session = self._sessions.get(event.client)
        if session is None:
            return
        if not event.ended:
            self._wills.set(session, None)
        if session.connection is not None:
            self._parting.say_goodbye(session.connection, Reason.SESSION_TAKEN_OVER, "")
            self._parting.end(session.connection, now, will=False)
        if self._sessions.get(event.client) is session:
            self._sessions.end(session, now, bequeath=event.ended)

    def _stop(self, event: e.Stopping, now: float) -> None:
        self._stopping = True
        for connection in list(self._connections.values()):
            if not connection.closing:
                self._parting.say_goodbye(connection, Reason.SERVER_SHUTTING_DOWN, "")
                self._parting.end(connection, now, will=False)

    _EVENTS: ClassVar[dict[type[e.Event], Callable[["Broker", Any, float], None]]] = {
        e.Opened: _open,
        e.Closed: _close,
        e.Congested: _congest,
        e.Drained: _drain,
        e.JournalFilled: _fill_up,
        e.JournalFreed: _have_room,
        e.Arrived: _arrive,
        e.ArrivedTogether: _arrive_together,
        e.ArrivedForGroup: _arrive_for_group,
        e.ArrivedForSession: _arrive_for_session,
        e.ArrivedAgain: _arrive_again,
        e.Admitted: _go_on,
        e.PasswordChecked: _hear_password,
        e.AccessChanged: _renew_access,
        e.SessionClaimed: _be_claimed,
        e.SessionArrived: _take_in,
        e.SessionComing: _foresee,
        e.SessionGathered: _gather,
        e.SessionMoved: _let_move,
        e.Stopping: _stop,
    }

    # Bytes

    def _receive(self, connection: Connection, data: bytes, now: float) -> None:
        self.figures.bytes_received += len(data)
        if connection.pieces is not None:
            connection.pieces.append(data)
            connection.got += len(data)
            if connection.got < connection.need:
                return
            data = b"".join(connection.pieces)
            connection.pieces = None
        try:
            self._read(connection, data, now)
        except PacketError as error:
            self._parting.give_up(connection, error, data, now)

    def _read(self, connection: Connection, data: bytes, now: float) -> None:
        """All packets of a read; what is left waits for more."""
        at, end, limit = 0, len(data), self.parameters.packet_bytes
        if connection.version is None:
            limit = min(limit, CONNECT_BYTES)
        while at < end and not connection.closing:
            if connection.session is not None:
                start, head = at, data[at]
                if head == PUBLISH:
                    at = self.lane.pass_on(connection, data, at)
                elif head == window_lane.PUBLISH and not self._inbound.journal.full:
                    at = self._window_lane.pass_on(connection, data, at, now)
                elif head == window_lane.PUBACK:
                    at = self._window_lane.acknowledge(connection, data, at)
                if at > start:
                    connection.heard = now
                if at == end:
                    return
            framed = frame(data, at, end, limit, connection.version)
            if framed is None or framed[1] > end:
                self._await_more(connection, data[at:], framed[1] - at if framed else 0)
                return
            packet = decode(data, at, framed[0], framed[1], connection.version)
            connection.heard = now
            self.figures.packets_received += 1
            self._dispatch(connection, packet, now)
            at = framed[1]
            if connection.waiting is not None:
                self._await_more(connection, data[at:], NEVER)
                return

    def _await_more(self, connection: Connection, rest: bytes, need: int) -> None:
        connection.pieces = [rest]
        connection.got, connection.need = len(rest), need

    def _dispatch(self, connection: Connection, packet: p.Packet, now: float) -> None:
        if connection.version is None:
            if not isinstance(packet, p.Connect):
                raise protocol_error("The first packet is not CONNECT.")
            self._parting.greeted(connection)
            self._connect(connection, packet, now)
            return
        handler = self._PACKETS.get(type(packet))
        if handler is None:
            raise protocol_error(f"A client has sent {type(packet).__name__.upper()}.")
        handler(self, connection, packet, now)

    # Packets

    def _connect(self, connection: Connection, packet: p.Connect, now: float) -> None:
        try:
            self._admission.check(connection, packet)
            known = self._guard.identify(connection.visitor, packet, now)
            if not isinstance(known, Question):
                self._let_in(connection, packet, known, now)
                return
        except PacketError as error:
            self._parting.refuse(connection, packet.version, error, now)
            return
        connection.waiting, connection.question = packet, known
        self._outbox.hold(connection)
        self._outbox.add(e.CheckPassword(connection.number, known.password, known.kept))

    def _let_in(self, connection: Connection, packet: p.Connect, known: Known, now: float) -> None:
        """The client has said who it is; in a network its session may be another node's."""
        self._guard.check(known, packet)
        packet = replace(packet, client=session_name(known.user, packet.client), password=None)
        if known.until is not None:
            self._parting.await_expiry(connection, known.until, now)
        if self.parameters.linked and parted(packet.client)[1] and self._may_be_elsewhere(packet.client):
            connection.waiting = packet
            self._outbox.add(e.Connecting(connection.number, packet.client, packet.clean))
            return
        self._enter(connection, packet, now)

    def _may_be_elsewhere(self, client: str) -> bool:
        session = self._sessions.get(client)
        return session is None or session.unsure

    def _enter(self, connection: Connection, packet: p.Connect, now: float) -> None:
        former = self._sessions.get(packet.client) if packet.client else None
        if former is not None and former.connection is not None:
            self._parting.take_over(former.connection, now)
        present = self._admission.admit(connection, packet, now)
        session = connection.session
        assert session is not None
        self._outbox.note("connected", connection, session.client, f"MQTT {_named(packet.version)}")
        self._parting.await_silence(connection, now)
        if present:
            self._outbound.resume(session, now)

    def _publish(self, connection: Connection, packet: p.Publish, now: float) -> None:
        self._inbound.publish(connection, packet, now)

    def _puback(self, connection: Connection, packet: p.Puback, now: float) -> None:
        assert connection.session is not None
        self._outbound.acknowledge(connection.session, packet.packet_id, now)

    def _pubrec(self, connection: Connection, packet: p.Pubrec, now: float) -> None:
        assert connection.session is not None
        self._outbound.receive(connection.session, packet.packet_id, packet.reason, now)

    def _pubrel(self, connection: Connection, packet: p.Pubrel, now: float) -> None:
        self._inbound.release(connection, packet.packet_id)

    def _pubcomp(self, connection: Connection, packet: p.Pubcomp, now: float) -> None:
        assert connection.session is not None
        self._outbound.complete(connection.session, packet.packet_id, now)

    def _subscribe(self, connection: Connection, packet: p.Subscribe, now: float) -> None:
        self._subscribing.subscribe(connection, packet, now)

    def _unsubscribe(self, connection: Connection, packet: p.Unsubscribe, now: float) -> None:
        self._subscribing.unsubscribe(connection, packet)

    def _pingreq(self, connection: Connection, packet: p.Pingreq, now: float) -> None:
        self.figures.packets_sent += 1
        self._outbox.send(connection, PINGRESP)

    def _disconnect(self, connection: Connection, packet: p.Disconnect, now: float) -> None:
        session = connection.session
        assert session is not None
        expiry = packet.properties.get(Property.SESSION_EXPIRY_INTERVAL)
        if expiry is not None:
            if expiry and not session.expiry:
                raise protocol_error("DISCONNECT asks to keep a session that CONNECT did not.")
            session.expiry = min(expiry, self.parameters.session_expiry)
        self._outbox.note("disconnected", connection, session.client, "by the client")
        self._parting.end(connection, now, will=packet.reason != Reason.SUCCESS)

    def _auth(self, connection: Connection, packet: p.Auth, now: float) -> None:
        raise protocol_error("AUTH without an authentication method in CONNECT.")

    _PACKETS: ClassVar[dict[type[p.Packet], Callable[["Broker", Connection, Any, float], None]]] = {
        p.Publish: _publish,
        p.Puback: _puback,
        p.Pubrec: _pubrec,
        p.Pubrel: _pubrel,
        p.Pubcomp: _pubcomp,
        p.Subscribe: _subscribe,
        p.Unsubscribe: _unsubscribe,
        p.Pingreq: _pingreq,
        p.Disconnect: _disconnect,
        p.Auth: _auth,
    }


def _named(version: p.Version) -> str:
    return {p.Version.V31: "3.1", p.Version.V311: "3.1.1", p.Version.V5: "5"}[version]
