"""Which of many filters does each publication match? Conjunctions as intervals of places, publications as points.

Every attribute is a line of places, numbered from 0 (weft.model.matching lays it out): values of one place are alike
for all filters. A conjunction gives some attributes the places that they may have, as intervals; a point has a place in
every attribute. Conjunctions of one class are neighbours, and those of one filter too.

The index is a bit vector for each bucket of each attribute, of the conjunctions that allow any place of the bucket.
Buckets are even shares of the places, so memory grows with the number of conjunctions and not with its square. What a
point may match are the bits that its buckets have in common, among those of its class; these are compared one by one.
"""

from typing import NamedTuple

import numpy as np

from weft.arrays import Int32s, Int64s, Words
from weft.kernels.jit import inline_jit, jit, leaf_jit

ONE = np.uint64(1)
SPREAD = np.uint64(0x03F79D71B4CB0A89)  # a de Bruijn sequence: its six top bits differ for each shift
SHIFT = np.uint64(58)
PLACE = np.empty(64, np.int64)
for _bit in range(64):
    PLACE[((1 << _bit) * int(SPREAD) & 0xFFFFFFFFFFFFFFFF) >> 58] = _bit


class Conjunctions(NamedTuple):
    owners: Int32s  # the filter of every conjunction
    classes: Int64s  # the conjunctions of class c are classes[c] to classes[c + 1]
    bounds: Int64s  # of conjunctions in attributes
    attributes: Int32s  # that a conjunction mentions
    intervals: Int64s  # where the intervals of each mention begin, and the last ones end
    first: Int32s  # places of intervals, ascending within a mention
    last: Int32s
    sizes: Int64s  # places of every attribute


@inline_jit
def bucket_of(place: int, size: int, buckets: int) -> int:
    return int(place) if size <= buckets else int(place) * buckets // int(size)


@jit
def index_conjunctions(wanted: Conjunctions, buckets: int) -> Words:
    """Bits [attribute, bucket, word] of conjunctions; a bit of an attribute that is not mentioned is 1 everywhere."""
    words = (len(wanted.owners) + 63) // 64
    bits = np.full((len(wanted.sizes), buckets, words), ~np.uint64(0))
    for conjunction in range(len(wanted.owners)):
        word, bit = conjunction // 64, ONE << np.uint64(conjunction % 64)
        for mention in range(wanted.bounds[conjunction], wanted.bounds[conjunction + 1]):
            attribute = wanted.attributes[mention]
            size = wanted.sizes[attribute]
            for bucket in range(buckets):
                bits[attribute, bucket, word] &= ~bit
            for interval in range(wanted.intervals[mention], wanted.intervals[mention + 1]):
                low = bucket_of(wanted.first[interval], size, buckets)
                high = bucket_of(wanted.last[interval], size, buckets)
                for bucket in range(low, high + 1):
                    bits[attribute, bucket, word] |= bit
    return bits


@jit
def match_points(kinds: Int32s, points: Int32s, wanted: Conjunctions, bits: Words) -> tuple[Int64s, Int32s]:
    """The filters of each point, of a class and a place in each attribute, as offsets and filters, ascending."""
    attributes, buckets, words = bits.shape
    offsets = np.zeros(len(points) + 1, np.int64)
    found = np.empty(max(64, 4 * len(points)), np.int32)
    common = np.empty(words, np.uint64)
    count = 0
    for row in range(len(points)):
        if kinds[row] < 0:
            offsets[row + 1] = count
            continue
        low, high = wanted.classes[kinds[row]], wanted.classes[kinds[row] + 1]
        start, stop = low // 64, (high + 63) // 64
        for word in range(start, stop):
            common[word] = ~np.uint64(0)
        for attribute in range(attributes):
            mask = bits[attribute, bucket_of(points[row, attribute], wanted.sizes[attribute], buckets)]
            for word in range(start, stop):
                common[word] &= mask[word]
        if count + high - low > len(found):
            found = np.append(found, np.empty(len(found) + high - low, np.int32))
        before = -1
        for word in range(start, stop):
            rest = common[word]
            while rest:
                bit = rest & (~rest + ONE)
                rest ^= bit
                conjunction = 64 * word + PLACE[(bit * SPREAD) >> SHIFT]
                if conjunction < low or conjunction >= high or wanted.owners[conjunction] == before:
                    continue
                if holds(wanted, conjunction, points[row]):
                    before = wanted.owners[conjunction]
                    found[count] = before
                    count += 1
        offsets[row + 1] = count
    return offsets, found[:count]


@leaf_jit
def holds(wanted: Conjunctions, conjunction: int, point: Int32s) -> bool:
    for mention in range(wanted.bounds[conjunction], wanted.bounds[conjunction + 1]):
        place = point[wanted.attributes[mention]]
        low, high = wanted.intervals[mention], wanted.intervals[mention + 1]
        while low < high:  # the first interval that does not end before the place
            middle = (low + high) >> 1
            if wanted.last[middle] < place:
                low = middle + 1
            else:
                high = middle
        if low == wanted.intervals[mention + 1] or place < wanted.first[low]:
            return False
    return True


@jit
def compare_points(kinds: Int32s, points: Int32s, wanted: Conjunctions) -> tuple[Int64s, Int32s]:
    """The filters of each point without an index, by comparing every point with every conjunction of its class."""
    offsets = np.zeros(len(points) + 1, np.int64)
    found = np.empty(max(64, 4 * len(points)), np.int32)
    count = 0
    for row in range(len(points)):
        low = wanted.classes[kinds[row]] if kinds[row] >= 0 else 0
        high = wanted.classes[kinds[row] + 1] if kinds[row] >= 0 else 0
        if count + high - low > len(found):
            found = np.append(found, np.empty(len(found) + high - low, np.int32))
        before = -1
        for conjunction in range(low, high):
            if wanted.owners[conjunction] != before and holds(wanted, conjunction, points[row]):
                before = wanted.owners[conjunction]
                found[count] = before
                count += 1
        offsets[row + 1] = count
    return offsets, found[:count]


@leaf_jit
def meet(one: Conjunctions, left: int, other: Conjunctions, right: int) -> bool:
    """Whether some point is in both conjunctions, whose mentions are in the order of their attributes."""
    here, there = one.bounds[left], other.bounds[right]
    while here < one.bounds[left + 1] and there < other.bounds[right + 1]:
        if one.attributes[here] < other.attributes[there]:
            here += 1
        elif one.attributes[here] > other.attributes[there]:
            there += 1
        else:
            if not overlap(one, here, other, there):
                return False
            here += 1
            there += 1
    return True


@leaf_jit
def overlap(one: Conjunctions, here: int, other: Conjunctions, there: int) -> bool:
    left, right = one.intervals[here], other.intervals[there]
    while left < one.intervals[here + 1] and right < other.intervals[there + 1]:
        if max(one.first[left], other.first[right]) <= min(one.last[left], other.last[right]):
            return True
        if one.last[left] < other.last[right]:
            left += 1
        else:
            right += 1
    return False


@jit
def meeting_filters(one: Conjunctions, mine: Int64s, other: Conjunctions, kind: int, filters: int) -> Int32s:
    """Which of the other filters, all of one class, intersect the filter that has the conjunctions `mine`."""
    found = np.empty(filters, np.int32)
    count, before = 0, -1
    for conjunction in range(other.classes[kind], other.classes[kind + 1]):
        if other.owners[conjunction] == before:
            continue
        for place in range(len(mine)):
            if meet(one, mine[place], other, conjunction):
                before = other.owners[conjunction]
                found[count] = before
                count += 1
                break
    return found[:count]


@jit
def first_outside(points: Int32s, filters: Int64s, wanted: Conjunctions, order: Int64s, bounds: Int64s) -> int:
    """The first point that the filter of its own does not match, or how many there are.

    The conjunctions of filter f are order[bounds[f]] to order[bounds[f + 1]].
    """
    for row in range(len(points)):
        is_inside = False
        for place in range(bounds[filters[row]], bounds[filters[row] + 1]):
            is_inside |= holds(wanted, order[place], points[row])
        if not is_inside:
            return row
    return len(points)
