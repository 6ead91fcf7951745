"""Churn, simulated: what a router loses, doubles and delivers late while nodes and subscriptions come and go.

The routers of weft.protocol run in a world under virtual time (world.py). A master repairs the overlay after each
change (steward.py), and designs it again daily, weekly, or where its quality has fallen (hosted.py). What the master
says takes up to DELAY to come to each node, and comes in order. BeaConvey's section 1.3 promises correctness and "no
noticeable impact" between reconstructions; this is the figure of it.

What is expected: every subscriber whose subscription has been in place for `settling` when something is published, but
the issuer, gets it once. Who leaves, fails or unsubscribes within WINDOW after that is not waited for. A publication
may be lost with a node that fails while it has it; such losses are counted apart from those that nothing explains.
Late is what takes longer than twice the 99th percentile of a still network, the same one before the first change.
"""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from heapq import heappop, heappush
from itertools import count
from typing import Any, Literal, get_args

import numpy as np

from weft.errors import WeftError
from weft.model.churn import Change, ChurnSchedule
from weft.model.instance import Instance
from weft.model.latency import ConstantLatency, Latency, require_latency_of
from weft.model.overlay import Overlay, require_made_for
from weft.model.seed import require_seed
from weft.model.table import Columns, Table
from weft.overlays.catalog import design
from weft.overlays.quality import link_quality
from weft.overlays.repair import repair
from weft.protocol.router import Deliver, Message, Packet, Publication, Published
from weft.sim.hosted import Carried, Hosted, Prepared, Retired, Switched, Told
from weft.sim.steward import Note, Steward, present
from weft.sim.world import Faults, World

Rebuild = Literal["never", "daily", "weekly"]
HOURS = {"never": np.inf, "daily": 24.0, "weekly": 168.0}
HOUR = 3_600_000.0  # milliseconds
DELAY = 50.0  # milliseconds that a message of the master takes, at most
WINDOW = 60_000.0  # milliseconds for which something may be under way
STILL = 300  # publications in a still network, before the first change
ROUND_TRIP = 20.0  # milliseconds, where no latencies are given


@dataclass(frozen=True)
class ChurnSetting:
    rate: float = 60.0  # publications an hour in the whole network, above 0
    rebuild: Rebuild = "daily"
    quality: float = 0.0  # rebuild where TcoSuppR or links have got worse than so much of what they were, below 1
    loss: float = 0.0  # share of messages, and of acknowledgements, from 0 to below 1
    detection: float = 3_000.0  # milliseconds until the master knows of a failure, from 0
    settling: float = 2_000.0  # milliseconds until a change is in place everywhere, from 100
    timeout: float = 200.0  # milliseconds until a link reports what it could not carry, above 0

    def __post_init__(self) -> None:
        if self.rebuild not in get_args(Rebuild):
            raise WeftError(f"`rebuild` {self.rebuild!r} is unknown: choose daily, weekly or never.", "rebuild")
        for name, low, high in (
            ("rate", 1e-9, np.inf),
            ("quality", 0.0, 1.0),
            ("loss", 0.0, 1.0),
            ("detection", 0.0, WINDOW),
            ("settling", 2 * DELAY, WINDOW),
            ("timeout", 1e-9, WINDOW),
        ):
            if not low <= getattr(self, name) < high:
                raise WeftError(f"`{name}` {getattr(self, name)} is out of range.", name)


@dataclass
class Interval:
    """Figures from one design to the next."""

    begins: float = 0.0  # hours
    changes: int = 0
    publications: int = 0
    expected: int = 0
    delivered: int = 0
    lost_with_a_node: int = 0  # a node that had it failed
    lost_without_fallback: int = 0  # while trees were in parts, where there is no ring to fall back on
    unexplained: int = 0  # lost otherwise
    doubled: int = 0  # deliveries over and above the first
    late: int = 0
    messages: int = 0  # that carry a publication
    relays: int = 0  # of these, to nodes that do not subscribe
    repair_messages: int = 0  # of routers, to keep their trees
    master_messages: int = 0
    links_opened: int = 0
    links_closed: int = 0
    links: int = 0  # at its end
    tco_support_ratio: float = 0.0  # at its end


FIGURES = tuple(each.name for each in fields(Interval))[1:]
LOSSES = ("lost_with_a_node", "lost_without_fallback", "unexplained")


@dataclass(frozen=True)
class Churned(Table):
    """What churn did; the table has a row for every interval between two designs."""

    router: str
    overlay: str
    hours: float
    undisturbed: float  # milliseconds, 99th percentile of a still network
    intervals: tuple[Interval, ...]

    @property
    def columns(self) -> Columns:
        return {each.name: np.array([getattr(row, each.name) for row in self.intervals]) for each in fields(Interval)}

    def total(self, figure: str) -> int:
        return int(sum(getattr(each, figure) for each in self.intervals))

    def figures(self) -> dict[str, Any]:
        """Sums over all intervals, and shares of what was expected."""
        last, expected = self.intervals[-1], max(self.total("expected"), 1)
        summed = [name for name in FIGURES if name not in ("links", "tco_support_ratio")]
        lost = sum(self.total(name) for name in LOSSES)
        return {
            "router": self.router,
            "overlay": self.overlay,
            "hours": self.hours,
            "rebuildings": len(self.intervals) - 1,
            **{name: self.total(name) for name in summed},
            "lost_share": lost / expected,
            "late_share": self.total("late") / expected,
            "messages_per_delivery": self.total("messages") / max(self.total("delivered"), 1),
            "relays_per_delivery": self.total("relays") / max(self.total("delivered"), 1),
            "undisturbed_percentile_99": self.undisturbed,
            "links": last.links,
            "tco_support_ratio": last.tco_support_ratio,
        }


def churn(
    instance: Instance,
    overlay: Overlay,
    router: str,
    schedule: ChurnSchedule,
    *,
    hours: float | None = None,  # default: until the last change
    setting: ChurnSetting | None = None,
    latency: Latency | None = None,
    seed: int = 1,
) -> Churned:
    """Publish over an overlay while nodes and subscriptions come and go as the schedule says."""
    require_seed(seed)
    require_made_for(instance, overlay)
    last = max((each.time for each in schedule), default=0.0) / 3600
    end = last if hours is None else hours
    if not 0 < end < np.inf:
        raise WeftError(f"`hours` {end} is out of range: give hours above 0, or a schedule with changes.", "hours")
    placed = ConstantLatency(instance.nodes, ROUND_TRIP) if latency is None else latency
    require_latency_of(placed, instance.nodes)
    network = _Network(instance, overlay, router, schedule, setting or ChurnSetting(), placed, seed)
    return network.run(schedule, end * HOUR)


@dataclass
class _Said:
    """A publication under way."""

    interval: Interval
    time: float
    expected: set[int]
    holders: set[int]
    arrived: dict[int, float] = field(default_factory=dict)
    doubled: int = 0


class _Network:
    """The world, the designs in use, and what is counted; times are milliseconds from the first change on."""

    def __init__(
        self,
        instance: Instance,
        overlay: Overlay,
        router: str,
        schedule: ChurnSchedule,
        setting: ChurnSetting,
        latency: Latency,
        seed: int,
    ) -> None:
        self.instance, self.router, self.setting, self.seed = instance, router, setting, seed
        self.has_ring = overlay.ring_ids is not None
        self.algorithm = str(overlay.meta.get("algorithm"))
        self.parameters = {k: v for k, v in dict(overlay.meta.get("parameters") or {}).items() if k != "latency"}
        self.interests = {node: set(instance.interest[node].tolist()) for node in range(instance.nodes)}
        self.there = set(range(instance.nodes)) - schedule.absent_at_first
        self.rng = np.random.default_rng([seed, 1])
        faults = Faults(setting.loss, setting.timeout, seed)
        self.world = World([Hosted() for _ in range(instance.nodes)], latency, self, faults)
        self.stewards: dict[int, Steward] = {}
        self.designs, self.current = count(), 0
        self.said: dict[Any, _Said] = {}
        self.in_place: dict[int, dict[int, float]] = defaultdict(dict)  # topic -> node -> since when
        self.ended: dict[tuple[int, int], list[float]] = defaultdict(list)  # node and topic -> when it ended
        self.went: dict[int, list[float]] = defaultdict(list)  # node -> when it went
        self.unheard: dict[int, Change] = {}  # failures that the master does not know of
        self.departing: set[int] = set()
        self.heard: dict[int, float] = {}  # node -> when the last message of the master comes to it
        self.interval = Interval()
        self.intervals = [self.interval]
        self.agenda: list[tuple[float, int, Callable[[], None]]] = []
        self.entries = count()
        for node in schedule.absent_at_first:
            self.world.fail(node)
        names = present(self.interests, range(instance.nodes), instance.topics)
        first = repair(overlay.with_meta(instance=names.fingerprint), names, self._present(), seed=seed).overlay
        self._use(first if schedule.absent_at_first else overlay.with_meta(instance=names.fingerprint))

    # What the world reports

    def sent(self, now: float, sender: int, receiver: int, message: Packet) -> None:
        packet = message.packet if isinstance(message, Carried) else message
        if not isinstance(packet, Message):
            self.interval.repair_messages += 1
            return
        said = self.said[packet.publication.identity]
        said.interval.messages += 1
        said.interval.relays += packet.publication.topic not in self.interests[receiver]
        said.holders.add(receiver)

    def delivered(self, now: float, node: int, delivery: Deliver) -> None:
        said = self.said[delivery.publication.identity]
        before = said.arrived.get(node)
        if before is None:
            said.arrived[node] = now
        elif not any(time > before for time in self.went[node]):  # who comes back has forgotten what it had
            said.doubled += 1

    # What happens

    def run(self, schedule: ChurnSchedule, end: float) -> Churned:
        start = self._until_still()
        undisturbed = self._percentile()
        self.intervals = [self.interval]
        self._reset(start)
        for change in schedule:
            if change.time * 1000 < end:
                self._at(start + change.time * 1000, lambda each=change: self._change(each))  # type: ignore[misc]
        hours = HOURS[self.setting.rebuild]
        for time in np.arange(hours * HOUR, end, hours * HOUR) if hours < np.inf else []:
            self._at(start + float(time), self._rebuild)
        times = self.rng.uniform(0, end, self.rng.poisson(self.setting.rate * end / HOUR))
        for time in np.sort(times).tolist():
            self._at(start + time, self._publish)
        while self.agenda:
            time, _, action = heappop(self.agenda)
            self.world.run(until=time)
            self.world.now = time
            action()
        self.world.run(until=start + end + 4 * WINDOW)
        self.world.check_invariants()
        self._close()
        self._count(2 * undisturbed)
        for each in self.intervals:
            each.begins = (each.begins - start) / HOUR
        return Churned(self.router, self.algorithm, end / HOUR, undisturbed, tuple(self.intervals))

    def _at(self, time: float, action: Callable[[], None]) -> None:
        heappush(self.agenda, (time, next(self.entries), action))

    def _until_still(self) -> float:
        """Publish in the network as it is at first; when that is over."""
        self.world.run()
        for node in self.there:
            for topic in self.interests[node]:
                self.in_place[topic][node] = 0.0
        for _ in range(STILL):
            self.world.run(until=self.world.now + 10.0)
            self.world.now += 10.0
            self._publish()
        self.world.run()
        return self.world.now

    def _percentile(self) -> float:
        times = [time - said.time for said in self.said.values() for time in said.arrived.values()]
        return float(np.percentile(times, 99)) if times else 0.0

    def _reset(self, start: float) -> None:
        self.interval = Interval(begins=start)
        self.intervals = [self.interval]

    def _publish(self) -> None:
        now = self.world.now
        known = {
            topic: [node for node, since in nodes.items() if since <= now] for topic, nodes in self.in_place.items()
        }
        topics = sorted(topic for topic, nodes in known.items() if nodes)
        if not topics:
            return
        topic = topics[self.rng.integers(len(topics))]
        subscribers = sorted(known[topic])
        issuer = subscribers[self.rng.integers(len(subscribers))]
        publication = Publication(issuer, next(self.entries), topic)
        expected = set(subscribers) - {issuer}
        self.said[publication.identity] = _Said(self.interval, now, expected, {issuer})
        self.interval.publications += 1
        self.world.schedule(now, issuer, Published(publication))

    def _change(self, change: Change) -> None:
        now, (_, node, event, topic) = self.world.now, change
        self.interval.changes += 1
        match event:
            case "subscribe":
                self.interests[node].add(topic)
            case "unsubscribe":
                self.interests[node].remove(topic)
                self._ends(node, topic)
            case "join":
                self._comes(node)
            case _:
                self._goes(node)
        if event == "fail":
            self.world.fail(node)
            self.unheard[node] = change
            self._at(now + self.setting.detection, lambda: self._detect(change))
        else:
            self._mend(change)
        if event == "leave":
            self.departing.add(node)
            self._at(now + self.setting.settling, lambda: self._depart(node))

    def _comes(self, node: int) -> None:
        """A node joins; if it has just gone, that is over first."""
        if node in self.unheard:
            self._detect(self.unheard[node])
        self._depart(node)
        self.there.add(node)
        self.world.restart(node, Hosted())
        self.heard.pop(node, None)

    def _detect(self, change: Change) -> None:
        if self.unheard.get(change.node) is change:
            del self.unheard[change.node]
            self._mend(change)

    def _goes(self, node: int) -> None:
        self.there.remove(node)
        if len(self.there) < 2:
            raise WeftError("The schedule leaves fewer than 2 nodes: nothing can be sent between them.")
        self.went[node].append(self.world.now)
        for topic in self.interests[node]:
            self._ends(node, topic)

    def _ends(self, node: int, topic: int) -> None:
        self.in_place[topic].pop(node, None)
        self.ended[node, topic].append(self.world.now)

    def _depart(self, node: int) -> None:
        """End a node that has left, which is there until others have heard of it."""
        if node in self.departing:
            self.departing.remove(node)
            self.world.fail(node)

    def _mend(self, change: Change) -> None:
        """Let the master carry out a change in all designs in use."""
        _, node, event, topic = change
        now = self.world.now
        for number, steward in self.stewards.items():
            opened, closed = steward.links_opened, steward.links_closed
            self._tell(number, steward.change(change, self._known(steward, change)))
            self.interval.links_opened += steward.links_opened - opened
            self.interval.links_closed += steward.links_closed - closed
        if event == "join":
            for number in self.stewards:
                self._prepare(number, node)
            self.world.schedule(now, node, Switched(self.current))
        topics = self.interests[node] if event == "join" else {topic} if event == "subscribe" else set()
        for each in topics:
            self.in_place[each][node] = now + self.setting.settling
        self._rebuild_if_worse()

    def _known(self, steward: Steward, change: Change) -> Instance:
        """The instance as the master knows it: nodes that failed and that it has not heard of are in it."""
        _, node, event, _ = change
        there = steward.nodes - {node} if event in ("leave", "fail") else steward.nodes | {node}
        return present(self.interests, there, self.instance.topics)

    def _tell(self, number: int, notes: list[Note]) -> None:
        for node, what in notes:
            self._say(node, Told(number, what))

    def _say(self, node: int, event: Told | Prepared | Switched | Retired) -> None:
        """Send a message of the master; those to one node come in order."""
        self.interval.master_messages += 1
        time = max(self.world.now + self.rng.uniform(1.0, DELAY), self.heard.get(node, 0.0))
        self.heard[node] = time
        self.world.schedule(time, node, event)

    def _prepare(self, number: int, node: int) -> None:
        """A node gets its router of a design, and then says what it subscribes to."""
        steward = self.stewards[number]
        self.world.schedule(self.world.now, node, Prepared(number, *steward.router(node)))
        for event in steward.subscribed(node):
            self.world.schedule(self.world.now + 2 * DELAY, node, Told(number, event))

    # Designs

    def _use(self, overlay: Overlay) -> int:
        """Bring a design to all nodes; its number."""
        number = next(self.designs)
        known = present(self.interests, self._master_knows(), self.instance.topics)
        self.stewards[number] = Steward(known, overlay, self.router, self.instance.nodes, self.seed)
        for node in sorted(self.stewards[number].nodes):
            self._prepare(number, node)
        if number == 0:
            for node in sorted(self.there):
                self.world.schedule(0.0, node, Switched(0))
            self.began = self._state(self.stewards[0])
        return number

    def _master_knows(self) -> set[int]:
        """The nodes that the master takes to be there."""
        return self.stewards[self.current].nodes if self.stewards else set(self.there)

    def _present(self) -> Instance:
        return present(self.interests, self.there, self.instance.topics)

    def _rebuild(self) -> None:
        """Design again, beside what is in use; switch when trees have grown."""
        if len(self.stewards) > 1:
            return  # one is on its way
        known = present(self.interests, self._master_knows(), self.instance.topics)
        made = design(known, self.algorithm, seed=self.seed + len(self.intervals), **self.parameters)
        before = self.stewards[self.current].links
        number = self._use(made)
        self.interval.master_messages += known.nodes
        after = self.stewards[number].links
        self._at(self.world.now + self.setting.settling, lambda: self._switch(number, before, after))

    def _switch(self, number: int, before: set[tuple[int, int]], after: set[tuple[int, int]]) -> None:
        self._close()
        old, self.current = self.current, number
        self.interval = Interval(begins=self.world.now)
        self.interval.links_opened, self.interval.links_closed = len(after - before), len(before - after)
        self.intervals.append(self.interval)
        self.began = self._state(self.stewards[number])
        for node in sorted(self.there):
            self._say(node, Switched(number))
        self._at(self.world.now + 2 * WINDOW, lambda: self._retire(old))

    def _retire(self, number: int) -> None:
        del self.stewards[number]
        for node in sorted(self.there):
            self._say(node, Retired(number))

    def _state(self, steward: Steward) -> tuple[float, float]:
        """TcoSuppR, and links a node."""
        quality = link_quality(steward.known, steward.overlay.with_meta(instance=steward.known.fingerprint))
        return float(quality["tco_support_ratio"]), steward.overlay.links / max(steward.overlay.nodes, 1)

    def _rebuild_if_worse(self) -> None:
        if not self.setting.quality or len(self.stewards) > 1:
            return
        support, links = self._state(self.stewards[self.current])
        if support < self.setting.quality * self.began[0] or links * self.setting.quality > self.began[1]:
            self._rebuild()

    def _close(self) -> None:
        steward = self.stewards[self.current]
        self.interval.links = steward.overlay.links
        self.interval.tco_support_ratio = self._state(steward)[0]

    # Figures

    def _count(self, late: float) -> None:
        for (issuer, _, topic), said in self.said.items():
            row = said.interval
            for node in said.expected:
                arrived = said.arrived.get(node)
                if arrived is not None:
                    row.expected += 1
                    row.delivered += 1
                    row.late += arrived - said.time > late
                elif not _within(self.ended.get((node, topic)), said.time):
                    row.expected += 1
                    with_a_node = any(_within(self.went.get(each), said.time) for each in {issuer, *said.holders})
                    row.lost_with_a_node += with_a_node
                    row.lost_without_fallback += not with_a_node and not self.has_ring
                    row.unexplained += not with_a_node and self.has_ring
            row.doubled += said.doubled


def _within(times: list[float] | None, since: float) -> bool:
    return any(since <= time <= since + WINDOW for time in times or ())
