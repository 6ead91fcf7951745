"""A world of routers under virtual time: what is sent arrives when the latency says, and nothing is lost
but what is sent to a node that has failed, unless there are faults.

With faults, messages are lost, and a link reports to its sender some time later what it believes undelivered:
what was lost, what came to a failed node, and what arrived but whose acknowledgement was lost.

Time is in milliseconds. Entries of the heap are (time, sequence, ...), so that what happens at the same time happens in
the order in which it was caused, and a world is the same each time it is run. It looks through a tracer only.
"""

from collections.abc import Sequence
from functools import cache
from heapq import heappop, heappush
from itertools import count
from math import inf
from typing import Protocol

import numpy as np

from weft.model.latency import Latency
from weft.protocol.router import Deliver, Effect, Event, Packet, Received, Router, Send, Undelivered


class Tracer(Protocol):
    def sent(self, now: float, sender: int, receiver: int, message: Packet) -> None: ...

    def delivered(self, now: float, node: int, delivery: Deliver) -> None: ...


class Faults:
    def __init__(self, loss: float, timeout: float, seed: int) -> None:
        self.loss = loss  # the share of messages, and of acknowledgements, that do not arrive
        self.timeout = timeout  # milliseconds until a sender gets the report
        self._random = np.random.default_rng(seed)

    def strike(self) -> bool:
        return bool(self._random.random() < self.loss)


class World:
    def __init__(
        self, routers: Sequence[Router], latency: Latency, tracer: Tracer, faults: Faults | None = None
    ) -> None:
        self.routers = list(routers)  # by node
        self.latency = latency
        self.tracer = tracer
        self.faults = faults
        self.now = 0.0
        self._agenda: list[tuple[float, int, int, Event | None]] = []  # time, sequence, node; None is a timer
        self._entries = count()
        self._one_way = cache(self._half_round_trip)
        self._failed: set[int] = set()
        self._armed: dict[int, float] = {}  # the deadline that each node's latest timer is for
        for node in range(len(routers)):
            self._arm(node)

    def schedule(self, time: float, node: int, event: Event | None) -> None:
        heappush(self._agenda, (time, next(self._entries), node, event))

    def fail(self, node: int) -> None:
        """Let the node fail: it neither hears nor does anything from now on."""
        self._failed.add(node)

    def restart(self, node: int, router: Router) -> None:
        """A node that has failed, as a new router that knows nothing of what was."""
        self._failed.remove(node)
        self.routers[node] = router
        self._armed.pop(node, None)
        self._arm(node)

    def run(self, until: float = inf) -> None:
        """Run until nothing is left to happen, or a time has come."""
        while self._agenda and self._agenda[0][0] <= until:
            self.now, _, node, event = heappop(self._agenda)
            if node in self._failed:
                self._report(node, event)
                continue
            router = self.routers[node]
            if event is not None:
                self._carry_out(node, router.handle(event, self.now))
            elif router.next_deadline() == self.now:  # else it was put off, or called off
                self._carry_out(node, router.on_timer(self.now))
            self._arm(node)

    def check_invariants(self) -> None:
        for router in self.routers:
            router.check_invariants()

    def _arm(self, node: int) -> None:
        deadline = self.routers[node].next_deadline()
        if deadline is not None and deadline != self._armed.get(node):
            self._armed[node] = deadline
            self.schedule(deadline, node, None)

    def _carry_out(self, node: int, effects: list[Effect]) -> None:
        for effect in effects:
            match effect:
                case Send(peer, message):
                    self.tracer.sent(self.now, node, peer, message)
                    self._carry(node, peer, message)
                case Deliver():
                    self.tracer.delivered(self.now, node, effect)

    def _carry(self, node: int, peer: int, message: Packet) -> None:
        lost = self.faults is not None and self.faults.strike()
        if not lost:
            self.schedule(self.now + self._one_way(node, peer), peer, Received(node, message))
        if self.faults is not None and (lost or self.faults.strike()):
            self.schedule(self.now + self.faults.timeout, node, Undelivered(peer, message))

    def _report(self, failed: int, event: Event | None) -> None:
        """Report to the sender what was sent to a failed node."""
        if self.faults is not None and isinstance(event, Received):
            self.schedule(self.now + self.faults.timeout, event.sender, Undelivered(failed, event.message))

    def _half_round_trip(self, node: int, peer: int) -> float:
        return float(self.latency.round_trip(np.array([node]), np.array([peer]))[0]) / 2
