"""How nodes are divided, and in how many partitions (sections V, VI and VIII-C of the DC paper).

Random partitions are equal in size and need to know nothing of the interests. K-means puts nodes of like interest
together; it is here to compare with. It goes by Hamming distance between interests, which for sets is the squared
Euclidean distance of their 0/1 vectors, so that a centre is a mean. Regions put nodes together that are near each
other, by landmarks that are far apart, so that only links among stars go far.

The number of partitions minimises the potential-neighbour size |V| / p + sum of |star sets|: the nodes that a star node
may be linked with. Every p is tried on a random division, which costs one greedy set cover a partition.
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

ROUNDS = 20  # of K-means, at most

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


def neighbour_size(interest: Csr, seed: int, count: int) -> float:
    """Potential-neighbour size (estimatePNSize, Algorithm 5)."""
    member = random_partition(interest.rows, count, seed)
    return interest.rows / count + len(star_nodes(interest, member))
