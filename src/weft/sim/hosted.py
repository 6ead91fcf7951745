"""A node of a network whose overlay is designed again from time to time: a router for each design in use.

A new design is prepared beside the old one: its trees grow, its tables come. Then every node publishes by it, and the
old one carries what is under way until it is retired. Each message says by which design it travels. So no publication
sees two of them, and a rebuilding loses nothing (make before break).
"""

from collections.abc import Iterable
from dataclasses import dataclass

from weft.protocol.membership import Delta, NearestTable
from weft.protocol.router import Effect, Event, Packet, Published, Received, Router, Send, Undelivered


@dataclass(frozen=True, slots=True)
class Carried(Packet):
    design: int
    packet: Packet


@dataclass(frozen=True, slots=True)
class Prepared(Event):
    """A design is known at this node, and not used yet."""

    design: int
    router: Router
    table: NearestTable


@dataclass(frozen=True, slots=True)
class Switched(Event):
    """Publications of this node travel by this design from now on."""

    design: int


@dataclass(frozen=True, slots=True)
class Retired(Event):
    design: int


@dataclass(frozen=True, slots=True)
class Told(Event):
    """The master has said something that concerns one design."""

    design: int
    what: Event | Delta


class Hosted(Router):
    def __init__(self) -> None:
        self._routers: dict[int, tuple[Router, NearestTable]] = {}
        self._current: int | None = None

    def handle(self, event: Event, now: float) -> list[Effect]:
        match event:
            case Prepared(design, router, table):
                self._routers[design] = router, table
            case Switched(design):
                self._current = design
            case Retired(design):
                self._routers.pop(design, None)
            case Told(design, Delta() as delta):
                if design in self._routers:
                    self._routers[design][1].apply(delta)
            case Told(design, Event() as what):
                return self._by(design, what, now)
            case Published() if self._current is not None:
                return self._by(self._current, event, now)
            case Received(sender, Carried(design, packet)):
                return self._by(design, Received(sender, packet), now)
            case Undelivered(peer, Carried(design, packet)):
                return self._by(design, Undelivered(peer, packet), now)
        return []

    def next_deadline(self) -> float | None:
        deadlines = (router.next_deadline() for router, _ in self._routers.values())
        return min((each for each in deadlines if each is not None), default=None)

    def on_timer(self, now: float) -> list[Effect]:
        effects: list[Effect] = []
        for design, (router, _) in self._routers.items():
            deadline = router.next_deadline()
            if deadline is not None and deadline <= now:
                effects += _carried(design, router.on_timer(now))
        return effects

    def check_invariants(self) -> None:
        for router, _ in self._routers.values():
            router.check_invariants()

    def _by(self, design: int, event: Event, now: float) -> list[Effect]:
        """Effects of a design's router; none where the design is retired, or has not come here yet."""
        if design not in self._routers:
            return []
        return _carried(design, self._routers[design][0].handle(event, now))


def _carried(design: int, effects: Iterable[Effect]) -> list[Effect]:
    return [Send(each.peer, Carried(design, each.message)) if isinstance(each, Send) else each for each in effects]
