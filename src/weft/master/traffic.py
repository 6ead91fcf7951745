"""What nodes have measured: how often their clients publish on what, and how far the nodes are from each other."""

from dataclasses import dataclass, field
from heapq import nlargest
from math import expm1
from operator import itemgetter

from weft.master.link import Link, link
from weft.wire.frame import Measured

WEIGHT = 0.5  # of the latest round trip, against all before
SPAN = 10.0  # seconds over which rates are the mean, the latest weighing most
NAMES, LONGEST = 100_000, 1024  # of one node: those that are published on most are known, and bytes of each
LEAST = 1e-6  # publications a second that are worth remembering; one is remembered for about two minutes


@dataclass
class Traffic:
    rates: dict[int, dict[str, float]] = field(default_factory=dict)  # node -> filter -> publications a second
    publishers: dict[str, dict[int, float]] = field(default_factory=dict)  # the same by filter
    round_trips: dict[Link, float] = field(default_factory=dict)  # milliseconds
    counters: dict[int, dict[str, int]] = field(default_factory=dict)  # node -> name, since the node started
    _heard: dict[int, float] = field(default_factory=dict)

    def measure(self, node: int, measured: Measured, now: float) -> None:
        for peer, milliseconds in measured.round_trips:
            self.time(node, peer, milliseconds)
        self.counters[node] = dict(measured.counters)
        seconds = now - self._heard.get(node, now - 1.0)
        self._heard[node] = now
        if seconds > 0:
            rates = {name: count / seconds for name, count, _ in measured.rates if len(name) <= LONGEST}
            self._rate(node, rates, -expm1(-seconds / SPAN))

    def time(self, node: int, peer: int, milliseconds: float) -> None:
        between = link(node, peer)
        before = self.round_trips.get(between, milliseconds)
        self.round_trips[between] = before + WEIGHT * (milliseconds - before)

    def fall_silent(self, node: int) -> None:
        """A node is down: nobody publishes there, and when it is back it counts anew."""
        for name in self.rates.get(node, ()):
            self._note(name, node, 0.0)
        for kept in (self.rates, self.counters, self._heard):
            kept.pop(node, None)

    def forget(self, node: int) -> None:
        self.fall_silent(node)
        for between in [each for each in self.round_trips if node in each]:
            del self.round_trips[between]

    def by_filter(self) -> dict[str, float]:
        """Publications a second of all nodes together."""
        return {name: sum(rates.values()) for name, rates in self.publishers.items()}

    def total(self, name: str) -> int:
        """A counter over all nodes."""
        return sum(counters.get(name, 0) for counters in self.counters.values())

    def _rate(self, node: int, latest: dict[str, float], weight: float) -> None:
        before = self.rates.get(node, {})
        names = before.keys() | latest.keys()
        mixed = {name: (1 - weight) * before.get(name, 0.0) + weight * latest.get(name, 0.0) for name in names}
        kept = {name: rate for name, rate in mixed.items() if rate > LEAST}
        if len(kept) > NAMES:
            kept = dict(nlargest(NAMES, kept.items(), key=itemgetter(1)))
        for name in names:
            self._note(name, node, kept.get(name, 0.0))
        self.rates[node] = kept

    def _note(self, name: str, node: int, rate: float) -> None:
        if rate > LEAST:
            self.publishers.setdefault(name, {})[node] = rate
        elif name in self.publishers:
            self.publishers[name].pop(node, None)
            if not self.publishers[name]:
                del self.publishers[name]
