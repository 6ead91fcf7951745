"""Runs of a router on an overlay, as BeaConvey and NSMF compare them."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any, Protocol

from weft.experiments.engine.experiment import Effort, Metric, Panel, Plan, Run
from weft.experiments.runs.input import SCALES, Input, Inputs, Scale

METRICS = {
    "overhead ratio": Metric("routing_overhead", relative=True),
    "path ratio": Metric("average_path", relative=True),
    "longest path ratio": Metric("maximum_path", relative=True),
    "average path": Metric("average_path"),
    "TcoSuppR": Metric("tco_support_ratio"),
    "TcoSuppR of whole phases": Metric("whole_phases_support_ratio"),
}


def ratio_panels(baseline: str, systems: tuple[str, ...]) -> tuple[Panel, ...]:
    """Overhead and path beside those of the baseline."""
    return (
        Panel(f"routing overhead / that of {baseline}", "overhead ratio", systems),
        Panel(f"average path / that of {baseline}", "path ratio", systems),
    )


@dataclass(frozen=True)
class RoutingRun:
    """The seed is that of instance, overlay, publications and rendezvous points."""

    input: Input
    overlay: str
    router: str
    publications: int
    seed: int
    options: tuple[tuple[str, str], ...] = ()  # of the overlay

    @property
    def batch(self) -> Hashable:
        return self.input, self.overlay, self.options, self.publications, self.seed

    @property
    def cost(self) -> float:
        return routing_cost(self.input, self.publications)

    def measure(self) -> dict[str, Any]:
        from weft.experiments.measures.routing import measure_routing

        return measure_routing(self)


def routing_cost(given: Input, publications: int) -> float:
    return 1e-4 * given.nodes + 1e-5 * publications


class Routed(Protocol):
    """A system that publications are routed on."""

    def run(self, given: Input, publications: int, seed: int) -> Run: ...


@dataclass(frozen=True)
class System:
    overlay: str
    router: str
    options: tuple[tuple[str, str], ...] = ()  # of the overlay

    def run(self, given: Input, publications: int, seed: int) -> RoutingRun:
        return RoutingRun(given, self.overlay, self.router, publications, seed, self.options)


def routing_plan(inputs: Inputs, systems: Mapping[str, Routed]) -> Callable[[Effort, Mapping[str, str]], Plan]:
    """A plan of every system on every input."""
    return lambda effort, folders: plan_at(SCALES[effort], inputs, systems, folders)


def plan_at(scale: Scale, inputs: Inputs, systems: Mapping[str, Routed], folders: Mapping[str, str]) -> Plan:
    places = inputs(scale, folders)
    seeds = range(1, scale.seeds + 1)
    runs = {
        (name, point.label, seed): system.run(given, scale.publications, seed)
        for (point, given), seed, (name, system) in product(places, seeds, systems.items())
    }
    return Plan([point for point, _ in places], scale.seeds, runs, f"{scale.publications:,} publications a run")
