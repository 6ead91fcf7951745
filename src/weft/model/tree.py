"""A tree of nodes for every topic, over which its publications travel; its links are links of an overlay.

In a file a tree is a row a member: the topic, the node, and its parent or null; parents come before their children. The
file names the instance and the overlay that it was woven for, and is refused for any other.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from operator import and_
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from weft.arrays import Int32s, Int64s
from weft.errors import WeftError
from weft.model.address import local_path
from weft.model.arguments import checked
from weft.model.csr import Csr
from weft.model.instance import Instance
from weft.model.overlay import Overlay, neighbours_of, require_made_for
from weft.model.storage import has_column, int64_column, new_path, read_columns, read_file_meta, write_columns
from weft.model.table import Columns, Table

FILE = "trees.parquet"
NO_PARENT = -1

COLUMNS = {"topic": pa.int64(), "node": pa.int64(), "parent": pa.int64()}


@dataclass(frozen=True, eq=False)
class Trees(Table):
    """The table of trees has a row a member, its parent being null at the root."""

    nodes: int
    indptr: Int64s  # the tree of topic t is indptr[t]:indptr[t + 1]; none without subscribers
    members: Int32s  # nodes; parents before children, so that the root comes first
    parents: Int32s  # of every member: the place of its parent in the tree; NO_PARENT for the root
    meta: Mapping[str, Any] = field(default_factory=dict)  # instance and overlay, by fingerprint; fan_out, latency

    @property
    def topics(self) -> int:
        return len(self.indptr) - 1

    @property
    def sizes(self) -> Int64s:
        return np.diff(self.indptr)

    @property
    def columns(self) -> Columns:
        parents = np.zeros(len(self.members), np.int64)
        parents[self.parents != NO_PARENT] = self.links[1]
        return {
            "topic": self.topic_of_each,
            "node": self.members.astype(np.int64),
            "parent": pa.array(parents, mask=self.parents == NO_PARENT),
        }

    def __repr__(self) -> str:
        trees, members = np.count_nonzero(self.sizes), len(self.members)
        return f"Trees({trees:,} topics, {members:,} members, {self.nodes:,} nodes)"

    def _content(self) -> tuple[object, ...]:
        return (self.nodes, self.topics, self.to_arrow())

    def with_meta(self, **changes: Any) -> "Trees":
        return replace(self, meta={**self.meta, **changes})

    @cached_property
    def topic_of_each(self) -> Int64s:
        """The topic of every member."""
        return np.repeat(np.arange(self.topics), self.sizes)

    @cached_property
    def links(self) -> tuple[Int32s, Int32s, Int32s]:
        """Topic, parent and child of every link of every tree."""
        linked = self.parents != NO_PARENT
        topics = self.topic_of_each[linked]
        return topics.astype(np.int32), self.members[self.parents[linked] + self.indptr[topics]], self.members[linked]

    @checked
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

    @staticmethod
    @checked
    def read(path: str | Path, instance: Instance, overlay: Overlay) -> "Trees":
        return read_trees(path, instance, overlay)

    @checked
    def write(self, path: str | Path, *, force: bool = False) -> None:
        with new_path(path, force=force) as partial:
            write_columns(partial, self.columns, dict(self.meta))


def read_trees(path: str | Path, instance: Instance, overlay: Overlay) -> Trees:
    """Trees of a file. Each subscriber must be in the tree of its topic, and each link of a tree in the overlay."""
    path = local_path(path)
    require_file_for(path, instance, overlay)
    return read_trees_of(path, (0, instance.topics), instance, neighbours_of(overlay))


def trees_beside(folder: Path, instance: Instance, overlay: Overlay) -> Path | None:
    """The file of trees in the folder of an overlay, or beside it as in a run, if they are of both."""
    wanted = {"instance": instance.fingerprint, "overlay": overlay.fingerprint}
    for path in (folder / FILE, folder.absolute().parent / FILE):
        if path.is_file() and has_column(path, "parent") and wanted.items() <= read_file_meta(path).items():
            return path
    return None


def require_file_for(path: Path, instance: Instance, overlay: Overlay) -> None:
    """Refuse a file that is not there, and one that was woven for another instance or overlay."""
    read_columns(path, COLUMNS, ["parent"], rows=pc.scalar(False))
    try:
        require_made_for(instance, overlay)
        require_woven_for(instance, overlay, read_file_meta(path))
    except WeftError as error:
        raise WeftError(f"{path}: {error}", *error.options) from error


def read_trees_of(path: Path, topics: tuple[int, int], part: Instance, neighbours: Csr) -> Trees:
    """Trees of a range of topics, all others being empty, checked against the interest in these topics and the links.

    The first range has all rows below it as well, and the last all above, so that topics nobody knows are found.
    """
    low, high = topics
    bounds = [ds.field("topic") >= low] * (low > 0) + [ds.field("topic") < high] * (high < part.topics)
    rows = reduce(and_, bounds) if bounds else None
    table = read_columns(path, COLUMNS, ["parent"], rows=rows)
    parents: Int64s = table["parent"].fill_null(NO_PARENT).to_numpy()
    columns = int64_column(table, "topic"), int64_column(table, "node"), parents
    try:
        _require_known(*columns, part)
        trees = _from_rows(*columns, part, read_file_meta(path))
        _require_carrying(trees, part, neighbours)
    except WeftError as error:
        raise WeftError(f"{path}: {error}", *error.options) from error
    return trees


def require_woven_for(instance: Instance, overlay: Overlay, meta: Mapping[str, Any]) -> None:
    """Trees whose meta names neither may be of any."""
    for kind, given in (("instance", instance), ("overlay", overlay)):
        if meta.get(kind, given.fingerprint) != given.fingerprint:
            raise WeftError(f"The trees were woven for another {kind}: weave them for this one with `weft weave`.")


def _require_known(topics: Int64s, nodes: Int64s, parents: Int64s, instance: Instance) -> None:
    for kind, ids, least, count in (
        ("topic", topics, 0, instance.topics),
        ("node", nodes, 0, instance.nodes),
        ("node", parents, NO_PARENT, instance.nodes),
    ):
        outside = ids[(ids < least) | (ids >= count)]
        if len(outside):
            raise WeftError(f"a tree names {kind} {outside[0]}, but there are {count} {kind}s.")


def _from_rows(topics: Int64s, nodes: Int64s, parents: Int64s, instance: Instance, meta: Mapping[str, Any]) -> Trees:
    order = np.argsort(topics, kind="stable")
    topics, nodes, parents = topics[order], nodes[order], parents[order]
    indptr = np.searchsorted(topics, np.arange(instance.topics + 1)).astype(np.int64)
    keys = topics * instance.nodes + nodes  # different for all members of all trees
    found = np.where(parents == NO_PARENT, NO_PARENT, _rows_of(keys, topics * instance.nodes + parents))
    is_first = np.arange(len(topics)) == indptr[topics]
    wrong = np.flatnonzero((is_first != (found == NO_PARENT)) | (found >= np.arange(len(topics))))
    if len(wrong):
        raise WeftError(
            f"node {nodes[wrong[0]]} of the tree of topic {topics[wrong[0]]} does not come after its parent: a tree "
            "starts with its one root, which has none."
        )
    places = np.where(is_first, NO_PARENT, found - indptr[topics])
    return Trees(instance.nodes, indptr, nodes.astype(np.int32), places.astype(np.int32), meta)


def _rows_of(keys: Int64s, wanted: Int64s) -> Int64s:
    """The row of every wanted key; one past the last where there is none."""
    order = np.argsort(keys)
    rows = order[np.minimum(np.searchsorted(keys, wanted, sorter=order), len(keys) - 1)]
    return np.where(keys[rows] == wanted, rows, len(keys))


def _require_carrying(trees: Trees, instance: Instance, neighbours: Csr) -> None:
    nodes, subscribers = np.int64(instance.nodes), instance.subscribers
    members = trees.topic_of_each * nodes + trees.members
    again = np.sort(members)[1:][np.diff(np.sort(members)) == 0]
    if len(again):
        raise WeftError(f"node {again[0] % nodes} is more than once in the tree of topic {again[0] // nodes}.")
    missing = np.setdiff1d(subscribers.row_of_each() * nodes + subscribers.indices, members)
    if len(missing):
        raise WeftError(f"node {missing[0] % nodes} subscribes to topic {missing[0] // nodes} and is not in its tree.")
    _, parents, children = trees.links
    no_link = np.flatnonzero(~neighbours.has(parents, children))
    if len(no_link):
        row = no_link[0]
        raise WeftError(f"a tree links node {parents[row]} with node {children[row]}, which the overlay does not.")
