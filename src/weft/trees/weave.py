"""Weave's trees: for every topic one tree of the overlay's links that all its publications share.

The links are used in both directions. Topics are woven independently of each other: in chunks on threads here, in tasks
by weft.pipeline.weave, always with the same result.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from weft.arrays import Floats, Int32s
from weft.errors import WeftError
from weft.kernels.parallel import chunk_bounds, thread_count
from weft.kernels.trees.weave import weave_topics
from weft.model.csr import Csr, csr_from_pairs
from weft.model.instance import Instance
from weft.model.latency import Latency, require_latency_of
from weft.model.overlay import Overlay, undirected
from weft.model.tree import Trees

FAN_OUT = 64  # docs/weave.md has what others cost


@dataclass(frozen=True, eq=False)
class Mesh:
    """The links of an overlay from both of their ends."""

    neighbours: Csr
    costs: Floats  # of every entry of neighbours; empty where every link costs 1


def mesh_of(overlay: Overlay, latency: Latency | None = None) -> Mesh:
    low, high = undirected(overlay)
    ends = np.concatenate([low, high]).astype(np.int64), np.concatenate([high, low]).astype(np.int64)
    neighbours = csr_from_pairs(*ends, overlay.nodes, overlay.nodes)
    if latency is None:
        return Mesh(neighbours, np.empty(0))
    require_latency_of(latency, overlay.nodes)
    there, back = (neighbours.row_of_each(), neighbours.indices), (neighbours.indices, neighbours.row_of_each())
    return Mesh(neighbours, (latency.round_trip(*there) + latency.round_trip(*back)) / 2)


@dataclass(frozen=True, eq=False)
class Strand:
    """The trees of some topics in a row."""

    sizes: Int32s  # by topic
    parts: Int32s  # by topic, those of its subscribers: 1 where there is a tree
    members: Int32s  # of all trees, as in Trees
    parents: Int32s


def weave(instance: Instance, overlay: Overlay, *, fan_out: int = FAN_OUT, latency: Latency | None = None) -> Trees:
    """Trees of all topics. With latencies, paths are as short as may be in time, else in hops."""
    require_fan_out(fan_out)
    mesh = mesh_of(overlay, latency)
    work = partial(strand, mesh, instance.subscribers, fan_out)
    with ThreadPoolExecutor(thread_count()) as pool:
        trees = trees_of(mesh, list(pool.map(work, ranges(instance.subscribers))))
    return trees.with_meta(**making(instance, overlay, fan_out, latency))


def making(instance: Instance, overlay: Overlay, fan_out: int, latency: Latency | None) -> dict[str, Any]:
    """What trees are woven for and by: their meta."""
    return {
        "instance": instance.fingerprint,
        "overlay": overlay.fingerprint,
        "fan_out": fan_out,
        "latency": None if latency is None else latency.source,
    }


def figures(instance: Instance, trees: Trees) -> dict[str, Any]:
    """What trees come to, in a few numbers."""
    members = int(trees.sizes.sum())
    return {
        "trees": int(np.count_nonzero(trees.sizes)),
        "members": members,
        "relays": members - instance.subscriptions,
        "largest_tree": int(trees.sizes.max(initial=0)),
        "table_entries_a_node": float(trees.entries.mean()),
        "most_table_entries": int(trees.entries.max(initial=0)),
    }


def require_fan_out(fan_out: int) -> None:
    if fan_out < 2:
        raise WeftError(f"A fan-out of {fan_out} is too small for a tree: give 2 or more.")


def ranges(subscribers: Csr) -> list[tuple[int, int]]:
    """All topics, in ranges of about the same number of subscriptions."""
    return list(pairwise(chunk_bounds(subscribers.counts + 1).tolist()))


def strand(mesh: Mesh, subscribers: Csr, fan_out: int, topics: tuple[int, int]) -> Strand:
    """Trees of a range of topics. Kernels release the GIL, so a strand a thread keeps all cores busy."""
    indptr = subscribers.indptr[topics[0] : topics[1] + 1]
    own = subscribers.indices[indptr[0] : indptr[-1]]
    links = mesh.neighbours
    return Strand(*weave_topics(links.indptr, links.indices, mesh.costs, indptr - indptr[0], own, fan_out))


def trees_of(mesh: Mesh, strands: list[Strand]) -> Trees:
    """Trees of all topics, in their order."""
    parts = np.concatenate([each.parts for each in strands])
    parted = np.flatnonzero(parts > 1)
    if len(parted):
        raise WeftError(
            f"The overlay leaves the subscribers of topic {parted[0]} in {parts[parted[0]]} parts that no links join: "
            "design another."
        )
    sizes = np.concatenate([each.sizes for each in strands])
    return Trees(
        mesh.neighbours.rows,
        np.append(0, np.cumsum(sizes, dtype=np.int64)),
        np.concatenate([each.members for each in strands]),
        np.concatenate([each.parents for each in strands]),
    )
