"""The algorithms of the DC paper as it prints them: all by the one greedy of its Algorithm 1, compiled.

Their times compare with each other, as those of the paper do; ours, by a lazy greedy, compare with ours. Partitions,
star sets and bulk are the same: only how links are chosen differs, and their ties.
"""

import time
from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from weft.arrays import Int32s, Int64s
from weft.experiments.runs.connected import ELBOW
from weft.kernels.greedy.textbook_gm import textbook_gm
from weft.model.csr import Csr
from weft.model.instance import Instance
from weft.model.overlay import Overlay, overlay_from_links
from weft.overlays.divide import BULK, bulk_nodes, number_of_partitions
from weft.overlays.join import Method
from weft.overlays.partition import elbow, kmeans_partition, neighbour_size, random_partition
from weft.overlays.star import star_nodes

Pairs = tuple[Int64s, Int64s]


def printed_gm(instance: Instance) -> Overlay:
    start = time.perf_counter()
    links = _greedy(instance.interest, np.arange(instance.nodes), _alone(instance.nodes))
    return _overlay(instance.nodes, [links], start)


def printed_dc(instance: Instance, seed: int, partitions: int | None = None, partition: str | None = None) -> Overlay:
    """Algorithm 4: partitions by GM, and links among their star sets."""
    start, interest = time.perf_counter(), instance.interest
    if partition == ELBOW:
        count = elbow(interest, seed)
    else:
        count = number_of_partitions(partitions, instance.nodes, partial(neighbour_size, interest, seed))
    clusters = partition in ("kmeans", ELBOW)
    member = kmeans_partition(interest, count, seed) if clusters else random_partition(interest.rows, count, seed)
    inner = [_greedy(interest, nodes, _alone(len(nodes))) for nodes in _groups(member)]
    across = time.perf_counter()
    stars = star_nodes(interest, member)
    links = _greedy(interest, stars, member[stars])
    now = time.perf_counter()
    return _overlay(instance.nodes, [*inner, links], start).with_meta(
        seconds_across=now - across, links_across=len(links[0])
    )


def printed_dcbc(instance: Instance, seed: int, partitions: int | None = None) -> Overlay:
    """Algorithm 6: an overlay of the bulk, and of every partition with the bulk on top of it."""
    start, interest = time.perf_counter(), instance.interest
    heavy = bulk_nodes(interest, BULK, None, seed)
    light = np.setdiff1d(np.arange(instance.nodes), heavy, assume_unique=True)
    count = number_of_partitions(partitions, len(light), partial(neighbour_size, interest.take(light), seed))
    links = [_greedy(interest, heavy, _alone(len(heavy)))]
    for places in _groups(random_partition(len(light), count, seed)):
        both = np.concatenate([light[places], heavy])
        group = np.minimum(np.arange(len(both)), len(places)).astype(np.int32)  # the bulk is one
        links.append(_greedy(interest, both, group))
    return _overlay(instance.nodes, links, start)


def printed_join(instance: Instance, overlays: Sequence[Overlay], method: Method) -> Overlay:
    """Algorithms 2 and 3: links across, whose time alone counts."""
    group = np.repeat(np.arange(len(overlays), dtype=np.int32), [each.nodes for each in overlays])
    start = time.perf_counter()
    nodes = star_nodes(instance.interest, group) if method == "star" else np.arange(instance.nodes)
    links = _greedy(instance.interest, nodes, group[nodes])
    firsts = np.cumsum([0, *(each.nodes for each in overlays[:-1])])
    seconds = time.perf_counter() - start
    inner = [(first + each.sources, first + each.targets) for first, each in zip(firsts, overlays, strict=True)]
    return _overlay(instance.nodes, [*inner, links], start).with_meta(seconds=seconds)


def _greedy(interest: Csr, nodes: Int64s, group: Int32s) -> Pairs:
    """Links among the nodes, ascending in them."""
    if not len(nodes):
        return nodes, nodes
    order = np.argsort(nodes, kind="stable")
    chosen = interest.take(nodes[order]).compact().transpose()
    links = textbook_gm(chosen.indptr, chosen.indices, len(nodes), group[order])
    ends = np.divmod(links, len(nodes))
    return nodes[order][ends[0]], nodes[order][ends[1]]


def _alone(nodes: int) -> Int32s:
    return np.arange(nodes, dtype=np.int32)


def _groups(member: Int32s) -> Iterator[Int64s]:
    return (np.flatnonzero(member == number) for number in range(int(member.max(initial=-1)) + 1))


def _overlay(nodes: int, links: Sequence[Pairs], start: float) -> Overlay:
    sources, targets = (np.concatenate(ends) for ends in zip(*links, strict=True))
    return overlay_from_links(nodes, sources, targets, seconds=time.perf_counter() - start)
