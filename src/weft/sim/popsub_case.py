"""PopSub on one's own brokers: what is published goes by each way for what is unpopular, side by side.

A case is input by names: a tree of brokers, and who advertises, subscribes and publishes. It is read and matched once,
and simulated for each way. All results have the names of the input.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property, lru_cache
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
import pyarrow as pa

from weft.arrays import Floats, Int64s
from weft.errors import WeftError
from weft.kernels.popsub.broker import BY_TREE, PER_BIN
from weft.model.exchange import Exchange
from weft.model.instance import Instance, read_instance
from weft.model.table import Columns, Table
from weft.protocol.popsub.parameters import Parameters, Way
from weft.raw.exchange import NamedExchange, TimeUnit, read_exchange
from weft.raw.records import Given
from weft.sim.capacity import Capacity, measured_capacity, read_capacity
from weft.sim.content_world import counted_by_messages
from weft.sim.named_tree import NamedTree, read_tree, tree_of_latencies
from weft.sim.popsub import Run, simulated
from weft.sim.stage import Stage, stage_of
from weft.sim.topic_exchange import exchange_of_topics

WAYS = ("tree", "direct", "batch", "gossip", "adaptive")
HEADROOM = 0.2  # of the capacity, that popular publications never fill: the paper's phi is below 0.8
RENAMED = {"gain_ratio": "gain", "seconds": "simulated_seconds"}
NEEDED = {  # what a figure is of: without it there is none
    "popular_latency": "popular_deliveries",
    "unpopular_latency": "unpopular_deliveries",
    "unpopular_latency_90": "unpopular_deliveries",
    "unpopular_gain": "unpopular_deliveries",
    "direct_forwards": "direct_forwards",
    "gossip_false_positives": "groups",
    "matches_per_gossip": "groups",
}

File = str | PathLike[str]


class Frame(Protocol):
    """A table of Arrow, pandas or another library."""

    @property
    def columns(self) -> Any: ...


Source: TypeAlias = File | Frame | Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Case:
    links: Given = None
    advertisements: Given = None
    subscriptions: Given = None
    publications: Given = None
    instance: Instance | str | None = None  # of topics: instead of advertisements and subscriptions
    latency: str | None = None
    nearest: int | None = None  # hosts that a host is linked to in the tree of latencies; None: all
    brokers: int | None = None  # of that tree; None: all hosts
    time_unit: TimeUnit = "s"
    high_priority: str | None = None  # a filter
    seconds: float = 60.0  # that are published for, where rates or a count are given


@dataclass(frozen=True, eq=False)
class Prepared:
    tree: NamedTree
    named: NamedExchange
    stage: Stage

    @property
    def exchange(self) -> Exchange:
        return self.named.exchange


class Rows(dict[str, Any], Table):
    """Columns by name, of equal length."""

    __hash__ = None  # type: ignore[assignment]  # as that of a dict

    @property
    def columns(self) -> Columns:
        return self


@dataclass(frozen=True, eq=False)
class WayResult:
    """What one way for unpopular publications cost."""

    unpopular: str
    phi: float | None  # None: the tree, on which all is popular
    seed: int
    figures: dict[str, Any]
    run: Run = field(repr=False)
    _prepared: Prepared = field(repr=False)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self.figures:
            raise AttributeError(f"a way has no figure {name!r}: it has {', '.join(self.figures)}")
        return self.figures[name]

    @cached_property
    def links(self) -> Rows:
        """Messages over every link, in each direction, with their mean gain."""
        prepared, run = self._prepared, self.run
        tree, names = prepared.stage.tree, pa.array(prepared.tree.names, pa.string())
        sources = np.repeat(np.arange(len(tree.brokers)), np.diff(tree.indptr))
        of, count = prepared.stage.links, len(tree.peers)
        forwards, pure = (_sums(of, run.forwards[:, column], count) for column in (0, 1))
        gain = np.bincount(of, run.forwards[:, 0] * prepared.stage.gains, count) / np.maximum(forwards, 1)
        return Rows(
            source=names.take(pa.array(sources)),
            target=names.take(pa.array(tree.peers)),
            forwards=forwards,
            pure_forwards=pure,
            mean_gain=gain,
            popular=_sums(of, run.issued[:, 0], count),
            unpopular=_sums(of, run.issued[:, 1], count),
        )

    @cached_property
    def advertisements(self) -> Rows:
        """What was published under every advertisement, how it went, and what its links were worth to its issuer."""
        prepared, run, stage = self._prepared, self.run, self._prepared.stage
        exchange, count = prepared.exchange, stage.advertisements
        entries = np.repeat(np.arange(count), np.diff(stage.bounds))
        cells = np.repeat(exchange.advertisements, np.diff(stage.traffic.bounds))
        popular, unpopular = (
            _sums(cells, np.where(is_so, stage.traffic.counts, 0), count)
            for is_so in (run.delivered == BY_TREE, run.delivered > BY_TREE)
        )
        issued = run.issued.sum(axis=1)
        gain = np.bincount(entries, issued * stage.gains, count) / np.maximum(np.bincount(entries, issued, count), 1)
        names = pa.array(prepared.tree.names, pa.string())
        return Rows(
            advertisement=pa.array(prepared.named.advertisements, pa.string()),
            broker=names.take(pa.array(exchange.issuers)),
            publications=np.bincount(exchange.advertisements, minlength=count),
            deliveries=popular + unpopular,
            unpopular_deliveries=unpopular,
            forwards=_sums(entries, run.forwards[:, 0], count),
            pure_forwards=_sums(entries, run.forwards[:, 1], count),
            mean_gain=gain,
            popular=_sums(entries, run.issued[:, 0], count),
            unpopular=_sums(entries, run.issued[:, 1], count),
        )

    def each_delivery(self) -> Iterator[pa.RecordBatch]:
        """Every delivery: the row of the publication from 1, the subscription, milliseconds, and whether popular."""
        prepared, run = self._prepared, self.run
        names = pa.array(prepared.named.subscriptions, pa.string())
        for publications, subscriptions, cells in prepared.stage.pairs(prepared.exchange):
            there = run.delivered[cells] > 0
            cells = cells[there]
            yield pa.RecordBatch.from_pydict(
                {
                    "publication": prepared.named.rows[publications[there]] + 1,
                    "subscription": names.take(pa.array(subscriptions[there])),
                    "milliseconds": run.arrivals[cells],
                    "popular": run.delivered[cells] == BY_TREE,
                }
            )

    def latencies(self, popular: bool) -> tuple[Floats, Int64s]:
        """How long deliveries took, in bins of half a millisecond, and how many each bin has."""
        counts = self.run.latencies[0 if popular else 1]
        bins = np.flatnonzero(counts)
        return np.asarray(bins * PER_BIN, np.float64), np.asarray(counts[bins])


@dataclass(frozen=True, eq=False)
class PopSubResult:
    ways: tuple[WayResult, ...]
    brokers: int
    advertisements: int
    subscriptions: int
    publications: int

    def __repr__(self) -> str:
        ways = ", ".join(f"{way.unpopular} {way.figures['forwards']:,} forwards" for way in self.ways)
        return f"PopSubResult({self.brokers:,} brokers, {self.publications:,} publications: {ways})"

    def _repr_html_(self) -> str:
        """Figures as a table, for a notebook."""
        return str(self.table().to_pandas().set_index("unpopular").T.to_html())

    def table(self) -> pa.Table:
        """A row a way, a column a figure."""
        return pa.Table.from_pylist([way.figures for way in self.ways])

    def summary(self) -> dict[str, Any]:
        """The figures as JSON has them."""
        sizes = {name: getattr(self, name) for name in ("brokers", "advertisements", "subscriptions", "publications")}
        return {**sizes, "ways": [way.figures for way in self.ways]}


def simulate_popsub(
    links: Source | None = None,
    advertisements: Source | None = None,
    subscriptions: Source | None = None,
    publications: Source | int | None = None,
    *,
    instance: Instance | File | None = None,
    latency: File | None = None,
    nearest: int | None = None,
    brokers: int | None = None,
    unpopular: str | Sequence[str] = WAYS,
    phi: float | Literal["auto"] = "auto",
    headroom: float = HEADROOM,
    capacity: Capacity | File | None = None,
    high_priority: str | None = None,
    batch_by: Literal["entry", "link"] = "entry",
    history: int | None = None,
    sweep: bool = True,
    time_unit: TimeUnit = "s",
    seconds: float = 60.0,
    arrivals: bool = False,
    seed: int = 1,
) -> PopSubResult:
    """PopSub on one's own brokers, by each way for what is unpopular; every delivery is checked.

    links           the tree: a,b,ms (round trips); a file, a table or rows, as are the next
    advertisements  id,broker,class,filter and perhaps priority (high or normal)
    subscriptions   id,broker,class,filter
    publications    a log: time,advertisement and a column an attribute, or `payload` with JSON; or rates:
                    advertisement,rate and what attributes are drawn from; with an instance a file of `weft publish`, or
                    how many to draw
    instance        topics instead of advertisements and subscriptions: each is a class without predicates
    latency         round trips between brokers; without links the paper's tree is made of them
    nearest         hosts that a host of that tree is linked to; None: all
    brokers         of that tree; None: all hosts
    unpopular       ways: tree, direct, batch, gossip, adaptive, and lpbcast, which is gossip among all brokers
    phi             share of a broker's capacity for popular publications, or "auto": utilisation times the share of
                    gains farther from their mean than their deviation (section 4.2)
    headroom        share of the capacity that "auto" never fills
    capacity        of a broker, or a file of `weft bench`; None: as measured on our own
    high_priority   filter of publications that go by the tree whatever they gain, and take their capacity first
    batch_by        whose publications a batch has: an "entry", which is a link and an advertisement, or a "link"
    history         publications that a gossip pushes at most, and that its digest has; None: all
    sweep           whether issuers ask who lacks what was gossiped; without, some deliveries are missed
    time_unit       of times in the log: "s" or "ms", unless they are ISO 8601
    seconds         that are published for, where rates or a count are given
    arrivals        whether every delivery is kept with its time, for `each_delivery`
    seed            of gossip, of the paper's tree, and of what is drawn
    """
    case = Case(
        links=_plain(links),
        advertisements=_plain(advertisements),
        subscriptions=_plain(subscriptions),
        publications=_plain(publications),
        instance=_plain(instance),
        latency=_plain(latency),
        nearest=nearest,
        brokers=brokers,
        time_unit=time_unit,
        high_priority=high_priority,
        seconds=seconds,
    )
    ways = ways_of([unpopular] if isinstance(unpopular, str) else unpopular)
    plan = Plan(phi, headroom, batch_by, history, sweep, capacity_of(capacity))
    prepared = prepare(case, seed)
    return PopSubResult(tuple(by_ways(prepared, ways, plan, seed, arrivals=arrivals)), **sizes_of(prepared))


def _plain(given: Given) -> Given:
    """Paths as text."""
    return fspath(given) if isinstance(given, PathLike) else given


@dataclass(frozen=True)
class Plan:
    """How brokers deal with what is unpopular, but for the way."""

    phi: float | Literal["auto"] = "auto"
    headroom: float = HEADROOM
    batch_by: Literal["entry", "link"] = "entry"
    history: int | None = None
    sweep: bool = True
    capacity: Capacity = field(default_factory=measured_capacity)

    def __post_init__(self) -> None:
        if self.phi != "auto" and not 0 < self.phi <= 1:
            raise WeftError(f"`phi` {self.phi} is out of range: give a share above 0 and at most 1, or auto.", "phi")
        if not 0 <= self.headroom < 1:
            raise WeftError(f"`headroom` {self.headroom} is out of range: give a share from 0 and below 1.", "headroom")
        if self.history is not None and self.history < 1:
            raise WeftError(
                f"`history` {self.history} is out of range: give a number of publications from 1.", "history"
            )


def ways_of(names: Sequence[str]) -> list[Way]:
    known = [way.value for way in Way]
    for name in names:
        if name not in known:
            raise WeftError(f"`unpopular` has {name!r}, and there are {', '.join(known)}.", "unpopular")
    if not names or len(set(names)) < len(names):
        raise WeftError("`unpopular` must have one or more ways, each once.", "unpopular")
    return [Way(name) for name in names]


def capacity_of(given: Capacity | File | None) -> Capacity:
    if isinstance(given, Capacity):
        return given
    return measured_capacity() if given is None else read_capacity(Path(given))


def prepare(case: Case, seed: int) -> Prepared:
    """What is read and matched once, for any number of ways."""
    tree = _tree(case, seed)
    if case.instance is not None:
        if case.advertisements is not None or case.subscriptions is not None:
            raise WeftError(
                "An instance says who subscribes and publishes: leave out `advertisements` and `subscriptions`.",
                "advertisements",
                "subscriptions",
            )
        named = _of_topics(case, tree, seed)
    else:
        for name in ("advertisements", "subscriptions", "publications"):
            if getattr(case, name) is None:
                raise WeftError(f"There are no {name}: give `{name}`, or an instance of topics.", name)
        named = read_exchange(
            tree.numbers,
            case.advertisements,
            case.subscriptions,
            case.publications,
            time_unit=case.time_unit,
            urgent=case.high_priority,
            seconds=case.seconds,
            seed=seed,
        )
    if not named.exchange.publications:
        raise WeftError("There are no publications: give at least one.")
    return Prepared(tree, named, stage_of(tree.tree, named.exchange))


@lru_cache(maxsize=1)
def _prepared_once(case: Case, seed: int) -> Prepared:
    """The same, kept for the next run of the same case: a case of files only."""
    return prepare(case, seed)


def _of_topics(case: Case, tree: NamedTree, seed: int) -> NamedExchange:
    if case.high_priority is not None:
        raise WeftError("Topics have no attributes for `high_priority` to go by: leave it out.", "high_priority")
    instance = case.instance if isinstance(case.instance, Instance) else read_instance(Path(str(case.instance)))
    count = 10_000 if case.publications is None else case.publications
    return exchange_of_topics(instance, tree, count, case.seconds, seed)


def _tree(case: Case, seed: int) -> NamedTree:
    if case.links is not None:
        for name in ("nearest", "brokers"):
            if getattr(case, name) is not None:
                raise WeftError(
                    f"`{name}` is of the tree that latencies make, and links are given: leave it out.", name
                )
        return read_tree(case.links, case.latency)
    if case.latency is None:
        raise WeftError("There is no tree of brokers: give `links`, or `latency` to make one of.", "links", "latency")
    return tree_of_latencies(case.latency, case.nearest, case.brokers, seed)


def by_ways(
    prepared: Prepared, ways: Sequence[Way], plan: Plan, seed: int, *, arrivals: bool = False
) -> Iterator[WayResult]:
    """A result for each way; where phi is automatic, the tree is simulated first."""
    base: Run | None = None
    phi = plan.phi
    if phi == "auto":
        base = _simulated(prepared, Way.TREE, 1.0, plan, seed, arrivals)
        phi = _automatic_phi(prepared, base, plan)
    for way in ways:
        is_tree = way is Way.TREE
        run = (
            base
            if is_tree and base is not None
            else _simulated(prepared, way, 1.0 if is_tree else phi, plan, seed, arrivals)
        )
        shown = None if is_tree else phi
        yield WayResult(way.value, shown, seed, _figures(run, way, shown, seed), run, prepared)


def by_messages(prepared: Prepared, ways: Sequence[Way], plan: Plan, seed: int) -> list[dict[str, Any]]:
    """The same by the brokers' own code, message by message: fewer figures, and for small cases only."""
    exchange, phi = prepared.exchange, plan.phi
    for option, given in (
        ("high_priority", exchange.urgent is not None),
        ("batch_by", plan.batch_by != "entry"),
        ("history", plan.history is not None),
        ("unpopular", Way.LPBCAST in ways),
    ):
        if given:
            raise WeftError(
                f"Brokers do not have this `{option}` yet, only their simulation has: leave it out.", option
            )
    if phi == "auto":
        phi = _automatic_phi(prepared, _simulated(prepared, Way.TREE, 1.0, plan, seed, False), plan)
    expected, tree = prepared.stage.expected_deliveries, prepared.tree.tree
    found = []
    for way in ways:
        share = None if way is Way.TREE else phi
        made = counted_by_messages(tree, exchange, way, _parameters(prepared, share or 1.0, plan), expected, seed)
        found.append({"unpopular": way.value, "phi": share, "seed": seed, **made})
    return found


def _simulated(prepared: Prepared, way: Way, phi: float, plan: Plan, seed: int, arrivals: bool) -> Run:
    parameters = _parameters(prepared, phi, plan)
    return simulated(prepared.stage, way, parameters, plan.capacity, seed, arrivals=arrivals)


def _parameters(prepared: Prepared, phi: float, plan: Plan) -> Parameters:
    return Parameters(
        prepared.tree.tree.diameter,
        plan.capacity.publications_per_second,
        phi,
        batch_by=plan.batch_by,
        history=plan.history,
        sweep=plan.sweep,
    )


def _automatic_phi(prepared: Prepared, base: Run, plan: Plan) -> float:
    """Section 4.2: the utilisation of brokers that publish, times the share of their publications with unusual gains.

    Unusual is what is farther from the mean than the standard deviation: 0.32 of a normal distribution, for which the
    paper takes 0.3, and less of one with a long tail, for which it takes 0.2 or less. Where all gains are the same,
    nothing sets publications apart, and the share is 1.
    """
    stage, publications = prepared.stage, base.issued[:, 0].astype(np.float64)
    issued = publications > 0
    if not issued.any():
        return 1.0 - plan.headroom
    times, gains, weights = stage.traffic.times, stage.gains[issued], publications[issued]
    mean = np.average(gains, weights=weights)
    deviation = np.sqrt(np.average((gains - mean) ** 2, weights=weights))
    share = weights[np.abs(gains - mean) > deviation].sum() / weights.sum() if deviation > 1e-9 * mean else 1.0
    seconds = max(float(times[-1]) / 1000.0, 1.0)
    per_broker = publications.sum() / len(np.unique(stage.traffic.issuers)) / seconds
    utilisation = min(1.0, per_broker / plan.capacity.publications_per_second)
    return float(min(max(utilisation * share, 1e-9), 1.0 - plan.headroom))


def _figures(run: Run, way: Way, phi: float | None, seed: int) -> dict[str, Any]:
    made = asdict(run.outcome)
    without = {figure for figure, needed in NEEDED.items() if not made[needed]}
    without |= set() if made["unpopular_gain"] else {"unpopular_gain"}  # gossip records none
    figures = {RENAMED.get(name, name): None if name in without else value for name, value in made.items()}
    return {"unpopular": way.value, "phi": phi, "seed": seed, **figures}


def _sums(of: Any, weights: Any, count: int) -> Int64s:
    return np.bincount(of, weights, count).astype(np.int64)


@dataclass(frozen=True)
class Sweep:
    """Runs of a case of files: ways by plans, under one seed. What they share is read and matched once."""

    case: Case
    ways: tuple[Way, ...]
    plans: tuple[Plan, ...]
    seed: int


def figures_of_sweep(sweep: Sweep) -> dict[str, Any]:
    """The figures of all its runs, as JSON has them: the work of a task, wherever it is done."""
    prepared = _prepared_once(sweep.case, sweep.seed)
    ways = []
    for number, plan in enumerate(sweep.plans):
        wanted = [way for way in sweep.ways if number == 0 or way is not Way.TREE]  # the tree knows no phi
        ways += [way.figures for way in by_ways(prepared, wanted, plan, sweep.seed)]
    return {**sizes_of(prepared), "ways": ways}


def sizes_of(prepared: Prepared) -> dict[str, int]:
    exchange = prepared.exchange
    return {
        "brokers": prepared.stage.brokers,
        "advertisements": len(exchange.issuers),
        "subscriptions": len(exchange.subscribers),
        "publications": exchange.publications,
    }
