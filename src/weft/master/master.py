"""The master: who is there, who subscribes to what, and what every node must know of it. Events in, effects out.

Same events, same effects. A driver hands over each event with the time it happened (seconds since 1970, never going
back), carries out the effects in order, and calls `on_timer` when `next_deadline` has come.

Nodes that join, and links that come up, are gathered for a moment, so that five hundred of them are one change of the
plan. A node whose connection is gone has a moment to come back before it counts as failed, unless a neighbour has lost
it too.
"""

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar

from weft.errors import WeftError
from weft.master import effect as e
from weft.master.answer import explained, overlay_for, snapshot_value, status, traced
from weft.master.applying import Applying
from weft.master.directory import filter_of, session_of
from weft.master.network import Network
from weft.master.parameters import Parameters
from weft.master.plan import link
from weft.master.quality import Quality
from weft.master.record import Record
from weft.master.redesign import Proposal, Redesign, Stage, job_of, proposal_of
from weft.master.roster import Member, State, member_of
from weft.master.snapshot import Snapshot, snapshot_of
from weft.model.overlay import Overlay
from weft.wire import frame as w

APART = 60.0  # seconds that a node's clock may differ from the master's without a word
TRACING = 1.0  # seconds that a traced publication has to arrive everywhere
SMALL = 4  # nodes below which everybody is linked with everybody


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
    def __init__(self, parameters: Parameters, cluster: str, now: float, seed: int = 1) -> None:
        self.network = Network(parameters, cluster)
        self.parameters = parameters
        self.redesign = Redesign(self.network)
        self.designed: Quality | None = None  # what the plan was worth when it was put in place
        self.clocks: dict[int, float] = {}  # node -> seconds that its clock is ahead, where it is too much
        self.unreachable: dict[tuple[int, int], str] = {}  # links that did not come up, in words
        self.connection_of: dict[int, int] = {}  # node -> connection
        self._connections: dict[int, Connection] = {}
        self._applying = Applying()
        self._claimed: set[tuple[int, int]] = set()  # links that nodes had when they joined
        self._pending: list[int] = []  # nodes that wait for the next change of the plan
        self._gather_at: float | None = None
        self._gone: dict[int, float] = {}  # nodes without a connection, and when they count as failed
        self._leaving: set[int] = set()
        self._forgetting: set[int] = set()
        self._expected: set[int] = set()  # after a restart, who was up before
        self._restored: dict[int, dict[int, set[int]]] = {}  # trees from before a restart
        self._restored_fingers: dict[int, list[int]] = {}
        self._wanted: dict[int, Wanted] = {}
        self._designs = self._jobs = self._tokens = 0
        self._seed = seed
        self._proposal: Proposal | None = None
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
        waiting = next(iter(self.network.waiting.values()), None)
        times = [self._gather_at, self.redesign.until, *self._gone.values(), waiting]
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
            if known is not None or join.node != w.NOBODY:
                self.network.returning.add(node)
            self._pending.append(node)
            self._gather_soon()

    def _problem_with(self, join: w.Join, known: Member | None) -> str:
        if not join.name:
            return "A node needs a name: give it one."
        if not is_address(join.address):
            return f"{join.name} takes links at {join.address!r}, which is no HOST:PORT: give it such an address."
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
        network.version = max(network.version, join.plan)  # of a master that has forgotten some
        network.roster.keep(member)
        network.keep(member)
        network.directory.welcome(node)
        gone = network.directory.held[node].keys() - {held.filter for held in join.held}
        network.interest(node, join.held, sorted(gone))
        self._take_sessions(node, join.owned)
        self._claimed |= {link(node, peer) for peer in join.links}
        self._applying.ask(node, join.sequence)

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

    def _take_up(self, node: int, join: w.Join) -> None:
        """A node that was away for a moment goes on."""
        for each in [each for each in self.network.made if node in each and each not in self._claimed]:
            self._lose_link(*each)
        self._connect_claimed()
        self.network.refresh(node)
        self._note("returned", node)

    def _connect_claimed(self) -> None:
        """Links that nodes had when they joined."""
        for one, other in sorted(self._claimed):
            if one in self.network.placed and other in self.network.placed and self.network.link_made(one, other):
                self._gather_soon()
        self._claimed = {each for each in self._claimed if not set(each) <= self.network.placed}

    def _gather_soon(self) -> None:
        if self._expected and self._expected <= self.connection_of.keys():
            self._expected, self._gather_at = set(), self._now
        elif self._gather_at is None:
            self._gather_at = self._now + self.parameters.gather

    def _gather(self) -> None:
        """One change for all who have joined, and all links that have come up."""
        self._gather_at, self._expected = None, set()
        if self.redesign.stage is not Stage.MAKING:
            pending, self._pending = self._pending, []
            self._place([self.network.roster[node] for node in pending])
        self.network.connect()
        self.network.rewire(self._now)
        if not self.network.woven and len(self.network.placed) == 1:
            self.network.weave_in_alone(min(self.network.placed))
        if self._restored and not self._pending and self.network.woven:
            self._take_up_trees()

    def _place(self, members: list[Member]) -> None:
        if not members:
            return
        self._quiet_since = self._now
        self.network.place(members, self._now, self._restored_fingers)
        self._restored_fingers = {}
        self._connect_claimed()
        for member in members:
            self._note("joined", member.number, member.address)

    def _take_up_trees(self) -> None:
        """The trees of before a restart, as far as they can be."""
        restored, self._restored = self._restored, {}
        for topic, tables in restored.items():
            if self.network.loom.subscribers(topic):
                self.network.adopt(topic, tables)

    def _give_up_waiting(self) -> None:
        """Links that have not come up in their time, and nodes that have got none."""
        late = self.network.overdue(self._now)
        for one, other in late:
            text = unreachable_sentence(self.network.roster[one], self.network.roster[other])
            if (one, other) not in self.unreachable:
                self._note("unreachable", other, text)
            self.unreachable[one, other] = text
        for number in sorted(self.network.placed - self.network.woven):
            self._give_up_joining(number)
        if late:
            self.network.rewire(self._now)

    def _give_up_joining(self, number: int) -> None:
        """Nobody is half in: who gets no link is refused, but for the one that others are to link with."""
        network = self.network
        if any(number in each for each in (*network.waiting, *network.made)):
            return
        if not network.woven and number == min(network.placed):
            network.weave_in_alone(number)
            return
        member, others = network.roster[number], sorted(network.plan.peers(number))
        names = ", ".join(network.roster[other].name for other in others[:5])
        text = (
            f"{member.name} cannot be reached at {member.address} by other nodes ({names}): give an address for links "
            "that they can reach, and open its port."
        )
        connection = self.connection_of.pop(number, None)
        network.remove(number, self._now, expected=False)
        if connection is not None:
            self._refuse(connection, text)

    def _withdraw(self, number: int) -> None:
        """A node that had not got its place has gone."""
        if number in self.network.roster and self.network.roster[number].ring_id is None:
            self.network.forget(number)

    def _fail(self, number: int) -> None:
        self._gone.pop(number, None)
        self._part_with(number, expected=True)
        self._note("failed", number)

    def _part(self, number: int) -> None:
        """A node leaves in order. It is expected back if sessions are kept there."""
        name = self.network.roster[number].name
        forgetting = number in self._forgetting
        expected = bool(self.network.directory.owed(number)) and not forgetting
        self._leaving.discard(number)
        self._forgetting.discard(number)
        self._gone.pop(number, None)
        self._part_with(number, expected=expected)
        self._effects.append(e.Note("left", name))

    def _part_with(self, number: int, *, expected: bool) -> None:
        if number in self._pending:
            self._pending.remove(number)
        self._quiet_since = self._now
        self.clocks.pop(number, None)
        self.unreachable = {each: text for each, text in self.unreachable.items() if number not in each}
        self.network.remove(number, self._now, expected=expected)
        if self.redesign.stage is Stage.MAKING:
            self.redesign.switch(self._now)
        self._applying.forget(number)
        if len(self.network.placed) == 1 and not self.network.woven:
            self._gather_soon()

    # What nodes say

    def _interest(self, node: int, frame: w.Interest) -> None:
        self.network.interest(node, frame.added, frame.removed)
        self._applying.ask(node, frame.sequence)

    def _applied(self, node: int, frame: w.Applied) -> None:
        self._applying.applied(node, frame.version)

    def _session_owned(self, node: int, frame: w.SessionOwned) -> None:
        owned = frame.session
        known = self.network.directory.sessions.get(owned.client)
        if not frame.whole and known is not None:
            changed = {*frame.removed, *(one.filter for one in owned.subscriptions)}
            kept = tuple(one for one in known.owned.subscriptions if one.filter not in changed)
            owned = replace(owned, subscriptions=kept + owned.subscriptions)
        self.network.own(node, owned)

    def _session_ended(self, node: int, frame: w.SessionEnded) -> None:
        self.network.end_session(node, frame.client)

    def _find_way(self, node: int, frame: w.FindWay) -> None:
        self.network.find_way(node, frame.filter)

    def _find_session(self, node: int, frame: w.FindSession) -> None:
        """The asker owns it from now on."""
        session = self.network.directory.sessions.get(frame.client)
        if session is None or session.node not in self.network.roster:
            self.network.tell(node, w.SessionAt(frame.token, w.NOBODY))
            self.network.own(node, w.Owned(frame.client, 0, 4))
            return
        member = self.network.roster[session.node]
        is_up = member.state is State.UP
        self.network.tell(node, w.SessionAt(frame.token, member.number, member.ring_id or 0, is_up, session.owned))
        self.network.own(node, session.owned)

    def _link_made(self, node: int, frame: w.LinkMade) -> None:
        if frame.round_trip > 0:  # the end that took the link has not measured it
            self.network.traffic.time(node, frame.peer, frame.round_trip)
        self.unreachable.pop(link(node, frame.peer), None)
        if frame.peer in self.network.placed and self.network.link_made(node, frame.peer):
            self._gather_soon()

    def _link_lost(self, node: int, frame: w.LinkLost) -> None:
        self._lose_link(node, frame.peer)
        if frame.peer in self._gone:
            self._fail(frame.peer)

    def _lose_link(self, node: int, peer: int) -> None:
        self.network.link_lost(node, peer, self._now)

    def _measured(self, node: int, frame: w.Measured) -> None:
        self.network.traffic.measure(node, frame, self._now)

    def _leave(self, node: int, frame: w.Leaving) -> None:
        self._leaving.add(node)
        self._part(node)
        connection = self.connection_of.pop(node, None)
        if connection is not None:
            self._connections[connection].number = None
            self._effects.append(e.Close(connection))

    def _traced(self, node: int, frame: w.Traced) -> None:
        if frame.token in self._traces:
            self._traces[frame.token].steps.append((node, frame))

    _FRAMES: ClassVar[dict[type[w.Frame], Callable[["Master", int, Any], None]]] = {
        w.Interest: _interest,
        w.Applied: _applied,
        w.SessionOwned: _session_owned,
        w.SessionEnded: _session_ended,
        w.FindWay: _find_way,
        w.FindSession: _find_session,
        w.LinkMade: _link_made,
        w.LinkLost: _link_lost,
        w.Measured: _measured,
        w.Leaving: _leave,
        w.Traced: _traced,
    }

    # What operators ask

    def _status(self, ticket: int, options: dict[str, Any]) -> None:
        self._answer(ticket, status(self))

    def _explain(self, ticket: int, options: dict[str, Any]) -> None:
        self._answer(ticket, explained(self.network, str(options["topic"])))

    def _trace(self, ticket: int, options: dict[str, Any]) -> None:
        member = self.network.roster.named(str(options["node"]))
        if member.number not in self.connection_of:
            raise WeftError(f"{member.name} is not connected: trace from another node.")
        self._tokens += 1
        until = self._now + TRACING
        self._traces[self._tokens] = Following(ticket, member.number, str(options["topic"]), until, [])
        self.network.tell(member.number, w.Trace(self._tokens, str(options["topic"])))

    def _answer_trace(self, trace: Following) -> None:
        self._answer(trace.ticket, traced(self.network, trace.node, trace.topic, trace.steps))

    def _redesign(self, ticket: int, options: dict[str, Any]) -> None:
        """A forecast, and, if that is wanted, what it forecasts."""
        known = options.get("proposal")
        if known is not None:
            if self._proposal is None or known != self._designs:
                raise WeftError("That design is out of date: ask for another.")
            problem = self._put_in_place(self._proposal)
            more = {"error": problem} if problem else {"applied": True}
            self._answer(ticket, {**self._proposal.forecast, **more})
            return
        self._want_design(ticket, bool(options.get("apply", False)))

    def _apply(self, ticket: int, options: dict[str, Any]) -> None:
        """A plan that was made elsewhere: trees are woven over it here."""
        overlay = overlay_for(self.network, options, self._snapshots)
        self._want_design(ticket, bool(options.get("apply", False)), overlay)

    def _snapshot(self, ticket: int, options: dict[str, Any]) -> None:
        members = [self.network.roster[number] for number in sorted(self.network.woven)]
        found = snapshot_of(members, self.network.directory, self.network.traffic)
        names = [] if found.instance.node_names is None else found.instance.node_names.tolist()
        self._snapshots[found.instance.fingerprint] = names
        self._records.append(Record("snapshot", found.instance.fingerprint, names))
        self._answer(ticket, snapshot_value(found))

    def _leave_by_order(self, ticket: int, options: dict[str, Any]) -> None:
        member, forget = self.network.roster.named(str(options["node"])), bool(options.get("forget", False))
        owed = self.network.directory.owed(member.number) if member.number in self.network.directory.held else ()
        if member.number in self.connection_of:
            if forget:
                self._forgetting.add(member.number)
            self.network.tell(member.number, w.Leave())
        elif owed and not forget:
            raise WeftError(
                f"{member.name} is down, and its sessions hold {len(owed)} filters that other nodes keep messages for: "
                "say that it is to be forgotten to end that debt.",
            )
        else:
            self._gone.pop(member.number, None)
            if member.number in self.network.placed:
                self._part_with(member.number, expected=False)
            else:
                self.network.forget(member.number)
        self._answer(ticket, {"node": member.name, "forgotten": forget, "filters_owed": len(owed)})

    _REQUESTS: ClassVar[dict[str, Callable[["Master", int, dict[str, Any]], None]]] = {
        "status": _status,
        "explain": _explain,
        "trace": _trace,
        "redesign": _redesign,
        "apply": _apply,
        "snapshot": _snapshot,
        "leave": _leave_by_order,
    }

    requests = tuple(_REQUESTS)

    # Re-design

    def _want_design(self, ticket: int | None, apply: bool, overlay: Overlay | None = None) -> None:
        job, snapshot = job_of(self.network, self._seed, overlay)
        self._jobs += 1
        self._wanted[self._jobs] = Wanted(snapshot, ticket, apply)
        self._quiet_since = self._now
        self._effects.append(e.StartDesign(self._jobs, job))

    def _put_in_place(self, proposal: Proposal) -> str:
        """What is wrong, where it cannot be done now."""
        try:
            self.redesign.begin(proposal, self._now)
        except WeftError as error:
            return str(error)
        self.redesign.go_on(self._now)
        self._note("redesigning", detail=f"{proposal.opened} links to open, {proposal.closed} to close")
        return ""

    def _finish_redesign(self) -> None:
        self.designed = self.network.quality()
        self._records.append(Record("quality", "", asdict(self.designed)))
        self._note("redesigned", detail=f"{self.designed.relays:.4f} relays a delivery")
        if self._pending:
            self._gather_soon()

    def _review(self) -> None:
        """Whether it is time to design again."""
        self._review_at = self._now + self.parameters.review
        busy = self._wanted or self._pending or self.redesign.stage is not Stage.NONE
        if busy or self._now - self._quiet_since < self.parameters.rest or len(self.network.woven) < SMALL:
            return
        if self.fallen(self.network.quality()):
            self._want_design(None, True)

    def fallen(self, quality: Quality) -> bool:
        """Whether the plan has become much worse than it was."""
        before = self.designed or Quality(0.0, 0.0, -1)
        relays = quality.relays > before.relays + self.parameters.fall
        uneven = 0 < before.busiest * self.parameters.uneven < quality.busiest
        return relays or uneven or bool(self.network.plan.over_bound())

    # Records

    def _restore_cluster(self, record: Record) -> None:
        self.network.cluster = record.value["name"]
        self.network.version = record.value["version"]
        self.network.roster.next_number = max(self.network.roster.next_number, record.value["next"])

    def _restore_node(self, record: Record) -> None:
        member = member_of(record.value)
        self.network.roster.keep(member)
        if record.value["state"] == State.UP:
            self._expected.add(member.number)
            self._gone[member.number] = self._now + self.parameters.making + self.parameters.grace

    def _restore_fingers(self, record: Record) -> None:
        self._restored_fingers[int(record.key)] = record.value

    def _restore_filter(self, record: Record) -> None:
        number, pattern = filter_of(record.key)
        self.network.directory.welcome(number)
        self.network.directory.hold(number, w.Held(pattern, *record.value))

    def _restore_session(self, record: Record) -> None:
        self.network.directory.sessions[record.key] = session_of(record.key, record.value)

    def _restore_tree(self, record: Record) -> None:
        tables = {int(node): set(peers) for node, peers in record.value.items()}
        self._restored[int(record.key)] = tables

    def _restore_quality(self, record: Record) -> None:
        self.designed = Quality(**record.value)

    def _restore_snapshot(self, record: Record) -> None:
        self._snapshots[record.key] = record.value

    _RECORDS: ClassVar[dict[str, Callable[["Master", Record], None]]] = {
        "cluster": _restore_cluster,
        "node": _restore_node,
        "fingers": _restore_fingers,
        "filter": _restore_filter,
        "session": _restore_session,
        "tree": _restore_tree,
        "quality": _restore_quality,
        "snapshot": _restore_snapshot,
    }

    # Effects

    def _flush(self) -> list[e.Effect]:
        told, records = self.network.flush()
        self._applying.told(told, self.network.version)
        for node, sequence in self._applying.in_place(self.network.woven):
            told.setdefault(node, []).append(w.InPlace(sequence))
        records += self._records
        effects: list[e.Effect] = [e.Keep(tuple(records))] if records else []
        effects += [
            e.Tell(self.connection_of[node], frame)
            for node, frames in told.items()
            if node in self.connection_of
            for frame in frames
        ]
        effects += self._effects
        self._effects, self._records = [], []
        return effects

    def _refuse(self, connection: int, reason: str) -> None:
        self._connections.pop(connection, None)
        self._effects += [e.Tell(connection, w.Refused(reason)), e.Close(connection), e.Note("refused", "", reason)]

    def _answer(self, ticket: int, reply: dict[str, Any]) -> None:
        self._effects.append(e.Answer(ticket, reply))

    def _note(self, event: str, node: int | None = None, detail: str = "") -> None:
        known = node is not None and node in self.network.roster
        name = self.network.roster[node].name if node is not None and known else ""
        self._effects.append(e.Note(event, name, detail))


def is_address(text: str) -> bool:
    host, _, port = text.rpartition(":")
    return bool(host) and port.isdecimal() and 0 < int(port) < 65_536


def unreachable_sentence(one: Member, other: Member) -> str:
    return f"{one.name} has no link with {other.name} at {other.address}: see whether it can reach that address."


def clock_sentence(name: str, ahead: float) -> str:
    way = "ahead of" if ahead > 0 else "behind"
    return (
        f"The clock of {name} is {abs(ahead):,.0f} s {way} the master's: set it, for the newest retained message is "
        "told by clocks."
    )
