"""Draws of a social graph, a row a user, and what becomes of them. The model is in weft.workloads.social.

Users are worked on by place: places number the users community by community, so that a community is a slice
of every table, and the alias tables of all communities lie one after the other in one array.
"""

from typing import NamedTuple

import numpy as np

from weft.arrays import Bools, Floats, Int8s, Int32s, Int64s
from weft.kernels.draw.alias import table_of_logarithms
from weft.kernels.draw.distinct import draw_row
from weft.kernels.jit import jit
from weft.kernels.parallel import in_ranges
from weft.kernels.random import stream, unit

SMALLEST = 3  # members of a community
CHUNK = 1024  # rows that share one array of flags

DROPPED, ONE_WAY, MUTUAL = 0, 1, 2  # the fates of a draw


class Tables(NamedTuple):
    """What each place draws: its community, how many draws it makes there and elsewhere, and from what."""

    first: Int32s  # place of its community
    last: Int32s  # one beyond its community
    near: Int32s  # draws from the others in its community
    far: Int32s  # draws from all others
    near_log_weights: Floats
    near_keep: Floats
    near_other: Int32s  # counted from `first`
    far_log_weights: Floats
    far_keep: Floats
    far_other: Int32s


@jit
def community_bounds(degrees: Floats, spread: float) -> Int64s:
    """Where communities begin, and the end: one is full with `spread` times its mean degree as members."""
    bounds = [0]
    total = 0.0
    for place in range(len(degrees)):
        total += degrees[place]
        size = place + 1 - bounds[-1]
        if size >= SMALLEST and size * size >= spread * total:
            bounds.append(place + 1)
            total = 0.0
    if len(bounds) > 1 and len(degrees) - bounds[-1] < SMALLEST:
        bounds.pop()
    bounds.append(len(degrees))
    return np.array(bounds)


def alias_tables(bounds: Int64s, log_weights: Floats) -> tuple[Floats, Int32s]:
    """The alias tables of the slices between the bounds, one after the other."""
    keep = np.empty(len(log_weights), dtype=np.float64)
    other = np.empty(len(log_weights), dtype=np.int32)
    in_ranges(fill_tables, len(bounds) - 1, bounds, log_weights, keep, other)
    return keep, other


@jit
def fill_tables(first: int, last: int, bounds: Int64s, log_weights: Floats, keep: Floats, other: Int32s) -> None:
    for i in range(first, last):
        start, end = bounds[i], bounds[i + 1]
        slice_keep, slice_other = table_of_logarithms(log_weights[start:end])
        for k in range(end - start):
            keep[start + k], other[start + k] = slice_keep[k], slice_other[k]


def draw_targets(seed: int, places: Int64s, offsets: Int64s, tables: Tables) -> Int32s:
    """The places that places[i] draws, from offsets[i] to offsets[i + 1]: distinct, and never itself."""
    targets = np.empty(offsets[-1], dtype=np.int32)
    in_ranges(draw_chunks, (len(places) + CHUNK - 1) // CHUNK, seed, places, offsets, tables, targets)
    return targets


@jit
def draw_chunks(
    first: int, last: int, seed: int, places: Int64s, offsets: Int64s, tables: Tables, targets: Int32s
) -> None:
    for chunk in range(first, last):
        taken = np.zeros(len(tables.first), dtype=np.bool_)
        for i in range(chunk * CHUNK, min((chunk + 1) * CHUNK, len(places))):
            row = targets[offsets[i] : offsets[i + 1]]
            taken[places[i]] = True
            draw_near_and_far(seed, places[i], row, taken, tables)
            taken[places[i]] = False
            for target in row:
                taken[target] = False


@jit
def draw_near_and_far(seed: int, place: int, row: Int32s, taken: Bools, tables: Tables) -> None:
    first, last = tables.first[place], tables.last[place]
    near, far = row[: tables.near[place]], row[tables.near[place] :]
    draw_row(
        stream(seed, 2 * place),
        near,
        taken[first:last],
        tables.near_log_weights[first:last],
        tables.near_keep[first:last],
        tables.near_other[first:last],
    )
    near += first
    draw_row(
        stream(seed, 2 * place + 1),
        far,
        taken,
        tables.far_log_weights,
        tables.far_keep,
        tables.far_other,
    )


def fates(seed: int, sources: Int32s, targets: Int32s, standing: Floats, mutual: float, upward: float) -> Int8s:
    """What becomes of each draw, by a hash of the pair: whichever drew the other, and even if both did.

    A pair is mutual with probability `mutual`, otherwise one-way: towards the one of higher standing with
    probability `upward`. A draw against the direction of its pair is dropped.
    """
    fate = np.empty(len(sources), dtype=np.int8)
    in_ranges(decide, len(sources), seed, sources, targets, standing, mutual, upward, fate)
    return fate


@jit
def decide(
    first: int,
    last: int,
    seed: int,
    sources: Int32s,
    targets: Int32s,
    standing: Floats,
    mutual: float,
    upward: float,
    fate: Int8s,
) -> None:
    for i in range(first, last):
        low, high = min(sources[i], targets[i]), max(sources[i], targets[i])
        chance = unit(stream(int(stream(seed, -1 - low)), high))  # rows below 0 are no one's draws
        is_upward = standing[sources[i]] < standing[targets[i]]
        if chance < mutual:
            fate[i] = MUTUAL
        elif is_upward == (chance < mutual + (1.0 - mutual) * upward):
            fate[i] = ONE_WAY
        else:
            fate[i] = DROPPED
