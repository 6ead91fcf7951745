"""Runs of a router on an overlay, as BeaConvey and NSMF compare them."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Protocol

from weft.experiments.engine.experiment import AS_PRINTED as PRINTED
from weft.experiments.engine.experiment import Effort, Metric, Panel, Plan, Reading, Run, Variant
from weft.experiments.runs.input import SCALES, Input, Inputs, Scale
from weft.model.forwarding import AS_PRINTED, Forwarding, Pivots

METRICS = {
    "overhead ratio": Metric("routing_overhead", relative=True),
    "path ratio": Metric("average_path", relative=True),
    "longest path ratio": Metric("maximum_path", relative=True),
    "average path": Metric("average_path"),
    "average path by message": Metric("average_path_by_message"),
    "average path by publication": Metric("average_path_by_publication"),
    "path ratio by message": Metric("average_path_by_message", relative=True),
    "path ratio by publication": Metric("average_path_by_publication", relative=True),
    "TcoSuppR": Metric("tco_support_ratio"),
}
PATHS = ("average path", "average path by message", "average path by publication")
PATH_RATIOS = ("path ratio", "path ratio by message", "path ratio by publication")


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
    forwarding: Forwarding = AS_PRINTED

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
    forwarding: Forwarding = AS_PRINTED

    def run(self, given: Input, publications: int, seed: int) -> RoutingRun:
        return RoutingRun(given, self.overlay, self.router, publications, seed, self.options, self.forwarding)


# The readings of BeaConvey and NSMF, each of which holds for all experiments of the paper: who may send where, and of
# BeaConvey's overlays - and S, whether their long fingers are Chord's or RandomL's. That nodes have floor(log2 |V|)
# fingers, whole phases, is no matter of choice: the papers' TcoSuppR fits nothing else.

FORWARDINGS = {
    PRINTED.name: AS_PRINTED,
    "links both ways": Forwarding("both"),
    "links both ways, absolute": Forwarding("both", "absolute"),
}
PIVOTS: Mapping[Pivots, str] = {"own": "", "neighbours": ", neighbours as pivots"}
LONG = {"chord": "", "random": ", RandomL"}


def variants_of(systems: Mapping[str, System], *, long: bool) -> dict[Variant, dict[str, System]]:
    """The systems by every reading of the paper; `long`: also with RandomL's long fingers where they have Chord's."""
    return {
        Variant(
            f"{name}{beside}{ends}",
            (*replace(forwarding, pivots=pivots).columns.items(), ("long", fingers)),
            in_quick=not beside and not ends,
        ): {label: _read(system, replace(forwarding, pivots=pivots), fingers) for label, system in systems.items()}
        for fingers, ends in LONG.items()
        if long or fingers == "chord"
        for pivots, beside in PIVOTS.items()
        for name, forwarding in FORWARDINGS.items()
    }


def readings_of(*, long: bool) -> tuple[Reading, ...]:
    """The readings by which the variants of any systems are told apart."""
    return tuple(Reading(variant.reading) for variant in variants_of({}, long=long))


def _read(system: System, forwarding: Forwarding, long: str) -> System:
    """Rendezvous routing has no pivots."""
    if system.router in ("scribe", "iscribe"):
        forwarding = replace(forwarding, pivots="own")
    overlay, options = system.overlay, (*system.options, ("phases", "whole"))
    if long == "random" and overlay == "swico-s":
        options = (*options, ("long", long))
    if long == "random" and overlay == "chord":
        overlay = long
    return System(overlay, system.router, options, forwarding)


def read_plan(
    inputs: Inputs, variants: Mapping[Variant, Mapping[str, Routed]]
) -> Callable[[Effort, Mapping[str, str]], Plan]:
    """A plan of every system on every input by all readings."""
    return lambda effort, folders: plan_by_readings(SCALES[effort], inputs, variants, folders)


def plan_by_readings(
    scale: Scale, inputs: Inputs, variants: Mapping[Variant, Mapping[str, Routed]], folders: Mapping[str, str]
) -> Plan:
    plans = {variant: plan_at(scale, inputs, systems, folders) for variant, systems in variants.items()}
    first = next(iter(plans.values()))
    return replace(first, variants={variant: plan.runs for variant, plan in plans.items()})


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
