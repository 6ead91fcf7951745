"""Message hops per second of Po on `random`, Unif, 10,000 nodes, 2,000 topics, 20 subscriptions a node.

python benchmarks/routing.py             # kernels on one thread and on two, and the event-driven world as their peer

A hop is one message over one link, so hops per second are the messages of the publications by the seconds it took to
count them; the network is made before, and code is compiled. The best of some rounds counts. What all publications of a
topic have in common is routed once, so a row with about one publication a topic says what routing alone costs.
The world gives the same counts on the same publications, of which it is given fewer.
"""

import argparse
import time

import numba

from weft.model.instance import Instance
from weft.model.latency import ConstantLatency
from weft.model.overlay import Overlay
from weft.model.publication import Publications
from weft.overlays.catalog import design
from weft.protocol.router import Publication, Published
from weft.sim.bulk import evaluate_part
from weft.sim.catalog import ROUTERS, network_for
from weft.sim.network import Network, network_of
from weft.sim.population import routers_of
from weft.sim.record import Record
from weft.sim.world import World
from weft.workloads.catalog import generate
from weft.workloads.publication import publications

SEED = 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=10_000)
    parser.add_argument("--topics", type=int, default=2_000)
    parser.add_argument("--publications", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=10)
    options = parser.parse_args()
    instance = generate("unif", nodes=options.nodes, topics=options.topics, seed=SEED)
    overlay = design(instance, "random", seed=SEED)
    network = network_of(instance, overlay)
    said = publications(instance, options.publications, SEED)
    few, once = (Publications(said.topics[:count], said.nodes[:count]) for count in (100, options.topics))

    print("| router | on | publications | hops | million hops/s |\n|---|---|---:|---:|---:|")
    hops, seconds = world(instance, overlay, few)
    if hops != evaluate_part(network, "po", few).messages:
        raise SystemExit("the world and the kernels disagree")
    row("po", "world, plain Python", few, hops, seconds)
    row("po", "kernels, threads: 1", once, *best(network, "po", once, 1, options.rounds))
    for threads in (1, 2):
        row("po", f"kernels, threads: {threads}", said, *best(network, "po", said, threads, options.rounds))
    for router in list(ROUTERS)[1:]:
        network = network_for(router, instance, overlay)
        row(router, "kernels, threads: 1", said, *best(network, router, said, 1, options.rounds))


def best(network: Network, router: str, said: Publications, threads: int, rounds: int) -> tuple[int, float]:
    numba.set_num_threads(threads)
    evaluate_part(network, router, said)
    seconds = []
    for _ in range(rounds):
        start = time.perf_counter()
        messages = evaluate_part(network, router, said).messages
        seconds.append(time.perf_counter() - start)
    return messages, min(seconds)


def world(instance: Instance, overlay: Overlay, said: Publications) -> tuple[int, float]:
    record = Record()
    made = World(routers_of(instance, overlay, "po"), ConstantLatency(instance.nodes), record)
    for number, (topic, node) in enumerate(zip(said.topics.tolist(), said.nodes.tolist(), strict=True)):
        made.schedule(0.0, node, Published(Publication(node, number, topic)))
    start = time.perf_counter()
    made.run()
    return len(record.hops), time.perf_counter() - start


def row(router: str, place: str, said: Publications, hops: int, seconds: float) -> None:
    print(f"| {router} | {place} | {len(said):,} | {hops:,} | {hops / seconds / 1e6:,.2f} |", flush=True)


if __name__ == "__main__":
    main()
