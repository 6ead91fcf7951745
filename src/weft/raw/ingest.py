"""Raw pairs to an instance, in this process: read, clean, renumber.

`edges` are friendships: each counts both ways, and `u v` and `v u` are the same edge. In `follows` the first follows
the second. Both are social: all ids share one numbering, and a follower subscribes to the one it follows. In
`subscriptions` the first is a node, the second a topic, and each kind has a numbering of its own.
Ids are numbered in their order: by value where all of a numbering are integers, else as UTF-8 text.
A subscription to a filter is expanded to the known topics that it matches, and kept beside.

`pipeline/ingest.py` does the same on Spark, for data that does not fit one machine; rows are read by the same rules.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from weft.arrays import Int64s
from weft.errors import WeftError
from weft.model.address import is_remote
from weft.model.instance import Instance, instance_from_pairs
from weft.model.node_filter import NodeFilters, node_filters
from weft.model.storage import new_folder, write_columns
from weft.model.text import chunks_of_lines, first_lines, is_small, peek, whole
from weft.model.wildcard import are_filters, expanded, known_topics, unlisted
from weft.raw.layout import Layout, layout_of
from weft.raw.rows import IDS, SCHEMA, names_split, rejection, rows_of_columns, rows_of_lines, rows_of_map
from weft.raw.source import Source
from weft.raw.topic import read_topics

REJECTED = pa.schema({"file": pa.string(), "line": pa.int64(), "problem": pa.string(), "content": pa.string()})


@dataclass(frozen=True)
class Ingested:
    nodes: int
    topics: int
    subscriptions: int
    rows: int  # that could be read
    self_loops: int  # removed
    duplicates: int  # removed
    trimmed: int  # ids that had blanks around them
    rejected: int  # rows that could not be read
    filters: int = 0  # of nodes, with wildcards or shared, which were expanded to topics
    unmatched: int = 0  # different filters that match no known topic
    unmatched_filters: tuple[str, ...] = ()  # the first of them


NAMED = 5  # filters that match nothing


def check(source: Source) -> None:
    """What is wrong with the source and shows in the first lines of its files, on this machine."""
    if any(map(is_remote, source.paths)):
        return
    layout = layout_of(source)
    listed_topics(source)
    if layout.format != "parquet":
        for file in source.samples():
            rows = _first_rows(file, layout)
            for bad in _rejected(rows, file, 0)[:1].to_pylist() if source.on_bad_row == "stop" else []:
                raise rejection(**bad)
            if not source.is_social and source.topics is None:
                _require_names(rows["right_text"], source)


def listed_topics(source: Source) -> list[str]:
    if source.topics is None:
        return []
    if source.is_social:
        raise WeftError("`topics` are for filters, which only rows of subscriptions have: leave them out.", "topics")
    return read_topics(source.topics)


def _require_names(texts: pa.Array, source: Source) -> None:
    filters = texts.filter(are_filters(texts))
    if len(filters):
        raise unlisted(pc.min(filters).as_py(), ", ".join(source.paths))


def _first_rows(file: str, layout: Layout) -> pa.RecordBatch:
    """Rows of the beginning of a file of text; a map can only be read whole, which a small one is."""
    if layout.format == "json-map":
        return rows_of_map(peek(file) if is_small(file) else b"{}")
    return rows_of_lines(pa.array(first_lines(file), pa.binary()), layout)


def ingest(source: Source, out: str | Path, *, force: bool = False) -> Ingested:
    instance, result, rejected = _ingested(source)
    with new_folder(out, force=force) as folder:
        instance.write_into(folder)
        if len(rejected):
            write_columns(folder / "rejected.parquet", {name: rejected[name] for name in REJECTED.names})
    return result


def instance_of(source: Source) -> Instance:
    return _ingested(source)[0]


def _ingested(source: Source) -> tuple[Instance, Ingested, pa.Table]:
    """The instance, its counts, and the rows that were left out."""
    pairs, rejected, trimmed = _read(source)
    if len(rejected) and source.on_bad_row == "stop":
        raise rejection(**rejected.slice(0, 1).to_pylist()[0], count=len(rejected))
    return *_cleaned(pairs, source, trimmed, len(rejected)), rejected


def _read(source: Source) -> tuple[pa.Table, pa.Table, int]:
    """The pairs that can be read, the rows that cannot, and how many ids were trimmed."""
    if any(map(is_remote, source.paths)):
        raise WeftError(f"{source.paths[0]} is not on this machine: Spark reads it, with `engine` spark.", "engine")
    layout = layout_of(source)
    good, bad, trimmed = [SCHEMA.empty_table().select(IDS)], [REJECTED.empty_table()], 0
    for file in sorted(source.files()):
        for rows, first in _batches(file, layout):
            fine = pc.is_null(rows["problem"])
            kept = pa.Table.from_batches([rows.filter(fine)])
            good.append(kept.select(IDS))
            bad.append(_rejected(rows, file, first))
            trimmed += pc.sum(kept["trimmed"]).as_py() or 0
    return pa.concat_tables(good), pa.concat_tables(bad), trimmed


def _batches(file: str, layout: Layout) -> Iterator[tuple[pa.RecordBatch, int]]:
    """Rows of a file, and the number of the line from which theirs count."""
    if layout.format == "parquet":
        first = 0
        for batch in pq.ParquetFile(file).iter_batches(columns=[layout.left, layout.right]):
            yield rows_of_columns(batch[layout.left], batch[layout.right], layout), first
            first += len(batch)
    elif layout.format == "json-map":
        yield rows_of_map(whole(file)), 0
    else:
        first = 0
        for lines in chunks_of_lines(file):
            yield rows_of_lines(pa.array(lines, pa.binary()), layout), first
            first += len(lines)


def _rejected(rows: pa.RecordBatch, file: str, first: int) -> pa.Table:
    bad = rows.filter(pc.is_valid(rows["problem"]))
    columns = pa.array([file] * len(bad), pa.string()), pc.add(bad["line"], first + 1), bad["problem"], bad["content"]
    return pa.Table.from_arrays(list(columns), schema=REJECTED)


@dataclass(frozen=True)
class _Held:
    """Filters of nodes, and those that match nothing."""

    filters: NodeFilters
    unmatched: list[str]


def _cleaned(pairs: pa.Table, source: Source, trimmed: int, rejected: int) -> tuple[Instance, Ingested]:
    left, right, nodes, topics, filters = _numbered(pairs, source)
    loops = left == right if source.is_social else np.zeros(len(left), np.bool_)
    left, right = left[~loops], right[~loops]
    ends = (np.concatenate([left, right]), np.concatenate([right, left])) if source.kind == "edges" else (left, right)
    instance = instance_from_pairs(
        *ends,
        node_count=len(nodes),
        topic_count=len(topics),
        node_names=nodes.to_numpy(zero_copy_only=False),
        topic_names=topics.to_numpy(zero_copy_only=False),
    )
    require_subscriptions(instance.subscriptions, source)
    distinct = instance.subscriptions // (2 if source.kind == "edges" else 1)
    counts: dict[str, Any] = {
        "self_loops": int(loops.sum()),
        "duplicates": len(left) - distinct,
        "trimmed": trimmed,
        "rejected": rejected,
        **instance.counts,
    }
    result = Ingested(rows=len(pairs), **counts)
    if filters is not None:
        result = with_filters(result, len(filters.filters), filters.unmatched)
        instance = replace(instance, filters=filters.filters)
    return instance.with_meta(**asdict(result), **meta_of(source)), result


def with_filters(result: Ingested, filters: int, unmatched: list[str]) -> Ingested:
    named = tuple(sorted(unmatched, key=str.encode)[:NAMED])
    return replace(result, filters=filters, unmatched=len(unmatched), unmatched_filters=named)


def meta_of(source: Source) -> dict[str, object]:
    """What meta.json says of where an instance is from, beside its counts."""
    return {"source": ", ".join(source.paths), "seed": None, "social": source.is_social, "ingested_as": source.kind}


def require_subscriptions(count: int, source: Source) -> None:
    if not count:
        raise WeftError(f"Nothing is left of {', '.join(source.paths)}: no subscriptions, so no instance was written.")


def _numbered(pairs: pa.Table, source: Source) -> tuple[Int64s, Int64s, pa.Array, pa.Array, _Held | None]:
    """Both sides by dense numbers, the names of nodes and topics, and filters where there are any."""
    if source.is_social:
        both = _keys(
            pa.concat_arrays([_column(pairs, "left"), _column(pairs, "right")]),
            pa.concat_arrays([_column(pairs, "left_text"), _column(pairs, "right_text")]),
        )
        ids, names = _dense(both)
        return ids[: len(pairs)], ids[len(pairs) :], names, names, None
    left, nodes = _dense(_keys(_column(pairs, "left"), _column(pairs, "left_text")))
    left, numbers, texts, held = _expanded(left, _column(pairs, "right"), _column(pairs, "right_text"), source)
    right, topics = _dense(_keys(numbers, texts))
    return left, right, nodes, topics, held


def _expanded(
    left: Int64s, numbers: pa.Array, texts: pa.Array, source: Source
) -> tuple[Int64s, pa.Array, pa.Array, _Held | None]:
    """Nodes and topics with every filter replaced by what it stands for; and the filters."""
    marked = pc.fill_null(are_filters(texts), False)
    if not pc.any(marked).as_py():
        return left, numbers, texts, None
    if source.topics is None:
        _require_names(texts, source)
    is_filter, plain = marked.to_numpy(zero_copy_only=False), pc.invert(marked)
    filters, named = texts.filter(marked), pc.coalesce(texts, numbers.cast(pa.string()))
    known = known_topics(listed_topics(source), pc.unique(named).to_pylist())
    place, found, unmatched = expanded(filters, known)
    found_numbers, found_texts = names_split(found)
    return (
        np.concatenate([left[~is_filter], left[is_filter][place]]),
        pa.concat_arrays([numbers.filter(plain), found_numbers]),
        pa.concat_arrays([texts.filter(plain), found_texts]),
        _Held(node_filters(left[is_filter], filters), unmatched),
    )


def _column(table: pa.Table, name: str) -> pa.Array:
    return table[name].combine_chunks()


def _keys(numbers: pa.Array, texts: pa.Array) -> pa.Array:
    """An array of ids, integers where all are."""
    return numbers if not numbers.null_count else pc.coalesce(texts, numbers.cast(pa.string()))


def _dense(keys: pa.Array) -> tuple[Int64s, pa.Array]:
    """The rank of every key among the distinct ones, and those as names in their order."""
    distinct = pc.unique(keys)
    ordered = distinct.take(pc.sort_indices(distinct))
    return pc.index_in(keys, ordered).to_numpy().astype(np.int64), ordered.cast(pa.string())
