"""DC and DCBC: topic-connected overlays by divide and conquer (sections V and VII of the DC paper).

DC divides the nodes into partitions, conquers each by GM, and combines them by links among their star sets (SM).
DCBC keeps the bulk apart: the fifth of the nodes with the most subscriptions, or those with at least eta of them, and
whoever is needed to cover all topics with them. The bulk gets one overlay. It is cloned into every partition of the
other, lightweight nodes, and GM goes on from there. Every partition then connects its part of a topic with the bulk's,
so that no links across are needed.

To conquer a partition takes its own interests, those of the bulk, which of its topics others share, and a random
stream of its own: nothing of other partitions. `pipeline/divide.py` conquers on Spark with the functions of this file,
and so finds the same overlay.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from weft.arrays import Bools, Int32s, Int64s
from weft.errors import WeftError
from weft.kernels.greedy.bulk import Bulk, bulk_of
from weft.model.csr import Csr
from weft.model.instance import Instance
from weft.model.latency import Latency
from weft.model.overlay import Overlay, overlay_from_links
from weft.model.priority import priority
from weft.overlays.diameter import require_diameter, within_diameter
from weft.overlays.lazy_greedy import links_across, links_with_bulk
from weft.overlays.partition import (
    Choose,
    Goal,
    Partitioning,
    elbow,
    kmeans_partition,
    neighbour_size,
    partition_count,
    random_partition,
    region_partition,
)
from weft.overlays.preference import CLOSENESS, Preference, Tie, closeness_of
from weft.overlays.star import cover_by_group, shared_topics

BULK = 0.2  # of the nodes


@dataclass(frozen=True, eq=False)
class Links:
    sources: Int64s
    targets: Int64s


def dc(
    instance: Instance,
    *,
    seed: int,
    partitions: int | None = None,
    partition: Partitioning = "random",
    choose: Choose = "neighbours",
    tie: Tie = "random",
    latency: Latency | None = None,
    closeness: float = CLOSENESS,
    diameter: int | None = None,
) -> Overlay:
    require_diameter(diameter)
    interest = instance.interest
    preference = Preference(tie, closeness=closeness_of(instance, latency, closeness))
    count = _partitions_of_dc(interest, seed, partitions, partition, choose)
    member = _divided(instance, partition, latency, count, seed)
    shared = shared_topics(interest, member)
    links, stars = [], []
    for index, nodes in enumerate(_nodes_by_partition(member)):
        own = interest.take(nodes)
        links.append(inner_links(nodes, own, stream(seed, index), preference))
        stars.append(nodes[star_set(own, shared)])
    start = time.perf_counter()
    all_stars = np.concatenate(stars)
    links.append(
        outer_links(all_stars, interest.take(all_stars), member[all_stars], stream(seed, len(stars)), preference)
    )
    across = {"links_across": len(links[-1].sources), "seconds_across": time.perf_counter() - start}
    figures = dc_figures(np.bincount(member), np.array([len(each) for each in stars]))
    return within_diameter(instance, _overlay_of(instance.nodes, links, **figures, **across), diameter)


def dcbc(
    instance: Instance,
    *,
    seed: int,
    partitions: int | None = None,
    choose: Goal = "neighbours",
    bulk: float = BULK,
    eta: int | None = None,
    tie: Tie = "random",
    latency: Latency | None = None,
    closeness: float = CLOSENESS,
    diameter: int | None = None,
) -> Overlay:
    require_diameter(diameter)
    interest = instance.interest
    preference = Preference(tie, closeness=closeness_of(instance, latency, closeness))
    heavy = bulk_nodes(interest, bulk, eta, seed)
    light = np.setdiff1d(np.arange(instance.nodes), heavy, assume_unique=True)
    size = partial(neighbour_size, interest.take(light), seed, goal=choose)
    count = number_of_partitions(partitions, len(light), size) if len(light) else 0
    links = [inner_links(heavy, interest.take(heavy), stream(seed, 0), preference)]
    clones = clones_of(interest.take(heavy))
    for index, places in enumerate(_nodes_by_partition(random_partition(len(light), count, seed))):
        nodes = light[places]
        links.append(links_with_clones(nodes, interest.take(nodes), heavy, clones, stream(seed, index + 1), preference))
    figures = dcbc_figures(instance.nodes, len(heavy), count)
    return within_diameter(instance, _overlay_of(instance.nodes, links, **figures), diameter)


def _partitions_of_dc(interest: Csr, seed: int, partitions: int | None, partition: Partitioning, choose: Choose) -> int:
    if choose != "elbow":
        return number_of_partitions(partitions, interest.rows, partial(neighbour_size, interest, seed, goal=choose))
    if partition != "kmeans":
        raise WeftError("`choose` elbow is of clusters: give `partition` kmeans with it.", "choose", "partition")
    if partitions is not None:
        raise WeftError(
            "`choose` says how the number of partitions is found: leave out `partitions`.", "choose", "partitions"
        )
    return elbow(interest, seed)


def number_of_partitions(given: int | None, nodes: int, size: Callable[[int], float]) -> int:
    """The given number, or that of Algorithm 5, where `size` estimates the potential neighbours."""
    if given is None:
        return partition_count(nodes, size)
    if not 1 <= given <= nodes:
        raise WeftError(f"`partitions` {given} is out of range: give a number from 1 to {nodes}.", "partitions")
    return given


def _divided(instance: Instance, partition: Partitioning, latency: Latency | None, count: int, seed: int) -> Int32s:
    """The partition of every node."""
    if partition == "random":
        return random_partition(instance.nodes, count, seed)
    if partition == "kmeans":
        return kmeans_partition(instance.interest, count, seed)
    if latency is None:
        raise WeftError("`partition` region goes by round-trip times: give `latency`.", "partition", "latency")
    return region_partition(latency, instance.nodes, count, seed)


def _nodes_by_partition(member: Int32s) -> list[Int64s]:
    if not len(member):
        return []
    return np.split(np.argsort(member, kind="stable"), np.cumsum(np.bincount(member))[:-1])


def inner_links(nodes: Int64s, interest: Csr, rng: np.random.Generator, preference: Preference) -> Links:
    """Links of GM on the nodes."""
    alone = np.arange(len(nodes), dtype=np.int32)
    chosen = links_across(interest.compact(), alone, rng, preference.among(nodes))
    return Links(nodes[chosen.owners], nodes[chosen.others])


def links_with_clones(
    nodes: Int64s, interest: Csr, bulk: Int64s, clones: Bulk, rng: np.random.Generator, preference: Preference
) -> Links:
    """Links of GM on the nodes and the bulk, which has its overlay already."""
    both = np.concatenate([nodes, bulk])
    chosen = links_with_bulk(interest, clones, rng, preference.among(both))
    return Links(both[chosen.owners], both[chosen.others])


def star_set(interest: Csr, shared: Bools) -> Int64s:
    """The rows of one partition's star set."""
    return cover_by_group(interest, np.zeros(interest.rows, np.int32), shared)


def outer_links(
    stars: Int64s, interest: Csr, member: Int32s, rng: np.random.Generator, preference: Preference
) -> Links:
    """Links among the star nodes of different partitions, in the order of the nodes."""
    order = np.argsort(stars)
    chosen = links_across(interest.take(order).compact(), member[order], rng, preference.among(stars[order]))
    return Links(stars[order][chosen.owners], stars[order][chosen.others])


def clones_of(interest: Csr) -> Bulk:
    subscribers = interest.transpose()
    return bulk_of(interest.indptr, interest.indices, subscribers.indptr, subscribers.indices)


def bulk_nodes(interest: Csr, share: float, eta: int | None, seed: int) -> Int64s:
    """The nodes with the most subscriptions, and those that cover the topics which these leave out; ascending."""
    most = most_subscribed(interest.counts, share, eta, seed)
    topics = np.bincount(interest.indices, minlength=interest.columns) > 1
    topics[interest.take(most).indices] = False
    return np.union1d(most, cover_by_group(interest, np.zeros(interest.rows, np.int32), topics))


def most_subscribed(counts: Int64s, share: float, eta: int | None, seed: int) -> Int64s:
    """The nodes with at least eta subscriptions, or that share of them with the most, ascending.

    Among equals the seed decides who is of the share.
    """
    if not 0 <= share <= 1:
        raise WeftError(f"`bulk` {share} is out of range: give a share of the nodes from 0 to 1.", "bulk")
    if eta is not None:
        if share != BULK:
            raise WeftError("`eta` and `bulk` both say which nodes are bulk: give one of them.", "eta", "bulk")
        if eta < 0:
            raise WeftError(f"`eta` {eta} is out of range: give a number of subscriptions from 0.", "eta")
        return np.flatnonzero(counts >= eta)
    order = np.lexsort((priority(seed, np.arange(len(counts))), -counts))
    return np.sort(order[: int(np.ceil(share * len(counts)))])


def stream(seed: int, index: int) -> np.random.Generator:
    """A random stream for each partition; the first is GM's own, since numpy pads seeds with zeros."""
    return np.random.default_rng([seed, index])


def _overlay_of(nodes: int, links: Sequence[Links], **figures: Any) -> Overlay:
    sources = np.concatenate([part.sources for part in links])
    targets = np.concatenate([part.targets for part in links])
    return overlay_from_links(nodes, sources, targets, **figures)


def dc_figures(sizes: Int64s, stars: Int64s) -> dict[str, Any]:
    """Figures of DC: a node may be linked with its partition, and a star node also with the stars of the others."""
    neighbours = sizes - 1 + np.where(stars > 0, stars.sum() - stars, 0)
    return {
        "partitions": len(sizes),
        "star_set": {"minimum": int(stars.min()), "average": float(stars.mean()), "maximum": int(stars.max())},
        "potential_neighbour_ratio": float(neighbours.max() / sizes.sum()),
    }


def dcbc_figures(nodes: int, bulk: int, partitions: int) -> dict[str, Any]:
    """Figures of DCBC: the ratio is that of a lightweight node; a bulk node may be linked with all."""
    light = nodes - bulk
    largest = -(-light // partitions) if partitions else 0
    return {
        "partitions": partitions,
        "bulk_nodes": bulk,
        "potential_neighbour_ratio": float((bulk + largest - 1) / nodes),
    }
