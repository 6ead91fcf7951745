"""Seconds to design and to weave with bounds on the load and without, side by side; beside plain Python with networkx;
how near relays are to the fewest; and what a change touches.

    python benchmarks/weave.py                                  # generated instances
    python benchmarks/weave.py --data DATA            # ego-Twitter as well: 10,000 nodes, and all of it
    python benchmarks/weave.py --data DATA --only sides      # the first table alone

The first table is `swico-sl` with trees that are woven each by itself, and `swico-even` with trees that share the load,
in turns, three times each; the least of three counts.

The peer makes the same kind of trees by the trial that Weave started from: for every topic networkx finds the connected
parts of its sub-overlay, joins the nearest parts by shortest paths, and takes the breadth-first tree from the member of
highest degree. It is given fewer topics, and its time is scaled. Compiled code is warm; design is not counted.
"""

import argparse
import time
from collections.abc import Iterator
from pathlib import Path

import networkx as nx
import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse import csgraph

from markdown import row
from snap import read_snap
from weft.experiments.engine.dataset import DATASETS, find
from weft.model.instance import Instance
from weft.model.overlay import Overlay
from weft.overlays.catalog import design
from weft.protocol.loom import Loom
from weft.trees.load import LOAD_WEIGHT
from weft.trees.weave import FAN_OUT, mesh_of, weave
from weft.workloads.catalog import generate
from weft.workloads.sample import Sampling, sample

PEER_TOPICS, CHANGES, TURNS = 200, 300, 3
SIDES = (("swico-sl", 0.0), ("swico-even", LOAD_WEIGHT))

Hops = npt.NDArray[np.int64]  # [node, node]
Nodes = npt.NDArray[np.int32]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder with SNAP's twitter_combined.txt.gz, or with a folder of it")
    parser.add_argument("--only", choices=["sides"], help="one table alone")
    parser.add_argument("--toy", action="store_true", help="whether it works")
    options = parser.parse_args()
    warm = generate("social", nodes=100, seed=1)
    for links, weight in SIDES:
        weave(warm, design(warm, links, seed=1), load_weight=weight)
    report_sides(options.data, options.toy)
    if options.only:
        return
    print()
    row("instance", "topics", "subscriptions", "seconds", "networkx, seconds", "times", "relays", "relays of networkx")
    row(*["---"] * 8)
    touched = {}
    for name, instance, links in instances(options.data, options.toy):
        overlay = design(instance, links, seed=1)
        report(name, instance, overlay)
        touched[name] = changes(instance, overlay)
    print()
    small = generate("unif", nodes=127 if options.toy else 1023, topics=1_000 if options.toy else 10_000, seed=1)
    report_gap(small, design(small, "swico-sl", seed=1))
    print()
    kinds = ("subscribe", "unsubscribe", "disconnect", "fail")
    row("instance", *(f"{kind}: tables" for kind in kinds), *(f"{kind}: ms" for kind in kinds))
    row(*["---"] * 9)
    for name, (tables, seconds) in touched.items():
        means = (
            [f"{np.mean(tables[kind]):.1f}" for kind in kinds],
            [f"{1e3 * np.mean(seconds[kind]):.2f}" for kind in kinds],
        )
        row(name, *means[0], *means[1])


def report_sides(data: Path | None, toy: bool) -> None:
    row(
        "instance", *(f"{links}, weight {weight}: {what}, s" for links, weight in SIDES for what in ("design", "weave"))
    )
    row(*["---"] * 5)
    for name, instance, links in instances(data, toy):
        if links != "random":
            row(name, *(f"{seconds:.2f}" for seconds in sides_of(instance)))


def sides_of(instance: Instance) -> list[float]:
    """Design and weaving of each side, in turns, so that what else the machine does slows both alike."""
    least = [float("inf")] * 4
    for _ in range(TURNS):
        for side, (links, weight) in enumerate(SIDES):
            start = time.perf_counter()
            overlay = design(instance, links, seed=1)
            middle = time.perf_counter()
            weave(instance, overlay, load_weight=weight)
            end = time.perf_counter()
            least[2 * side] = min(least[2 * side], middle - start)
            least[2 * side + 1] = min(least[2 * side + 1], end - middle)
    return least


def instances(data: Path | None, toy: bool) -> Iterator[tuple[str, Instance, str]]:
    """Instances, with the overlay to weave on."""
    if toy:
        yield "social, 300 nodes", generate("social", nodes=300, seed=1), "swico-sl"
        return
    social = generate("social", nodes=2_000, seed=1)
    yield "social, 2,000 nodes, `random`", social, "random"
    yield "social, 2,000 nodes", social, "swico-sl"
    yield "social, 10,000 nodes", generate("social", nodes=10_000, seed=1), "swico-sl"
    yield "Unif, 1,023 nodes", generate("unif", nodes=1023, topics=10_000, seed=1), "swico-sl"
    if data:
        twitter = read_snap(twitter_in(data), both_ways=False)
        yield "ego-Twitter, 10,000 nodes", sample(twitter, Sampling(10_000, seed=1)), "swico-sl"
        yield "ego-Twitter, 81,306 nodes", twitter, "swico-sl"


def twitter_in(data: Path) -> Path:
    path = find(data, DATASETS["twitter"])
    if path is None:
        raise SystemExit(f"{data} has no {DATASETS['twitter'].file}")
    return path


def report(name: str, instance: Instance, overlay: Overlay) -> None:
    start = time.perf_counter()
    trees = weave(instance, overlay)
    seconds = time.perf_counter() - start
    topics = np.random.default_rng(1).choice(instance.topics, PEER_TOPICS, replace=False).tolist()
    graph = nx.Graph(zip(overlay.sources.tolist(), overlay.targets.tolist(), strict=True))
    start = time.perf_counter()
    plain = sum(plain_tree(graph, set(instance.subscribers[topic].tolist())) for topic in topics)
    share = instance.subscribers.counts[topics].sum() / instance.subscriptions
    peer = (time.perf_counter() - start) / share
    ours = int((trees.sizes - instance.subscribers.counts)[topics].sum())
    size = f"{instance.topics:,}", f"{instance.subscriptions:,}"
    row(name, *size, f"{seconds:.2f}", f"{peer:.0f}", f"{peer / seconds:.0f}", ours, plain)


def report_gap(instance: Instance, overlay: Overlay) -> None:
    """Relays of small topics on Unif, and the fewest: a tree of three or four has at most one or two branchings."""
    links = mesh_of(overlay).neighbours
    adjacency = sparse.csr_array((np.ones(len(links)), links.indices, links.indptr), shape=(links.rows, links.rows))
    hops = csgraph.shortest_path(adjacency, unweighted=True).astype(np.int64)
    counts, sizes = instance.subscribers.counts, weave(instance, overlay).sizes
    row("subscribers", "topics", "relays", "fewest")
    row(*["---"] * 4)
    for count, fewest in ((2, fewest_of_two), (3, fewest_of_three), (4, fewest_of_four)):
        topics = np.flatnonzero(counts == count)
        least = sum(fewest(hops, instance.subscribers[topic]) for topic in topics.tolist())
        row(count, len(topics), int((sizes - counts)[topics].sum()), least)
    rest = np.flatnonzero(counts > 4)
    row("more", len(rest), int((sizes - counts)[rest].sum()), "")


def fewest_of_two(hops: Hops, nodes: Nodes) -> int:
    return int(hops[nodes[0], nodes[1]]) - 1


def fewest_of_three(hops: Hops, nodes: Nodes) -> int:
    return int(hops[nodes].sum(axis=0).min()) - 2


def fewest_of_four(hops: Hops, nodes: Nodes) -> int:
    a, b, c, d = nodes
    pairs = (((a, b), (c, d)), ((a, c), (b, d)), ((a, d), (b, c)))
    return (
        min(int((hops[one].sum(0)[:, None] + hops + hops[other].sum(0)).min()) for one, other in map(lists, pairs)) - 3
    )


def lists(pairs: tuple[tuple[int, int], tuple[int, int]]) -> tuple[list[int], list[int]]:
    return list(pairs[0]), list(pairs[1])


def plain_tree(graph: nx.Graph, subscribers: set[int]) -> int:
    """How many relays it has."""
    members = set(subscribers)
    parts = list(nx.connected_components(graph.subgraph(members)))
    while len(parts) > 1:
        way = way_between(graph, parts[0], members - parts[0])
        members |= set(way)
        parts = list(nx.connected_components(graph.subgraph(members)))
    if members:
        among = graph.subgraph(members)
        nx.bfs_tree(among, max(among, key=among.degree))
    return len(members) - len(subscribers)


def way_between(graph: nx.Graph, part: set[int], others: set[int]) -> list[int]:
    before, todo = dict.fromkeys(part), list(part)
    for node in todo:
        for peer in graph[node]:
            if peer not in before:
                before[peer] = node
                todo.append(peer)
                if peer in others:
                    way = [peer]
                    while before[way[-1]] is not None:
                        way.append(before[way[-1]])
                    return way
    raise SystemExit("the overlay is in parts")


def changes(instance: Instance, overlay: Overlay) -> tuple[dict[str, list[int]], dict[str, list[float]]]:
    """Tables touched and seconds taken by each of many changes, one after the other."""
    rng = np.random.default_rng(1)
    loom = Loom(instance, mesh_of(overlay).neighbours, weave(instance, overlay), FAN_OUT)
    tables: dict[str, list[int]] = {kind: [] for kind in ("subscribe", "unsubscribe", "disconnect", "fail")}
    seconds: dict[str, list[float]] = {kind: [] for kind in tables}
    for kind in rng.choice(list(tables), CHANGES, p=[0.45, 0.45, 0.07, 0.03]).tolist():
        node = int(rng.choice(sorted(loom.links)))
        topics, peers = sorted(loom.interest(node)), sorted(loom.links[node])
        if not topics or not peers:
            continue
        arguments = {
            "subscribe": (node, int(rng.integers(instance.topics))),
            "unsubscribe": (node, int(rng.choice(topics))),
            "disconnect": (node, int(rng.choice(peers))),
            "fail": (node,),
        }[kind]
        start = time.perf_counter()
        touched = getattr(loom, kind)(*arguments)
        seconds[kind].append(time.perf_counter() - start)
        tables[kind].append(len(touched))
    return tables, seconds


if __name__ == "__main__":
    main()
