"""Raw files to an instance in memory, for Python; `weft ingest` writes one to a folder."""

from collections.abc import Iterable
from os import PathLike, fspath

from weft.model.instance import Instance
from weft.raw.ingest import instance_of
from weft.raw.source import Format, Kind, OnBadRow, Source, sample_of

File = str | PathLike[str]


def ingest(
    files: File | Iterable[File],
    kind: Kind,
    *,
    format: Format | None = None,  # noqa: A002
    columns: tuple[str, str] | None = None,
    delimiter: str | None = None,
    header: bool = True,
    on_bad_row: OnBadRow = "stop",
    topics: File | None = None,
) -> Instance:
    """An instance of one or more files, cleaned and numbered in this process.

    kind        what a row says: "edges" (friends, both ways), "follows" (the first follows the second) or
                "subscriptions" (a node and a topic)
    format      "edges" (two ids a line), "csv", "json-lines", "json-map" or "parquet"; None: by the name of the file
    columns     the two that hold the ids, by name or by number from 1; None: there are just two
    delimiter   of CSV; None: the comma, semicolon, tab or bar that the first line has
    header      whether CSV starts with the names of its columns
    on_bad_row  "stop" at a row that cannot be read, or "skip" it
    topics      file of the topics that are published on, one a line or a traffic log: what filters are expanded to
    """
    paths = (fspath(files),) if isinstance(files, str | PathLike) else tuple(fspath(file) for file in files)
    for path in paths:
        sample_of(path)
    listed = None if topics is None else fspath(topics)
    return instance_of(Source(paths, kind, format, columns, delimiter, header, on_bad_row, listed))
