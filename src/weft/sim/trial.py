"""Trials: every pair of an overlay and a router on one instance, under several seeds, so that one factor differs.

A seed draws the design, the publications and the rendezvous points; all systems of a seed see the same publications.
What is told of a system is the mean over the seeds and its 95 % confidence interval, by Student's t.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import product
from typing import Any

import numpy as np
from scipy import stats

from weft.errors import WeftError
from weft.model.arguments import checked
from weft.model.instance import Instance
from weft.model.overlay import Overlay
from weft.model.publication import Publications
from weft.model.table import Columns, Table
from weft.overlays.catalog import BUILDERS, WITHOUT_RING, design
from weft.overlays.quality import degrees
from weft.sim import direct
from weft.sim.bulk import evaluate
from weft.sim.catalog import routing
from weft.sim.evaluation import Evaluation
from weft.workloads.publication import publications

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

    @property
    def columns(self) -> Columns:
        return {each.name: np.array([getattr(row, each.name) for row in self.rows]) for each in fields(Trial)}

    @property
    def systems(self) -> list[System]:
        return list(dict.fromkeys((row.overlay, row.router) for row in self.rows))

    @checked
    def mean(self, system: System, figure: str) -> Mean:
        values = [getattr(row, figure) for row in self.rows if (row.overlay, row.router) == system]
        return mean_of(np.array(values, np.float64))

    def summary(self) -> list[dict[str, Any]]:
        """A row a system: for every figure its mean, low and high."""
        return [
            {"overlay": overlay, "router": router, **self._figures((overlay, router))}
            for overlay, router in self.systems
        ]

    def _figures(self, system: System) -> dict[str, dict[str, float]]:
        means = {figure: self.mean(system, figure) for figure in FIGURES}
        return {figure: {"mean": mean.value, "low": mean.low, "high": mean.high} for figure, mean in means.items()}


def mean_of(values: np.ndarray[Any, np.dtype[np.float64]]) -> Mean:
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
    publications: int = 10_000,
    each_seed: Callable[[int], Any] | None = None,
) -> Trials:
    """Every pair of overlay and router under the seeds 1 to `seeds`, each with so many publications.

    `full-mesh`, `star` and `tree` are what engineers draw today. A full mesh has its own router, `direct`; a pair whose
    router needs a ring that the overlay does not have is left out, and named in the result. `each_seed` is called with
    every seed when it begins.
    """
    for option, value in (("seeds", seeds), ("publications", publications)):
        if value < 1:
            raise WeftError(f"`{option}` {value} is out of range: give at least 1.", option)
    _require_known(overlays, routers)
    pairs = list(product([name for name in overlays if name != direct.OVERLAY], routers))
    fitting = [pair for pair in pairs if _fits(*pair)]
    rows: list[Trial] = []
    for seed in range(1, seeds + 1):
        if each_seed is not None:
            each_seed(seed)
        rows += _trials(instance, overlays, fitting, seed, publications)
    if not rows:
        raise WeftError("No router goes by any of the overlays: give `routers` one that needs no ring.", "routers")
    return Trials(tuple(rows), tuple(pair for pair in pairs if pair not in fitting))


def _require_known(overlays: Sequence[str], routers: Sequence[str]) -> None:
    for name in overlays:
        if name != direct.OVERLAY:
            _require_overlay(name)
    for name in routers:
        routing(name)


def _require_overlay(name: str) -> None:
    if name not in BUILDERS:
        raise WeftError(f"There is no overlay {name!r}: choose among {', '.join([direct.OVERLAY, *BUILDERS])}.")


def _fits(overlay: str, router: str) -> bool:
    return not (overlay in WITHOUT_RING and routing(router).needs_ring)


def _trials(
    instance: Instance, overlays: Sequence[str], pairs: Sequence[System], seed: int, count: int
) -> Iterator[Trial]:
    """Trials of one seed, in the order of the overlays, each of which is designed once."""
    drawn = publications(instance, count, seed)
    for name in dict.fromkeys(overlays):
        if name == direct.OVERLAY:
            yield _mesh_trial(instance, drawn, seed)
        elif routers := [router for overlay, router in pairs if overlay == name]:
            made = design(instance, name, seed=seed)
            yield from (_trial(instance, made, router, drawn, seed) for router in dict.fromkeys(routers))


def _trial(instance: Instance, overlay: Overlay, router: str, drawn: Publications, seed: int) -> Trial:
    connections = degrees(overlay)
    links, most = int(connections.sum()) // 2, int(connections.max(initial=0))
    return _row(evaluate(instance, overlay, router, drawn, seed=seed), seed, links, most)


def _mesh_trial(instance: Instance, drawn: Publications, seed: int) -> Trial:
    nodes = instance.nodes
    return _row(direct.evaluate_direct(instance, drawn), seed, nodes * (nodes - 1) // 2, nodes - 1)


def _row(result: Evaluation, seed: int, links: int, connections: int) -> Trial:
    deliveries = max(result.deliveries, 1)
    return Trial(
        result.overlay,
        result.router,
        seed,
        links,
        connections,
        result.messages / deliveries,
        result.routing_overhead / deliveries,
        result.average_path,
        result.maximum_path,
        int(result.load.sent.maximum),
    )
