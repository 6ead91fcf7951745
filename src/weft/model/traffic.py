"""Real traffic by names: who publishes on what, how often, and how large it is.

A file has a row a publication, as a log has, or a row a rate. Its columns, of CSV with a heading or of Parquet:
`topic`; `node` (or `broker`), who publishes; `rate`, publications in any unit of time, 1 where there is none; `size`,
bytes of a publication. Without the node, the rate of a topic is shared by its subscribers, since nothing else is known.
"""

import gzip
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import csv

from weft.arrays import Floats, Int64s
from weft.errors import WeftError
from weft.model.instance import Instance, Names
from weft.model.publication import Publications
from weft.model.publisher import Publishers

NODE_COLUMNS = ("node", "broker")


@dataclass(frozen=True, eq=False)
class Traffic:
    topics: Int64s  # a row each, as in the others
    nodes: Int64s | None  # who publishes, where the file says it
    rates: Floats
    sizes: Floats | None  # bytes
    unheard: int  # rows on topics that nobody subscribes to, which are left out

    def publications(self) -> Publications:
        """A row a publication, in the order of the file."""
        if self.nodes is None:
            raise WeftError("The file does not say who publishes: it needs a column `node` or `broker`.")
        return Publications(self.topics.astype(np.int32), self.nodes.astype(np.int32))

    def publishers(self, instance: Instance) -> Publishers:
        """Rates of nodes and topics together, with the mean size of what they publish."""
        if self.nodes is None:
            return _shared(self, instance).publishers(instance)
        keys, row = np.unique(self.nodes * np.int64(instance.topics) + self.topics, return_inverse=True)
        total: Floats = np.bincount(row, self.rates, minlength=len(keys)).astype(np.float64)
        sizes = None if self.sizes is None else np.bincount(row, self.rates * self.sizes) / np.maximum(total, 1e-300)
        node, topic = np.divmod(keys, np.int64(instance.topics))
        return Publishers(node.astype(np.int32), topic.astype(np.int32), total, sizes)


def _shared(traffic: Traffic, instance: Instance) -> Traffic:
    """Rows of all subscribers of every row's topic, who share its rate."""
    counts = instance.subscribers.counts[traffic.topics]
    row = np.repeat(np.arange(len(counts)), counts)
    nodes = instance.subscribers.take(traffic.topics).indices.astype(np.int64)
    sizes = None if traffic.sizes is None else traffic.sizes[row]
    return Traffic(traffic.topics[row], nodes, (traffic.rates / counts)[row], sizes, traffic.unheard)


def read_traffic(path: str | Path, instance: Instance) -> Traffic:
    """Traffic of a file; names are those of the instance, or numbers where it has none."""
    path = Path(path)
    try:
        return _traffic(_table(path), instance)
    except WeftError as error:
        raise WeftError(f"{path}: {error}", *error.options) from error


def _traffic(table: pa.Table, instance: Instance) -> Traffic:
    if "topic" not in table.column_names:
        raise WeftError(f"it has no column 'topic'; it has {', '.join(table.column_names) or 'none'}.")
    topics = _ids(table["topic"], instance.topic_names, instance.topics)
    heard = (topics >= 0) & (instance.subscribers.counts[np.maximum(topics, 0)] > 0)
    node_column = next((name for name in NODE_COLUMNS if name in table.column_names), None)
    nodes = None if node_column is None else _known_nodes(table[node_column], instance)
    rates, sizes = _numbers(table, "rate"), _numbers(table, "size")
    if not heard.any():
        raise WeftError("none of its topics has subscribers in the instance: is it of another one?")
    return Traffic(
        topics[heard],
        None if nodes is None else nodes[heard],
        np.ones(int(heard.sum())) if rates is None else rates[heard],
        None if sizes is None else sizes[heard],
        int((~heard).sum()),
    )


def _table(path: Path) -> pa.Table:
    if not path.exists():
        raise WeftError("it does not exist.")
    try:
        if path.suffix == ".parquet":
            return pq.read_table(path)
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        names = data.partition(b"\n")[0].decode("utf-8-sig").strip().split(",")
        as_text = csv.ConvertOptions(column_types={name.strip('" '): pa.string() for name in names})
        return csv.read_csv(BytesIO(data), convert_options=as_text)
    except (pa.ArrowException, OSError, EOFError, UnicodeDecodeError) as error:
        raise WeftError(f"it can be read neither as CSV with a heading nor as Parquet: {error}") from error


def _ids(column: pa.ChunkedArray, names: Names | None, count: int) -> Int64s:
    """The number of every name; -1 where the instance has none of that name."""
    text = pc.utf8_trim_whitespace(column.cast(pa.string()))
    known = pa.array(list(map(str, range(count))) if names is None else names, pa.string())
    found: Int64s = pc.fill_null(pc.index_in(text, known), -1).to_numpy().astype(np.int64)
    return found


def _known_nodes(column: pa.ChunkedArray, instance: Instance) -> Int64s:
    nodes = _ids(column, instance.node_names, instance.nodes)
    unknown: Sequence[str] = pc.unique(column.filter(pa.array(nodes < 0))).to_pylist()
    if unknown:
        others = f" (and {len(unknown) - 1} more)" if len(unknown) > 1 else ""
        raise WeftError(f"{unknown[0]!r}{others} publishes and is no node: name the brokers that publishers sit at.")
    return nodes


def _numbers(table: pa.Table, name: str) -> Floats | None:
    if name not in table.column_names:
        return None
    try:
        values: Floats = table[name].cast(pa.float64()).to_numpy()
    except pa.ArrowException as error:
        raise WeftError(f"its column {name!r} holds what is no number: {error}") from error
    if not np.all((values >= 0) & (values < np.inf)):
        raise WeftError(f"its column {name!r} has a value that is no number from 0.")
    return values
