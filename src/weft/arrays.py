"""Types of arrays, by what they hold, and the distinct values of an array."""

from typing import TypeVar

import numpy as np
import numpy.typing as npt

Bools = npt.NDArray[np.bool_]
Bytes = npt.NDArray[np.uint8]
Int8s = npt.NDArray[np.int8]
Int16s = npt.NDArray[np.int16]
Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]
Integers = npt.NDArray[np.integer]  # of any width
Words = npt.NDArray[np.uint64]
Float32s = npt.NDArray[np.float32]
Floats = npt.NDArray[np.float64]

Integer = TypeVar("Integer", bound=np.integer)


def distinct(values: npt.NDArray[Integer]) -> npt.NDArray[Integer]:
    """Each value once, ascending; np.unique hashes integers first, which takes ten times as long."""
    ascending = np.sort(values)
    is_first = np.ones(len(ascending), np.bool_)
    is_first[1:] = ascending[1:] != ascending[:-1]
    return ascending[is_first]
