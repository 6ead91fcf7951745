"""Figures of PopSub's brokers.

Our brokers were measured at several times what the paper's load asks for: with all of that, nothing is ever overloaded.
So each has a tenth of it, as if ten shared a core. Then, as in the paper, Fig. 3 is within what brokers can do, and
Fig. 4 is beyond.
"""

from collections.abc import Mapping
from dataclasses import asdict, replace
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from weft.experiments.engine.dataset import GENERATED_HOSTS
from weft.experiments.runs.popsub import Input, PopSubRun
from weft.model.instance import Instance, read_instance
from weft.model.latency import Latency, place, read_latency
from weft.overlays.broker_tree import BrokerTree, Neighbourhood, broker_tree
from weft.protocol.popsub.parameters import Parameters
from weft.sim.capacity import Capacity, measured_capacity
from weft.sim.popsub import simulate
from weft.sim.stage import Stage, stage_of
from weft.workloads.catalog import generate
from weft.workloads.followers import follower_popularity, zipf_popularity
from weft.workloads.geography import geographic_latency
from weft.workloads.popsub import Setting, content_workload

PUBLISHERS = 200
USERS = 20_000  # of the generated social graph
TOPOLOGIES = 5
SHARE = 0.1  # of the measured capacity


def measure_popsub(run: PopSubRun) -> dict[str, Any]:
    stage, diameter = _stage(run.input, run.seed)
    capacity = broker_capacity()
    parameters = Parameters(diameter, capacity.publications_per_second, run.phi)
    made = asdict(simulate(stage, run.way, parameters, capacity, run.seed))
    return made | {"simulated_seconds": made.pop("seconds")} | _without_meaning(made)


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
    workload_seed, topology = divmod(seed - 1, TOPOLOGIES)
    tree = broker_tree(_hosts(given.latency), Neighbourhood(given.brokers), topology)
    setting = Setting(given.subscriptions, given.rate)
    workload = content_workload(_popularity(given, workload_seed), tree.top, given.brokers, setting, workload_seed)
    return stage_of(tree, workload), _diameter(tree)


def _diameter(tree: BrokerTree) -> float:
    """An upper bound: twice the path from the root to the farthest broker."""
    from_root = np.zeros(tree.brokers)
    for broker in np.argsort(tree.depths, kind="stable")[1:]:
        parent = tree.parents[broker]
        from_root[broker] = from_root[parent] + tree.delays[parent, broker]
    return float(max(2 * from_root.max(), tree.delays.max()))


@lru_cache(maxsize=1)
def _hosts(path: str | None) -> Latency:
    """Latencies between hosts; of sets with fewer hosts several brokers are on one."""
    latency = geographic_latency(GENERATED_HOSTS, seed=0) if path is None else read_latency(path)
    return latency if latency.nodes >= GENERATED_HOSTS else place(latency, GENERATED_HOSTS, seed=0)


def _popularity(given: Input, seed: int) -> npt.ArrayLike:
    if given.exponent is not None:
        return zipf_popularity(PUBLISHERS, given.exponent)
    return follower_popularity(_social_graph(given.followers), PUBLISHERS, seed)


@lru_cache(maxsize=1)
def _social_graph(folder: str | None) -> Instance:
    return generate("social", nodes=USERS, like="twitter", seed=0) if folder is None else read_instance(folder)


@lru_cache(maxsize=1)
def broker_capacity() -> Capacity:
    measured = measured_capacity()
    return replace(measured, publications_per_second=SHARE * measured.publications_per_second)
