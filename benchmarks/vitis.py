"""Seconds and memory of Vitis networks: nodes join every 100 ms, warm up until tables are stable, publish 1,000 times.

python benchmarks/vitis.py                       # 4,000 nodes, on one thread; and the protocol objects as their peer
python benchmarks/vitis.py --nodes 20000 --join-interval 10     # larger, ten times as many joining at a time

The peer is the world of protocol objects, on a network small enough for it; both come to the same tables, which is
checked, and a node-round is one round of one node. Code is compiled before.
"""

import argparse
import resource
import time

from weft.model.instance import Instance
from weft.model.latency import PlacedLatency, place
from weft.protocol.vitis.parameters import LOCALITY, Parameters
from weft.sim.record import Record
from weft.sim.vitis import VitisNetwork
from weft.sim.vitis_scenario import Scenario, simulate
from weft.sim.vitis_world import schedule_join, vitis_world
from weft.workloads.catalog import generate
from weft.workloads.geography import geographic_latency

SMALL, ROUNDS, SEED = 100, 40, 1
PARAMETERS = Parameters(exponent=LOCALITY)

Tables = list[set[int]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=4000)
    parser.add_argument("--pattern", choices=["random", "low", "high"], default="random")
    parser.add_argument("--join-interval", type=float, default=100.0, help="milliseconds")
    parser.add_argument("--publications", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="of the small network, beside its peer")
    options = parser.parse_args()
    small = generate("random", nodes=SMALL, seed=SEED)
    simulate(small, hosts(SMALL), PARAMETERS, Scenario(publications=20, most_rounds=5), SEED)  # compiles

    print("| what | nodes | rounds | seconds | node-rounds/s | memory |\n|---|---:|---:|---:|---:|---:|")
    (slow, expected), (fast, found) = in_a_world(small, options.rounds), on_kernels(small, options.rounds)
    if found != expected:
        raise SystemExit("the world and the kernels disagree")
    row("protocol objects in a world", SMALL, options.rounds, slow)
    row("kernels, the same network", SMALL, options.rounds, fast)
    start = time.perf_counter()
    instance = generate(options.pattern, nodes=options.nodes, seed=SEED)
    scenario = Scenario(join_interval=options.join_interval, publications=options.publications)
    figures = simulate(instance, hosts(options.nodes), PARAMETERS, scenario, SEED)
    what = f"kernels, {options.pattern}, {options.publications:,} publications"
    row(what, options.nodes, figures["rounds"], time.perf_counter() - start)
    print(f"\nhit ratio {figures['hit_ratio']}, delivery time {figures['delivery_time']:.0f} ms")


def hosts(nodes: int) -> PlacedLatency:
    return place(geographic_latency(490, SEED), nodes, SEED)


def on_kernels(instance: Instance, rounds: int) -> tuple[float, Tables]:
    start = time.perf_counter()
    network = VitisNetwork(instance, hosts(SMALL), PARAMETERS, SEED)
    for node in range(SMALL):
        network.join(node, node // 2 if node else None)
    for _ in range(rounds):
        network.step()
    seconds = time.perf_counter() - start
    return seconds, [set(peers[peers >= 0].tolist()) for peers in network.gossip.table]


def in_a_world(instance: Instance, rounds: int) -> tuple[float, Tables]:
    world, nodes = vitis_world(instance, hosts(SMALL), PARAMETERS, SEED, Record())
    for node in range(SMALL):
        schedule_join(world, nodes, 1.0, node, node // 2 if node else None)
    start = time.perf_counter()
    world.run(until=rounds * PARAMETERS.period)
    return time.perf_counter() - start, [set(vitis.neighbourhood.table.peers) for vitis in nodes]


def row(what: str, nodes: int, rounds: int, seconds: float) -> None:
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    speed = nodes * rounds / seconds
    print(f"| {what} | {nodes:,} | {rounds} | {seconds:.1f} | {speed:,.0f} | {memory:.1f} GB |", flush=True)


if __name__ == "__main__":
    main()
