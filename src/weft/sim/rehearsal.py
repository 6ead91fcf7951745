"""Rehearsals: small runs of what commands do, after which their kernels need not be compiled any more.

Each stands for itself, so that processes can rehearse side by side; what two of them need is compiled by both, if they
come to it at once. The dearest come first, so that no process is left alone with one of them in the end.
"""

import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import cache
from multiprocessing import get_context

import numpy as np

from weft.model.instance import Instance, instance_from_pairs
from weft.model.latency import place
from weft.model.overlay import Overlay
from weft.model.publication import Publications
from weft.overlays.broker_tree import Neighbourhood, broker_tree
from weft.overlays.catalog import design
from weft.overlays.quality import link_quality, quality
from weft.protocol.popsub.parameters import Parameters as PopSubParameters
from weft.protocol.popsub.parameters import Way
from weft.protocol.vitis.parameters import LOCALITY
from weft.protocol.vitis.parameters import Parameters as VitisParameters
from weft.sim import popsub, vitis_scenario
from weft.sim.bulk import evaluate
from weft.sim.capacity import measured_capacity
from weft.sim.stage import stage_of
from weft.trees.weave import weave
from weft.workloads.catalog import generate
from weft.workloads.followers import zipf_popularity
from weft.workloads.geography import geographic_latency
from weft.workloads.popsub import Setting, content_workload

NODES, TOPICS, SUBSCRIPTIONS = 60, 20, 240


def _instance() -> Instance:
    """Subscriptions drawn without any kernel."""
    pairs = np.random.default_rng(1).choice(NODES * TOPICS, SUBSCRIPTIONS, replace=False)
    return instance_from_pairs(*np.divmod(pairs, TOPICS), node_count=NODES, topic_count=TOPICS)


@cache
def _overlay() -> Overlay:
    return design(_instance(), "random", seed=1)


def _design(name: str) -> None:
    link_quality(_instance(), design(_instance(), name, seed=1))


def _evaluate(router: str) -> None:
    instance = _instance()
    nodes = np.arange(NODES, dtype=np.int32)
    evaluate(instance, _overlay(), router, Publications(nodes % np.int32(TOPICS), nodes), seed=1)


def _simulate_popsub() -> None:
    tree = broker_tree(geographic_latency(20, seed=1), Neighbourhood(10, nearest=3), seed=1)
    workload = content_workload(zipf_popularity(5, 0.75), tree.top, 10, Setting(50, rate=1.0, seconds=5.0), seed=1)
    stage, parameters = stage_of(tree, workload.exchange()), PopSubParameters(diameter=1_000.0, capacity=100.0)
    for way in Way:
        popsub.simulate(stage, way, parameters, measured_capacity())


def _simulate_vitis() -> None:
    instance, hosts = generate("random", nodes=NODES, seed=1), place(geographic_latency(20, seed=1), NODES, 1)
    scenario = vitis_scenario.Scenario(publications=20, most_rounds=5)
    vitis_scenario.simulate(instance, hosts, VitisParameters(exponent=LOCALITY), scenario, 1)


REHEARSALS: dict[str, Callable[[], object]] = {
    "simulate vitis": _simulate_vitis,
    "simulate popsub": _simulate_popsub,
    "weave": lambda: weave(_instance(), _overlay()),
    "generate social": lambda: generate("social", nodes=300, seed=1),
    "design swico-sl": lambda: _design("swico-sl"),
    "design dc": lambda: _design("dc"),
    "evaluate pie": lambda: _evaluate("pie"),
    "inspect": lambda: quality(_instance(), _overlay()),
    "evaluate scribe": lambda: _evaluate("scribe"),
    "design gm": lambda: _design("gm"),
    "generate zipf": lambda: generate("zipf", nodes=60, topics=20, subscriptions=4, seed=1),
    "evaluate weave": lambda: _evaluate("weave"),
}


def _rehearse(name: str) -> None:
    REHEARSALS[name]()


def rehearsed(processes: int) -> Iterator[str]:
    """The names of rehearsals, each when it is over."""
    spawn = get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=spawn, initializer=_leave_signals) as pool:
        running = {pool.submit(_rehearse, name): name for name in REHEARSALS}
        for done in as_completed(running):
            done.result()
            yield running[done]


def _leave_signals() -> None:
    """A terminal sends Ctrl-C to all processes; the one that waits for the others ends them."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
