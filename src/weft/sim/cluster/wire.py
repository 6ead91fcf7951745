"""Connections: bytes arrive in order, after a time that the seed draws, or the connection breaks.

What is sent at a time may come in two parts, as reads of a socket do: the first earlier than the rest, which on a slow
way is long.

Ends are places: a process, wherever it is. Between two places the way may be cut, in one direction or both. What is on
a cut way waits, as with TCP, and arrives when the way is mended; if that takes longer than 3 s, the connection breaks.
(Live, nodes give a link up after 2.5 s, the master after 15 s, and a client by its keep-alive.) When it breaks, what
was under way is lost, and each end hears of it, sooner or later.
"""

from collections import deque
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from random import Random
from typing import Protocol

from weft.sim.cluster.agenda import Agenda

Place = Hashable


class End(Protocol):
    """What hears of a connection."""

    def received(self, wire: "Wire", data: bytes) -> None: ...

    def broken(self, wire: "Wire") -> None: ...


@dataclass(frozen=True, slots=True)
class Weather:
    """Times, in seconds."""

    fastest: float = 0.0002  # one way
    slowest: float = 0.002
    silence: float = 3.0  # after which a connection counts as broken
    parted: float = 0.0  # share of what is sent that comes in two parts
    apart: float = 0.0  # between the ends of a connection that breaks in silence, at most, when they notice


class Wires:
    def __init__(self, agenda: Agenda, random: Random, parting: Random, weather: Weather) -> None:
        """What comes in parts is drawn apart: times are what they would be if nothing did."""
        self.agenda = agenda
        self.weather = weather
        self._random = random
        self._parting = parting
        self._cut: dict[tuple[Place, Place], int] = {}  # one way; how often
        self._open: dict[Wire, None] = {}
        self.delays: dict[tuple[Place, Place], float] = {}  # seconds more, where a way is slow

    def connect(self, here: Place, there: Place, opener: End, taker: Callable[["Wire"], End | None]) -> "Wire":
        """A new connection; `taker` is asked, after a time, for the end that takes it."""
        wire = Wire(self, (here, there), opener)
        self._open[wire] = None
        self.agenda.after(self.delay(here, there), lambda: wire.take(taker))
        return wire

    def delay(self, here: Place, there: Place) -> float:
        drawn = self._random.uniform(self.weather.fastest, self.weather.slowest)
        return drawn + self.delays.get((here, there), 0.0)

    def parts(self, data: bytes, earliest: float, latest: float) -> list[tuple[float, bytes]]:
        """Bytes and when they arrive; all of them at the latest."""
        earliest = max(earliest, self.agenda.now + self.weather.fastest)
        if len(data) < 2 or earliest > latest or self._parting.random() >= self.weather.parted:
            return [(latest, data)]
        middle = self._parting.randrange(1, len(data))
        return [(self._parting.uniform(earliest, latest), data[:middle]), (latest, data[middle:])]

    def is_cut(self, here: Place, there: Place) -> bool:
        return (here, there) in self._cut

    def cut(self, here: Place, there: Place) -> None:
        """Nothing passes from here to there any more."""
        self._cut[here, there] = self._cut.get((here, there), 0) + 1
        self.agenda.after(self.weather.silence, lambda: self._break_silent(here, there))

    def mend(self, here: Place, there: Place) -> None:
        left = self._cut.get((here, there), 0) - 1
        if left > 0:
            self._cut[here, there] = left
            return
        self._cut.pop((here, there), None)
        for wire in list(self._open):
            wire.go_on()

    def forget(self, wire: "Wire") -> None:
        self._open.pop(wire, None)

    def break_all(self, place: Place, notice: float) -> None:
        """A process is gone: the others hear of it after a time."""
        for wire in list(self._open):
            if place in wire.places and wire.left_by != place:
                wire.lose(place, notice)

    def break_silent(self, place: Place, others: Iterable[Place]) -> None:
        """A process says nothing any more: others give their connections with it up."""
        ends = {frozenset((place, other)) for other in others if other != place}
        for wire in list(self._open):
            if frozenset(wire.places) in ends:
                wire.lose(None, 0.0)

    def _break_silent(self, here: Place, there: Place) -> None:
        if not self.is_cut(here, there):
            return
        for wire in list(self._open):
            if set(wire.places) == {here, there}:
                wire.lose(None, 0.0, self._parting.uniform(-1, 1) * self.weather.apart)


class Wire:
    def __init__(self, wires: Wires, places: tuple[Place, Place], opener: End) -> None:
        self.places = places
        self.is_open = True  # not broken
        self.left_by: Place | None = None  # the place whose end has left it in order
        self._wires = wires
        self._ends: list[End | None] = [opener, None]
        self._arrivals = [0.0, 0.0]  # at each end, when the last bytes arrive
        self._waiting: list[deque[tuple[float, bytes]]] = [deque(), deque()]  # for each end, with when it is due
        self._taken = False
        self.name = ""  # for whom it may concern

    def take(self, taker: Callable[["Wire"], End | None]) -> None:
        if not self.is_open:
            return
        here, there = self.places
        if self._wires.is_cut(here, there) or self._wires.is_cut(there, here):
            self.lose(None, self._wires.weather.silence)
            return
        end = taker(self)
        if end is None:
            self.lose(None, 0.0)
            return
        self._ends[1], self._taken = end, True
        self.go_on()

    def send(self, sender: End, data: bytes) -> None:
        if not self.is_open or not data:
            return
        to = 1 if sender is self._ends[0] else 0
        delay = self._wires.delay(self.places[1 - to], self.places[to])
        before, self._arrivals[to] = self._arrivals[to], max(self._arrivals[to], self._wires.agenda.now + delay)
        for at, part in self._wires.parts(data, before, self._arrivals[to]):
            self._waiting[to].append((at, part))
            self._wires.agenda.at(at, lambda: self._arrive(to))

    def close(self, closer: End) -> None:
        """What was sent before still arrives."""
        if not self.is_open:
            return
        to = 1 if closer is self._ends[0] else 0
        self._ends[1 - to], self.left_by = None, self.places[1 - to]
        when = max(self._arrivals[to], self._wires.agenda.now)
        self._wires.agenda.at(when + self._wires.weather.fastest, self._end)

    def go_on(self) -> None:
        for to in (0, 1):
            self._wires.agenda.after(0.0, lambda to=to: self._drain(to))  # type: ignore[misc]

    def lose(self, place: Place | None, notice: float, apart: float = 0.0) -> None:
        """Break the wire: an end that is left hears of it, and the opener later than the taker, or sooner."""
        if not self.is_open:
            return
        self.is_open = False
        self._wires.forget(self)
        for end, at, more in zip(self._ends, self.places, (apart, -apart), strict=True):
            if end is not None and at != place:
                self._wires.agenda.after(notice + max(0.0, more), lambda end=end: end.broken(self))  # type: ignore[misc]

    def _end(self) -> None:
        self.lose(None, 0.0)

    def _arrive(self, to: int) -> None:
        """One piece is due; what is cut off waits."""
        end = self._ends[to]
        if not self._is_due(to):
            return
        _, data = self._waiting[to].popleft()
        if end is not None:
            end.received(self, data)

    def _drain(self, to: int) -> None:
        while self._is_due(to):
            self._arrive(to)

    def _is_due(self, to: int) -> bool:
        waiting = self._waiting[to]
        return self.is_open and bool(waiting) and waiting[0][0] <= self._wires.agenda.now and not self._is_stuck(to)

    def _is_stuck(self, to: int) -> bool:
        return (to == 1 and not self._taken) or self._wires.is_cut(self.places[1 - to], self.places[to])
