"""A world of PopSub brokers that take time to send, message by message: the oracle for the queues of the simulation.

What one event has a broker send is a job. Jobs wait for each other in the order in which they came. The first message
of a job costs what it takes to read, match and write the publications that came; each additional one only a share of
what it would cost alone, since it only has to be written. What is forwarded goes before what is sent directly.
"""

from collections.abc import Sequence
from itertools import groupby

from weft.model.latency import Latency
from weft.protocol.popsub.message import Batch, Direct, Forward, Gossip, Queued, Retrieved
from weft.protocol.router import Effect, Event, Received, Router, Send
from weft.sim.capacity import Capacity
from weft.sim.world import Tracer, World

ROUNDING = 1e-6  # milliseconds


def size_of(message: object) -> int:
    """Publications in a message; none in what only keeps tables."""
    match message:
        case Forward() | Direct():
            return 1
        case Batch(publications) | Gossip(publications=publications) | Retrieved(publications):
            return len(publications)
    return 0


class QueueWorld(World):
    def __init__(self, routers: Sequence[Router], latency: Latency, tracer: Tracer, capacity: Capacity) -> None:
        super().__init__(routers, latency, tracer)
        self.costs, self.additional = capacity.costs(), capacity.additional
        self.busy = [0.0] * len(routers)  # until when
        self.starts: list[list[tuple[float, int]]] = [[] for _ in routers]  # of the jobs that wait, with publications
        self.queued = 0  # publications that had to wait
        self.lengths = 0  # publications that they found waiting, themselves included
        self.just_in_time = 0  # publications that came just when the broker was free: waiting is a matter of rounding
        self.event: Event | None = None  # that caused what is carried out
        for node, router in enumerate(routers):
            self.routers[node] = Listening(router, self)

    def _carry_out(self, node: int, effects: list[Effect]) -> None:
        costly = [effect for effect in effects if isinstance(effect, Send) and size_of(effect.message)]
        super()._carry_out(node, [effect for effect in effects if effect not in costly])
        due = [list(group) for _, group in groupby(costly, key=lambda send: id(send.message))]  # one job each
        jobs = due if self.event is None else [costly]
        for job in jobs:
            self._work(node, sorted(job, key=lambda send: (isinstance(send.message, Direct), send.peer)))

    def _work(self, node: int, job: Sequence[Send]) -> None:
        if not job:
            return
        busy = self.busy[node]
        start = end = max(self.now, busy)
        size = 0
        for send in job:
            came = (isinstance(self.event, Received) and size_of(self.event.message)) or size_of(send.message)
            size = came if end == start else size
            is_first = end == start
            end += self._cost(came) if is_first else self.additional * self._cost(size_of(send.message))
            self.tracer.sent(self.now, node, send.peer, send.message)
            self.schedule(end + self._one_way(node, send.peer), send.peer, Received(node, send.message))
        self.busy[node] = end
        if start > self.now + ROUNDING:
            self._wait(node, start, size)
        elif start < busy + ROUNDING:
            self.just_in_time += size

    def _wait(self, node: int, start: float, size: int) -> None:
        waiting = [other for other in self.starts[node] if other[0] > self.now + ROUNDING]
        self.lengths += sum(sum(other for _, other in waiting) + place for place in range(1, size + 1))
        self.starts[node] = [*waiting, (start, size)]
        self.queued += size
        self.routers[node].handle(Queued(len(self.starts[node])), self.now)

    def _cost(self, size: int) -> float:
        largest = len(self.costs) - 1
        return float(self.costs[size] if size <= largest else self.costs[largest] * size / largest)


class Listening(Router):
    """A router whose world knows which event it is handling."""

    def __init__(self, router: Router, world: QueueWorld) -> None:
        self.router, self.world = router, world

    def handle(self, event: Event, now: float) -> list[Effect]:
        effects = self.router.handle(event, now)
        self.world.event = event
        return effects

    def on_timer(self, now: float) -> list[Effect]:
        self.world.event = None
        return self.router.on_timer(now)

    def next_deadline(self) -> float | None:
        return self.router.next_deadline()

    def check_invariants(self) -> None:
        self.router.check_invariants()
