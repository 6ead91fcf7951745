"""Filters that nodes subscribe to, beside the topics that they stood for when the instance was made."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from weft.arrays import Int32s
from weft.errors import WeftError
from weft.model.storage import int64_column, read_columns, write_columns
from weft.model.table import Columns, Table

FILE = "filters.parquet"


@dataclass(frozen=True, eq=False)
class NodeFilters(Table):
    nodes: Int32s
    texts: npt.NDArray[np.object_]

    def __len__(self) -> int:
        return len(self.nodes)

    @property
    def columns(self) -> Columns:
        return {"node": self.nodes.astype(np.int64), "filter": pa.array(self.texts, pa.string())}

    def write(self, folder: Path) -> None:
        write_columns(folder / FILE, self.columns)


def node_filters(nodes: npt.NDArray[np.integer], texts: pa.Array) -> NodeFilters:
    """Pairs, each once and in order."""
    table = pa.table({"node": pa.array(nodes, pa.int64()), "filter": texts})
    return _of(
        table.group_by(["node", "filter"]).aggregate([]).sort_by([("node", "ascending"), ("filter", "ascending")])
    )


def read_filters(folder: Path, nodes: int) -> NodeFilters | None:
    """Filters of an instance; None where its folder has no file of them."""
    path = folder / FILE
    if not path.exists():
        return None
    table = read_columns(path, {"node": pa.int64(), "filter": pa.string()})
    ids = int64_column(table, "node")
    if len(ids) and (ids.min() < 0 or ids.max() >= nodes):
        raise WeftError(f"{path} names nodes that the instance does not have: it has {nodes}.")
    return _of(table)


def _of(table: pa.Table) -> NodeFilters:
    texts: npt.NDArray[np.object_] = table["filter"].to_numpy(zero_copy_only=False)
    return NodeFilters(int64_column(table, "node").astype(np.int32), texts)
