"""A random order of integers that every engine agrees on: by XXH64 of (seed, integer), as Spark's xxhash64 has it.

Sampling needs a random choice that does not depend on who holds which row. Spark computes the same numbers with
`xxhash64(seed, id)` on BIGINT columns (initial seed 42, the hash of one column seeding the next).
"""

import numpy as np
import numpy.typing as npt

from weft.arrays import Int64s, Words

_P1, _P2, _P3, _P4, _P5 = (
    np.uint64(prime)
    for prime in (
        0x9E3779B185EBCA87,
        0xC2B2AE3D27D4EB4F,
        0x165667B19E3779F9,
        0x85EBCA77C2B2AE63,
        0x27D4EB2F165667C5,
    )
)
_SPARK_SEED = np.uint64(42)


def priority(seed: int, ids: npt.ArrayLike) -> Int64s:
    """Random priorities of ids, lowest first."""
    first = _xxh64(np.array([seed], np.int64).view(np.uint64), _SPARK_SEED)
    return _xxh64(np.asarray(ids, np.int64).view(np.uint64), first).view(np.int64)


def _xxh64(words: Words, seed: Words | np.uint64) -> Words:
    """XXH64 of one 8-byte word."""
    state = seed + _P5 + np.uint64(8)
    state = state ^ (_rotated(words * _P2, 31) * _P1)
    state = _rotated(state, 27) * _P1 + _P4
    state = (state ^ (state >> np.uint64(33))) * _P2
    state = (state ^ (state >> np.uint64(29))) * _P3
    return state ^ (state >> np.uint64(32))


def _rotated(words: Words, bits: int) -> Words:
    return (words << np.uint64(bits)) | (words >> np.uint64(64 - bits))
