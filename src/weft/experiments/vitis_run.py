"""Runs of Vitis. Each is made with and without locality on the same input, so that ratios are figures of a run."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np

from weft.experiments.dataset import LATENCIES
from weft.experiments.experiment import Effort, Metric, Panel, Plan, Point
from weft.model.instance import Instance, read_instance
from weft.model.latency import Latency, MatrixLatency, PlacedLatency, place, read_latency
from weft.protocol.vitis.parameters import Form, Parameters
from weft.sim.vitis_scenario import Scenario, after_failure, simulate
from weft.workloads.catalog import generate
from weft.workloads.geography import geographic_latency
from weft.workloads.sample import Sampling, sample

HOSTS = 490  # of generated latencies
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
    """Where nodes are, and what they want."""

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
        scenario = Scenario(self.publications, churn=self.churn)
        plain = _without_locality(self.surroundings, scenario, self.seed)
        if self.exponent == 0.0:
            figures = plain
        else:
            parameters = Parameters(exponent=self.exponent, utility=self.utility, floor=self.floor)
            figures = simulate(*surroundings_of(self.surroundings, self.seed), parameters, scenario, self.seed)
        return {
            **figures,
            "time_ratio": _ratio(figures["delivery_time"], plain["delivery_time"]),
            "relay_ratio": _ratio(figures["relays_per_delivery"], plain["relays_per_delivery"]),
        }


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
        parameters = Parameters(exponent=self.exponent)
        given = surroundings_of(self.surroundings, self.seed)
        return after_failure(*given, parameters, Scenario(), self.seed, self.share)


@lru_cache(maxsize=1)
def _without_locality(surroundings: Surroundings, scenario: Scenario, seed: int) -> dict[str, Any]:
    return simulate(*surroundings_of(surroundings, seed), Parameters(), scenario, seed)


def _ratio(figure: float, baseline: float) -> float | None:
    return figure / baseline if baseline else None


@lru_cache(maxsize=1)
def surroundings_of(surroundings: Surroundings, seed: int) -> tuple[Instance, PlacedLatency]:
    instance = _instance(surroundings, seed)
    hosts = geographic_latency(HOSTS, seed) if surroundings.hosts is None else read_latency(surroundings.hosts)
    return instance, place(_few(hosts, instance.nodes, seed), instance.nodes, seed, surroundings.access)


def _instance(surroundings: Surroundings, seed: int) -> Instance:
    if surroundings.pattern != TWITTER:
        return generate(surroundings.pattern, nodes=surroundings.nodes, seed=seed)
    if surroundings.folder is None:
        whole = generate("social", nodes=4 * surroundings.nodes, like=TWITTER, seed=seed)
    else:
        whole = read_instance(surroundings.folder)
    return sample(whole, Sampling(surroundings.nodes, "closure", seed))


def _few(hosts: Latency, nodes: int, seed: int) -> Latency:
    """As many hosts as there are nodes, at random, where there are more."""
    if hosts.nodes <= nodes:
        return hosts
    chosen = np.random.default_rng(seed).permutation(hosts.nodes)[:nodes]
    return MatrixLatency(hosts.round_trip(chosen[:, None], chosen))


def hosts_in(folders: Mapping[str, str]) -> str | None:
    return folders.get("planetlab") or folders.get("wonderproxy")


def settings(folders: Mapping[str, str], publications: int) -> str:
    known = [LATENCIES[key].name for key in ("planetlab", "wonderproxy") if key in folders]
    latencies = known[0] if known else f"generated, {HOSTS} hosts on a globe"
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
