"""Runs of a router on an overlay, as BeaConvey and NSMF compare them."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Any, Protocol

from weft.experiments.experiment import Effort, Metric, Plan, Point, Run
from weft.model.instance import Instance, read_instance
from weft.model.overlay import Overlay, overlay_from_links
from weft.model.ring import phase_count
from weft.overlays.catalog import design
from weft.overlays.quality import link_quality
from weft.sim.bulk import evaluate
from weft.sim.catalog import trees_for
from weft.sim.evaluation import Evaluation
from weft.workloads.catalog import generate
from weft.workloads.publication import By, publications
from weft.workloads.sample import Sampling, sample

SAMPLE = "sample"

METRICS = {
    "overhead ratio": Metric("routing_overhead", relative=True),
    "path ratio": Metric("average_path", relative=True),
    "longest path ratio": Metric("maximum_path", relative=True),
    "average path": Metric("average_path"),
    "TcoSuppR": Metric("tco_support_ratio"),
    "TcoSuppR of whole phases": Metric("whole_phases_support_ratio"),
}


@dataclass(frozen=True)
class Input:
    workload: str  # a name of weft.workloads.catalog, or SAMPLE
    nodes: int
    topics: int | None = None
    like: str | None = None  # of a social graph
    folder: str | None = None  # the instance that is sampled, breadth-first
    issuers: By = "topic"  # who publishes


@dataclass(frozen=True)
class RoutingRun:
    """The seed is that of instance, overlay, publications and rendezvous points.

    Where the router has trees, each is woven by itself, whatever the load and for whoever publishes.
    """

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
        return 1e-4 * self.input.nodes + 1e-5 * self.publications

    def measure(self) -> dict[str, Any]:
        instance = instance_of(self.input, self.seed)
        overlay = overlay_of(self.input, self.overlay, self.options, self.seed)
        drawn = publications(instance, self.publications, self.seed, by=self.input.issuers)
        trees = trees_for(self.router, instance.without_publishers, overlay, load_weight=0.0)
        result = evaluate(instance, overlay, self.router, drawn, seed=self.seed, trees=trees)
        return figures_of(instance, overlay, result)


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


def figures_of(instance: Instance, overlay: Overlay, result: Evaluation) -> dict[str, Any]:
    sent, received, entries = result.load.sent, result.load.received, result.table_entries
    tables = {} if entries is None else {"table_entries": entries.mean, "most_table_entries": entries.maximum}
    return {
        "subscriptions": instance.subscriptions,
        "design_seconds": overlay.meta["seconds"],
        **overlay.meta["quality"],
        "deliveries": result.deliveries,
        "messages": result.messages,
        "messages_per_delivery": result.messages / max(result.deliveries, 1),
        "routing_overhead": result.routing_overhead,
        "average_path": result.average_path,
        "maximum_path": result.maximum_path,
        "most_loaded_messages": result.load.most_loaded_messages,
        "busiest_over_mean": sent.maximum / max(sent.mean, 1e-9),
        "percentile_over_mean": sent.percentile_99 / max(sent.mean, 1e-9),
        "busiest_over_receiver": sent.maximum / max(received.maximum, 1e-9),
        "percentile_over_receivers": sent.percentile_99 / max(received.percentile_99, 1e-9),
        "most_links": result.load.most_links,
        "links_over_phases": result.load.most_links / max(phase_count(instance.nodes), 1),
        **tables,
    }


@dataclass(frozen=True)
class Scale:
    publications: int
    seeds: int
    steps: tuple[int, ...]  # of an axis of nodes or topics


# The papers tell neither how many publications nor how many repetitions they made.
SCALES: Mapping[Effort, Scale] = {
    "quick": Scale(publications=10_000, seeds=1, steps=(1000, 4000, 7000, 10000)),
    "full": Scale(publications=50_000, seeds=5, steps=tuple(range(1000, 10001, 1000))),
}

Inputs = Callable[[Scale, Mapping[str, str]], list[tuple[Point, Input]]]


def routing_plan(inputs: Inputs, systems: Mapping[str, Routed]) -> Callable[[Effort, Mapping[str, str]], Plan]:
    """Every system on every input."""
    return lambda effort, folders: plan_at(SCALES[effort], inputs, systems, folders)


def plan_at(scale: Scale, inputs: Inputs, systems: Mapping[str, Routed], folders: Mapping[str, str]) -> Plan:
    places = inputs(scale, folders)
    seeds = range(1, scale.seeds + 1)
    runs = {
        (name, point.label, seed): system.run(given, scale.publications, seed)
        for (point, given), seed, (name, system) in product(places, seeds, systems.items())
    }
    return Plan([point for point, _ in places], scale.seeds, runs, f"{scale.publications:,} publications a run")


@lru_cache(maxsize=1)
def instance_of(given: Input, seed: int) -> Instance:
    if given.workload == SAMPLE and given.folder is not None:
        return sample(_read(given.folder), Sampling(given.nodes, "bfs", seed))
    return generate(given.workload, nodes=given.nodes, topics=given.topics, like=given.like, seed=seed)


@lru_cache(maxsize=1)
def _read(folder: str) -> Instance:
    return read_instance(folder)


@lru_cache(maxsize=1)
def overlay_of(given: Input, name: str, options: tuple[tuple[str, str], ...], seed: int) -> Overlay:
    instance = instance_of(given, seed)
    overlay = design(instance, name, seed=seed, **dict(options))
    ratios = {"tco_support_ratio": link_quality(instance, overlay)["tco_support_ratio"]}
    if overlay.ring_ids is not None:
        whole = link_quality(instance, _with_whole_phases(overlay))["tco_support_ratio"]
        ratios["whole_phases_support_ratio"] = whole
    return overlay.with_meta(quality=ratios)


def _with_whole_phases(overlay: Overlay) -> Overlay:
    """Without the last phase where |V| cuts it short: floor(log2 |V|) fingers a node instead of ceil(log2 |V|)."""
    whole = overlay.phases < overlay.nodes.bit_length() - 1
    ends = overlay.sources[whole], overlay.targets[whole], overlay.phases[whole]
    return overlay_from_links(overlay.nodes, *ends, ring_ids=overlay.ring_ids, ring_size=overlay.ring_size)
