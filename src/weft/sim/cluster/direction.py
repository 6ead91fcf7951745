"""The master as a process: its store, which loses nothing that it was told, and its connections."""

from collections.abc import Callable
from itertools import count
from typing import TYPE_CHECKING

from weft.master import effect as m
from weft.master.engine import Job, design_here
from weft.master.master import Master
from weft.master.parameters import Parameters
from weft.master.record import Record
from weft.sim.cluster.wire import End, Wire
from weft.wire import frame as w
from weft.wire.frame_codec import TO_MASTER, FrameReader, encode
from weft.wire.frame_field import FrameError

if TYPE_CHECKING:
    from weft.sim.cluster.cluster import Cluster


class NodeEnd:
    """A node's connection, at the master."""

    def __init__(self, direction: "Direction", wire: Wire, number: int) -> None:
        self.direction = direction
        self.wire = wire
        self.number = number
        self._reader = FrameReader(kinds=TO_MASTER)

    def received(self, wire: Wire, data: bytes) -> None:
        try:
            frames = self._reader.feed(data)
        except FrameError:
            wire.lose(None, 0.0)
            return
        for frame in frames:
            if self.number in self.direction.ends:  # else it has been sent away
                self.direction.happen(m.Heard(self.number, frame))

    def broken(self, wire: Wire) -> None:
        if self.direction.ends.pop(self.number, None) is not None:
            self.direction.happen(m.Closed(self.number))


class Direction:
    name = "master"

    def __init__(self, cluster: "Cluster", parameters: Parameters) -> None:
        self.cluster = cluster
        self.master: Master | None = None
        self.ends: dict[int, NodeEnd] = {}
        self.replies: dict[int, dict[str, object]] = {}  # by ticket
        self._parameters = parameters
        self._store: dict[tuple[str, str], Record] = {}
        self._numbers = count(1)
        self._tickets = count(1)
        self._timer: float | None = None
        self._starts = 0

    def start(self) -> None:
        assert self.master is None
        self._starts += 1
        self.master = Master(self._parameters, self.cluster.name, self.cluster.agenda.now)
        self._carry_out(self.master.restore(list(self._store.values()), self.cluster.agenda.now))

    def crash(self, notice: float = 0.0) -> None:
        if self.master is not None:
            self.master, self._timer, self.ends = None, None, {}
            self.cluster.wires.break_all(self.name, notice)

    def ask(self, request: str, **options: object) -> int:
        """What an operator wants; the reply comes under the ticket."""
        ticket = next(self._tickets)
        self.happen(m.Asked(ticket, request, options))
        return ticket

    def take(self, wire: Wire) -> End | None:
        if self.master is None:
            return None
        end = NodeEnd(self, wire, next(self._numbers))
        self.ends[end.number] = end
        return end

    def happen(self, event: m.Event) -> None:
        if self.master is not None:
            self._carry_out(self.master.handle(event, self.cluster.agenda.now))

    def _carry_out(self, effects: list[m.Effect]) -> None:
        told: dict[int, list[w.Frame]] = {}
        closed = []
        for effect in effects:
            match effect:
                case m.Tell(connection, frame):
                    told.setdefault(connection, []).append(frame)
                case m.Keep(records):
                    self._keep(records)
                case m.Close(connection):
                    closed.append(connection)
                case m.StartDesign(number, job):
                    self._design(number, job)
                case m.Answer(ticket, reply):
                    self.replies[ticket] = reply
                case m.Note("defect", _, detail):
                    self.cluster.defects.append(f"{self.name}: {detail}")
        for connection, frames in told.items():
            if connection in self.ends:
                self.ends[connection].wire.send(self.ends[connection], b"".join(map(encode, frames)))
        for connection in closed:
            if connection in self.ends:
                end = self.ends.pop(connection)
                end.wire.close(end)
        self._arm()

    def _design(self, number: int, job: Job) -> None:
        self._after(0.1, lambda: self.happen(m.Designed(number, design_here(job))))

    def _keep(self, records: tuple[Record, ...]) -> None:
        for record in records:
            if record.value is None:
                self._store.pop((record.kind, record.key), None)
            else:
                self._store[record.kind, record.key] = record

    def _after(self, seconds: float, action: Callable[[], None]) -> None:
        starts = self._starts
        self.cluster.agenda.after(seconds, lambda: action() if self.master and self._starts == starts else None)

    def _arm(self) -> None:
        deadline = self.master.next_deadline() if self.master is not None else None
        if deadline is None or (self._timer is not None and self._timer <= deadline):
            return
        self._timer = deadline
        self._after(max(0.0, deadline - self.cluster.agenda.now), lambda: self._ring(deadline))

    def _ring(self, deadline: float) -> None:
        if self._timer == deadline and self.master is not None:
            self._timer = None
            self._carry_out(self.master.on_timer(self.cluster.agenda.now))
