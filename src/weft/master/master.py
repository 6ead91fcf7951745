"""The master: who is there, who subscribes to what, and what every node must know of it. Events in, effects out.

Same events, same effects. A driver hands over each event with the time it happened (seconds since 1970, never going
back), carries out the effects in order, and calls `on_timer` when `next_deadline` has come.

Nodes that join, and links that come up, are gathered for a moment, so that five hundred of them are one change of the
plan. A node whose connection is gone has a moment to come back before it counts as failed, unless a neighbour has lost
it too.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from weft.errors import WeftError
from weft.master import effect as e
from weft.master.answer import explained, plan_of, status
from weft.master.directory import held_of, session_of
from weft.master.network import Network
from weft.master.parameters import Parameters
from weft.master.quality import Quality
from weft.master.record import Record
from weft.master.redesign import Proposal, Redesign, Stage, job_of, proposal_of
from weft.master.roster import Member, State, member_of
from weft.master.snapshot import Snapshot, snapshot_of
from weft.wire import frame as w

APART = 60.0  # seconds that a node's clock may differ from the master's without a word
TRACING = 1.0  # seconds that a traced publication has to arrive everywhere


@dataclass
class Connection:
    number: int | None = None  # of the node, when it has joined
    greeted: bool = False


@dataclass(frozen=True, slots=True)
class Wanted:
    """A design that is being made."""

    snapshot: Snapshot
    ticket: int | None  # None: the master itself wants it
    apply: bool


@dataclass
class Following:
    """A traced publication."""

    ticket: int
    node: int
    topic: str
    until: float
    steps: list[tuple[int, w.Traced]]


class Master:
    def __init__(self, parameters: Parameters, cluster: str, now: float, seed: int = 1, automatic: bool = True) -> None:
        self.network = Network(parameters, cluster)
        self.parameters = parameters
        self.redesign = Redesign(self.network)
        self.designed: Quality | None = None  # what the plan was worth when it was put in place
        self.clocks: dict[int, float] = {}  # node -> seconds that its clock is ahead, where it is too much
        self.unreachable: dict[tuple[int, int], str] = {}  # links that did not come up, in words
        self.connection_of: dict[int, int] = {}  # node -> connection
        self._connections: dict[int, Connection] = {}
        self._pending: list[int] = []  # nodes that wait for the next change of the plan
        self._gather_at: float | None = None
        self._gone: dict[int, float] = {}  # nodes without a connection, and when they count as failed
        self._leaving: set[int] = set()
        self._forgetting: set[int] = set()
        self._expected: set[int] = set()  # after a restart, who was up before
        self._restored: dict[int, dict[int, set[int]]] = {}  # trees from before a restart
        self._restored_fingers: dict[int, list[int]] = {}
        self._wanted: dict[int, Wanted] = {}
        self._designs = 0
        self._seed = seed
        self._proposal: Proposal | None = None
        self._applied: tuple[int, Proposal] | None = None
        self._traces: dict[int, Following] = {}
        self._snapshots: dict[str, list[str]] = {}
        self._review_at = now + parameters.review
        self._quiet_since = now  # nobody has come or gone, and nothing been designed
        self._effects: list[e.Effect] = []
        self._records: list[Record] = []
        self._now = now

    # Events

    def handle(self, event: e.Event, now: float) -> list[e.Effect]:
        self._now = now
        self._EVENTS[type(event)](self, event)
        return self._flush()

    def next_deadline(self) -> float | None:
        times = [self._gather_at, self.redesign.until, *self._gone.values(), *self.network.waiting.values()]
        times += [trace.until for trace in self._traces.values()]
        if self.parameters.automatic:
            times.append(self._review_at)
        return min((time for time in times if time is not None), default=None)

    def on_timer(self, now: float) -> list[e.Effect]:
        self._now = now
        for number in [number for number, at in self._gone.items() if at <= now]:
            self._fail(number)
        if self._gather_at is not None and self._gather_at <= now:
            self._gather()
        self._give_up_waiting()
        if self.redesign.go_on(now):
            self._finish_redesign()
        for token in [token for token, trace in self._traces.items() if trace.until <= now]:
            self._answer_trace(self._traces.pop(token))
        if self.parameters.automatic and self._review_at <= now:
            self._review()
        return self._flush()

    def restore(self, records: Iterable[Record], now: float) -> list[e.Effect]:
        """Begin with what a store has. Nodes that were up are waited for before anything is planned."""
        self._now = now
        for record in records:
            self._RECORDS[record.kind](self, record)
        for member in self.network.roster:
            self.network.directory.welcome(member.number)
        if self._expected:
            self._gather_at = now + self.parameters.making
        return self._flush()

    def check_invariants(self) -> None:
        self.network.plan.check_invariants()
        assert self.network.woven <= self.network.placed
        assert self.network.made <= self.network.links
        for number in self.network.woven:
            assert self.network.roster[number].state is State.UP

    def _hear(self, event: e.Heard) -> None:
        connection = self._connections.setdefault(event.connection, Connection())
        if isinstance(event.frame, w.Hello):
            self._greet(event.connection, connection, event.frame)
        elif isinstance(event.frame, w.Join) and connection.greeted:
            self._join(event.connection, connection, event.frame)
        elif connection.number is not None:
            handler = self._FRAMES.get(type(event.frame))
            if handler is not None:
                handler(self, connection.number, event.frame)
        else:
            self._refuse(event.connection, "A node says Hello and Join before anything else.")

    def _close(self, event: e.Closed) -> None:
        connection = self._connections.pop(event.connection, None)
        number = None if connection is None else connection.number
        if number is None or self.connection_of.get(number) != event.connection:
            return
        del self.connection_of[number]
        if number in self._leaving:
            self._part(number)
        elif number in self._pending:
            self._pending.remove(number)
            self._withdraw(number)
        else:
            self._gone[number] = self._now + self.parameters.grace

    def _read_clock(self, event: e.ClockRead) -> None:
        connection = self._connections.get(event.connection)
        number = None if connection is None else connection.number
        if number is None:
            return
        ahead = event.time - self._now
        if abs(ahead) <= APART:
            self.clocks.pop(number, None)
        elif number not in self.clocks:
            self.clocks[number] = ahead
            self._note("clock_apart", number, clock_sentence(self.network.roster[number].name, ahead))

    def _ask(self, event: e.Asked) -> None:
        try:
            self._REQUESTS[event.request](self, event.ticket, event.options)
        except WeftError as error:
            self._answer(event.ticket, {"error": str(error)})

    def _take_design(self, event: e.Designed) -> None:
        wanted = self._wanted.pop(event.number)
        proposal = proposal_of(self.network, wanted.snapshot, event.design)
        self._proposal, self._designs = proposal, self._designs + 1
        apply = wanted.apply
        if wanted.ticket is None and proposal.gain < self.parameters.gain:
            self.designed, apply = proposal.before, False  # as good as it gets
            self._note("design_without_gain", detail=str(proposal.forecast))
        problem = self._put_in_place(proposal) if apply else ""
        if wanted.ticket is not None:
            more = {"error": problem} if problem else {"applied": apply, "proposal": self._designs}
            self._answer(wanted.ticket, {**proposal.forecast, **more})

    def _fail_design(self, event: e.DesignFailed) -> None:
        wanted = self._wanted.pop(event.number)
        self._note("design_failed", detail=event.reason)
        if wanted.ticket is not None:
            self._answer(wanted.ticket, {"error": event.reason})

    _EVENTS: ClassVar[dict[type[e.Event], Callable[["Master", Any], None]]] = {
        e.Heard: _hear,
        e.Closed: _close,
        e.ClockRead: _read_clock,
        e.Asked: _ask,
        e.Designed: _take_design,
        e.DesignFailed: _fail_design,
    }

    # Coming and going

    def _greet(self, number: int, connection: Connection, hello: w.Hello) -> None:
        cluster = self.network.cluster
        if hello.version != w.VERSION:
            self._refuse(
                number,
                f"{hello.name or 'It'} speaks version {hello.version} of the protocol and the master version "
                f"{w.VERSION}: run the same version of Weft everywhere.",
            )
        elif hello.cluster not in ("", cluster):
            self._refuse(
                number,
                f"{hello.name or 'It'} belongs to the cluster {hello.cluster} and this master to {cluster}: start it "
                "with another data folder, or give it its own master.",
            )
        elif hello.role is not w.Role.NODE:
            self._refuse(number, "Only nodes connect here; operators ask over HTTP.")
        else:
            connection.greeted = True
            self._effects.append(e.Tell(number, w.Hello(w.VERSION, cluster, w.Role.MASTER)))

    def _join(self, number: int, connection: Connection, join: w.Join) -> None:
        known = self.network.roster.called(join.name)
        problem = self._problem_with(join, known)
        if problem:
            self._refuse(number, problem)
            return
        node = self.network.roster.number_for(join.name, join.node)
        self._drop_old(node, number)
        self._connections[number].number = node
        self.connection_of[node] = number
        self._gone.pop(node, None)
        stays = node in self.network.placed and known is not None and known.incarnation == join.incarnation
        if node in self.network.placed and not stays:
            self.network.remove(node, self._now, expected=True)
        self._enter(node, join, known)
        if stays:
            self._take_up(node, join)
        elif node not in self._pending:
            self._pending.append(node)
            self._gather_soon()

    def _problem_with(self, join: w.Join, known: Member | None) -> str:
        if not join.name:
            return "A node needs a name: give it one."
        if known is None or known.number not in self.connection_of:
            return ""
        if known.incarnation == join.incarnation and known.address == join.address:
            return ""  # it has lost its connection, and we have not noticed yet
        return (
            f"There is a node called {join.name} already, at {known.address}: give this one, at {join.address}, "
            "another name."
        )

    def _drop_old(self, node: int, connection: int) -> None:
        """A connection that the node has lost without our noticing."""
        old = self.connection_of.pop(node, None)
        if old is not None and old != connection:
            self._connections.pop(old, None)
            self._effects.append(e.Close(old))

    def _enter(self, node: int, join: w.Join, known: Member | None) -> None:
        """All that a node says of itself takes the place of what was known."""
        place = None if known is None else known.ring_id
        state = State.JOINING if known is None else known.state
        member = Member(join.name, node, join.incarnation, join.address, join.listeners, state, place)
        network = self.network
        network.roster.keep(member)
        network.keep(member)
        network.directory.welcome(node)
        gone = network.directory.held[node].keys() - {held.filter for held in join.held}
        network.interest(node, join.held, sorted(gone))
        self._take_sessions(node, join.owned)
        self._links_of_join = {node: join.links}
        for peer in join.links:
            self._pending_links.add((node, peer))

    def _take_sessions(self, node: int, owned: tuple[w.Owned, ...]) -> None:
        """A session that its client has taken elsewhere meanwhile stays there."""
        here = {one.client for one in owned}
        for client in self.network.directory.clients(node):
            if client not in here:
                self.network.end_session(node, client)
        for one in owned:
            other = self.network.directory.sessions.get(one.client)
            if other is None or other.node == node or other.node not in self.connection_of:
                self.network.own(node, one)
