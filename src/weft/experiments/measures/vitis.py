"""Figures of Vitis networks."""

from functools import lru_cache
from typing import Any

import numpy as np

from weft.experiments.engine.dataset import GENERATED_HOSTS
from weft.experiments.runs.vitis import TWITTER, FailureRun, Surroundings, VitisRun
from weft.model.instance import Instance, read_instance
from weft.model.latency import Latency, MatrixLatency, place, read_latency
from weft.protocol.vitis.parameters import Parameters
from weft.sim.vitis_scenario import Scenario, after_failure, simulate
from weft.workloads.access import home_latency
from weft.workloads.catalog import generate
from weft.workloads.geography import geographic_latency
from weft.workloads.sample import Sampling, sample


def measure_vitis(run: VitisRun) -> dict[str, Any]:
    scenario = Scenario(run.publications, churn=run.churn)
    plain = _simulated(run.surroundings, run.plain, scenario, run.seed)
    figures = plain
    if run.parameters.exponent > 0:
        figures = simulate(*surroundings_of(run.surroundings, run.seed), run.parameters, scenario, run.seed)
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
def _simulated(surroundings: Surroundings, parameters: Parameters, scenario: Scenario, seed: int) -> dict[str, Any]:
    return simulate(*surroundings_of(surroundings, seed), parameters, scenario, seed)


def _ratio(figure: float, baseline: float) -> float | None:
    return figure / baseline if baseline else None


@lru_cache(maxsize=1)
def surroundings_of(surroundings: Surroundings, seed: int) -> tuple[Instance, Latency]:
    instance = _instance(surroundings, seed)
    hosts = (
        geographic_latency(GENERATED_HOSTS, seed) if surroundings.hosts is None else read_latency(surroundings.hosts)
    )
    few = _few(hosts, instance.nodes, seed)
    if surroundings.homes:
        return instance, home_latency(few, instance.nodes, seed)
    return instance, place(few, instance.nodes, seed, surroundings.access)


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
