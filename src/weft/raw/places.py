"""Places by names: a row a broker, `broker,place`, in CSV with a heading or in Parquet; a place is a path: `eu/fra`."""

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from weft.errors import WeftError
from weft.model.instance import Instance
from weft.model.places import Places, places_of
from weft.raw.source import sample_of
from weft.raw.table import first_of, read_table

COLUMNS = {"broker": ("broker", "node", "name"), "place": ("place",)}


def read_places(path: str | Path, instance: Instance) -> Places:
    """The places of all nodes; names are those of the instance, or numbers where it has none."""
    file = sample_of(str(path))
    table = read_table(file)
    found = {ours: first_of(theirs, table) for ours, theirs in COLUMNS.items()}
    for ours, theirs in found.items():
        if theirs is None:
            raise WeftError(f"{file} has no column {ours!r}; it has {', '.join(table.column_names) or 'none'}.")
    brokers, names = (_texts(table[column]) for column in found.values())
    known: dict[int, str] = {}
    for row, (broker, name) in enumerate(zip(brokers, names, strict=True), 1):
        try:
            node = instance.node_called(broker)
        except WeftError as error:
            raise WeftError(f"{file}, line {row + 1}: {error}", *error.options) from error
        if not name:
            raise WeftError(f"{file}, line {row + 1}: broker {broker} has no place: give one, as in eu/fra/a.")
        if node in known:
            raise WeftError(f"{file}, line {row + 1}: broker {broker} has a place already, {known[node]}.")
        known[node] = name
    missing = next((node for node in range(instance.nodes) if node not in known), None)
    if missing is not None:
        raise WeftError(f"{file} has no place for broker {instance.node_name(missing)}: give one for every broker.")
    return places_of([known[node] for node in range(instance.nodes)])


def _texts(column: pa.ChunkedArray) -> list[str]:
    texts: list[str] = pc.fill_null(pc.utf8_trim_whitespace(column.cast(pa.string())), "").to_pylist()
    return texts
