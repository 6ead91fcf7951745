"""How nodes are divided, and in how many partitions (sections V, VI and VIII-C of the DC paper).

Random partitions are equal in size and need to know nothing of the interests. K-means puts nodes of like interest
together; it is here to compare with. It goes by Hamming distance between interests, which for sets is the squared
Euclidean distance of their 0/1 vectors, so that a centre is a mean. Regions put nodes together that are near each
other, by landmarks that are far apart, so that only links among stars go far.

The number of partitions minimises the potential-neighbour size |V| / p + p * kappa, with kappa the average star set,
which is how many nodes a star node may be linked with. Or it minimises the time: |V|^2 / p + (p * kappa)^2 for
partitions one after the other, and (|V| / p)^2 + (p * kappa)^2 for partitions side by side, which would be lowest at
sqrt(|V| / kappa) if kappa were known. Every p is tried on a random division, which costs one greedy set cover a
partition. Clusters of K-means may be as many as where the curve of what is left inside them bends (the elbow method).
"""

from collections.abc import Callable
from functools import cache
from typing import Literal

import numpy as np
from scipy import sparse

from weft.arrays import Floats, Int32s, Int64s
from weft.model.csr import Csr
from weft.model.latency import Latency
from weft.overlays.star import star_nodes

Partitioning = Literal["random", "kmeans", "region"]
Goal = Literal["neighbours", "time", "parallel"]  # that the number of partitions minimises
Choose = Literal["neighbours", "time", "parallel", "elbow"]

ROUNDS = 20  # of K-means, at most
MOST_CLUSTERS = 64  # that the elbow method tries

RANDOM, KMEANS, REGION = 1, 2, 3  # streams of their own


def random_partition(nodes: int, count: int, seed: int) -> Int32s:
    """The partition of every node; sizes differ by one at most."""
    order = np.random.default_rng([seed, count, RANDOM]).permutation(nodes)
    return (order % max(count, 1)).astype(np.int32)


def kmeans_partition(interest: Csr, count: int, seed: int) -> Int32s:
    """Lloyd's algorithm from random nodes as centres; partitions that end empty are left out."""
    rng = np.random.default_rng([seed, count, KMEANS])
    vectors = interest.matrix(np.float64)
    centres = vectors[rng.choice(interest.rows, count, replace=False)].toarray()
    member = np.full(interest.rows, -1)
    for _ in range(ROUNDS):
        distances = (centres**2).sum(axis=1) - 2 * (vectors @ centres.T)  # up to the length of each vector
        closest = distances.argmin(axis=1)
        if np.array_equal(closest, member):
            break
        member = closest
        centres = _means(vectors, member, count)
    return np.unique(member, return_inverse=True)[1].astype(np.int32)


def _means(vectors: sparse.csr_array, member: Int64s, count: int) -> Floats:
    """The mean of the vectors of every partition; zero for an empty one."""
    of_each = (np.ones(len(member)), (member, np.arange(len(member))))
    sums: Floats = (sparse.csr_array(of_each, shape=(count, len(member))) @ vectors).toarray()
    return sums / np.maximum(np.bincount(member, minlength=count), 1)[:, None]


def region_partition(latency: Latency, nodes: int, count: int, seed: int) -> Int32s:
    """Nodes by the landmark that is nearest to them, where each landmark is the node farthest from those before it."""
    everybody = np.arange(nodes)
    landmark = int(np.random.default_rng([seed, count, REGION]).integers(nodes))
    nearest, member = np.full(nodes, np.inf), np.zeros(nodes, np.int32)
    for number in range(count):
        trips = latency.round_trip(np.full(nodes, landmark), everybody)
        trips[landmark] = -1.0  # its own
        member[trips < nearest] = number
        nearest = np.minimum(nearest, trips)
        landmark = int(nearest.argmax())
    return member


def partition_count(nodes: int, neighbour_size: Callable[[int], float]) -> int:
    """The best p (choosePbyPNSizeEstimation, Algorithm 5): doubled until the size stops falling, then bisected."""
    size = cache(neighbour_size)
    right = 1
    while 2 * right <= nodes and size(2 * right) < size(right):
        right *= 2
    left, right = right, min(2 * right, nodes)
    while right - left > 1:
        middle = (left + right) // 2
        if size(middle) < size(left):
            left = middle
        else:
            right = middle
    return left


def neighbour_size(interest: Csr, seed: int, count: int, goal: Goal = "neighbours") -> float:
    """Potential-neighbour size (estimatePNSize, Algorithm 5), or another figure to be minimised."""
    member = random_partition(interest.rows, count, seed)
    return cost(goal, interest.rows, count, len(star_nodes(interest, member)))


def cost(goal: Goal, nodes: int, count: int, stars: int) -> float:
    """What so many partitions cost, whose star sets have so many nodes together."""
    if goal == "time":
        return nodes**2 / count + stars**2
    return (nodes / count) ** 2 + stars**2 if goal == "parallel" else nodes / count + stars


def elbow(interest: Csr, seed: int) -> int:
    """The number of clusters at which the curve of their inner distances is farthest below its chord."""
    most = min(interest.rows, MOST_CLUSTERS)
    counts = [count for count in (2**step for step in range(most.bit_length())) if count <= most]
    inside = np.array([_inside(interest, kmeans_partition(interest, count, seed)) for count in counts])
    if inside[0] == inside[-1]:
        return 1
    along = (np.array(counts) - 1) / max(counts[-1] - 1, 1)
    left = (inside - inside[-1]) / (inside[0] - inside[-1])
    return int(counts[np.argmax(1 - along - left)])


def _inside(interest: Csr, member: Int32s) -> float:
    """The squared distances of all nodes to the centres of their clusters."""
    vectors = interest.matrix(np.float64)
    centres = _means(vectors, member.astype(np.int64), int(member.max()) + 1)
    return float(len(interest) - (np.bincount(member) * (centres**2).sum(axis=1)).sum())
