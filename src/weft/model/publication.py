"""Publications: what is said, on which topic, by which node."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from weft.arrays import Int32s
from weft.errors import WeftError
from weft.model.instance import Instance
from weft.model.storage import int64_column, new_path, read_columns, write_columns
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

    @staticmethod
    def read(path: str | Path, instance: Instance) -> "Publications":
        return read_publications(path, instance)

    def write(self, path: str | Path, *, force: bool = False) -> None:
        with new_path(path, force=force) as partial:
            write_columns(partial, self.columns)


def read_publications(path: str | Path, instance: Instance) -> Publications:
    types = {"publication": pa.int64(), "topic": pa.int64(), "node": pa.int64()}
    table = read_columns(Path(path), types).sort_by("publication")
    for name, count in (("topic", instance.topics), ("node", instance.nodes)):
        ids = int64_column(table, name)
        if len(ids) and (ids.min() < 0 or ids.max() >= count):
            raise WeftError(f"{path} names {name}s that the instance does not have: it has {count}.")
    return Publications(int64_column(table, "topic").astype(np.int32), int64_column(table, "node").astype(np.int32))
