"""Nodes that come, stay, fail and leave, and the connections on which they say so.

Nodes that join, and links that come up, are gathered for a moment, so that five hundred of them are one change of the
plan. A node whose connection is gone has a moment to come back before it counts as failed, unless a neighbour has lost
it too, a moment before or after. Who leaves in order is expected back if sessions are kept there. Who comes back gets
its place when all others have applied that it was gone (applying.py).

What a node owes has its time: to apply what it is told, to leave when it is told to. One that answers and does not is
parted with as one that has failed, and kept out for a while, twice as long each time (`Ban`): else it would hold up
everybody again as soon as it is back.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from weft.access.name import NODE_CHARACTERS, node_problem
from weft.errors import WeftError
from weft.master.applying import PATIENCE, Applying
from weft.master.belief import require_count, require_weight
from weft.master.directory import weight_of_session
from weft.master.keeping import Memory
from weft.master.link import Link
from weft.master.network import Network
from weft.master.redesign import Redesign, Stage
from weft.master.roster import Member, State
from weft.master.turn import Turn
from weft.wire import frame as w
from weft.wire.weight import weight_of_all

APART = 60.0  # seconds that a node's clock may differ from the master's without a word
LEAVING = 10.0  # seconds until a node that is told to leave must have left: it waits for others to have what it owes
BAN, MOST_BAN = 5.0, 300.0  # seconds that a node is kept out, at first and at most
GOOD = 600.0  # seconds after which it is as if it had never been


@dataclass(frozen=True, slots=True)
class Ban:
    """A node that has not done what it was told."""

    until: float
    seconds: float
    sentence: str


@dataclass
class Connection:
    number: int | None = None  # of the node, when it has joined
    greeted: bool = False
    proved: str | None = None  # name in its certificate; None where there are none
    ahead: float = 0.0  # seconds that the clock of the other end is ahead


class Membership:
    def __init__(self, network: Network, turn: Turn, applying: Applying) -> None:
        self.connection_of: dict[int, int] = {}  # node -> connection
        self.clocks: dict[int, float] = {}  # node -> seconds that its clock is ahead, where it is too much
        self.unreachable: dict[Link, str] = {}  # links that did not come up, in words
        self.certificates: dict[str, float] = {}  # when they expire, by whose they are; none where there are none
        self.pending: list[int] = []  # nodes that wait for the next change of the plan
        self.redesign: Redesign | None = None
        self._network = network
        self._turn = turn
        self._applying = applying
        self._parameters = network.parameters
        self._connections: dict[int, Connection] = {}
        self._gather_at: float | None = None
        self._ban_ends: float | None = None  # of a node that waits for its place
        self._gone: dict[int, float] = {}  # nodes without a connection, and when they count as failed
        self._missed: dict[int, float] = {}  # nodes, and when a neighbour last lost them
        self._forgetting: set[int] = set()  # nodes that leave for good
        self._revoked: tuple[tuple[str, float], ...] = ()
        self._leaving: dict[int, float] = {}  # nodes that were told to leave, and until when they must have
        self._bans: dict[str, Ban] = {}  # by name: one that is forgotten comes with another number
        self._memory = Memory()

    def prove(self, connection: int, name: str) -> None:
        """Note whose certificate was shown. One connection of each that has not joined may wait, the newest."""
        waiting = (other for other, one in self._connections.items() if one.proved == name and one.number is None)
        for other in [each for each in waiting if each != connection]:
            del self._connections[other]
            self._turn.close(other)
        self.connection(connection).proved = name

    def connection(self, number: int) -> Connection:
        return self._connections.setdefault(number, Connection())

    def deadlines(self) -> list[float]:
        waiting = next(iter(self._network.waiting.values()), None)
        times = (self._gather_at, self._ban_ends, waiting, *self._gone.values(), *self._leaving.values())
        return [time for time in times if time is not None]

    @property
    def is_awaiting(self) -> bool:
        """Whether nodes are about to get their places."""
        return any(self._out_until(node) <= self._turn.now for node in self.pending)

    @property
    def broken(self) -> list[str]:
        """What nodes have not done that they were told, in sentences, as long as that is news."""
        return [ban.sentence for _, ban in sorted(self._bans.items()) if ban.until + BAN > self._turn.now]

    def go_on(self) -> None:
        now = self._turn.now
        for number in [number for number, at in self._gone.items() if at <= now]:
            self.fail(number)
        for number in self._applying.late(now):
            self._break_with(number, f"has not applied for {PATIENCE:g} s what it was told, though it answers")
        for number in [number for number, at in self._leaving.items() if at <= now]:
            self._break_with(number, f"has not left for {LEAVING:g} s, though it was told to")
        if self._ban_ends is not None and self._ban_ends <= now:
            self._ban_ends = None
            self.gather_soon()
        if self._gather_at is not None and self._gather_at <= now:
            self._gather()
        self._give_up_waiting()

    def expect(self, memory: Memory) -> None:
        """Wait for the nodes of before a restart, before anything is planned."""
        self._memory = memory
        late = self._turn.now + self._parameters.making + self._parameters.grace
        self._gone = dict.fromkeys(sorted(memory.expected), late)
        if memory.expected:
            self._gather_at = self._turn.now + self._parameters.making

    # Coming

    def greet(self, connection: int, hello: w.Hello) -> None:
        cluster, name = self._network.cluster, hello.name or "It"
        if hello.version != w.VERSION:
            reason = (
                f"{name} speaks version {hello.version} of the protocol and the master version {w.VERSION}: run the "
                "same version of Weft everywhere."
            )
        elif hello.cluster not in ("", cluster):
            reason = (
                f"{name} belongs to cluster {hello.cluster}, this master to {cluster}: give it its own master's "
                f"address. If that one is lost, start `weft master` as cluster {hello.cluster} on an empty folder and "
                f"keep {name}'s."
            )
        elif hello.role is not w.Role.NODE:
            reason = "Only nodes connect here; operators ask over HTTP."
        elif self.connection(connection).proved not in (None, hello.name):
            reason = f"{name} has shown the certificate of {self.connection(connection).proved}: give it its own."
        else:
            self.connection(connection).greeted = True
            self._turn.tell(connection, w.Hello(w.VERSION, cluster, w.Role.MASTER))
            return
        self.refuse(connection, reason)

    def refuse(self, connection: int, reason: str) -> None:
        self._connections.pop(connection, None)
        self._turn.refuse(connection, reason)

    def expel(self, connection: int, reason: str) -> None:
        """Part with a node that has joined, perhaps: it may come again, and counts as gone until then."""
        self.close(connection)
        self._turn.refuse(connection, reason)

    def revoke(self, names: tuple[tuple[str, float], ...]) -> None:
        """Tell all nodes whose certificates they are to take no more."""
        if names != self._revoked:
            self._revoked = names
            for node in sorted(self.connection_of):
                self._network.changes.tell(node, w.Revoked(names))

    def join(self, connection: int, join: w.Join) -> None:
        network, known = self._network, self._network.roster.called(join.name)
        require_count(join.plan, network.version)
        for owned in join.owned:
            require_count(owned.claim, network.directory.claims)
        filters, sessions = (held.filter for held in join.held), map(weight_of_session, join.owned)
        require_weight(weight_of_all(filters) + sum(sessions))
        problem = self._problem_with(join, known, self.connection(connection).proved)
        if problem:
            self.refuse(connection, problem)
            return
        node = network.roster.number_for(join.name, join.node)
        self._replace_connection(node, connection)
        stays = node in network.placed and known is not None and known.incarnation == join.incarnation
        if node in network.placed and not stays:
            self._applying.forget(node, self._turn.now, in_order=False)
            network.remove(node, self._turn.now, expected=True)
        elif known is not None and known.incarnation != join.incarnation:
            network.announce_loss(node)
        self._enter(node, join, known)
        self._compare_clock(node, self.connection(connection).ahead)
        if self._revoked:
            network.changes.tell(node, w.Revoked(self._revoked))
        if stays:
            self._take_up(node)
        elif node not in self.pending:
            if known is not None or join.node != w.NOBODY:
                network.returning.add(node)
            self.pending.append(node)
            self.gather_soon()

    def _problem_with(self, join: w.Join, known: Member | None, proved: str | None) -> str:
        if not join.name:
            return "A node needs a name: give it one."
        if node_problem(join.name):
            return f"{join.name[:NODE_CHARACTERS]!r} is no name of a node: {node_problem(join.name)}"
        if proved not in (None, join.name):
            return f"{proved} has said that it is {join.name}: a node can speak for itself only."
        if not _is_address(join.address):
            return f"{join.name} takes links at {join.address!r}, which is no HOST:PORT: give it such an address."
        if known is None or known.number not in self.connection_of:
            return ""
        if known.incarnation == join.incarnation and known.address == join.address:
            return ""  # it has lost its connection, and we have not noticed yet
        return (
            f"There is a node called {join.name} already, at {known.address}: give this one, at {join.address}, "
            "another name."
        )

    def _replace_connection(self, node: int, connection: int) -> None:
        old = self.connection_of.get(node)
        if old is not None and old != connection:
            self._connections.pop(old, None)
            self._turn.close(old)
        self.connection(connection).number = node
        self.connection_of[node] = connection
        self._gone.pop(node, None)

    def _enter(self, node: int, join: w.Join, known: Member | None) -> None:
        """Put all that a node says of itself in the place of what was known."""
        network = self._network
        place = None if known is None else known.ring_id
        state = State.JOINING if known is None else known.state
        member = Member(join.name, node, join.incarnation, join.address, join.listeners, state, place)
        network.version = max(network.version, join.plan)  # of a master that has forgotten some
        network.roster.keep(member)
        network.keep(member)
        network.directory.welcome(node)
        gone = network.directory.held[node].keys() - {held.filter for held in join.held}
        network.interest(node, join.held, sorted(gone))
        self._take_sessions(node, join.owned)
        network.said_up[node] = set(join.links)
        self._applying.ask_anew(node, join.sequence)

    def _take_sessions(self, node: int, owned: tuple[w.Owned, ...]) -> None:
        """Note the sessions of a node; one that its client has taken elsewhere meanwhile stays there."""
        here = {one.client for one in owned}
        for client in self._network.directory.clients(node):
            if client not in here:
                self._network.lose_session(client)
        for one in owned:
            self._network.own(node, one)

    def _take_up(self, node: int) -> None:
        """A node that was away for a moment goes on."""
        network, said = self._network, self._network.said_up[node]
        lost = [each for each in network.made if node in each and not (set(each) - {node} <= said)]
        for each in lost:
            network.link_lost(*each, self._turn.now)
        self._connect_claimed([node])
        network.refresh(node)
        self._turn.note("returned", self._name(node))

    def _connect_claimed(self, nodes: Iterable[int]) -> None:
        """Take up links that nodes have since before they got their places, or before the master was restarted."""
        for node in nodes:
            for peer in sorted(self._network.said_up.get(node, ())):
                if self._network.link_made(node, peer):
                    self.gather_soon()

    # One change for many

    def gather_soon(self) -> None:
        expected = self._memory.expected
        if expected and expected <= self.connection_of.keys():
            self._gather_at = self._turn.now
        elif self._gather_at is None:
            self._gather_at = self._turn.now + self._parameters.gather

    def _gather(self) -> None:
        """One change for all who have joined, and all links that have come up."""
        network, self._gather_at = self._network, None
        self._memory.expected.clear()
        if self.redesign is None or self.redesign.stage is not Stage.MAKING:
            ready = {node: network.roster[node] for node in self.pending if self._may_return(node)}
            self.pending = [node for node in self.pending if node not in ready]
            self._place(list(ready.values()))
            if self.is_awaiting:
                self.gather_soon()
            self._ban_ends = min((at for at in map(self._out_until, self.pending) if at > self._turn.now), default=None)
        network.connect()
        network.rewire(self._turn.now)
        if not network.woven and len(network.placed) == 1:
            network.weave_in_alone(min(network.placed))
        if self._memory.trees and not self.is_awaiting and network.woven:
            self._take_up_trees()

    def _may_return(self, node: int) -> bool:
        return self._out_until(node) <= self._turn.now and self._applying.may_return(node, self._turn.now)

    def _out_until(self, node: int) -> float:
        ban = self._bans.get(self._name(node))
        return -math.inf if ban is None else ban.until

    def _place(self, members: list[Member]) -> None:
        if not members:
            return
        fingers, self._memory.fingers = self._memory.fingers, {}
        spare, self._memory.spare = self._memory.spare, []
        self._network.place(members, self._turn.now, fingers, spare)
        self._connect_claimed(member.number for member in members)
        for member in members:
            self._turn.note("joined", member.name, member.address)

    def _take_up_trees(self) -> None:
        """Go on with the trees of before a restart, as far as they can be."""
        trees, self._memory.trees = self._memory.trees, {}
        for topic, tables in trees.items():
            if self._network.loom.subscribers(topic):
                self._network.adopt(topic, tables)

    def _give_up_waiting(self) -> None:
        """Links that have not come up in their time, and nodes that have got none."""
        network = self._network
        late = network.overdue(self._turn.now)
        for one, other in late:
            sentence = _unreachable_sentence(network.roster[one], network.roster[other])
            if (one, other) not in self.unreachable:
                self._turn.note("unreachable", self._name(other), sentence)
            self.unreachable[one, other] = sentence
        for number in sorted(network.placed - network.woven):
            if not any(number in each for each in (*network.waiting, *network.made)):
                self._give_up_joining(number)
        if late:
            network.rewire(self._turn.now)

    def _give_up_joining(self, number: int) -> None:
        """Nobody is half in: a node that gets no link is refused, unless it is the first."""
        network = self._network
        if not network.woven and number == min(network.placed):
            network.weave_in_alone(number)
            return
        member = network.roster[number]
        names = ", ".join(self._name(other) for other in sorted(network.plan.peers(number))[:5])
        reason = (
            f"{member.name} cannot be reached at {member.address} by other nodes ({names}): give an address for links "
            "that they can reach, and open its port."
        )
        connection = self.connection_of.pop(number, None)
        self._gone.pop(number, None)
        self._forget_problems(number)
        self._applying.forget(number, self._turn.now, in_order=True)
        network.remove(number, self._turn.now, expected=network.directory.keeps(number))
        if connection is not None:
            self.refuse(connection, reason)

    # Going

    def close(self, connection: int) -> None:
        known = self._connections.pop(connection, None)
        number = None if known is None else known.number
        if number is None or self.connection_of.get(number) != connection:
            return
        del self.connection_of[number]
        if number in self.pending:
            self._withdraw(number)
        elif self._missed.get(number, -math.inf) >= self._turn.now - self._parameters.grace:
            self.fail(number)
        else:
            self._gone[number] = self._turn.now + self._parameters.grace

    def _withdraw(self, number: int) -> None:
        """A node that has not got its place is gone."""
        self.pending.remove(number)
        self._leaving.pop(number, None)
        self._forget_problems(number)
        self._applying.forget(number, self._turn.now, in_order=True)
        if self._network.roster[number].ring_id is None:
            self._network.forget(number)

    def suspect(self, number: int) -> None:
        """A neighbour has lost a node: if its connection is gone too, it has failed."""
        if number in self._gone:
            self.fail(number)
        elif number in self._network.placed:
            self._missed[number] = self._turn.now

    def fail(self, number: int) -> None:
        name = self._name(number)
        self._part_with(number, expected=True, in_order=False)
        self._turn.note("failed", name)

    def _break_with(self, number: int, what: str) -> None:
        """Part with a node that does not do what it was told, and keep it out for a while."""
        name, connection = self._name(number), self.connection_of.pop(number, None)
        self._bans = {one: ban for one, ban in self._bans.items() if ban.until + GOOD > self._turn.now}
        seconds = min(2 * self._bans[name].seconds, MOST_BAN) if name in self._bans else BAN
        sentence = f"{name} {what}: it is kept out for {seconds:g} s; see its log, or revoke its certificate."
        self._bans[name] = Ban(self._turn.now + seconds, seconds, sentence)
        self._part_with(number, expected=number not in self._forgetting, in_order=False)
        self._forgetting.discard(number)
        self._turn.note("broken", name, sentence)
        if connection is not None:
            self.refuse(connection, sentence)

    def leave(self, number: int) -> None:
        """A node leaves in order."""
        connection = self.connection_of.pop(number, None)
        if connection is not None:
            self._connections.pop(connection, None)
            self._turn.close(connection)
        name, forgetting = self._name(number), number in self._forgetting
        self._forgetting.discard(number)
        expected = self._network.directory.keeps(number) and not forgetting
        self._part_with(number, expected=expected, in_order=True)
        self._turn.note("left", name)

    def dismiss(self, member: Member, forget: bool) -> int:
        """An operator wants a node to leave. How many filters its sessions hold."""
        number, network = member.number, self._network
        owed = len(network.directory.owed(number))
        if number in self.connection_of:
            if forget:
                self._forgetting.add(number)
            network.changes.tell(number, w.Leave())
            self._leaving.setdefault(number, self._turn.now + LEAVING)
        elif network.directory.keeps(number) and not forget:
            raise WeftError(
                f"{member.name} is down, and its sessions hold {owed} filters that other nodes keep messages for: say "
                "that it is to be forgotten to end that debt."
            )
        elif number in network.placed:
            self._part_with(number, expected=False, in_order=False)
        else:
            self._gone.pop(number, None)
            network.forget(number)
        return owed

    def _part_with(self, number: int, *, expected: bool, in_order: bool) -> None:
        if number in self.pending:
            self.pending.remove(number)
        self._gone.pop(number, None)
        self._missed.pop(number, None)
        self._leaving.pop(number, None)
        self._forget_problems(number)
        self._applying.forget(number, self._turn.now, in_order=in_order)
        self._network.remove(number, self._turn.now, expected=expected)
        if self.redesign is not None and self.redesign.stage is Stage.MAKING:
            self.redesign.switch(self._turn.now)
        if len(self._network.placed) == 1 and not self._network.woven:
            self.gather_soon()

    def _forget_problems(self, number: int) -> None:
        """Nobody need look at what was wrong with a node that is not there."""
        self.clocks.pop(number, None)
        self.unreachable = {each: text for each, text in self.unreachable.items() if number not in each}

    # Clocks

    def read_clock(self, connection: int, time: float) -> None:
        """Note what a clock says; a node says it before it joins."""
        known = self._connections.get(connection)
        if known is None:
            return
        known.ahead = time - self._turn.now
        if known.number is not None:
            self._compare_clock(known.number, known.ahead)

    def _compare_clock(self, number: int, ahead: float) -> None:
        if abs(ahead) <= APART:
            self.clocks.pop(number, None)
        elif number not in self.clocks:
            self.clocks[number] = ahead
            self._turn.note("clock_apart", self._name(number), clock_sentence(self._name(number), ahead))

    def _name(self, number: int) -> str:
        return self._network.roster[number].name


def _is_address(text: str) -> bool:
    host, _, port = text.rpartition(":")
    return bool(host) and port.isdecimal() and 0 < int(port) < 65_536


def _unreachable_sentence(one: Member, other: Member) -> str:
    return f"{one.name} has no link with {other.name} at {other.address}: see whether it can reach that address."


def clock_sentence(name: str, ahead: float) -> str:
    way = "ahead of" if ahead > 0 else "behind"
    return (
        f"The clock of {name} is {abs(ahead):,.0f} s {way} the master's: set it, for the newest retained message is "
        "told by clocks."
    )
