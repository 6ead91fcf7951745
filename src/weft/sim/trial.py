"""Trials: every pair of an overlay and a router on one instance, under several seeds, so that one factor differs.

A seed draws the design, the publications, unless they are given, and the rendezvous points; all systems of a seed see
the same publications. Every figure of a system has its mean over the seeds and its 95 % confidence interval, by
Student's t; with a baseline also the mean of its ratios to the baseline's, seed by seed.

Some routers need no overlay: they make links of their own, and stand beside the pairs of the others.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import product
from math import nan
from typing import Any

import numpy as np
from scipy import stats

from weft.arrays import Floats
from weft.errors import WeftError
from weft.model.arguments import checked
from weft.model.forwarding import AS_PRINTED, Distance, Ends, Forwarding, Pivots
from weft.model.instance import Instance
from weft.model.latency import Latency
from weft.model.overlay import Overlay
from weft.model.publication import Publications
from weft.model.table import Columns, Table
from weft.overlays.catalog import BUILDERS, WITHOUT_RING, design
from weft.overlays.quality import degrees, tcc_counts, tco_support_ratio, topic_subgraph
from weft.sim import direct
from weft.sim.bulk import evaluate
from weft.sim.catalog import ROUTERS as ROUTINGS
from weft.sim.catalog import SYSTEMS, forwarding_for, needs_no_overlay, require_router, routing, trees_for
from weft.sim.evaluation import Evaluation, with_bytes
from weft.sim.network import network_with
from weft.sim.system import Task, evaluated
from weft.workloads.publication import publications as drawn_publications

OVERLAYS = (direct.OVERLAY, "star", "tree", "random", "swico-even")
ROUTERS = ("scribe", "pie", "weave")
CONFIDENCE = 0.95

System = tuple[str, str]  # overlay and router


@dataclass(frozen=True)
class Trial:
    """One system under one seed."""

    overlay: str
    router: str
    seed: int
    links: int  # between brokers, each counted once
    connections: int  # of the broker that has the most, whoever opened them
    messages_a_delivery: float
    relays_a_delivery: float  # messages to brokers that do not subscribe
    average_path: float  # hops
    maximum_path: int
    busiest_sends: int  # messages of the broker that sends the most
    tco_support_ratio: float = nan  # TcoSuppR, of the links
    known_peers: float = nan  # brokers that a broker has to know, on average
    known_entries: float = nan  # what it has to know of topics, besides its own: who wants which, where messages go
    controls_a_delivery: float = 0.0  # messages without a publication
    missed: int = 0  # deliveries that were expected and did not come
    milliseconds: float = nan  # to a subscriber, where latencies are given
    bytes_a_delivery: float = nan  # of all messages, where sizes are known


FIGURES = tuple(each.name for each in fields(Trial))[3:]


@dataclass(frozen=True)
class Mean:
    """Mean of a figure over the seeds, and the half width of its confidence interval; none of a single seed."""

    value: float
    margin: float | None

    @property
    def low(self) -> float:
        return self.value - (self.margin or 0.0)

    @property
    def high(self) -> float:
        return self.value + (self.margin or 0.0)


@dataclass(frozen=True)
class Trials(Table):
    """All trials of a comparison; the table has a row a trial."""

    rows: tuple[Trial, ...]
    left_out: tuple[System, ...] = ()  # pairs that do not go together: the router needs a ring
    forwarding: Forwarding = AS_PRINTED  # of the routers that need one

    @property
    def columns(self) -> Columns:
        return {each.name: np.array([getattr(row, each.name) for row in self.rows]) for each in fields(Trial)}

    @property
    def systems(self) -> list[System]:
        return list(dict.fromkeys((row.overlay, row.router) for row in self.rows))

    @checked
    def mean(self, system: System, figure: str) -> Mean:
        return mean_of(self._values(system, figure))

    @property
    def known_figures(self) -> list[str]:
        """The figures that some system has."""
        return [name for name in FIGURES if not all(np.isnan(getattr(row, name)) for row in self.rows)]

    @checked
    def ratio(self, system: System, baseline: System, figure: str) -> Mean | None:
        """How often the figure is the baseline's, seed by seed; None where the baseline's is 0, or is not known."""
        values, others = self._values(system, figure), self._values(baseline, figure)
        if np.any(np.isnan(others)) or np.any(np.isnan(values)) or not np.all(others):
            return None
        return mean_of(values / others)

    @checked
    def system_called(self, name: str) -> System:
        """The system of that name, as in `random+scribe`."""
        system = tuple(name.split("+", 1))
        if system not in self.systems:
            known = ", ".join("+".join(each) for each in self.systems)
            raise WeftError(f"`baseline` {name} is none of the systems: choose one of {known}.", "baseline")
        return system[0], system[1]

    @checked
    def summary(self, baseline: str | None = None) -> list[dict[str, Any]]:
        """A row a system: for every figure its mean, low and high; with a baseline also the ratios to that one's."""
        other = None if baseline is None else self.system_called(baseline)
        return [
            {
                "overlay": system[0],
                "router": system[1],
                **{figure: interval(self.mean(system, figure)) for figure in FIGURES},
                **({} if other is None else {"ratios": self._ratios(system, other)}),
            }
            for system in self.systems
        ]

    def _ratios(self, system: System, baseline: System) -> dict[str, dict[str, float | None]]:
        ratios = {figure: self.ratio(system, baseline, figure) for figure in self.known_figures}
        return {figure: interval(Mean(nan, None) if ratio is None else ratio) for figure, ratio in ratios.items()}

    def _values(self, system: System, figure: str) -> Floats:
        """Values of the figure, by seed."""
        return np.array([getattr(row, figure) for row in self.rows if (row.overlay, row.router) == system], np.float64)


def interval(mean: Mean) -> dict[str, float | None]:
    """Mean, low and high; nothing where they are not known."""
    known = {"mean": mean.value, "low": mean.low, "high": mean.high}
    return {name: None if np.isnan(value) else value for name, value in known.items()}


def mean_over(values: Sequence[float | None]) -> Mean:
    """The mean of values that all have to be known."""
    return mean_of(np.array([nan if value is None else value for value in values], np.float64))


def mean_of(values: Floats) -> Mean:
    if len(values) < 2:
        return Mean(float(values.mean()), None)
    error = float(values.std(ddof=1)) / len(values) ** 0.5
    return Mean(float(values.mean()), float(stats.t.ppf((1 + CONFIDENCE) / 2, len(values) - 1)) * error)


def compare(
    instance: Instance,
    overlays: Sequence[str] = OVERLAYS,
    routers: Sequence[str] = ROUTERS,
    *,
    seeds: int = 10,
    publications: Publications | int = 10_000,
    latency: Latency | None = None,
    size: float | None = None,
    each_seed: Callable[[int], Any] | None = None,
    links: Ends | None = None,
    distance: Distance | None = None,
    pivots: Pivots | None = None,
) -> Trials:
    """Every pair of overlay and router under the seeds 1 to `seeds`, on the same publications.

    `full-mesh`, `star` and `tree` are what engineers draw today. A full mesh has its own router, `direct`; a pair whose
    router needs a ring or a tree that the overlay is not is left out, and named in the result. `vitis` needs no overlay
    and is tried once.

    publications  how many to draw with each seed, or those to send with all of them
    latency       round-trip times, by which deliveries are timed
    size          bytes of a publication, where the instance does not say
    each_seed     called with every seed when it begins
    links, distance, pivots   as in `evaluate`, for the routers that take them
    """
    if seeds < 1:
        raise WeftError(f"`seeds` {seeds} is out of range: give at least 1.", "seeds")
    if isinstance(publications, int) and publications < 1:
        raise WeftError(f"`publications` {publications} is out of range: give at least 1.", "publications")
    if size is not None and not 0 < size < np.inf:
        raise WeftError(f"`size` {size} is out of range: give a number of bytes above 0.", "size")
    _require_known(overlays, routers)
    on_ring = [name for name in routers if name in ROUTINGS and ROUTINGS[name].needs_ring]
    forwarding = forwarding_for([*on_ring, *routers][0], links, distance, pivots) if routers else AS_PRINTED
    alone = [name for name in dict.fromkeys(routers) if needs_no_overlay(name)]
    over = [name for name in routers if not needs_no_overlay(name)]
    pairs = list(product([name for name in overlays if name != direct.OVERLAY], over))
    fitting = [pair for pair in pairs if _fits(*pair)]
    rows: list[Trial] = []
    for seed in range(1, seeds + 1):
        if each_seed is not None:
            each_seed(seed)
        said = publications
        given = drawn_publications(instance, said, seed) if isinstance(said, int) else said
        bench = _Bench(instance, given, seed, latency, size, forwarding)
        rows += bench.trials(overlays, fitting)
        rows += [bench.system_trial(name, None) for name in alone]
    if not rows:
        raise WeftError("No router goes by any of the overlays: give `routers` one that needs no ring.", "routers")
    return Trials(tuple(rows), tuple(pair for pair in pairs if pair not in fitting), forwarding)


def _require_known(overlays: Sequence[str], routers: Sequence[str]) -> None:
    for name in overlays:
        if name != direct.OVERLAY:
            _require_overlay(name)
    for name in routers:
        require_router(name)


def _require_overlay(name: str) -> None:
    if name not in BUILDERS:
        raise WeftError(f"There is no overlay {name!r}: choose among {', '.join([direct.OVERLAY, *BUILDERS])}.")


def _fits(overlay: str, router: str) -> bool:
    if router in SYSTEMS:
        return overlay in SYSTEMS[router].overlays
    return not (overlay in WITHOUT_RING and routing(router).needs_ring)


@dataclass(frozen=True, eq=False)
class _Bench:
    """What all systems of a seed are tried on."""

    instance: Instance
    publications: Publications
    seed: int
    latency: Latency | None
    size: float | None  # bytes of a publication, where the instance does not say
    forwarding: Forwarding

    def trials(self, overlays: Sequence[str], pairs: Sequence[System]) -> Iterator[Trial]:
        """Trials in the order of the overlays, each of which is designed once."""
        for name in dict.fromkeys(overlays):
            if name == direct.OVERLAY:
                yield self._mesh_trial()
            elif routers := [router for overlay, router in pairs if overlay == name]:
                made = design(self.instance, name, seed=self.seed)
                yield from (self._trial(made, router) for router in dict.fromkeys(routers))

    def _trial(self, overlay: Overlay, router: str) -> Trial:
        if router in SYSTEMS:
            return self.system_trial(router, overlay)
        said, seed = self.publications, self.seed
        trees = trees_for(router, self.instance, overlay, latency=self.latency)
        row = ROUTINGS[router]
        options: dict[str, Any] = self.forwarding.columns if row.needs_ring else {}
        result = evaluate(self.instance, overlay, router, said, seed=seed, trees=trees, latency=self.latency, **options)
        network = network_with(self.instance, overlay, trees, self.forwarding)
        known: dict[str, Any] = {
            "known_peers": float((network.finger_counts if row.needs_ring else degrees(overlay)).mean()),
            "known_entries": float(row.entries(network, seed).mean()),
        }
        return self._row(result, **_of_links(self.instance, overlay), **known)

    def system_trial(self, name: str, overlay: Overlay | None) -> Trial:
        """The trial of a router that is simulated whole."""
        task = Task(self.instance, overlay, self.publications, self.seed, self.latency)
        result, found = evaluated(name, SYSTEMS[name], task)
        known: dict[str, Any] = _of_links(self.instance, found.overlay)
        known |= {"known_peers": float(found.peers.mean()), "known_entries": float(found.entries.mean())}
        return self._row(result, control_bytes=found.control_bytes, **known)

    def _mesh_trial(self) -> Trial:
        nodes = self.instance.nodes
        result = direct.evaluate_direct(self.instance, self.publications, self.latency)
        others = self.instance.subscriptions * (1 - 1 / nodes)
        links: dict[str, Any] = {"links": nodes * (nodes - 1) // 2, "connections": nodes - 1, "tco_support_ratio": 1.0}
        result = with_bytes(result, self.instance, per_topic=False)
        return self._row(result, **links, known_peers=float(nodes - 1), known_entries=others)

    def _row(self, result: Evaluation, *, control_bytes: int = 0, **known: Any) -> Trial:
        deliveries = max(result.deliveries, 1)
        sent = result.bytes
        if sent is None and self.size is not None:
            sent = round(result.messages * self.size) + control_bytes
        return Trial(
            result.overlay,
            result.router,
            self.seed,
            messages_a_delivery=result.messages / deliveries,
            relays_a_delivery=result.routing_overhead / deliveries,
            average_path=result.average_path,
            maximum_path=result.maximum_path,
            busiest_sends=int(result.load.sent.maximum),
            controls_a_delivery=result.controls / deliveries,
            missed=result.expected_deliveries - result.deliveries,
            milliseconds=nan if result.times is None else result.times.delivery.mean,
            bytes_a_delivery=nan if sent is None else sent / deliveries,
            **known,
        )


def _of_links(instance: Instance, overlay: Overlay) -> dict[str, Any]:
    """Figures of the links alone."""
    tccs = tcc_counts(instance, topic_subgraph(instance, overlay))
    most = int(degrees(overlay).max(initial=0))
    support = tco_support_ratio(instance.subscriptions, tccs)
    return {"links": overlay.links, "connections": most, "tco_support_ratio": support}
