"""Figures of Vitis networks."""

from functools import lru_cache
from typing import Any

import numpy as np

from weft.arrays import Floats
from weft.experiments.engine.dataset import GENERATED_HOSTS
from weft.experiments.measures.hosts import measured_hosts
from weft.experiments.runs.vitis import TWITTER, FailureRun, Surroundings, VitisRun
from weft.model.instance import Instance, read_instance
from weft.model.latency import Latency, MatrixLatency
from weft.model.latency import place as place_on
from weft.model.places import Places, places_of
from weft.protocol.vitis.parameters import Parameters
from weft.sim.vitis_scenario import Scenario, after_failure, simulate
from weft.workloads.access import home_latency
from weft.workloads.catalog import generate
from weft.workloads.geography import geographic_latency
from weft.workloads.sample import Sampling, sample


def measure_vitis(run: VitisRun) -> dict[str, Any]:
    scenario = Scenario(run.publications, churn=run.churn)
    plain = _simulated(run.surroundings, run.plain, scenario, run.seed, run.weigh_rates)
    figures = plain
    if run.parameters.exponent > 0:
        figures = _simulate(run.surroundings, run.parameters, scenario, run.seed, run.weigh_rates)
    return {**figures, **{name: _ratio(figures[of], plain[of]) for name, of in RATIOS.items()}}


RATIOS = {
    "time_ratio": "delivery_time",
    "relay_ratio": "relay_share",
    "relays_per_delivery_ratio": "relays_per_delivery",
}


def measure_failure(run: FailureRun) -> dict[str, Any]:
    given = surroundings_of(run.surroundings, run.seed)
    return after_failure(*given, run.parameters, Scenario(), run.seed, run.share)


@lru_cache(maxsize=1)
def _simulated(
    surroundings: Surroundings, parameters: Parameters, scenario: Scenario, seed: int, weigh_rates: bool
) -> dict[str, Any]:
    return _simulate(surroundings, parameters, scenario, seed, weigh_rates)


def _simulate(
    surroundings: Surroundings, parameters: Parameters, scenario: Scenario, seed: int, weigh_rates: bool
) -> dict[str, Any]:
    instance, latency = surroundings_of(surroundings, seed)
    about: dict[str, Any] = {"weigh_rates": weigh_rates}
    if surroundings.skew is not None:
        about["rates"] = _rates(instance.topics, surroundings.skew, seed)
    if surroundings.near is not None:
        about["places"] = _places_by_latency(latency, surroundings.near)
    return simulate(instance, latency, parameters, scenario, seed, **about)


def _rates(topics: int, exponent: float, seed: int) -> Floats:
    """A Zipf law over the topics in random order."""
    return np.random.default_rng(seed).permutation(np.arange(1, topics + 1) ** -exponent)


def _places_by_latency(latency: Latency, near: float) -> Places:
    """Places of which the first node is near all others: what stands in for ISPs, which no measurement names."""
    place = np.full(latency.nodes, -1)
    for node in range(latency.nodes):
        if place[node] < 0:
            others = np.flatnonzero(place < 0)
            place[others[latency.round_trip(np.full(len(others), node), others) <= near]] = node
    return places_of([f"{number}" for number in place])


def _ratio(figure: float, baseline: float) -> float | None:
    return figure / baseline if baseline else None


@lru_cache(maxsize=1)
def surroundings_of(surroundings: Surroundings, seed: int) -> tuple[Instance, Latency]:
    instance = _instance(surroundings, seed)
    hosts = (
        geographic_latency(GENERATED_HOSTS, seed) if surroundings.hosts is None else measured_hosts(surroundings.hosts)
    )
    few = _few(hosts, instance.nodes, seed)
    if surroundings.homes:
        return instance, home_latency(few, instance.nodes, seed)
    return instance, place_on(few, instance.nodes, seed, surroundings.access)


def _instance(surroundings: Surroundings, seed: int) -> Instance:
    if surroundings.pattern != TWITTER:
        return generate(surroundings.pattern, nodes=surroundings.nodes, seed=seed)
    if surroundings.folder is None:
        whole = generate("social", nodes=4 * surroundings.nodes, like=TWITTER, seed=seed)
    else:
        whole = read_instance(surroundings.folder)
    return sample(whole, Sampling(surroundings.nodes, "closure", seed))


def _few(hosts: Latency, nodes: int, seed: int) -> Latency:
    """Hosts drawn at random, as many as there are nodes, where there are more."""
    if hosts.nodes <= nodes:
        return hosts
    chosen = np.random.default_rng(seed).permutation(hosts.nodes)[:nodes]
    return MatrixLatency(hosts.round_trip(chosen[:, None], chosen))
