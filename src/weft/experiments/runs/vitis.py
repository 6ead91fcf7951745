"""Runs of Vitis. Each is made with and without locality on the same input, so that ratios are figures of a run.

The relay ratio is that of the relay shares, which is what the paper measures: "the average percentage of relay traffic
load on each node". The relays of a delivery are another figure, and grow more.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from weft.experiments.engine.dataset import GENERATED_HOSTS, LATENCIES, usual_latencies
from weft.experiments.engine.experiment import Effort, Metric, Panel, Plan, Point
from weft.protocol.vitis.parameters import Form, Parameters

TWITTER = "twitter"
NEAR = (0.5, 5.0)  # milliseconds of access delay

METRICS = {
    "delivery time": Metric("delivery_time"),
    "time ratio": Metric("time_ratio", unit=1.0),
    "relay share": Metric("relay_share"),
    "relay ratio": Metric("relay_ratio", unit=1.0),
    "relays a delivery": Metric("relays_per_delivery"),
    "relays a delivery ratio": Metric("relays_per_delivery_ratio"),
    "relay traffic": Metric("relay_traffic"),
    "hit ratio": Metric("hit_ratio"),
    "clusters a topic": Metric("clusters"),
    "cluster size": Metric("cluster_size"),
    "clusters a publication": Metric("clusters_by_rate"),
    "contents across places": Metric("contents_across"),
    "notifications across places": Metric("notifications_across"),
    "gateways a topic": Metric("gateways"),
    "degree": Metric("degree"),
    "highest degree": Metric("maximum_degree"),
    "hops": Metric("average_hops"),
    "upkeep messages": Metric("upkeep_messages"),
    "rounds to settle": Metric("rounds_to_settle"),
    "rounds to heal": Metric("rounds_to_heal"),
    "lowest hit ratio": Metric("lowest_hit_ratio"),
}


def trade(systems: tuple[str, ...]) -> tuple[Panel, ...]:
    """What locality gains, and what it costs."""
    return (
        Panel("delivery time / that without locality", "time ratio", systems),
        Panel("relay share / that without locality", "relay ratio", systems),
    )


@dataclass(frozen=True)
class Surroundings:
    """The network's input: where nodes are, and what they subscribe to."""

    pattern: str  # a name of weft.workloads.catalog, or TWITTER
    nodes: int
    folder: str | None = None  # of the instance that is sampled
    hosts: str | None = None  # file of latencies; generated without
    access: tuple[float, float] = NEAR  # milliseconds
    homes: bool = False  # not on the hosts, but behind access lines: see weft.workloads.access
    near: float | None = None  # milliseconds between hosts of one place, an ISP; none: no places
    skew: float | None = None  # of a Zipf law of publication rates over topics; none: all are equal


@dataclass(frozen=True)
class VitisRun:
    """The seed is that of instance, placement and network."""

    surroundings: Surroundings
    publications: int
    parameters: Parameters
    seed: int
    churn: bool = False
    weigh_rates: bool = True  # whether nodes know the rates, for formula (1)

    @property
    def plain(self) -> Parameters:
        """The same without locality."""
        return replace(self.parameters, exponent=0.0, utility="product", floor=1.0)

    @property
    def batch(self) -> Hashable:
        return self.surroundings, self.publications, self.seed, self.churn, self.weigh_rates, self.plain

    @property
    def cost(self) -> float:
        nodes = self.surroundings.nodes
        return 2e-5 * nodes * (nodes / 10 + 200)

    def measure(self) -> dict[str, Any]:
        from weft.experiments.measures.vitis import measure_vitis

        return measure_vitis(self)


@dataclass(frozen=True)
class FailureRun:
    surroundings: Surroundings
    share: float  # of the nodes that fail
    parameters: Parameters
    seed: int

    @property
    def batch(self) -> Hashable:
        return self

    @property
    def cost(self) -> float:
        return 2e-5 * self.surroundings.nodes * (self.surroundings.nodes / 10 + 120)

    def measure(self) -> dict[str, Any]:
        from weft.experiments.measures.vitis import measure_failure

        return measure_failure(self)


def settings(folders: Mapping[str, str], publications: int) -> str:
    key = usual_latencies(folders)
    latencies = f"generated, {GENERATED_HOSTS} hosts on a globe" if key is None else LATENCIES[key].name
    return f"Round-trip times: {latencies}, with access delays; {publications:,} publications a run"


SEEDS: Mapping[Effort, int] = {"quick": 1, "full": 3}


@dataclass(frozen=True)
class Variant:
    """A system on an axis of exponents."""

    surroundings: Surroundings
    utility: Form = "product"
    floor: float = 1.0  # milliseconds
    inverse: bool = False  # the exponent is 1 / n

    def parameters(self, n: float) -> Parameters:
        return Parameters(exponent=1 / n if self.inverse else n, utility=self.utility, floor=self.floor)


def by_exponent(exponents: Sequence[float], systems: Mapping[str, Variant], seeds: int, settings: str) -> Plan:
    points = [Point(f"n={n:g}", f"locality with n = {n:g}", n) for n in exponents]
    runs = {
        (name, f"n={n:g}", seed): VitisRun(variant.surroundings, 1000, variant.parameters(n), seed)
        for (name, variant), n, seed in product(systems.items(), exponents, range(1, seeds + 1))
    }
    return Plan(points, seeds, runs, settings)
