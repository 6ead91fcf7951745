"""A tree of nodes for every topic, over which its publications travel; its links are links of an overlay."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from weft.arrays import Int32s, Int64s


@dataclass(frozen=True, eq=False)
class Trees:
    nodes: int
    indptr: Int64s  # the tree of topic t is indptr[t]:indptr[t + 1]; none without subscribers
    members: Int32s  # nodes; parents before children, so that the root comes first
    parents: Int32s  # of every member: the place of its parent in the tree; -1 for the root

    @property
    def topics(self) -> int:
        return len(self.indptr) - 1

    @property
    def sizes(self) -> Int64s:
        return np.diff(self.indptr)

    @cached_property
    def links(self) -> tuple[Int32s, Int32s, Int32s]:
        """Topic, parent and child of every link of every tree."""
        topics = np.repeat(np.arange(self.topics, dtype=np.int32), self.sizes)
        linked = self.parents >= 0
        parents = self.members[(self.parents + np.repeat(self.indptr[:-1], self.sizes))[linked]]
        return topics[linked], parents, self.members[linked]

    def tables(self, topic: int) -> dict[int, set[int]]:
        """The neighbours of every member of a topic's tree."""
        row = slice(self.indptr[topic], self.indptr[topic + 1])
        members, parents = self.members[row].tolist(), self.parents[row].tolist()
        found: dict[int, set[int]] = {member: set() for member in members}
        for member, place in zip(members[1:], parents[1:], strict=True):
            found[member].add(members[place])
            found[members[place]].add(member)
        return found

    @cached_property
    def entries(self) -> Int64s:
        """How many neighbours every node has in its tables, over all topics."""
        _, parents, children = self.links
        return np.bincount(parents, minlength=self.nodes) + np.bincount(children, minlength=self.nodes)
