"""The instance (V, T, I): nodes, topics, and who subscribes to what.

Nodes and topics are dense integers from 0, below 2^31; their names, where they have any, lie beside. The interest is
kept in both directions, since overlays ask for a node's topics and routers for a topic's subscribers. Who publishes
what may be known as well (publisher.py).
In a social instance node i and topic i are the same user: a follower subscribes to the one it follows.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from weft.arrays import Int64s
from weft.errors import WeftError
from weft.model.address import local_path
from weft.model.arguments import checked
from weft.model.csr import Csr, csr_from_pairs
from weft.model.naming import ids_of, numbered
from weft.model.node_filter import NodeFilters, node_filters, read_filters
from weft.model.publisher import NO_PUBLISHERS, Publishers, own_topics, read_publishers
from weft.model.storage import (
    Meta,
    int64_column,
    new_folder,
    read_columns,
    read_meta,
    write_columns,
    write_meta,
)
from weft.model.table import Columns, Table
from weft.model.wildcard import are_filters, expanded, known_topics, unlisted

if TYPE_CHECKING:
    import pandas as pd

LIMIT = 2**31 - 1

Names = npt.NDArray[np.object_]


@dataclass(frozen=True, eq=False)
class Instance(Table):
    """The table of an instance is its interest, a row a subscription."""

    interest: Csr  # node -> its topics
    node_names: Names | None = None
    topic_names: Names | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)  # source, seed, how it was made
    given_publishers: Publishers | None = None
    given_subscribers: Csr | None = None  # where they are known already; else they are made of the interest
    filters: NodeFilters | None = None  # that nodes subscribed to, beside the topics that these stood for

    @property
    def has_traffic(self) -> bool:
        """Whether it is told who publishes what, as `weft traffic` does; of social users it is but assumed."""
        return self.given_publishers is not None and not (self.is_social and self.given_publishers.are_own_topics)

    @property
    def known_publishers(self) -> Publishers | None:
        """Publishers that somebody told of; None where they are but assumed."""
        return self.given_publishers if self.has_traffic else None

    @cached_property
    def publishers(self) -> Publishers | None:
        """Publishers that are given; else, in a social instance, all users on their own topics; else none are known."""
        if self.given_publishers is None and self.is_social:
            return own_topics(self.nodes)
        return self.given_publishers

    @property
    def without_publishers(self) -> "Instance":
        """The instance as if nobody were known to publish."""
        return replace(self, given_publishers=NO_PUBLISHERS)

    @cached_property
    def with_publishers(self) -> "Instance":
        """The instance as if everybody subscribed to what it is known to publish on: whom links should join."""
        if self.publishers is None:
            return self
        nodes = np.concatenate([self.interest.row_of_each(), self.publishers.nodes]).astype(np.int64)
        topics = np.concatenate([self.interest.indices, self.publishers.topics]).astype(np.int64)
        return Instance(csr_from_pairs(nodes, topics, self.nodes, self.topics))

    @cached_property
    def subscribers(self) -> Csr:
        """The nodes of every topic."""
        return self.interest.transpose() if self.given_subscribers is None else self.given_subscribers

    @property
    def nodes(self) -> int:
        return self.interest.rows

    @property
    def topics(self) -> int:
        return self.interest.columns

    @property
    def subscriptions(self) -> int:
        return len(self.interest)

    @property
    def counts(self) -> dict[str, int]:
        return {"nodes": self.nodes, "topics": self.topics, "subscriptions": self.subscriptions}

    @property
    def columns(self) -> Columns:
        return {
            "node": self.interest.row_of_each().astype(np.int64),
            "topic": self.interest.indices.astype(np.int64),
        }

    def to_arrow(self) -> pa.Table:
        """A row a subscription: node and topic, and their names where they have any."""
        table = super().to_arrow()
        for kind, names in (("node", self.node_names), ("topic", self.topic_names)):
            if names is not None:
                table = table.append_column(f"{kind}_name", pa.array(names[table[kind].to_numpy()], pa.string()))
        return table

    @staticmethod
    @checked
    def from_pandas(
        frame: "pd.DataFrame", node: str, topic: str, topics: Iterable[str] | None = None, **meta: Any
    ) -> "Instance":
        """An instance of a frame, of pandas or polars, with a row a subscription: `node` and `topic` name its columns.

        Ids are any text or integers and become the names; they are numbered as `weft ingest` does. Duplicates count
        once. Filters are expanded to those that they match of `topics`, names that are published on, and of the topics
        that are subscribed to by name. `meta` says what it is: source="...", or social=True where nodes and topics are
        the same users.
        """
        return Instance.from_arrow(_table_of(frame), node, topic, topics, **meta)

    @staticmethod
    @checked
    def from_arrow(
        table: pa.Table, node: str, topic: str, topics: Iterable[str] | None = None, **meta: Any
    ) -> "Instance":
        """The same of a table of Arrow."""
        for column in (node, topic):
            if column not in table.column_names:
                raise WeftError(f"There is no column {column!r}: there are {', '.join(map(repr, table.column_names))}.")
        nodes, node_names = numbered(table[node], node)
        texts, filters = ids_of(table[topic], topic), None
        if not meta.get("social") and pc.any(marked := are_filters(texts)).as_py():
            if topics is None:
                raise unlisted(pc.min(texts.filter(marked)).as_py(), f"Column {topic!r}")
            chosen = marked.to_numpy(zero_copy_only=False)
            place, found, _ = expanded(texts.filter(marked), known_topics(topics, pc.unique(texts).to_pylist()))
            filters = node_filters(nodes[chosen], texts.filter(marked))
            texts = pa.concat_arrays([texts.filter(pc.invert(marked)), found])
            nodes = np.concatenate([nodes[~chosen], nodes[chosen][place]])
        numbers, topic_names = numbered(pa.chunked_array([texts]), topic)
        counts = {"node_count": len(node_names), "topic_count": len(topic_names)}
        made = instance_from_pairs(nodes, numbers, **counts, node_names=node_names, topic_names=topic_names, **meta)
        return replace(made, filters=filters)

    def __repr__(self) -> str:
        kind = ", social" if self.is_social else ""
        counts = f"{self.nodes:,} nodes, {self.topics:,} topics, {self.subscriptions:,} subscriptions"
        return f"Instance({counts}{kind})"

    def _content(self) -> tuple[object, ...]:
        names = (None if names is None else names.tolist() for names in (self.node_names, self.topic_names))
        return (self.fingerprint, *names, self.publishers, self.filters)

    @property
    def is_social(self) -> bool:
        return bool(self.meta.get("social", False))

    @checked
    def node_name(self, node: int) -> str:
        """The node's name, or its number where it has none."""
        return str(node if self.node_names is None else self.node_names[node])

    @checked
    def topic_name(self, topic: int) -> str:
        return str(topic if self.topic_names is None else self.topic_names[topic])

    @checked
    def node_called(self, name: str) -> int:
        """The node of that name, or of that number where nodes have no names."""
        return _called("node", name, self.node_names, self.nodes)

    @checked
    def topic_called(self, name: str) -> int:
        return _called("topic", name, self.topic_names, self.topics)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the interest alone, whatever the names and files."""
        digest = hashlib.blake2b(digest_size=16)
        digest.update(np.array([self.nodes, self.topics], np.int64).tobytes())
        digest.update(np.ascontiguousarray(self.interest.indptr).data)
        digest.update(np.ascontiguousarray(self.interest.indices).data)
        return digest.hexdigest()

    def with_meta(self, **changes: Any) -> "Instance":
        return replace(self, meta={**self.meta, **changes})

    @staticmethod
    @checked
    def read(path: str | Path) -> "Instance":
        return read_instance(path)

    @checked
    def write(self, path: str | Path, *, force: bool = False) -> None:
        with new_folder(path, force=force) as folder:
            self.write_into(folder)

    def write_into(self, folder: Path) -> None:
        write_columns(folder / "interest.parquet", self.columns)
        _write_names(folder, "node", self.node_names)
        _write_names(folder, "topic", self.topic_names)
        if self.publishers is not None:
            self.publishers.write(folder)
        if self.filters is not None:
            self.filters.write(folder)
        write_meta(folder, {**self.counts, "source": None, "seed": None, **self.meta})


def instance_from_pairs(
    nodes: npt.ArrayLike,
    topics: npt.ArrayLike,
    *,
    node_count: int | None = None,
    topic_count: int | None = None,
    node_names: Names | None = None,
    topic_names: Names | None = None,
    **meta: Any,
) -> Instance:
    """Subscriptions as pairs; counts default to the largest id seen. Ids out of range are an error."""
    node, topic = np.asarray(nodes, dtype=np.int64), np.asarray(topics, dtype=np.int64)
    counts = [
        _count("node", node, node_count),
        _count("topic", topic, topic_count),
    ]
    return Instance(csr_from_pairs(node, topic, *counts), node_names, topic_names, meta)


def _table_of(frame: Any) -> pa.Table:
    """The table of a frame of pandas, or of any that gives itself to Arrow, as those of polars do."""
    if hasattr(frame, "__arrow_c_stream__") and not type(frame).__module__.startswith("pandas"):
        return pa.table(frame)
    try:
        return pa.Table.from_pandas(frame, preserve_index=False)
    except (AttributeError, TypeError) as error:
        raise WeftError(
            f"`frame` is {type(frame).__name__}, and has to be a frame of pandas or polars.", "frame"
        ) from error


def _called(kind: str, name: str, names: Names | None, count: int) -> int:
    if names is None:
        if not name.isdecimal() or int(name) >= count:
            raise WeftError(f"There is no {kind} {name!r}: without names, {kind}s are 0 to {count - 1}.")
        return int(name)
    found = np.flatnonzero(names == name)
    if not len(found):
        near = get_close_matches(name, names, n=3)
        raise WeftError(f"There is no {kind} {name!r}{': did you mean ' + ' or '.join(near) + '?' if near else '.'}")
    return int(found[0])


def _count(kind: str, ids: Int64s, given: int | None) -> int:
    low, high = (int(ids.min()), int(ids.max())) if len(ids) else (0, -1)
    count = high + 1 if given is None else given
    if low < 0:
        raise WeftError(f"{kind} {low} is negative: ids are dense integers from 0. `weft ingest` renumbers any ids.")
    if high >= count:
        raise WeftError(f"{kind} {high} is out of range: there are {count} {kind}s. `weft ingest` renumbers any ids.")
    if count > LIMIT:
        raise WeftError(f"{count} {kind}s are too many: an instance in memory holds at most {LIMIT}.")
    return count


def read_instance(path: str | Path) -> Instance:
    folder = local_path(path)
    meta = read_instance_meta(folder)
    pairs = read_columns(folder / "interest.parquet", {"node": pa.int64(), "topic": pa.int64()})
    try:
        instance = instance_from_pairs(
            int64_column(pairs, "node"),
            int64_column(pairs, "topic"),
            node_names=read_names(folder, "node"),
            topic_names=read_names(folder, "topic"),
            node_count=meta.pop("nodes"),
            topic_count=meta.pop("topics"),
        )
    except WeftError as error:
        raise WeftError(f"{folder}: {error}", *error.options) from error
    if instance.subscriptions != len(pairs):
        raise WeftError(f"{folder}: interest.parquet has {len(pairs) - instance.subscriptions} duplicate rows.")
    if meta.pop("subscriptions") != instance.subscriptions:
        raise WeftError(f"{folder}: interest.parquet and meta.json disagree on the number of subscriptions.")
    publishers = read_publishers(folder, instance.nodes, instance.topics)
    filters = read_filters(folder, instance.nodes)
    return replace(instance, meta=meta, given_publishers=publishers, filters=filters)


def read_instance_meta(folder: Path) -> Meta:
    return read_meta(folder, "an instance", "nodes", "topics", "subscriptions")


def _write_names(folder: Path, kind: str, names: Names | None) -> None:
    if names is not None:
        columns = {kind: np.arange(len(names), dtype=np.int64), "name": pa.array(names, pa.string())}
        write_columns(folder / f"{kind}s.parquet", columns)


def named_in(instance: Instance, folder: Path) -> Instance:
    """The instance with the names that its folder has."""
    return replace(instance, node_names=read_names(folder, "node"), topic_names=read_names(folder, "topic"))


def read_name(folder: Path, kind: str, number: int) -> str | None:
    """The name of one node or topic; None where they have none."""
    path = folder / f"{kind}s.parquet"
    if not path.exists():
        return None
    found = read_columns(path, {kind: pa.int64(), "name": pa.string()}, rows=ds.field(kind) == number)
    return str(found["name"][0])


def read_names(folder: Path, kind: str) -> Names | None:
    """The names of all nodes, or of all topics."""
    path, count = folder / f"{kind}s.parquet", read_instance_meta(folder)[f"{kind}s"]
    if not path.exists():
        return None
    table = read_columns(path, {kind: pa.int64(), "name": pa.string()})
    ids = int64_column(table, kind)
    order = np.argsort(ids)
    if not np.array_equal(ids[order], np.arange(count)):
        raise WeftError(f"{path}: the ids are not 0 to {count - 1}, each once.")
    names: Names = table["name"].to_numpy(zero_copy_only=False)[order]
    return names
