"""Figures of PopSub's brokers.

A seed is a topology of its own, and one of five workloads: the paper repeats five of each with each other, which takes
as many runs, and tells less of topologies, on which more depends.
"""

from collections.abc import Mapping
from dataclasses import asdict, replace
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from weft.experiments.engine.dataset import GENERATED_HOSTS
from weft.experiments.measures.hosts import measured_hosts
from weft.experiments.runs.popsub import Input, PopSubRun, Power
from weft.model.instance import Instance, read_instance
from weft.model.latency import Latency, place
from weft.overlays.broker_tree import Neighbourhood, broker_tree
from weft.protocol.popsub.parameters import Parameters
from weft.sim.capacity import Capacity, measured_capacity
from weft.sim.popsub import simulate
from weft.sim.stage import Stage, stage_of
from weft.workloads.catalog import generate
from weft.workloads.followers import follower_popularity
from weft.workloads.geography import geographic_latency
from weft.workloads.popsub import Setting, advertisement_classes, class_popularity, content_workload

PUBLISHERS = 200
USERS = 20_000  # of the generated social graph
WORKLOADS = 5


def measure_popsub(run: PopSubRun) -> dict[str, Any]:
    stage, diameter = _stage(run.input, run.seed)
    capacity = broker_capacity(run.power)
    parameters = Parameters(diameter, capacity.publications_per_second, run.phi, sweep=run.sweep)
    made = asdict(simulate(stage, run.way, parameters, capacity, run.seed))
    return made | {"simulated_seconds": made.pop("seconds")} | _without_meaning(made) | _ratios(made)


def _ratios(made: Mapping[str, Any]) -> dict[str, float | None]:
    unpopular = made["unpopular_latency"]
    return {"popular_to_unpopular": made["popular_latency"] / unpopular if unpopular else None}


def _without_meaning(made: Mapping[str, Any]) -> dict[str, None]:
    """The figures of ways that were not taken."""
    needs = {
        "unpopular_latency": "unpopular_deliveries",
        "unpopular_latency_90": "unpopular_deliveries",
        "direct_forwards": "direct_forwards",
        "gossip_false_positives": "groups",
        "matches_per_gossip": "groups",
        "groups": "groups",
    }
    return {figure: None for figure, needed in needs.items() if not made[needed]}


@lru_cache(maxsize=1)
def _stage(given: Input, seed: int) -> tuple[Stage, float]:
    """The stage, and the longest time between two brokers, along the tree or directly."""
    tree = broker_tree(_hosts(given.latency), Neighbourhood(given.brokers, given.nearest), seed - 1)
    setting, drawn = Setting(given.subscriptions, given.rate, wanted=given.wanted), (seed - 1) % WORKLOADS
    workload = content_workload(_popularity(given, setting, drawn), tree.top, given.brokers, setting, drawn)
    return stage_of(tree, workload.exchange()), tree.diameter


@lru_cache(maxsize=1)
def _hosts(path: str | None) -> Latency:
    """Latencies between hosts; of sets with fewer hosts several brokers are on one."""
    latency = geographic_latency(GENERATED_HOSTS, seed=0) if path is None else measured_hosts(path)
    return latency if latency.nodes >= GENERATED_HOSTS else place(latency, GENERATED_HOSTS, seed=0)


def _popularity(given: Input, setting: Setting, seed: int) -> npt.ArrayLike:
    if given.exponent is not None:
        return class_popularity(advertisement_classes(PUBLISHERS, setting.classes, seed), given.exponent)
    return follower_popularity(_social_graph(given.followers), PUBLISHERS, seed)


@lru_cache(maxsize=1)
def _social_graph(folder: str | None) -> Instance:
    return generate("social", nodes=USERS, like="twitter", seed=0) if folder is None else read_instance(folder)


def broker_capacity(power: Power) -> Capacity:
    measured = measured_capacity()
    most = np.inf if power.batch_gain is None else power.batch_gain
    return replace(
        measured,
        publications_per_second=power.share * measured.publications_per_second,
        additional=measured.additional if power.additional is None else power.additional,
        speedup=tuple(min(gain, most) for gain in measured.speedup),
    )
