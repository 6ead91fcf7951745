"""Runs of Vitis. Each is made with and without locality on the same input, so that ratios are figures of a run."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from weft.experiments.engine.dataset import GENERATED_HOSTS, LATENCIES, usual_latencies
from weft.experiments.engine.experiment import Effort, Metric, Panel, Plan, Point
from weft.protocol.vitis.parameters import Form

TWITTER = "twitter"
NEAR = (0.5, 5.0)  # milliseconds of access delay

METRICS = {
    "delivery time": Metric("delivery_time"),
    "time ratio": Metric("time_ratio"),
    "relay share": Metric("relay_share"),
    "relay ratio": Metric("relay_ratio"),
    "relays a delivery": Metric("relays_per_delivery"),
    "hit ratio": Metric("hit_ratio"),
    "clusters a topic": Metric("clusters"),
    "degree": Metric("degree"),
    "hops": Metric("average_hops"),
    "upkeep messages": Metric("upkeep_messages"),
    "rounds to heal": Metric("rounds_to_heal"),
    "lowest hit ratio": Metric("lowest_hit_ratio"),
}


def trade(systems: tuple[str, ...]) -> tuple[Panel, ...]:
    """What locality gains, and what it costs."""
    return (
        Panel("delivery time / that without locality", "time ratio", systems),
        Panel("relay traffic / that without locality", "relay ratio", systems),
    )


@dataclass(frozen=True)
class Surroundings:
    """The network's input: where nodes are, and what they subscribe to."""

    pattern: str  # a name of weft.workloads.catalog, or TWITTER
    nodes: int
    folder: str | None = None  # of the instance that is sampled
    hosts: str | None = None  # file of latencies; generated without
    access: tuple[float, float] = NEAR  # milliseconds


@dataclass(frozen=True)
class VitisRun:
    """The seed is that of instance, placement and network."""

    surroundings: Surroundings
    publications: int
    exponent: float
    seed: int
    churn: bool = False
    utility: Form = "product"
    floor: float = 1.0  # milliseconds

    @property
    def batch(self) -> Hashable:
        return self.surroundings, self.publications, self.seed, self.churn, self.utility, self.floor

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
    exponent: float
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


EXPONENTS: Mapping[Effort, tuple[float, ...]] = {
    "quick": (0.1, 0.25, 0.5, 1.0, 2.0, 3.0),
    "full": (0.1, 0.2, 0.25, 0.3, 0.4, 0.5, 1.0, 2.0, 3.0),
}
SEEDS: Mapping[Effort, int] = {"quick": 1, "full": 3}


@dataclass(frozen=True)
class Variant:
    """A system on an axis of exponents."""

    surroundings: Surroundings
    utility: Form = "product"
    floor: float = 1.0  # milliseconds


def by_exponent(effort: Effort, systems: Mapping[str, Variant], seeds: int, settings: str) -> Plan:
    points = [Point(f"n={n:g}", f"locality with exponent {n:g}", n) for n in EXPONENTS[effort]]
    runs = {
        (name, f"n={n:g}", seed): VitisRun(
            variant.surroundings, 1000, n, seed, utility=variant.utility, floor=variant.floor
        )
        for (name, variant), n, seed in product(systems.items(), EXPONENTS[effort], range(1, seeds + 1))
    }
    return Plan(points, seeds, runs, settings)
