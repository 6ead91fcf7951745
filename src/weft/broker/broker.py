"""The broker of one node: events in, effects out, time as an argument.

Same events, same effects: what is left to chance (names for clients without one) comes from a seed. A driver hands
over each event with the time it happened (seconds since 1970, never going back), carries out the effects in order, and
calls `on_timer` when `next_deadline` has come. effect.py has both vocabularies.

Here its parts are put together and events handed to them (__init__.py lists all), and a node that it is part of may ask
what it knows. What is decided is decided in the parts; each event ends with the effects of all.
"""

from collections.abc import Callable, Iterator
from typing import Any

from weft.access.guard import Guard
from weft.broker import effect as e
from weft.broker import window_lane
from weft.broker.admission import Admission
from weft.broker.arrival import Arrivals
from weft.broker.backlog import Backlog
from weft.broker.connection import Connection
from weft.broker.deadline import Deadlines
from weft.broker.distribution import Distribution
from weft.broker.enforcement import Enforcement
from weft.broker.entrance import Entrance
from weft.broker.figure import Figures
from weft.broker.giving import Giving
from weft.broker.hold import Holds
from weft.broker.inbound import Inbound
from weft.broker.issuer import Issuer
from weft.broker.lane import Lane, Lone, Sends
from weft.broker.outbound import Outbound
from weft.broker.outbox import Outbox
from weft.broker.parameters import Parameters
from weft.broker.parting import Parting
from weft.broker.permission import Permission
from weft.broker.publication import Publication
from weft.broker.reading import Reading
from weft.broker.recovery import Recovery, records, session_records
from weft.broker.replica import Replica
from weft.broker.restoration import Restoration
from weft.broker.retained import RetainedMessages
from weft.broker.session import Session
from weft.broker.sessions import Sessions
from weft.broker.subscribing import Subscribing
from weft.broker.subscriptions import Holding, Subscriptions
from weft.broker.sys_topic import SysTopics
from weft.broker.transfer import Transfers
from weft.broker.will import Wills
from weft.wire.mqtt import packet as p
from weft.wire.mqtt.reason import Reason

AT_ONCE = 0.0  # as a time
JOURNAL = "journal"  # the reason why a client is held whose answers wait for the journal
LOOKED_UP = 250  # names at a time: five milliseconds


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
        self._backlog = Backlog()
        self._connections: dict[int, Connection] = {}
        self.holds = Holds(self._connections, self._backlog.add)
        self._outbox = Outbox(self._deadlines, self.holds, self.figures, parameters.patience, durable, position)
        self._issuer = issuer = (issuer or Issuer()) if parameters.linked else None
        lead = issuer.lead if issuer is not None else lambda _: None
        self._subscriptions = Subscriptions(self._outbox, self.figures, parameters, self._backlog.put_aside, lead)
        self.replica = Replica() if parameters.linked else None
        self._retained = RetainedMessages(
            self._outbox, self._deadlines, self.figures, parameters.retained_messages, self._guard, self.replica
        )
        self._outbound = Outbound(self._outbox, self._backlog, self.figures, parameters)
        self._number = 0
        self._distribution = Distribution(
            self._outbox,
            self._outbound,
            self._subscriptions,
            self._retained,
            issuer,
            self._next_number,
        )
        permission = Permission(self._guard, self._retained)
        self._inbound = Inbound(self._outbox, self._distribution, self.figures, parameters, permission)
        self._wills = Wills(self._outbox, self._deadlines, self._distribution, permission, self.figures, self.session)
        self._sessions = Sessions(
            self._outbox,
            self._deadlines,
            self.figures,
            self._subscriptions,
            self._distribution,
            self._wills,
            self._backlog,
            parameters,
        )
        self._admission = Admission(
            self._outbox, self._sessions, self._wills, self.figures, parameters, seed, self._guard
        )
        self._parting = Parting(
            self._outbox,
            self._deadlines,
            self._sessions,
            self._wills,
            self._admission,
            self.figures,
            parameters,
            self._connections,
        )
        self._giving = Giving(self._retained, self._distribution, self._outbound, self._backlog)
        self._subscribing = Subscribing(
            self._outbox, self._subscriptions, self._giving, self._outbound, self.figures, parameters, self._guard
        )
        self._enforcement = Enforcement(
            self._outbox, self._subscribing, self._distribution, self._parting, self.figures, self._guard
        )
        self._restoration = Restoration(
            self._outbox,
            self._sessions,
            self._subscriptions,
            self._distribution,
            self._retained,
            self._wills,
            self.figures,
            self._next_number,
            issuer,
        )
        self.lane = Lane(self._outbox, self._subscriptions.routes, self.figures, parameters)
        self._window_lane = window_lane.WindowLane(
            self._outbox,
            self._outbound,
            self._subscriptions.routes,
            self.figures,
            parameters.lane_bytes if parameters.maximum_qos else 0,
        )
        self._entrance = Entrance(
            self._outbox,
            self.holds,
            self._sessions,
            self._admission,
            self._parting,
            self._outbound,
            self._guard,
            parameters.linked,
        )
        self._reading = Reading(
            self._outbox,
            self.lane,
            self._window_lane,
            self._entrance,
            self._inbound,
            self._outbound,
            self._subscribing,
            self._giving,
            self._parting,
            self._backlog,
            self._subscriptions.routes,
            self.figures,
            parameters,
        )
        self.source: int | None = None  # the connection that was heard with the last event
        self._stopping = False
        self._sys = SysTopics(
            self._deadlines, self._distribution, self._retained, self.figures, parameters.sys_interval, version
        )
        if parameters.sys_interval:
            self._sys.start(now)
        arrivals = Arrivals(self._distribution, self.lane, parameters.packet_bytes)
        transfers = Transfers(
            self._sessions,
            self._restoration,
            self._enforcement,
            self._parting,
            self._wills,
            self._inbound,
            self._outbound,
        )
        self._events: dict[type[e.Event], Callable[[Any, float], None]] = {
            e.Opened: self._open,
            e.Closed: self._close,
            e.Congested: self._congest,
            e.Drained: self._drain,
            e.Unwritten: lambda event, now: self.holds.hold(event.connection, JOURNAL),
            e.Written: lambda event, now: self.holds.free(event.connection, JOURNAL),
            e.JournalFilled: self._fill_up,
            e.JournalFreed: self._have_room,
            e.Admitted: self._admit,
            e.PasswordChecked: self._hear_password,
            e.AccessChanged: self._renew_access,
            e.Stopping: self._stop,
            e.Arrived: arrivals.take,
            e.ArrivedTogether: arrivals.take_together,
            e.ArrivedForGroup: arrivals.take_for_group,
            e.ArrivedForSession: arrivals.take_for_session,
            e.ArrivedAgain: arrivals.take_again,
            e.SessionClaimed: transfers.be_claimed,
            e.SessionArrived: transfers.take_in,
            e.SessionComing: transfers.foresee,
            e.SessionOutdated: transfers.outdate,
            e.SessionGathered: transfers.complete,
            e.SessionMoved: transfers.let_go,
        }

    # Events

    def handle(self, event: e.Event, now: float) -> list[e.Effect]:
        if type(event) is e.Received:
            self.source = event.connection
            connection = self._connections.get(event.connection)
            if connection is not None and not connection.closing:
                self._reading.receive(connection, event.data, now)
                return self._outbox.flush(connection)
            return []
        self.source = None
        self._events[type(event)](event, now)
        return self._outbox.flush(None)

    def next_deadline(self) -> float | None:
        """When `on_timer` is due: at once, while there is more to do than one event may."""
        return AT_ONCE if self._backlog else self._deadlines.next()

    def on_timer(self, now: float) -> list[e.Effect]:
        due = self._deadlines.next()
        if due is not None and due <= now:
            self.source = None
            self._deadlines.run(now)
            return self._outbox.flush(None)
        turn = self._backlog.run(lambda connection: self._reading.go_on(connection, now))
        self.source = turn.number if turn is not None else None
        return self._outbox.flush(turn)

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
        if not self._outbox.durable:
            self._restoration.number_waiting(session)
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
        self._subscriptions.routes.forget_leads()

    def look_ahead(self) -> None:
        """Use a moment in which nothing else is to be done."""
        self._subscriptions.routes.look_up(LOOKED_UP)

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

    def lone(self, number: int, data: bytes) -> tuple[Connection, Lone] | None:
        """What a read brings, if it is one publication that the lane is sure of, and nobody has to wait for it."""
        connection = self._connections.get(number)
        if connection is None or connection.session is None or connection.closing:
            return None
        if connection.unread is not None or connection.holds or connection.work is not None:
            return None
        lone = self.lane.find(data, connection.version is p.Version.V5, connection.allowed)
        if lone is None:
            return None
        for one in lone[0].receivers:
            if one.congested:
                return None
        return connection, lone

    def take_lone(self, connection: Connection, lone: Lone, size: int, now: float) -> Sends:
        """What a publication that came alone, in so many bytes, leads to here."""
        route, _, packet, payload = lone
        connection.heard = now
        self.figures.bytes_received += size
        self.lane.count_received(1, payload)
        return self.lane.give(route, packet, payload)

    def check_invariants(self) -> None:
        self._deadlines.check_invariants()
        connected = [one for one in self._sessions if one.connection is not None]
        assert self.figures.connected == len(connected)
        assert self.figures.connections == sum(not one.closing for one in self._connections.values())
        assert self.figures.waiting == sum(len(one.queue) for one in self._sessions)
        standing = [*self._sessions, *self._sessions.leaving]
        assert self.figures.subscriptions == sum(len(one.subscriptions) for one in standing)
        for session in connected:
            connection = session.connection
            assert connection is not None
            assert connection.session is session
            assert connection.outstanding <= connection.window
            assert len(session.inflight) <= connection.outstanding + len(session.resend or ())
            assert not connection.out
            assert not connection.burst
            assert connection.holds == len(self.holds.reasons(connection))
            assert connection.is_due or not connection.is_heard()

    def _next_number(self) -> int:
        self._number += 1
        return self._number

    def _open(self, event: e.Opened, now: float) -> None:
        connection = self._connections[event.connection] = Connection(event.connection, now, event.visitor)
        welcome = self._guard.open(event.visitor, now)
        self.figures.connections += 1
        if self._stopping:
            self._parting.end(connection, now, will=False)
        elif len(self._connections) > self.parameters.connections * 2 or not welcome:
            self._parting.refuse_silently(connection, now)
        else:
            self._parting.await_greeting(connection, now)

    def _close(self, event: e.Closed, now: float) -> None:
        connection = self._connections.pop(event.connection, None)
        if connection is None:
            return
        self._guard.close(connection.visitor)
        self._entrance.leave(connection)
        self._parting.lose(connection, now)

    def _congest(self, event: e.Congested, now: float) -> None:
        connection = self._connections.get(event.connection)
        if connection is not None:
            self._outbox.congest(connection, event.where, now)

    def _drain(self, event: e.Drained, now: float) -> None:
        connection = self._connections.get(event.connection)
        if connection is not None and self._outbox.drain(connection, event.where) and connection.session is not None:
            self._outbound.fill(connection.session, now)

    def _fill_up(self, event: e.JournalFilled, now: float) -> None:
        self._inbound.journal.full = True
        self.figures.disk_full = 1

    def _have_room(self, event: e.JournalFreed, now: float) -> None:
        self._inbound.journal.full = False
        self.figures.disk_full = 0

    def _admit(self, event: e.Admitted, now: float) -> None:
        connection = self._connections.get(event.connection)
        if connection is not None:
            self._entrance.go_on(connection, now)

    def _hear_password(self, event: e.PasswordChecked, now: float) -> None:
        self._entrance.hear_password(event.connection, event.right, now)

    def _renew_access(self, event: e.AccessChanged, now: float) -> None:
        self._guard.renew(event.access)
        for connection in list(self._connections.values()):
            connection.allowed = None if self._guard.is_open else set()
            if not connection.closing and not self._guard.holds(connection.known):
                self._parting.expel(connection, "What proved who it is holds no more.", now)
        self._enforcement.enforce(self._sessions, now)

    def _stop(self, event: e.Stopping, now: float) -> None:
        self._stopping = True
        for connection in list(self._connections.values()):
            if not connection.closing:
                self._parting.say_goodbye(connection, Reason.SERVER_SHUTTING_DOWN, "")
                self._parting.end(connection, now, will=False)
