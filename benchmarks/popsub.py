"""PopSub simulated at the paper's scale on one core, and a small case beside the same case in a world of brokers.

    python benchmarks/popsub.py --data DATA

The peer is `weft.sim.content_world`: the broker objects themselves, message by message, in plain Python. Sends are
forwards and messages out of the overlay, which both count alike. Compiling is not counted; times are the best of three.
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from weft.model.latency import Latency, read_latency
from weft.overlays.broker_tree import BrokerTree, Neighbourhood, broker_tree
from weft.protocol.popsub.parameters import Parameters, Way
from weft.sim.capacity import measured_capacity
from weft.sim.content_world import content_world
from weft.sim.popsub import simulate
from weft.sim.stage import stage_of
from weft.workloads.followers import zipf_popularity
from weft.workloads.geography import geographic_latency
from weft.workloads.popsub import ContentWorkload, Setting, content_workload

ROUNDS = 3
SHARE = 0.1  # of the measured capacity: with a deep tree, more work for the simulation than the experiments have
ROW = "| {:<9} | {:<14} | {:>12,} | {:>10,} | {:>8.2f} | {:>12,.0f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder with latency/planetlab-490.txt.gz; default: generated")
    parser.add_argument("--toy", action="store_true", help="whether it works")
    given = parser.parse_args()
    latency = geographic_latency(490, seed=0)
    if given.data is not None:
        latency = read_latency(given.data / "latency" / "planetlab-490.txt.gz")
    print("| way | on | publications | sends | seconds | sends/s |")
    print("|---|---|---:|---:|---:|---:|")
    small = case(latency, brokers=40, publishers=20, setting=Setting(2_000, rate=5.0, seconds=20.0))
    large = case(latency, brokers=200, publishers=200, setting=Setting())
    if given.toy:
        small = large = case(latency, brokers=10, publishers=5, setting=Setting(50, rate=1.0, seconds=5.0))
    for way in Way:
        in_world(*small, way)
        in_kernels(*small, way)
        in_kernels(*large, way)
    seconds, _ = best(lambda: stage_of(*large))
    print(f"\nFinding where {large[1].publications:,} publications go, once for all ways: {seconds:.2f} s")


def case(latency: Latency, brokers: int, publishers: int, setting: Setting) -> tuple[BrokerTree, ContentWorkload]:
    tree = broker_tree(latency, Neighbourhood(brokers, nearest=3), seed=1)
    return tree, content_workload(zipf_popularity(publishers, 0.75), tree.top, brokers, setting, seed=1)


def parameters_for(workload: ContentWorkload) -> Parameters:
    """The capacity is in proportion to what is published."""
    capacity = SHARE * measured_capacity().publications_per_second * len(workload.publishers) / 200
    return Parameters(diameter=1_000.0, capacity=capacity)


def in_world(tree: BrokerTree, workload: ContentWorkload, way: Way) -> None:
    parameters = parameters_for(workload)
    world, ledger, start = content_world(tree, workload, way, parameters)
    world.run(start)
    before = time.perf_counter()
    world.run(start + workload.times[-1] + 2 * parameters.round)
    show(way, "world", workload, ledger.forwards + ledger.out_of_overlay, time.perf_counter() - before)


def in_kernels(tree: BrokerTree, workload: ContentWorkload, way: Way) -> None:
    stage, parameters = stage_of(tree, workload), parameters_for(workload)
    capacity = replace(measured_capacity(), publications_per_second=parameters.capacity)
    simulate(stage, way, parameters, capacity)
    seconds, made = best(lambda: simulate(stage, way, parameters, capacity))
    show(way, "kernels, 1 core", workload, made.forwards + made.out_of_overlay, seconds)


def best(work: Callable[[], Any]) -> tuple[float, Any]:
    times = []
    for _ in range(ROUNDS):
        before = time.perf_counter()
        made = work()
        times.append(time.perf_counter() - before)
    return float(np.min(times)), made


def show(way: Way, on: str, workload: ContentWorkload, sends: int, seconds: float) -> None:
    print(ROW.format(way, on, workload.publications, sends, seconds, sends / seconds), flush=True)


if __name__ == "__main__":
    main()
