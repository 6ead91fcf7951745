"""A broker tree from a file of links `a,b,ms`, with the names of its brokers.

`ms` is the round trip over the link, as in files of latencies; a message takes half of it. Two brokers that no link
joins are as far apart as the way along the tree, unless latencies between all of them are given.
"""

from dataclasses import dataclass

import numpy as np

from weft.arrays import Floats, Int32s
from weft.errors import WeftError
from weft.model.latency import Latency, MatrixLatency, read_latency
from weft.model.latency_file import LONGEST
from weft.overlays.broker_tree import NO_PARENT, BrokerTree, Neighbourhood, broker_tree
from weft.raw.records import Given, Records, records_of
from weft.raw.source import sample_of


@dataclass(frozen=True, eq=False)
class NamedTree:
    tree: BrokerTree
    names: tuple[str, ...]

    @property
    def numbers(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.names)}


def read_tree(links: Given, latency: str | None = None) -> NamedTree:
    """The tree of these links, from broker to broker in the order of their names' first mention."""
    rows = records_of(links, "links")
    ends = [rows.texts(column) for column in ("a", "b")]
    times = rows.numbers("ms")
    names: dict[str, int] = {}
    for one, other in zip(*ends, strict=True):
        names.setdefault(one, len(names))
        names.setdefault(other, len(names))
    pairs = [(names[one], names[other]) for one, other in zip(*ends, strict=True)]
    _require_tree(rows, pairs, times, list(names))
    parents, along = _rooted(pairs, times, len(names))
    delays = along if latency is None else _between(latency, tuple(names))
    return NamedTree(BrokerTree(parents, delays), tuple(names))


def tree_of_latencies(path: str, nearest: int | None, brokers: int | None, seed: int) -> NamedTree:
    """The paper's tree (section 5.1) of the hosts of a file, all of them or as many as wanted."""
    hosts = read_latency(sample_of(path))
    wanted = hosts.nodes if brokers is None else brokers
    tree = broker_tree(hosts, Neighbourhood(wanted, nearest), seed)
    named = isinstance(hosts, MatrixLatency) and hosts.names is not None
    names = (
        hosts.names
        if named and isinstance(hosts, MatrixLatency) and hosts.names
        else tuple(map(str, range(hosts.nodes)))
    )
    return NamedTree(tree, tuple(names[host] for host in tree.hosts.tolist()))


def _require_tree(rows: Records, pairs: list[tuple[int, int]], times: Floats, names: list[str]) -> None:
    root = list(range(len(names)))

    def top(node: int) -> int:
        while root[node] != node:
            root[node] = root[root[node]]
            node = root[node]
        return node

    for row, (one, other) in enumerate(pairs):
        if not 0 <= times[row] <= LONGEST:
            raise rows.bad(row, f"{times[row]:g} ms is no time of a link: give 0 to {LONGEST:,}")
        if one == other:
            raise rows.bad(row, f"the link of {names[one]!r} leads to itself")
        if top(one) == top(other):
            raise rows.bad(
                row, f"{names[one]!r} and {names[other]!r} are joined already, and brokers must be a tree: leave it out"
            )
        root[top(one)] = top(other)
    apart = next((node for node in range(len(names)) if top(node) != top(0)), None)
    if apart is not None:
        raise WeftError(
            f"{rows.name}: no links lead from {names[0]!r} to {names[apart]!r}, and brokers must be one tree."
        )
    if len(names) < 2:
        raise WeftError(f"{rows.name} has no link: give at least one.")


def _rooted(pairs: list[tuple[int, int]], times: Floats, count: int) -> tuple[Int32s, Floats]:
    """Parents of brokers, from broker 0, and the milliseconds one way between any two along the tree."""
    peers: list[list[tuple[int, float]]] = [[] for _ in range(count)]
    for (one, other), time in zip(pairs, times.tolist(), strict=True):
        peers[one].append((other, time / 2))
        peers[other].append((one, time / 2))
    parents = np.full(count, NO_PARENT, np.int32)
    delays = np.zeros((count, count))
    reached = [0]
    for broker in reached:
        for peer, delay in peers[broker]:
            if peer != parents[broker]:
                parents[peer] = broker
                delays[peer, reached] = delays[reached, peer] = delays[broker, reached] + delay
                reached.append(peer)
    return parents, delays


def _between(path: str, names: tuple[str, ...]) -> Floats:
    hosts: Latency = read_latency(sample_of(path))
    if not isinstance(hosts, MatrixLatency) or hosts.names is None:
        raise WeftError(f"{path} has no names, and the links have: give latencies with the names of brokers.")
    row_of = {name: row for row, name in enumerate(hosts.names)}
    missing = next((name for name in names if name not in row_of), None)
    if missing is not None:
        raise WeftError(f"{path} has no times of the broker {missing!r}, which the links name: add them.")
    rows = np.array([row_of[name] for name in names])
    between: Floats = hosts.matrix[np.ix_(rows, rows)] / 2
    return between
