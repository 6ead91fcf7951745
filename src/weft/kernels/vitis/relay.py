"""Sorted keys that are renewed every round, and how long ago each was."""

import numpy as np

from weft.arrays import Int32s, Int64s
from weft.kernels.jit import jit


@jit
def refreshed(keys: Int64s, stamps: Int32s, came: Int64s, when: int, expiry: int) -> tuple[Int64s, Int32s]:
    """The keys that came now, stamped, and those that came less than `expiry` rounds ago; all ascending."""
    both, stamp = np.empty(len(keys) + len(came), np.int64), np.empty(len(keys) + len(came), np.int32)
    count = i = j = 0
    while i < len(keys) or j < len(came):
        if j < len(came) and (i == len(keys) or came[j] <= keys[i]):
            both[count], stamp[count] = came[j], when
            i += i < len(keys) and keys[i] == came[j]
            j += 1
            count += 1
        else:
            both[count], stamp[count] = keys[i], stamps[i]
            count += when - stamps[i] < expiry
            i += 1
    return both[:count].copy(), stamp[:count].copy()


@jit
def is_in(ascending: Int64s, wanted: int) -> bool:
    at = np.searchsorted(ascending, wanted)
    return bool(at < len(ascending) and ascending[at] == wanted)


@jit
def missing(keys: Int64s, known: Int64s) -> Int64s:
    """The distinct keys that are not among those known; both are ascending, and may hold a key several times."""
    found = np.empty(len(keys), np.int64)
    count = i = 0
    for key in keys:
        while i < len(known) and known[i] < key:
            i += 1
        is_known = i < len(known) and known[i] == key
        if not is_known and (count == 0 or found[count - 1] != key):
            found[count] = key
            count += 1
    return found[:count].copy()


@jit
def union(one: Int64s, other: Int64s) -> Int64s:
    """The distinct keys of both; each is ascending, and may hold a key several times."""
    both = np.empty(len(one) + len(other), np.int64)
    count = i = j = 0
    while i < len(one) or j < len(other):
        if j == len(other) or (i < len(one) and one[i] <= other[j]):
            key = one[i]
            i += 1
        else:
            key = other[j]
            j += 1
        if count == 0 or both[count - 1] != key:
            both[count] = key
            count += 1
    return both[:count].copy()
