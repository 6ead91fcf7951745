"""PopSub simulated at the paper's scale on one core, and a small case beside the same case in a world of brokers.

    python benchmarks/popsub.py --data DATA
    python benchmarks/popsub.py --own             # `weft popsub` on 1,000 brokers, a process a way

The peer is `weft.sim.content_world`: the broker objects themselves, message by message, in plain Python. Sends are
forwards and messages out of the overlay, which both count alike. Compiling is not counted; times are the best of three.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
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
    parser.add_argument("--own", action="store_true", help="files of 100,000 subscriptions and 1,000,000 publications")
    parser.add_argument("--toy", action="store_true", help="whether it works")
    given = parser.parse_args()
    if given.own:
        own_brokers(OWN_TOY if given.toy else OWN)
        return
    latency = geographic_latency(490, seed=0)
    if given.data is not None:
        latency = read_latency(given.data / "latency" / "planetlab-490.txt.gz")
    print("| way | on | publications | sends | seconds | sends/s |")
    print("|---|---|---:|---:|---:|---:|")
    small = case(latency, brokers=40, publishers=20, setting=Setting(2_000, rate=5.0, seconds=20.0))
    large = case(latency, brokers=200, publishers=200, setting=Setting())
    if given.toy:
        small = large = case(latency, brokers=10, publishers=5, setting=Setting(50, rate=1.0, seconds=5.0))
    for way in [way for way in Way if way is not Way.LPBCAST]:
        in_world(*small, way)
        in_kernels(*small, way)
        in_kernels(*large, way)
    seconds, _ = best(lambda: stage_of(large[0], large[1].exchange()))
    print(f"\nFinding where {large[1].publications:,} publications go, once for all ways: {seconds:.2f} s")


@dataclass(frozen=True)
class Own:
    brokers: int = 1_000
    advertisements: int = 500
    subscriptions: int = 100_000
    publications: int = 1_000_000
    seconds: float = 600.0


OWN, OWN_TOY = Own(), Own(10, 5, 100, 300, 6.0)
CLASSES = 50


def own_brokers(size: Own) -> None:
    """Seconds, those that a core worked, and memory of `weft popsub` by each way, with reading and matching."""
    with TemporaryDirectory() as folder:
        files = written(Path(folder), size)
        print("| way | publications | deliveries | forwards | out of the overlay | seconds | of a core | GB at most |")
        print("|---|---:|---:|---:|---:|---:|---:|---:|")
        for way in Way:
            command = [sys.executable, "-m", "weft", "popsub", *files, "--unpopular", way.value, "--json"]
            before = time.perf_counter()
            with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
                assert process.stdout is not None
                (made,) = json.loads(process.stdout.read())["ways"]
                _, _, usage = os.wait4(process.pid, 0)
            figures = (made[name] for name in ("deliveries", "forwards", "out_of_overlay"))
            cells = [f"{size.publications:,}", *(f"{figure:,}" for figure in figures)]
            cells += [
                f"{time.perf_counter() - before:.0f}",
                f"{usage.ru_utime + usage.ru_stime:.0f}",
                f"{usage.ru_maxrss / 2**20:.2f}",
            ]
            print(f"| {way} | {' | '.join(cells)} |", flush=True)


def written(folder: Path, size: Own) -> list[str]:
    """Flags with the files of a random tree, advertisements by a Zipf law, and subscriptions to a range and symbols."""
    draw = np.random.default_rng(1)
    weights = np.arange(1.0, CLASSES + 1) ** -0.8
    kinds = draw.choice(CLASSES, size.advertisements, p=weights / weights.sum())
    brokers = draw.integers(size.brokers, size=size.advertisements)
    rows = {
        "links": [
            "a,b,ms",
            *(f"b{draw.integers(max(0, n - 40), n)},b{n},{draw.uniform(1, 30):.1f}" for n in range(1, size.brokers)),
        ],
        "advertisements": [
            "id,broker,class,filter",
            *(f"a{n},b{broker},k{kind}," for n, (broker, kind) in enumerate(zip(brokers, kinds, strict=True))),
        ],
        "subscriptions": ["id,broker,class,filter"],
        "publications": ["time,advertisement,price,symbol"],
    }
    wanted = draw.choice(CLASSES, size.subscriptions, p=weights / weights.sum())
    places, lows = draw.integers(size.brokers, size=size.subscriptions), draw.uniform(0, 1000, size.subscriptions)
    for n in range(size.subscriptions):
        text = f"price >= {lows[n]:.2f} and price <= {lows[n] + 40:.2f} and symbol in ('S{n % 5}', 'S{n % 7}')"
        rows["subscriptions"].append(f's{n},b{places[n]},k{wanted[n]},"{text}"')
    of = np.minimum(*draw.integers(size.advertisements, size=(2, size.publications)))
    times = np.sort(draw.uniform(0, size.seconds, size.publications))
    prices, symbols = draw.uniform(0, 1000, size.publications), draw.integers(8, size=size.publications)
    said = zip(times.tolist(), of.tolist(), prices.tolist(), symbols.tolist(), strict=True)
    rows["publications"] += [f"{at:.4f},a{ad},{price:.2f},S{symbol}" for at, ad, price, symbol in said]
    flags = []
    for name, lines in rows.items():
        path = folder / f"{name}.csv"
        path.write_text("\n".join(lines) + "\n")
        flags += [f"--{name}", str(path)]
    return flags


def case(latency: Latency, brokers: int, publishers: int, setting: Setting) -> tuple[BrokerTree, ContentWorkload]:
    tree = broker_tree(latency, Neighbourhood(brokers, nearest=3), seed=1)
    return tree, content_workload(zipf_popularity(publishers, 0.75), tree.top, brokers, setting, seed=1)


def parameters_for(workload: ContentWorkload) -> Parameters:
    """The capacity is in proportion to what is published."""
    capacity = SHARE * measured_capacity().publications_per_second * len(workload.publishers) / 200
    return Parameters(diameter=1_000.0, capacity=capacity)


def in_world(tree: BrokerTree, workload: ContentWorkload, way: Way) -> None:
    parameters = parameters_for(workload)
    world, ledger, start = content_world(tree, workload.exchange(), way, parameters)
    world.run(start)
    before = time.perf_counter()
    world.run(start + workload.times[-1] + 2 * parameters.round)
    show(way, "world", workload, ledger.forwards + ledger.out_of_overlay, time.perf_counter() - before)


def in_kernels(tree: BrokerTree, workload: ContentWorkload, way: Way) -> None:
    stage, parameters = stage_of(tree, workload.exchange()), parameters_for(workload)
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
