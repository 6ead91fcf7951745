"""A smaller instance out of a large one, in memory: by breadth-first search, or by Vitis' closure.

Breadth-first search (BeaConvey section 5.2): from a few random nodes, over links in both directions, level by level
until enough nodes are found; a level that is too large is cut at random. Where a component ends too early, new seeds
are drawn, twice as many each time. In an instance that is not social the search goes over topics: the neighbours of a
node are those that share a topic with it.

Closure (Vitis section 4.3): random candidates, then all whom they follow, then all whom those follow, until enough are
found (the last round is cut at random); at last nodes that follow nobody or that nobody follows in the sample are
removed, again and again until there are none. The sample has the wanted number of nodes at most.

The sample keeps all subscriptions among its nodes. Every random choice is by `priority`, so that the Spark
implementation in `pipeline/sample.py`, for instances that do not fit one machine, gives the very same sample.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from scipy import sparse

from weft.arrays import Bools, Int64s, distinct
from weft.errors import WeftError
from weft.model.arguments import require_types
from weft.model.instance import Instance, Names, instance_from_pairs
from weft.model.node_filter import NodeFilters
from weft.model.priority import priority
from weft.model.publisher import Publishers

Method = Literal["bfs", "closure"]

SEEDS = 3  # "a few"


@dataclass(frozen=True)
class Sampling:
    nodes: int  # wanted, at least 1
    method: Method = "bfs"
    seed: int = 1
    seeds: int = SEEDS  # nodes to start from, at least 1

    def check(self, meta: Mapping[str, Any]) -> None:
        """Whether such a sample can be taken of an instance with this meta.json."""
        require_types(Sampling, vars(self))
        if self.nodes < 1:
            raise WeftError(f"`nodes` is {self.nodes}: a sample has at least one node.", "nodes")
        if self.seeds < 1:
            raise WeftError(f"`seeds` is {self.seeds}: a sample starts from at least one node.", "seeds")
        if self.nodes > meta["nodes"]:
            raise WeftError(f"`nodes` is {self.nodes}, but the instance has only {meta['nodes']} nodes.", "nodes")
        if self.method == "closure" and not meta.get("social"):
            raise WeftError(
                "`method` closure follows users: it needs a social instance, made of edges or follows.", "method"
            )


def sample(instance: Instance, sampling: Sampling) -> Instance:
    sampling.check({**instance.meta, **instance.counts})
    chosen = _bfs(instance, sampling) if sampling.method == "bfs" else _closure(instance, sampling)
    return _induced(instance, chosen, sampling)


def _bfs(instance: Instance, sampling: Sampling) -> Bools:
    steps = _adjacency(instance)
    visited = np.zeros(len(steps.indptr) - 1, dtype=bool)
    frontier: Int64s = np.empty(0, np.int64)
    draw = sampling.seeds
    while (missing := sampling.nodes - int(visited[: instance.nodes].sum())) > 0:
        if not len(frontier):
            frontier = _first(np.flatnonzero(~visited[: instance.nodes]), draw, sampling.seed)
            draw *= 2
        found = frontier[frontier < instance.nodes]
        if len(found) > missing:
            frontier = np.concatenate([_first(found, missing, sampling.seed), frontier[frontier >= instance.nodes]])
        visited[frontier] = True
        frontier = _unvisited_neighbours(steps, frontier, visited)
    return visited[: instance.nodes]


def _adjacency(instance: Instance) -> sparse.csr_array:
    """Links in both directions; topics of their own come after the nodes."""
    node, topic = instance.interest.row_of_each(), instance.interest.indices.astype(np.int64)
    size = instance.nodes
    if not instance.is_social:
        topic, size = topic + instance.nodes, instance.nodes + instance.topics
    ones = np.ones(2 * len(node), np.int8)
    ends = np.concatenate([node, topic]), np.concatenate([topic, node])
    return sparse.csr_array(sparse.coo_array((ones, ends), shape=(size, size)))


def _unvisited_neighbours(steps: sparse.csr_array, frontier: Int64s, visited: Bools) -> Int64s:
    reached = distinct(steps[frontier].indices).astype(np.int64)
    return reached[~visited[reached]]


def _closure(instance: Instance, sampling: Sampling) -> Bools:
    follows = instance.interest.matrix()
    chosen = np.zeros(instance.nodes, dtype=bool)
    new: Int64s = np.empty(0, np.int64)
    draw = sampling.seeds
    while (missing := sampling.nodes - int(chosen.sum())) > 0:
        if not len(new):
            new = np.flatnonzero(~chosen)
            new, draw = _first(new, draw, sampling.seed), draw * 2
        chosen[_first(new, missing, sampling.seed)] = True
        new = _unvisited_neighbours(follows, new, chosen)
    return _refined(follows, chosen)


def _refined(follows: sparse.csr_array, chosen: Bools) -> Bools:
    kept = np.flatnonzero(chosen)
    while True:
        among = follows[kept][:, kept].astype(np.int64)
        fine = (among.sum(axis=1) > 0) & (among.sum(axis=0) > 0)
        if fine.all():
            break
        kept = kept[fine]
    refined = np.zeros(len(chosen), dtype=bool)
    refined[kept] = True
    return refined


def _first(ids: Int64s, count: int, seed: int) -> Int64s:
    """The `count` ids that come first in the random order."""
    return ids[np.argsort(priority(seed, ids), kind="stable")[:count]]


def _induced(instance: Instance, chosen: Bools, sampling: Sampling) -> Instance:
    """The instance among the chosen nodes, renumbered in their old order; old names, or old numbers, name them."""
    node, topic = instance.interest.row_of_each(), instance.interest.indices
    keep = chosen[node] & chosen[topic] if instance.is_social else chosen[node]
    kept_topics = chosen if instance.is_social else np.isin(np.arange(instance.topics), topic[keep])
    if not keep.any():
        raise WeftError(
            "Nothing is left of the sample: no subscriptions among its nodes. Try more nodes or another seed."
        )
    made = instance_from_pairs(
        (np.cumsum(chosen) - 1)[node[keep]],
        (np.cumsum(kept_topics) - 1)[topic[keep]],
        node_count=int(chosen.sum()),
        topic_count=int(kept_topics.sum()),
        node_names=_kept_names(instance.node_names, chosen),
        topic_names=_kept_names(instance.topic_names, kept_topics),
        source=instance.meta.get("source"),
        seed=sampling.seed,
        social=instance.is_social,
        **sample_meta(sampling),
    )
    publishers = _kept_publishers(instance.given_publishers, chosen, kept_topics)
    return replace(made, given_publishers=publishers, filters=_kept_filters(instance.filters, chosen))


def _kept_filters(filters: NodeFilters | None, nodes: Bools) -> NodeFilters | None:
    if filters is None:
        return None
    kept = nodes[filters.nodes]
    return NodeFilters((np.cumsum(nodes) - 1)[filters.nodes[kept]].astype(np.int32), filters.texts[kept])


def _kept_publishers(publishers: Publishers | None, nodes: Bools, topics: Bools) -> Publishers | None:
    if publishers is None:
        return None
    kept = nodes[publishers.nodes] & topics[publishers.topics]
    new_nodes, new_topics = (np.cumsum(nodes) - 1)[publishers.nodes], (np.cumsum(topics) - 1)[publishers.topics]
    sizes = None if publishers.sizes is None else publishers.sizes[kept]
    return Publishers(
        new_nodes[kept].astype(np.int32), new_topics[kept].astype(np.int32), publishers.rates[kept], sizes
    )


def sample_meta(sampling: Sampling) -> dict[str, object]:
    return {"sampled": {"method": sampling.method, "nodes": sampling.nodes, "seeds": sampling.seeds}}


def _kept_names(names: Names | None, kept: Bools) -> Names:
    old = np.flatnonzero(kept)
    return old.astype(str).astype(object) if names is None else names[old]
