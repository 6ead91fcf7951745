"""Publishers: who publishes on what, and how often. A node that publishes on a topic need not subscribe to it.

Where nothing else is known, the users of a social instance publish on their own topics, all as often. Of an instance
that is not social nothing is known.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from weft.arrays import Floats, Int32s, distinct
from weft.errors import WeftError
from weft.model.storage import has_column, int64_column, read_columns, write_columns
from weft.model.table import Columns, Table

FILE = "publishers.parquet"


@dataclass(frozen=True, eq=False)
class Publishers(Table):
    nodes: Int32s
    topics: Int32s
    rates: Floats  # publications in any unit of time, from 0
    sizes: Floats | None = None  # bytes of a publication, on average; None where they are not known

    def __len__(self) -> int:
        return len(self.nodes)

    @property
    def are_own_topics(self) -> bool:
        """Whether it is what is assumed of social users."""
        return np.array_equal(self.nodes, self.topics) and bool(np.all(self.rates == 1))

    def topic_rates(self, topics: int) -> Floats:
        """Rates of all topics; where no publisher is known, the mean of the others."""
        rates = np.bincount(self.topics, self.rates, minlength=topics).astype(np.float64)
        known = np.bincount(self.topics, minlength=topics) > 0
        return np.where(known, rates, rates[known].mean() if known.any() else 1.0)

    def topic_sizes(self, topics: int) -> Floats | None:
        """Bytes of a publication on every topic, on average; where nobody publishes, the mean of the others."""
        if self.sizes is None:
            return None
        rates = np.bincount(self.topics, self.rates, minlength=topics)
        bytes_of_each = np.bincount(self.topics, self.rates * self.sizes, minlength=topics)
        mean = bytes_of_each.sum() / max(rates.sum(), 1e-300)
        return np.where(rates > 0, bytes_of_each / np.where(rates > 0, rates, 1), mean)

    def first_of(self, topic: int) -> int | None:
        """The node that publishes most on a topic, of several the first; None where nobody does."""
        rows = np.flatnonzero((self.topics == topic) & (self.rates > 0))
        return int(self.nodes[rows[np.lexsort((self.nodes[rows], -self.rates[rows]))[0]]]) if len(rows) else None

    @property
    def columns(self) -> Columns:
        columns = {"node": self.nodes.astype(np.int64), "topic": self.topics.astype(np.int64), "rate": self.rates}
        return columns if self.sizes is None else {**columns, "size": self.sizes}

    def write(self, folder: Path) -> None:
        write_columns(folder / FILE, self.columns)


NO_PUBLISHERS = Publishers(np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0))


def own_topics(users: int) -> Publishers:
    everyone = np.arange(users, dtype=np.int32)
    return Publishers(everyone, everyone, np.ones(users))


def read_publishers(folder: Path, nodes: int, topics: int) -> Publishers | None:
    """Publishers of an instance; None where its folder has no file of them."""
    path = folder / FILE
    if not path.exists():
        return None
    sized = {"size": pa.float64()} if has_column(path, "size") else {}
    table = read_columns(path, {"node": pa.int64(), "topic": pa.int64(), "rate": pa.float64(), **sized})
    for name, count in (("node", nodes), ("topic", topics)):
        ids = int64_column(table, name)
        if len(ids) and (ids.min() < 0 or ids.max() >= count):
            raise WeftError(f"{path} names {name}s that the instance does not have: it has {count}.")
    rates: Floats = table["rate"].to_numpy()
    if not np.all((rates >= 0) & (rates < np.inf)):
        raise WeftError(f"{path} has a rate that is no number from 0.")
    node, topic = int64_column(table, "node"), int64_column(table, "topic")
    if len(distinct(node * topics + topic)) != len(node):
        raise WeftError(f"{path} names a node and a topic twice: give one rate for both together.")
    sizes = table["size"].to_numpy() if sized else None
    if sizes is not None and not np.all((sizes >= 0) & (sizes < np.inf)):
        raise WeftError(f"{path} has a size that is no number of bytes from 0.")
    return Publishers(node.astype(np.int32), topic.astype(np.int32), rates, sizes)
