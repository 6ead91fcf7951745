"""A node as a process: its journal on a disk, its clients, its links; started, crashed, restarted.

It does what the drivers of the live network do, with simulated surroundings: it hands the node what happens, and
carries out its effects in order. It decides nothing of what the node decides, and it breaks nothing by itself: faults
come from whoever plays it.
"""

from itertools import count
from random import Random
from typing import TYPE_CHECKING

from weft.broker import effect as e
from weft.broker.parameters import Parameters as BrokerParameters
from weft.journal.event import AppendFailed
from weft.journal.event import Synced as JournalSynced
from weft.journal.log import Log, open_log
from weft.journal.output import BrokenFileError
from weft.journal.parameters import Parameters as JournalParameters
from weft.journal.parameters import Sync
from weft.node import effect as n
from weft.node.identity import Identity
from weft.node.node import Node
from weft.node.parameters import Parameters
from weft.node.recovery import Recovery
from weft.sim.cluster.agenda import Action
from weft.sim.cluster.end import ClientEnd, LinkEnd
from weft.sim.cluster.wire import End, Wire
from weft.sim.disk import Disk
from weft.wire import frame as w
from weft.wire.frame_codec import encode

if TYPE_CHECKING:
    from weft.sim.cluster.cluster import Cluster

RETRY = 0.3  # seconds between attempts to connect
FULL = 0.2  # seconds between attempts to write to a full disk


class NodeProcess:
    def __init__(
        self,
        cluster: "Cluster",
        name: str,
        random: Random,
        parameters: BrokerParameters,
        network: Parameters,
        sync_seconds: float,
        durable: bool,
    ) -> None:
        self.cluster = cluster
        self.name = name
        self.address = f"{name}:1884"
        self.random = random
        self.clock = 0.0  # seconds that it is ahead
        self.disk = Disk(random)
        self.number = w.NOBODY
        self.incarnation = 0
        self.is_running = False
        self.node: Node | None = None
        self.clients: dict[int, ClientEnd] = {}
        self.links: dict[int, LinkEnd] = {}  # those that are up, MASTER among them
        self.wanted: dict[int, w.Peer] = {}
        self.refused = ""  # the master's reason
        self.sync_seconds = sync_seconds
        self.starts = 0
        self.journal = JournalParameters()
        self.compactions = 0
        self._hangs_until = 0.0
        self._durable = durable
        self._parameters = parameters
        self._network = network
        self._numbers = count(1)
        self._log: Log | None = None
        self._records: list[bytes] = []
        self._is_writing = False
        self._is_full = False
        self._synced = 0
        self._timer: float | None = None

    # Life

    def start(self) -> None:
        assert not self.is_running
        self.starts += 1
        self._hangs_until = 0.0
        self.is_running = True
        if not self.incarnation or not self._durable:
            self.incarnation = self.random.getrandbits(63) | 1
        recovery = Recovery(self.incarnation)
        self._records, self._is_writing, self._is_full = [], False, False
        if self._durable:
            self._log, _ = open_log(self.disk, recovery.replay, lambda: self.random.randbytes(4), self.journal)
            self._synced = self._log.position
        identity = Identity(self.name, self.cluster.name, self.incarnation, self.address, (), self.number)
        seed = self.random.getrandbits(32)
        self.node = Node(
            identity, self._parameters, self.now, self._network, seed, self._durable, position=self._synced
        )
        self._carry_out(self.node.restore(recovery, self.now))
        self._dial_master()

    def crash(self, power: bool = True, notice: float = 0.0) -> None:
        """End at once. Where the power fails, what the disk has not synced is lost."""
        if not self.is_running:
            return
        self.is_running = False
        self.cluster.wires.break_all(self.name, notice)
        self.disk = self.disk.restarted() if power else self.disk.killed()
        self._forget()

    def stop(self) -> None:
        """Ends in order."""
        if self.is_running:
            self.happen(e.Stopping())

    def hang(self, seconds: float) -> None:
        """Do nothing for a while, and then all that has come meanwhile; others give up on it when it is silent."""
        starts, self._hangs_until = self.starts, self.cluster.agenda.now + seconds

        def be_missed() -> None:
            if self.starts == starts and self.is_hanging:
                self.cluster.wires.break_silent(self.name, [one.name for one in self.cluster.nodes])
                self.cluster.wires.break_silent(self.name, [self.cluster.direction.name, *self.cluster.strangers])

        self.cluster.agenda.after(self.cluster.wires.weather.silence, be_missed)

    @property
    def is_hanging(self) -> bool:
        return self.is_running and self.cluster.agenda.now < self._hangs_until

    def wipe(self) -> None:
        """Put an empty disk in."""
        assert not self.is_running
        self.disk = Disk(self.random)
        self.incarnation, self.number = 0, w.NOBODY

    def _forget(self) -> None:
        self.node, self._log, self._timer = None, None, None
        self.clients, self.links, self.wanted = {}, {}, {}

    def is_reachable_from(self, other: "NodeProcess") -> bool:
        """Whether another node can ask it for what it has."""
        wires = self.cluster.wires
        is_cut = wires.is_cut(self.name, other.name) or wires.is_cut(other.name, self.name)
        return self is other or (self.is_known and other.is_known and not is_cut)

    def is_alone_with(self, client: str) -> bool:
        """Whether it has let a client in without the master, which has yet to hear of it."""
        session = self.node.broker.session(client) if self.node is not None else None
        return session is not None and session.alone

    def successor(self, client: str) -> "NodeProcess | None":
        """The node that it has given a client's session to."""
        if self.node is None or self.node.broker.session(client) is not None:
            return None
        trail = self.node.parts.trails.get(client)
        taker = trail.given.node if trail is not None else w.NOBODY
        return next((one for one in self.cluster.nodes if one.number == taker != w.NOBODY), None)

    @property
    def is_known(self) -> bool:
        """Whether it is part of the network."""
        master = self.cluster.direction.master
        return n.MASTER in self.links and master is not None and self.number in master.network.woven

    @property
    def now(self) -> float:
        return self.cluster.agenda.now + self.clock

    # Events

    def happen(self, event: e.Event) -> None:
        if self.is_hanging:
            self.later(lambda: self.happen(event))
        elif self.node is not None:
            self._carry_out(self.node.handle(event, self.now))

    def later(self, action: Action) -> None:
        """When this event is over."""
        self.after(0.0, action)

    def after(self, seconds: float, action: Action) -> None:
        """Acts later, if it has not crashed by then; one that hangs does when it goes on."""
        starts = self.starts

        def act() -> None:
            if self.is_running and self.starts == starts:
                if self.is_hanging:
                    self.cluster.agenda.at(self._hangs_until, act)
                else:
                    action()

        self.cluster.agenda.after(seconds, act)

    def take_client(self, wire: Wire) -> End | None:
        if not self.is_running:
            return None
        end = ClientEnd(self, wire, next(self._numbers))
        self.clients[end.number] = end
        self.happen(e.Opened(end.number))
        return end

    def take_link(self, wire: Wire) -> End | None:
        if not self.is_running:
            return None
        end = LinkEnd(self, None)
        end.wire = wire
        return end

    def hello(self) -> w.Hello:
        number = self.node.number if self.node is not None else self.number
        return w.Hello(w.VERSION, self.cluster.name, w.Role.NODE, self.name, number, self.incarnation, self.address)

    def link_up(self, end: LinkEnd) -> None:
        assert end.peer is not None
        assert end.wire is not None
        if end.peer != n.MASTER and end.peer not in self.wanted:
            end.wire.lose(None, 0.0)  # not, or not yet, a link of the plan: the other end tries again
            return
        old = self.links.pop(end.peer, None)
        if old is not None and old.wire is not None:
            old.is_up = False
            self.happen(n.Unlinked(end.peer))
            old.wire.lose(None, 0.0)
        end.is_up = True
        self.links[end.peer] = end
        self.happen(n.Linked(end.peer, 1.0))

    def lose(self, end: LinkEnd) -> None:
        if end.is_up and end.peer is not None and self.links.get(end.peer) is end:
            end.is_up = False
            del self.links[end.peer]
            self.happen(n.Unlinked(end.peer))
        if end.peer is not None and self.is_running:
            peer = end.peer
            self.after(RETRY, self._dial_master if peer == n.MASTER else lambda: self._dial(peer))

    # Effects

    def _carry_out(self, effects: list[e.Effect]) -> None:
        told: dict[int, list[w.Frame]] = {}
        for effect in effects:
            match effect:
                case n.Tell(peer, frame):
                    told.setdefault(peer, []).append(frame)
                case e.Send(number) if number in self.clients:
                    self.clients[number].send(effect, self._synced)
                case e.Append(record):
                    self._records.append(record)
                case _:
                    self._carry_out_one(effect)
        for peer, frames in told.items():
            if peer in self.links and self.links[peer].wire is not None:
                data = b"".join(map(encode, frames))
                self.cluster.carried(self, peer, frames)
                self.links[peer].wire.send(self.links[peer], data)  # type: ignore[union-attr]
        if self._records:
            self._write()
        self._arm()

    def _carry_out_one(self, effect: e.Effect) -> None:
        match effect:
            case e.Close(number) if number in self.clients:
                self.clients[number].close()
            case e.Unsay(number) if number in self.clients:
                self.clients[number].waiting.clear()
            case e.Hold(number) if number in self.clients:
                self.clients[number].held = True
            case e.Resume(number) if number in self.clients:
                self.clients[number].resume()
            case n.Link(peer):
                self.wanted[peer.node] = peer
                self._dial(peer.node)
            case n.Unlink(node):
                self.wanted.pop(node, None)
                if node in self.links:
                    self.later(lambda: self.end_link(self.links.get(node)))
            case n.Break(peer):
                end = self.links.get(peer)
                self.later(lambda: self.end_link(end))
            case n.Left():
                self.after(0.05, self._end_in_order)
            case n.Named(node):
                self.number = node
            case n.Turned(reason):
                self.refused = reason
                self.later(self.crash)
            case e.Note(event, number):
                client = self.clients.get(number)
                if client is not None and event == "subscribed_alone":
                    self.cluster.leave_alone(client.wire)
                elif client is not None and effect.detail == "keep-alive timeout":
                    self.cluster.silences.append((self.name, effect.client, self.cluster.agenda.now - client.heard))
                self.cluster.noted(self, effect)

    def _end_in_order(self) -> None:
        """The journal is closed before the process ends, and peers hear what was said until then."""
        if self._log is not None:
            self._commit()
        for end in self.links.values():
            if end.wire is not None:
                end.wire.close(end)
        self.crash(power=False)

    def end_link(self, end: LinkEnd | None) -> None:
        if end is not None and end.wire is not None:
            self.lose(end)
            end.wire.lose(None, 0.0)

    def _dial_master(self) -> None:
        if n.MASTER in self.links or not self.is_running:
            return
        end = LinkEnd(self, n.MASTER)
        end.wire = self.cluster.wires.connect(self.name, self.cluster.direction.name, end, self.cluster.direction.take)
        end.tell(self.hello())

    def _dial(self, peer: int) -> None:
        """Open a link, if this end is to."""
        one = self.wanted.get(peer)
        if one is None or not one.opens or peer in self.links:
            return
        end = LinkEnd(self, peer)
        end.wire = self.cluster.wires.connect(self.name, one.name, end, self.cluster.link_taker(one.name))
        end.tell(self.hello())

    # Journal

    def _write(self) -> None:
        """Group commit: the disk has what is written when it is synced, with all that was written until then."""
        records, self._records = self._records, []
        if self._log is None:
            return
        self._log.write(records)
        if not self._is_writing:
            self._is_writing = True
            self.after(self.sync_seconds, self._commit)

    def _commit(self) -> None:
        assert self._log is not None
        self._is_writing = False
        try:
            events = self._log.commit((), Sync.DISK)
        except BrokenFileError:  # nobody knows what the disk has: the process ends
            self.crash(power=False)
            return
        for event in events:
            if isinstance(event, JournalSynced):
                self._release(event.position)
            elif isinstance(event, AppendFailed) and not self._is_full:
                self._is_full = True
                self.happen(e.JournalFilled())
        if self._is_full:
            self.after(FULL, self._write)
        if self._log is not None and self._log.wants_compaction:
            self._compact()

    def _release(self, position: int) -> None:
        self._synced = position
        if self._is_full and self._log is not None and not self._log.is_waiting:
            self._is_full = False
            self.happen(e.JournalFreed())
        for end in list(self.clients.values()):
            end.release(position)
        self.happen(n.Synced(position))

    def _compact(self) -> None:
        assert self._log is not None
        assert self.node is not None
        if self._log.begin_snapshot() is not None:
            return
        if self._log.extend_snapshot(list(self.node.records())) is None:
            self._log.finish_snapshot()
            self.compactions += 1

    # Time

    def _arm(self) -> None:
        deadline = self.node.next_deadline() if self.node is not None else None
        if deadline is None or (self._timer is not None and self._timer <= deadline):
            return
        self._timer = deadline
        self.after(deadline - self.now, lambda: self._ring(deadline))

    def _ring(self, deadline: float) -> None:
        if self._timer == deadline and self.node is not None:
            self._timer = None
            self._carry_out(self.node.on_timer(self.now))
