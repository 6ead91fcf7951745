"""PopSub's broker tree (section 5.1): publications follow the shortest paths from a root.

The paper walks breadth-first over the graph of measured latencies from a random root until it has as many brokers as
wanted, and takes the tree of shortest paths in what it has visited. Of a full matrix the walk visits any hosts, here
drawn by lot. The tree is no star: measured latencies break the triangle inequality, so that most shortest paths have
several hops (from 200 hosts of PlanetLab 10 to 78 children at the root, and mean depths of 1.8 to 3.1).

Another choice is a graph of nearest hosts only, and, so that it is connected, of the minimum spanning tree: its trees
are deeper and have a narrow top.

Brokers are numbered as they are visited, the root first.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from weft.arrays import Floats, Int32s, Int64s
from weft.errors import WeftError
from weft.model.latency import Latency

ROOT = 0
NO_PARENT = -1


@dataclass(frozen=True)
class Neighbourhood:
    brokers: int  # at least 2, at most as many as there are hosts
    nearest: int | None = None  # other hosts that a host is linked to, at least 1; none: all


@dataclass(frozen=True, eq=False)
class BrokerTree:
    parents: Int32s  # of every broker; NO_PARENT for the root
    delays: Floats  # [from, to], milliseconds one way, between any two brokers
    hosts: Int64s = field(default_factory=lambda: np.zeros(0, np.int64))  # of brokers, where they were drawn from some

    @property
    def brokers(self) -> int:
        return len(self.parents)

    @property
    def depths(self) -> Int32s:
        """Hops from the root."""
        depths = np.zeros(self.brokers, np.int32)
        for broker in csgraph.breadth_first_order(self._graph(), ROOT, directed=False)[0][1:]:
            depths[broker] = depths[self.parents[broker]] + 1
        return depths

    @property
    def diameter(self) -> float:
        """An upper bound of the time between two brokers: twice the way from the root to the farthest, or directly."""
        from_root = np.zeros(self.brokers)
        for broker in np.argsort(self.depths, kind="stable")[1:]:
            parent = self.parents[broker]
            from_root[broker] = from_root[parent] + self.delays[parent, broker]
        return float(max(2 * from_root.max(), self.delays.max()))

    @property
    def top(self) -> Int32s:
        """The root and its children, where publishers are."""
        return np.flatnonzero((self.parents == ROOT) | (self.parents == NO_PARENT)).astype(np.int32)

    def rooted_at(self, broker: int) -> Int32s:
        """The parents of all brokers in the same tree, seen from another root."""
        return _parents(self._graph(), broker)

    def links(self) -> Iterator[tuple[int, int]]:
        """Parent and child."""
        return ((int(self.parents[child]), child) for child in range(self.brokers) if child != ROOT)

    def _graph(self) -> sparse.csr_array:
        children = np.flatnonzero(self.parents != NO_PARENT)
        ends = (self.parents[children], children)
        return sparse.csr_array((np.ones(len(children)), ends), shape=(self.brokers, self.brokers))


def broker_tree(latency: Latency, wanted: Neighbourhood, seed: int) -> BrokerTree:
    if not 2 <= wanted.brokers <= latency.nodes:
        raise WeftError(f"{wanted.brokers} brokers are out of range: give 2 to {latency.nodes}, the number of hosts.")
    if wanted.nearest is not None and wanted.nearest < 1:
        raise WeftError(f"{wanted.nearest} nearest hosts are too few: give at least 1.")
    delays, random = _delays(latency), np.random.default_rng(seed)
    weights = _weights(delays)
    root = int(random.integers(latency.nodes))
    if wanted.nearest is None:
        others = random.permutation(np.delete(np.arange(latency.nodes), root))
        visited = np.append(root, others)[: wanted.brokers]
        graph = sparse.csr_array(np.where(np.isinf(weights), 0, weights)[np.ix_(visited, visited)])
    else:
        near = _near_hosts(weights, wanted.nearest)
        visited = csgraph.breadth_first_order(near, root, directed=False, return_predecessors=False)[: wanted.brokers]
        graph = near[visited][:, visited]
    _, parents = csgraph.dijkstra(graph, directed=False, indices=[ROOT], return_predecessors=True)
    return BrokerTree(
        np.maximum(parents[0], NO_PARENT).astype(np.int32), delays[np.ix_(visited, visited)], np.asarray(visited)
    )


def _delays(latency: Latency) -> Floats:
    hosts = np.arange(latency.nodes)
    return latency.round_trip(hosts[:, np.newaxis], hosts) / 2


def _weights(delays: Floats) -> Floats:
    """Links weigh the delay in the better direction; the sparse matrices hold no zero, so it is never quite zero."""
    between = np.maximum(np.minimum(delays, delays.T), 1e-9)
    np.fill_diagonal(between, np.inf)
    return between


def _near_hosts(between: Floats, nearest: int) -> sparse.csr_array:
    near = np.argsort(between, axis=1, kind="stable")[:, :nearest]
    linked = np.zeros(between.shape, bool)
    np.put_along_axis(linked, near, True, axis=1)
    np.fill_diagonal(linked, False)
    spanning = csgraph.minimum_spanning_tree(np.where(np.isinf(between), 0, between)).toarray() > 0
    linked |= spanning
    linked |= linked.T
    return sparse.csr_array(np.where(linked, between, 0))


def _parents(graph: sparse.csr_array, root: int) -> Int32s:
    _, parents = csgraph.breadth_first_order(graph, root, directed=False, return_predecessors=True)
    return np.maximum(parents, NO_PARENT).astype(np.int32)
