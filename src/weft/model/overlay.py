"""The overlay: nodes, their places on the ring if it has one, and the links, each owned by the node that opened it."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow.csv import write_csv

from weft.arrays import Int32s, Int64s, distinct
from weft.errors import WeftError
from weft.model.address import local_path
from weft.model.arguments import checked
from weft.model.csr import Csr, checked_place
from weft.model.instance import Instance, Names, read_instance
from weft.model.storage import int64_column, new_folder, read_columns, read_meta, write_columns, write_meta
from weft.model.table import Columns, Table

if TYPE_CHECKING:
    import networkx as nx

NO_PHASE = -1


@dataclass(frozen=True, eq=False)
class Overlay(Table):
    """Nodes and links; the table of an overlay is its links.

    Links are sorted by source, then phase, then target; `of` and `indptr` find those of a node.
    """

    nodes: int
    sources: Int32s
    targets: Int32s
    phases: Int32s  # NO_PHASE for a link that is not a finger
    ring_ids: Int64s | None = None  # the identifier of every node; None where there is no ring
    ring_size: int | None = None  # how many identifiers there are; more than nodes where the ring has gaps
    meta: Mapping[str, Any] = field(default_factory=dict)  # algorithm, parameters, seed, seconds, quality, instance

    @cached_property
    def links(self) -> int:
        """Pairs of nodes that keep a connection, whichever opened it; two that opened one to each other share it."""
        return len(neighbours_of(self)) // 2

    @property
    def columns(self) -> Columns:
        return {
            "source": self.sources.astype(np.int64),
            "target": self.targets.astype(np.int64),
            "phase": pa.array(self.phases, pa.int32(), mask=self.phases == NO_PHASE),
        }

    @cached_property
    def indptr(self) -> Int64s:
        """The links of node v are those from indptr[v] to indptr[v + 1]."""
        return np.searchsorted(self.sources, np.arange(self.nodes + 1)).astype(np.int64)

    @cached_property
    def fingerprint(self) -> str:
        """Tells overlays apart by their links and their ring alone, however they were made."""
        digest = hashlib.blake2b(digest_size=16)
        digest.update(np.array([self.nodes, len(self.sources), self.ring_size or 0], np.int64).tobytes())
        for column in (self.sources, self.targets, self.phases, self.ring_ids):
            digest.update(b"" if column is None else np.ascontiguousarray(column).data)
        return digest.hexdigest()

    @checked
    def of(self, node: int) -> Int32s:
        """The nodes that the links of a node lead to."""
        place = checked_place(node, self.nodes)
        return self.targets[self.indptr[place] : self.indptr[place + 1]]

    @checked
    def to_networkx(self, instance: Instance | None = None) -> "nx.DiGraph[Any]":
        """A directed graph, from the owner of every link; with an instance that has names, nodes are these.

        Nodes have their `ring_id` and links their `phase`, where the overlay has a ring. Messages take links both ways:
        `to_undirected` gives the graph that they travel on.
        """
        import networkx as nx

        graph: nx.DiGraph[Any] = nx.DiGraph()
        names = None if instance is None else instance.node_names
        label = list(range(self.nodes)) if names is None else names.tolist()
        for node, name in enumerate(label):
            graph.add_node(name, **({} if self.ring_ids is None else {"ring_id": int(self.ring_ids[node])}))
        for source, target, phase in zip(self.sources, self.targets, self.phases, strict=True):
            about = {} if phase == NO_PHASE else {"phase": int(phase)}
            graph.add_edge(label[source], label[target], **about)
        return graph

    def __repr__(self) -> str:
        ring = "" if self.ring_ids is None else ", on a ring"
        return f"Overlay({self.meta.get('algorithm', 'of links')}: {self.nodes:,} nodes, {self.links:,} links{ring})"

    def _content(self) -> tuple[object, ...]:
        return (self.fingerprint,)

    def with_meta(self, **changes: Any) -> "Overlay":
        meta = {**self.meta, **changes}
        return Overlay(self.nodes, self.sources, self.targets, self.phases, self.ring_ids, self.ring_size, meta)

    @staticmethod
    @checked
    def read(path: str | Path) -> "Overlay":
        return read_overlay(path)

    @checked
    def write(self, path: str | Path, *, force: bool = False, names: Names | None = None) -> None:
        """Write the overlay; with the names of the nodes also links.csv, for people and spreadsheets."""
        with new_folder(path, force=force) as folder:
            self.write_into(folder, names)

    def write_into(self, folder: Path, names: Names | None = None) -> None:
        ring = np.zeros(self.nodes, np.int64) if self.ring_ids is None else self.ring_ids
        no_ring = np.full(self.nodes, self.ring_ids is None)
        nodes = {"node": np.arange(self.nodes, dtype=np.int64), "ring_id": pa.array(ring, mask=no_ring)}
        write_columns(folder / "nodes.parquet", nodes)
        write_columns(folder / "links.parquet", self.columns)
        if names is not None:
            write_csv(self.named_links(names), folder / "links.csv")
        write_meta(folder, {**self.meta, "nodes": self.nodes, "links": self.links, "ring_size": self.ring_size})

    @checked
    def named_links(self, names: Names) -> pa.Table:
        """The links with the names of their nodes beside the numbers."""
        ends = {"source_name": names[self.sources], "target_name": names[self.targets]}
        named = {column: pa.array(values, pa.string()) for column, values in ends.items()}
        return pa.table({**self.columns, **named})


def overlay_from_links(
    nodes: int,
    sources: npt.ArrayLike,
    targets: npt.ArrayLike,
    phases: npt.ArrayLike | None = None,
    *,
    ring_ids: npt.ArrayLike | None = None,
    ring_size: int | None = None,
    **meta: Any,
) -> Overlay:
    for ids in (sources, targets):
        _require_nodes(np.asarray(ids), nodes)
    source, target = np.asarray(sources).astype(np.int32), np.asarray(targets).astype(np.int32)
    phase = np.full(len(source), NO_PHASE, np.int32) if phases is None else np.asarray(phases).astype(np.int32)
    if np.any(source == target):
        raise WeftError(f"node {source[source == target][0]} has a link to itself.")
    ring = None if ring_ids is None else _checked_ring(np.asarray(ring_ids, np.int64), nodes, ring_size or nodes)
    if not _in_order(source, phase, target):
        order = np.lexsort((target, phase, source))
        source, target, phase = source[order], target[order], phase[order]
    return Overlay(nodes, source, target, phase, ring, None if ring is None else (ring_size or nodes), meta)


def _require_nodes(ids: npt.NDArray[Any], nodes: int) -> None:
    outside = ids[(ids < 0) | (ids >= nodes)]
    if len(outside):
        raise WeftError(f"a link names node {outside[0]}, but there are {nodes} nodes.")


def _in_order(*keys: Int32s) -> bool:
    """Whether rows are sorted by the first key, then the second, and so on: those of a file that was written are."""
    tied = np.ones(max(len(keys[0]) - 1, 0), bool)
    for key in keys:
        if np.any(tied & (key[1:] < key[:-1])):
            return False
        tied &= key[1:] == key[:-1]
    return True


def _checked_ring(ring_ids: Int64s, nodes: int, ring_size: int) -> Int64s:
    if len(ring_ids) != nodes or len(distinct(ring_ids)) != nodes:
        raise WeftError(f"{nodes} nodes need {nodes} different ring ids.")
    if ring_ids.min() < 0 or ring_ids.max() >= ring_size:
        raise WeftError(f"ring ids must lie in 0..{ring_size - 1}.")
    return ring_ids


def undirected(overlay: Overlay) -> tuple[Int32s, Int32s]:
    """Every pair of linked nodes once, the smaller first."""
    neighbours = neighbours_of(overlay)
    low, high = neighbours.row_of_each(), neighbours.indices
    once = low < high
    return low[once], high[once]


def neighbours_of(overlay: Overlay) -> Csr:
    """The nodes at the other ends of every node's links, whoever owns these."""
    opened = Csr(overlay.indptr, overlay.targets, overlay.nodes).matrix(bool)
    both = (opened + opened.T).tocsr()
    both.sort_indices()
    return Csr(both.indptr.astype(np.int64), both.indices.astype(np.int32, copy=False), overlay.nodes)


def most_links(overlay: Overlay) -> int:
    """Most links of any node, whoever opened them; two nodes that opened one to each other share it."""
    return int(neighbours_of(overlay).counts.max(initial=0))


def require_made_for(instance: Instance, overlay: Overlay) -> None:
    if overlay.nodes != instance.nodes or overlay.meta.get("instance", instance.fingerprint) != instance.fingerprint:
        raise WeftError(f"{named(overlay)} was made for another instance: design one for this instance.")


def named(overlay: Overlay) -> str:
    return f"The overlay {overlay.meta.get('algorithm', '')}".rstrip()


def read(path: str | Path) -> Instance | Overlay:
    """The instance or the overlay that a folder holds."""
    is_overlay = "algorithm" in read_meta(local_path(path), "an instance or an overlay")
    return read_overlay(path) if is_overlay else read_instance(path)


def read_overlay(path: str | Path) -> Overlay:
    folder = local_path(path)
    meta = read_meta(folder, "an overlay", "nodes", "links")
    nodes = read_columns(folder / "nodes.parquet", {"node": pa.int64(), "ring_id": pa.int64()}, nullable=["ring_id"])
    types = {"source": pa.int64(), "target": pa.int64(), "phase": pa.int32()}
    links = read_columns(folder / "links.parquet", types, nullable=["phase"])
    count = meta.pop("nodes")
    if not np.array_equal(np.sort(int64_column(nodes, "node")), np.arange(count)):
        raise WeftError(f"{folder}: nodes.parquet does not have the nodes 0 to {count - 1}, each once.")
    ring_size = meta.pop("ring_size", None)
    if not isinstance(ring_size, int | None):
        raise WeftError(f"{folder}/meta.json: ring_size is {ring_size!r}, not a number of ring ids.")
    told = meta.pop("links")
    nodes = nodes.sort_by("node")
    if nodes["ring_id"].null_count not in (0, count):
        raise WeftError(f"{folder}: some nodes have a ring id and others have none.")
    on_ring = nodes["ring_id"].null_count == 0 and count > 0
    try:
        overlay = overlay_from_links(
            count,
            int64_column(links, "source"),
            int64_column(links, "target"),
            links["phase"].fill_null(NO_PHASE).to_numpy(),
            ring_ids=int64_column(nodes, "ring_id") if on_ring else None,
            ring_size=ring_size,
            **meta,
        )
    except WeftError as error:
        raise WeftError(f"{folder}: {error}", *error.options) from error
    if told not in (overlay.links, len(links)):  # rows, as older folders tell
        raise WeftError(f"{folder}: links.parquet and meta.json disagree on the number of links.")
    return overlay
