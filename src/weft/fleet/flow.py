"""Flows: over which links the publications of a topic travel, and in which direction.

A topic's tree joins its subscribers. A bridge has no ways: who publishes outside of the tree needs bridges that lead
into it. So every tree is grown by the shortest paths from all brokers where the topic may be published, which are the
known publishers, or else all brokers. The result is a tree again. A link of it is used in a direction only if somebody
may publish on the one side and somebody subscribes on the other; what is left over is dropped.

All topics are worked on together, in matrices of topics and brokers: links are few and brokers fewer.

A plan that runs can be **kept**: its trees stay as they are, grown to new subscribers, and only directions are decided
anew. The trees of the old plan and the new together are then trees, so that no topic moves (change.py).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa

from weft.arrays import Bools, Int32s, Int64s
from weft.model.instance import Instance
from weft.model.overlay import Overlay, undirected
from weft.model.table import Columns, Table
from weft.model.tree import NO_PARENT, Trees

Link = tuple[int, int]
Kept = Mapping[int, Sequence[Link]]  # by topic

CELLS = 10_000_000  # of a matrix of topics and brokers, at most


@dataclass(frozen=True, eq=False)
class Flows(Table):
    """A row for every topic on every link in every direction, ordered by topic, source and target."""

    topics: Int32s
    sources: Int32s
    targets: Int32s

    def __len__(self) -> int:
        return len(self.topics)

    @property
    def columns(self) -> Columns:
        return {
            name: pa.array(values, pa.int64())
            for name, values in (("topic", self.topics), ("source", self.sources), ("target", self.targets))
        }


def _flows_from(topics: Int64s, sources: Int64s, targets: Int64s) -> Flows:
    """Flows of the given rows, each of them once."""
    rows = np.unique(np.stack([topics, sources, targets], axis=1), axis=0).astype(np.int32)
    return Flows(*(np.ascontiguousarray(column) for column in rows.T)) if len(rows) else NO_FLOWS


NO_FLOWS = Flows(*(np.empty(0, np.int32) for _ in range(3)))


def flows_of(instance: Instance, overlay: Overlay, trees: Trees, kept: Kept | None = None) -> Flows:
    """Flows along the trees; a topic that is kept has the given links instead."""
    parts = [_flows(instance, overlay, trees, kept or {}, first, last) for first, last in _ranges(instance)]
    topics, sources, targets = (np.concatenate([np.empty(0, np.int64), *column]) for column in zip(*parts, strict=True))
    return _flows_from(topics, sources, targets)


def _ranges(instance: Instance) -> Iterator[tuple[int, int]]:
    step = max(1, CELLS // max(instance.nodes, 1))
    return pairwise([*range(0, instance.topics, step), instance.topics])


def _flows(
    instance: Instance, overlay: Overlay, trees: Trees, kept: Kept, first: int, last: int
) -> tuple[Int64s, Int64s, Int64s]:
    subscribes, issues = _subscribes(instance, first, last), _issues(instance, first, last)
    parent, depth = _tree(trees, first, last)
    for topic in kept.keys() & set(range(first, last)):
        _root(kept[topic], parent[topic - first], depth[topic - first])
    _grow(parent, depth, issues | subscribes, overlay)
    issuers_below, subscribers_below = _below(issues, parent, depth), _below(subscribes, parent, depth)
    issuers, subscribers = (counts.sum(axis=1, keepdims=True) for counts in (_inside(issues, depth), subscribes))
    linked = parent >= 0
    up = linked & (issuers_below > 0) & (subscribers_below < subscribers)
    down = linked & (issuers_below < issuers) & (subscribers_below > 0)
    (up_topics, children), (down_topics, others) = np.nonzero(up), np.nonzero(down)
    return (
        first + np.concatenate([up_topics, down_topics]),
        np.concatenate([children, parent[down_topics, others]]).astype(np.int64),
        np.concatenate([parent[up_topics, children], others]).astype(np.int64),
    )


def _subscribes(instance: Instance, first: int, last: int) -> Bools:
    subscribers = instance.subscribers
    inside = slice(subscribers.indptr[first], subscribers.indptr[last])
    found = np.zeros((last - first, instance.nodes), np.bool_)
    found[subscribers.row_of_each()[inside] - first, subscribers.indices[inside]] = True
    return found


def _issues(instance: Instance, first: int, last: int) -> Bools:
    """Brokers where every topic may be published: by known publishers, or everywhere where none is known."""
    found = np.zeros((last - first, instance.nodes), np.bool_)
    if (known := instance.publishers) is not None:
        inside = (known.topics >= first) & (known.topics < last)
        found[known.topics[inside] - first, known.nodes[inside]] = True
    found[~found.any(axis=1)] = True
    return found


def _tree(trees: Trees, first: int, last: int) -> tuple[Int32s, Int32s]:
    """Parent and depth of every member of every topic's tree; -1 at a root and outside, where depth is -1 too."""
    inside = slice(trees.indptr[first], trees.indptr[last])
    members, places = trees.members[inside], trees.parents[inside]
    topics = trees.topic_of_each[inside] - first
    parent = np.full((last - first, trees.nodes), -1, np.int32)
    linked = places != NO_PARENT
    parent[topics[linked], members[linked]] = trees.members[places[linked] + trees.indptr[first + topics[linked]]]
    depth = np.full_like(parent, -1)
    depth[topics[~linked], members[~linked]] = 0
    rest = np.flatnonzero(linked)
    while len(rest):
        above = depth[topics[rest], parent[topics[rest], members[rest]]]
        known = rest[above >= 0]
        depth[topics[known], members[known]] = above[above >= 0] + 1
        rest = rest[above < 0]
    return parent, depth


def _root(links: Sequence[Link], parent: Int32s, depth: Int32s) -> None:
    """The tree of these links instead of the one that is there, from its smallest node."""
    parent[:], depth[:] = -1, -1
    neighbours: dict[int, list[int]] = {}
    for one, other in links:
        neighbours.setdefault(one, []).append(other)
        neighbours.setdefault(other, []).append(one)
    waiting = [min(neighbours)]
    depth[waiting] = 0
    for node in waiting:
        for other in neighbours[node]:
            if depth[other] < 0:
                parent[other], depth[other] = node, depth[node] + 1
                waiting.append(other)


def _grow(parent: Int32s, depth: Int32s, wanted: Bools, overlay: Overlay) -> None:
    """Hang all that are wanted from the trees, hop by hop, by links of the overlay; of several, by the first."""
    low, high = undirected(overlay)
    links = [*zip(low.tolist(), high.tolist(), strict=True), *zip(high.tolist(), low.tolist(), strict=True)]
    while True:
        reached = depth >= 0
        for near, far in links:
            new = reached[:, near] & (depth[:, far] < 0)
            parent[new, far] = near
            depth[new, far] = depth[new, near] + 1
        if np.array_equal(reached, depth >= 0) or not np.any(wanted & (depth < 0)):
            return


def _inside(marked: Bools, depth: Int32s) -> Bools:
    inside: Bools = marked & (depth >= 0)
    return inside


def _below(marked: Bools, parent: Int32s, depth: Int32s) -> Int32s:
    """How many of the marked are at or below every member of every tree."""
    below = _inside(marked, depth).astype(np.int32)
    for level in range(int(depth.max(initial=0)), 0, -1):
        topics, nodes = np.nonzero(depth == level)
        np.add.at(below, (topics, parent[topics, nodes]), below[topics, nodes])
    return below
