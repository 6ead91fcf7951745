"""Real traffic by names: who publishes on what, how often, and how large it is.

A file has a row a publication, as a log has, or a row a rate. Its columns, of CSV with a heading or of Parquet:
`topic`; `node` (or `broker`), who publishes; `rate`, publications in any unit of time, 1 where there is none; `size`,
bytes of a publication; a file may call them otherwise, if that is said. Without the node, the rate of a topic is shared
by its subscribers, since nothing else is known.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from weft.arrays import Floats, Int64s
from weft.errors import WeftError
from weft.model.instance import Instance, Names
from weft.model.publication import Publications, read_rates
from weft.model.publisher import Publishers
from weft.raw.source import sample_of
from weft.raw.table import first_of, read_table
from weft.raw.topic import TOPIC_COLUMNS

COLUMNS = {  # by our names those that files have; `weft publish` writes names beside numbers: names are meant
    "topic": TOPIC_COLUMNS,
    "node": ("node_name", "node", "broker"),
    "rate": ("rate",),
    "size": ("size",),
}


@dataclass(frozen=True, eq=False)
class Traffic:
    topics: Int64s  # a row each, as in the others
    nodes: Int64s | None  # who publishes, where the file says it
    rates: Floats
    sizes: Floats | None  # bytes
    unheard: int  # rows on topics that nobody subscribes to, which are left out
    unheard_topics: tuple[str, ...] = ()  # these topics, that with the most rows first
    unused: tuple[str, ...] = ()  # columns of the file that say nothing to us

    def publications(self) -> Publications:
        """A row a publication, in the order of the file."""
        if self.nodes is None:
            raise WeftError("The file does not say who publishes: it needs a column 'node' or 'broker'.")
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


def read_traffic(path: str | Path, instance: Instance, columns: Mapping[str, str] | None = None) -> Traffic:
    """Traffic of a file; names are those of the instance, or numbers where it has none.

    `columns` says by which names the file has ours, as in {"size": "bytes"}; errors name them where they are given.
    """
    for ours in columns or {}:
        if _ours(ours) not in COLUMNS:
            raise WeftError(f"`columns` names {ours!r}, and there are {', '.join(COLUMNS)}.", "columns")
    file = sample_of(str(path))
    table = read_table(file)
    try:
        return _traffic(table, _columns_of(table, columns), instance)
    except WeftError as error:
        raise WeftError(f"{file} {error}", *error.options) from error


def _ours(name: str) -> str:
    return "node" if name == "broker" else name


def _columns_of(table: pa.Table, columns: Mapping[str, str] | None) -> dict[str, str | None]:
    """The column of the table for each of ours."""
    listed = ", ".join(table.column_names) or "none"
    found = {name: first_of(names, table) for name, names in COLUMNS.items()}
    for ours, theirs in (columns or {}).items():
        found[_ours(ours)] = first_of([theirs], table)
        if found[_ours(ours)] is None:
            raise WeftError(f"has no column {theirs!r}; it has {listed}.")
    if found["topic"] is None and columns is not None:
        raise WeftError(f"has no column 'topic'; it has {listed}: name one with `columns` topic=THEIRS.", "columns")
    if found["topic"] is None:
        raise WeftError(f"has no column 'topic'; it has {listed}.")
    used = [name for name in found.values() if name is not None]
    twice = next((name for name in used if used.count(name) > 1), None)
    if twice is not None:
        raise WeftError(f"has one column {twice!r} for two of ours: give each its own with `columns`.", "columns")
    return found


def read_topic_rates(path: str | Path, instance: Instance) -> Floats:
    """How often each topic is published on: in Parquet by numbers, in CSV by names."""
    if Path(path).suffix == ".parquet":
        return read_rates(path, instance)
    traffic = read_traffic(path, instance)
    return np.bincount(traffic.topics, traffic.rates, minlength=instance.topics).astype(np.float64)


def _traffic(table: pa.Table, column: Mapping[str, str | None], instance: Instance) -> Traffic:
    topics = _ids(table[column["topic"]], instance.topic_names, instance.topics)
    heard = (topics >= 0) & (instance.subscribers.counts[np.maximum(topics, 0)] > 0)
    nodes = None if column["node"] is None else _known_nodes(table[column["node"]], instance)
    rates, sizes = _numbers(table, column["rate"], "rate"), _numbers(table, column["size"], "size")
    if not heard.any():
        raise WeftError("has no topic with subscribers in the instance: is it of another one?")
    if rates is not None and not rates[heard].any():
        raise WeftError("has no rate above 0 on a topic with subscribers: nothing would be published.")
    return Traffic(
        topics[heard],
        None if nodes is None else nodes[heard],
        np.ones(int(heard.sum())) if rates is None else rates[heard],
        None if sizes is None else sizes[heard],
        int((~heard).sum()),
        _in_order(table[column["topic"]].filter(pa.array(~heard))),
        tuple(name for name in table.column_names if name not in column.values()),
    )


def _in_order(names: pa.ChunkedArray) -> tuple[str, ...]:
    """Each name once, the most frequent first."""
    counted = pc.value_counts(pc.utf8_trim_whitespace(names.cast(pa.string()))).to_pylist()
    return tuple(each["values"] for each in sorted(counted, key=lambda each: (-each["counts"], str(each["values"]))))


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
        more = f" and {len(unknown) - 1} more" if len(unknown) > 1 else ""
        raise WeftError(f"has {unknown[0]!r}{more} as publishers, not nodes: name the brokers that they publish at.")
    return nodes


def _numbers(table: pa.Table, column: str | None, name: str) -> Floats | None:
    if column is None:
        return None
    try:
        values: Floats = table[column].cast(pa.float64()).to_numpy()
    except pa.ArrowException:  # of some word, or of one that Python reads
        values = np.array([_number_of(word) for word in table[column].to_pylist()])
    wrong = np.flatnonzero(~((values >= 0) & (values < np.inf)))
    if len(wrong):
        word = table[column][int(wrong[0])].as_py()
        raise WeftError(f"has {word!r} as the {name} of row {wrong[0] + 1}: give a number from 0.")
    return values


def _number_of(word: str | float | None) -> float:
    try:
        return np.nan if word is None else float(word)
    except ValueError:
        return np.nan
