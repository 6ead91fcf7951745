"""Names to dense numbers: in the order of their values where all of them are integers, else of their UTF-8 text.

The rules of `weft ingest`, for columns that are in memory.
"""

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from weft.arrays import Int64s
from weft.errors import WeftError

INTEGER = r"^(0|-?[1-9][0-9]*)$"  # plain, so that 7 and 007 are two names


def numbered(column: pa.ChunkedArray, name: str) -> tuple[Int64s, npt.NDArray[np.object_]]:
    """The number of every value, and the names by number; blanks around a name are not part of it."""
    encoded = ids_of(column, name).dictionary_encode()
    names = encoded.dictionary
    order = _order(names)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    values: npt.NDArray[np.object_] = names.take(pa.array(order)).to_numpy(zero_copy_only=False)
    return rank[encoded.indices.to_numpy(zero_copy_only=False)], values


def ids_of(column: pa.ChunkedArray, name: str) -> pa.Array:
    """All values as text, without blanks around them."""
    if column.null_count:
        raise WeftError(f"Column {name!r} has {column.null_count} empty values: every row needs both ids.")
    try:
        return pc.utf8_trim_whitespace(column.cast(pa.string())).combine_chunks()
    except pa.ArrowException as error:
        raise WeftError(f"Column {name!r} is of type {column.type}: ids are text or integers.") from error


def _order(names: pa.Array) -> Int64s:
    if len(names) and pc.all(pc.match_substring_regex(names, INTEGER)).as_py():
        return np.array(sorted(range(len(names)), key=lambda place: int(names[place].as_py())), np.int64)
    order: Int64s = pc.sort_indices(names.cast(pa.binary())).to_numpy().astype(np.int64)
    return order
