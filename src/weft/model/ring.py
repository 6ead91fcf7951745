"""Arithmetic on the identifier ring (BeaConvey section 3.1).

Identifiers are 0..size-1 and distances run clockwise. The node w is in phase i of v when its distance lies in
[2^i, 2^(i+1)): phase 0 is the successor, and the last phase may be cut short by the size of the ring.
A range [low, high) runs clockwise from low; [v, v) is the whole ring, as in a publisher's first message.

All functions take integers or integer arrays; the ring may have up to 2^62 identifiers.
"""

from typing import Literal, overload

import numpy as np

from weft.arrays import Bools, Int64s


@overload
def clockwise(source: int, target: int, size: int) -> int: ...  # type: ignore[overload-overlap]
@overload
def clockwise(source: Int64s | int, target: Int64s | int, size: int) -> Int64s: ...
def clockwise(source: Int64s | int, target: Int64s | int, size: int) -> Int64s | int:
    """Distance from source to target; 0 for a node and itself."""
    return (target - source) % size


@overload
def phase(distance: int) -> int: ...
@overload
def phase(distance: Int64s) -> Int64s: ...
def phase(distance: Int64s | int) -> Int64s | int:
    """floor(log2(distance)), exact for every 63-bit distance; -1 for distance 0, which is in no phase."""
    if isinstance(distance, int):
        return distance.bit_length() - 1
    left = distance.astype(np.int64)
    found = np.where(left > 0, np.int64(0), np.int64(-1))
    for step in (32, 16, 8, 4, 2, 1):
        high = left >> step
        found += np.where(high > 0, step, 0)
        left = np.where(high > 0, high, left)
    return found


Phases = Literal["whole", "cut"]


def phase_count(size: int, phases: Phases = "cut") -> int:
    """The phases of which every node of a full ring has a candidate: 0..ceil(log2(size))-1, the last one cut short.

    With `whole` only those that lie in the ring as a whole, 0..floor(log2(size))-1, and in any case the successor's.
    """
    if phases == "cut":
        return (size - 1).bit_length()
    return min(max(size.bit_length() - 1, 1), (size - 1).bit_length())


@overload
def width(low: int, high: int, size: int) -> int: ...  # type: ignore[overload-overlap]
@overload
def width(low: Int64s | int, high: Int64s | int, size: int) -> Int64s: ...
def width(low: Int64s | int, high: Int64s | int, size: int) -> Int64s | int:
    """How many identifiers [low, high) holds: 1..size, never none."""
    return (high - low - 1) % size + 1


def contains(low: Int64s | int, high: Int64s | int, ring_id: Int64s | int, size: int) -> Bools | bool:
    """Whether ring_id lies in [low, high)."""
    return clockwise(low, ring_id, size) < width(low, high, size)
