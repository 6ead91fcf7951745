"""Clients and what they subscribe to: a table of client, broker and filter, and the topics that each filter stands for.

A filter with wildcards stands for those of the known topics that it matches. Known are the topics that somebody
subscribes to by name, those that a bridge names, and those of a list.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from weft.arrays import Int64s
from weft.errors import WeftError
from weft.fleet.broker import Brokers
from weft.model.topic import is_filter
from weft.model.wildcard import Find, plain_filter
from weft.raw.table import first_of, read_table

CLIENTS = pa.schema({"client": pa.string(), "broker": pa.string(), "filter": pa.string()})
FILTERS = pa.schema({"filter": pa.string(), "topic": pa.int64()})


def read_clients(path: str | Path, brokers: Brokers, where: str) -> pa.Table:
    """A CSV file with the columns client, broker and filter; others are left alone."""
    if not Path(path).is_file():
        raise WeftError(f"{path} does not exist: give a CSV file of client, broker and filter.")
    table = read_table(str(path))
    found = [first_of([name], table) for name in CLIENTS.names]
    if None in found:
        raise WeftError(
            f"{path} cannot be read as CSV with client,broker,filter in its first line: it has "
            f"{', '.join(table.column_names) or 'nothing'}."
        )
    columns = [pc.utf8_trim_whitespace(table[name].cast(pa.string())) for name in found]
    return checked_clients(pa.table(columns, schema=CLIENTS), brokers, f"{path}, line", where)


def checked_clients(clients: pa.Table, brokers: Iterable[str], place: str, where: str, first: int = 2) -> pa.Table:
    """The table, if every row has a known broker and a valid filter; rows are named from `first` on."""
    for name in CLIENTS.names:
        empty = pc.fill_null(pc.equal(clients[name], ""), True)
        _refuse(empty, f"{place} {{line}}: the {name} is missing.", first)
    unknown = pc.invert(pc.is_in(clients["broker"], pa.array(list(brokers), pa.string())))
    line = _first(unknown)
    if line is not None:
        broker = clients["broker"][line].as_py()
        raise WeftError(f"{place} {line + first}: broker {broker!r} is not in {where}: add it there, or mend the name.")
    wrong = [text for text in clients["filter"].unique().to_pylist() if not is_filter(plain_filter(text))]
    if wrong:
        line = _first(pc.equal(clients["filter"], wrong[0]))
        where = f"{place} {(line or 0) + first}"
        raise WeftError(f"{where}: {wrong[0]!r} is no topic filter: # stands last, and + alone between slashes.")
    return clients


def _refuse(wrong: pa.ChunkedArray, sentence: str, first: int) -> None:
    line = _first(wrong)
    if line is not None:
        raise WeftError(sentence.format(line=line + first))


def _first(marked: pa.ChunkedArray) -> int | None:
    place = pc.index(marked, True).as_py()
    return None if place < 0 else int(place)


def resolved(filters: Iterable[str], find: Find) -> pa.Table:
    """A row for every filter and topic that it stands for."""
    pairs = [(text, topic) for text in sorted(set(filters)) for topic in find(plain_filter(text))]
    return pa.table([[text for text, _ in pairs], [topic for _, topic in pairs]], schema=FILTERS)


def interests(clients: pa.Table, filters: pa.Table, brokers: Sequence[str]) -> tuple[Int64s, Int64s]:
    """Broker and topic, by number, of every subscription; some come more than once."""
    held = clients.group_by(["broker", "filter"]).aggregate([])
    pairs = held.join(filters, "filter", join_type="inner")
    numbers = pc.index_in(pairs["broker"], pa.array(list(brokers), pa.string()))
    return numbers.to_numpy().astype(np.int64), pairs["topic"].to_numpy().astype(np.int64)
