"""Points in boxes: which of many boxes does each point lie in?

A box has a closed interval in each dimension; from -infinity to infinity it does not mind the dimension, not even its
absence. A point that has no value in a dimension has nan there.

The index is a bit vector for each bucket of each dimension: the boxes whose interval touches the bucket. Cuts divide a
dimension into at most as many buckets as there is room for, so memory grows with the number of boxes and not with its
square. The boxes that a point may lie in are the bits common to its bucket in every dimension; those are compared with
the point one by one. Boxes are numbered so that those of one bucket of dimension 0 are neighbours, and every bucket
knows the first and the last word of its bits: words outside of what all buckets have in common are not looked at.
"""

import numpy as np

from weft.arrays import Floats, Int32s, Int64s, Words
from weft.kernels.jit import jit

ONE = np.uint64(1)
SPREAD = np.uint64(0x03F79D71B4CB0A89)  # a de Bruijn sequence: its six top bits differ for each shift
SHIFT = np.uint64(58)
PLACE = np.empty(64, np.int64)
for _bit in range(64):
    PLACE[((1 << _bit) * int(SPREAD) & 0xFFFFFFFFFFFFFFFF) >> 58] = _bit


@jit
def bucket_of(cuts: Floats, value: float) -> np.int64:
    """The number of cuts at or below the value; one more than all cuts for nan."""
    if np.isnan(value):
        return np.int64(len(cuts) + 1)
    return np.int64(np.searchsorted(cuts, value, side="right"))


@jit
def index_boxes(low: Floats, high: Floats, cuts: Floats) -> tuple[Words, Int64s]:
    """Bits [dimension, bucket, word] of boxes [box, dimension], and where each bucket has any: its words from, to."""
    boxes, dimensions = low.shape
    buckets = cuts.shape[1] + 2
    words = (boxes + 63) // 64
    bits = np.zeros((dimensions, buckets, words), np.uint64)
    spans = np.zeros((dimensions, buckets, 2), np.int64)
    spans[:, :, 0] = words
    for box in range(boxes):
        word, bit = box // 64, ONE << np.uint64(box % 64)
        for dimension in range(dimensions):
            first = bucket_of(cuts[dimension], low[box, dimension])
            last = bucket_of(cuts[dimension], high[box, dimension])
            if low[box, dimension] == -np.inf and high[box, dimension] == np.inf:
                last = buckets - 1  # where there is no value, too
            for bucket in range(first, last + 1):
                bits[dimension, bucket, word] |= bit
                spans[dimension, bucket, 0] = min(spans[dimension, bucket, 0], word)
                spans[dimension, bucket, 1] = word + 1
    return bits, spans


@jit
def match_points(
    points: Floats, low: Floats, high: Floats, cuts: Floats, bits: Words, spans: Int64s
) -> tuple[Int64s, Int32s]:
    """The boxes of each point, as offsets and boxes in ascending order."""
    dimensions = low.shape[1]
    offsets = np.zeros(len(points) + 1, np.int64)
    found = np.empty(max(64, 4 * len(points)), np.int32)
    common = np.empty(bits.shape[2], np.uint64)
    count = 0
    for row in range(len(points)):
        point = points[row]
        start, stop = 0, bits.shape[2]
        for dimension in range(dimensions):
            span = spans[dimension, bucket_of(cuts[dimension], point[dimension])]
            start, stop = max(start, span[0]), min(stop, span[1])
        for word in range(start, stop):
            common[word] = ~np.uint64(0)
        for dimension in range(dimensions):
            mask = bits[dimension, bucket_of(cuts[dimension], point[dimension])]
            for word in range(start, stop):
                common[word] &= mask[word]
        if count + 64 * (stop - start) > len(found):
            found = np.append(found, np.empty(len(found) + 64 * (stop - start), np.int32))
        for word in range(start, stop):
            rest = common[word]
            while rest:
                bit = rest & (~rest + ONE)
                rest ^= bit
                box = 64 * word + PLACE[(bit * SPREAD) >> SHIFT]
                if contains(low[box], high[box], point):
                    found[count] = box
                    count += 1
        offsets[row + 1] = count
    return offsets, found[:count]


@jit
def contains(low: Floats, high: Floats, point: Floats) -> bool:
    for dimension in range(len(point)):
        inside = low[dimension] <= point[dimension] and point[dimension] <= high[dimension]
        if not inside and not (low[dimension] == -np.inf and high[dimension] == np.inf):
            return False
    return True


@jit
def compare_points(points: Floats, low: Floats, high: Floats) -> tuple[Int64s, Int32s]:
    """The boxes of each point without an index, by comparing every point with every box."""
    offsets = np.zeros(len(points) + 1, np.int64)
    found = np.empty(max(64, 4 * len(points)), np.int32)
    count = 0
    for row in range(len(points)):
        if count + len(low) > len(found):
            found = np.append(found, np.empty(len(found) + len(low), np.int32))
        for box in range(len(low)):
            if contains(low[box], high[box], points[row]):
                found[count] = box
                count += 1
        offsets[row + 1] = count
    return offsets, found[:count]
