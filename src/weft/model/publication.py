"""Publications: what is said, on which topic, by which node; and how often on each topic."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from weft.arrays import Floats, Int32s, Int64s
from weft.errors import WeftError
from weft.model.address import local_path
from weft.model.arguments import checked
from weft.model.instance import Instance
from weft.model.storage import has_column, int64_column, new_path, read_columns, write_columns
from weft.model.table import Columns, Table


@dataclass(frozen=True, eq=False)
class Publications(Table):
    topics: Int32s  # of publication 0, 1, ...
    nodes: Int32s  # their issuers

    def __len__(self) -> int:
        return len(self.topics)

    @property
    def columns(self) -> Columns:
        return {
            "publication": np.arange(len(self), dtype=np.int64),
            "topic": self.topics.astype(np.int64),
            "node": self.nodes.astype(np.int64),
        }

    def __repr__(self) -> str:
        return f"Publications({len(self):,} on {len(np.unique(self.topics)):,} topics)"

    @staticmethod
    @checked
    def read(path: str | Path, instance: Instance) -> "Publications":
        return read_publications(path, instance)

    @checked
    def write(self, path: str | Path, *, force: bool = False, instance: Instance | None = None) -> None:
        """Write the file; with an instance that has names, these stand beside the numbers."""
        with new_path(path, force=force) as partial:
            write_columns(partial, {**self.columns, **(self._names(instance) if instance else {})})

    def _names(self, instance: Instance) -> Columns:
        named = (("topic_name", instance.topic_names, self.topics), ("node_name", instance.node_names, self.nodes))
        return {column: pa.array(names[ids], pa.string()) for column, names, ids in named if names is not None}


def read_publications(path: str | Path, instance: Instance) -> Publications:
    types = {"publication": pa.int64(), "topic": pa.int64(), "node": pa.int64()}
    table = read_columns(local_path(path), types).sort_by("publication")
    topics, nodes = int64_column(table, "topic"), int64_column(table, "node")
    _require_known(path, "topic", topics, instance.topics)
    _require_known(path, "node", nodes, instance.nodes)
    return Publications(topics.astype(np.int32), nodes.astype(np.int32))


def read_rates(path: str | Path, instance: Instance) -> Floats:
    """How often each topic is published on: from rows of topic and rate, or by counting publications."""
    if has_column(local_path(path), "publication"):
        return np.bincount(read_publications(path, instance).topics, minlength=instance.topics).astype(np.float64)
    table = read_columns(local_path(path), {"topic": pa.int64(), "rate": pa.float64()})
    topics, given = int64_column(table, "topic"), table["rate"].to_numpy()
    _require_known(path, "topic", topics, instance.topics)
    wrong = given[~((given >= 0) & (given < np.inf))]
    if len(wrong):
        raise WeftError(f"{path} has the rate {wrong[0]}: give numbers from 0.")
    return np.bincount(topics, given, minlength=instance.topics).astype(np.float64)


def _require_known(path: str | Path, name: str, ids: Int64s, count: int) -> None:
    if len(ids) and (ids.min() < 0 or ids.max() >= count):
        raise WeftError(f"{path} names {name}s that the instance does not have: it has {count}.")
