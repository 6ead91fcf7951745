"""Rows of values that are drawn independently of each other, value t with probability q(t).

A coin a value would cost a number for each of them. So values are skipped: with p the probability of the last one that
was looked at, the next one to look at is as far away as the first head of coins of p (Miller and Hagberg 2011), and is
taken with probability q(t) / p. Probabilities must not rise with t. A row costs about as many numbers as it has values.

A row depends on the seed and its number alone; its values come out ascending.
"""

import numpy as np

from weft.arrays import Floats, Int32s, Int64s
from weft.kernels.jit import jit
from weft.kernels.parallel import in_ranges
from weft.kernels.random import advance, stream, unit


def draw_independently(seed: int, rows: Int64s, probabilities: Floats) -> tuple[Int64s, Int32s]:
    """The number of values of each row, and the values of all rows, one row after the other."""
    counts = np.empty(len(rows), np.int64)
    in_ranges(count_rows, len(rows), seed, rows, probabilities, counts)
    ends = np.cumsum(counts)
    values = np.empty(int(ends[-1]) if len(rows) else 0, np.int32)
    in_ranges(fill_rows, len(rows), seed, rows, probabilities, ends - counts, values)
    return counts, values


@jit
def count_rows(first: int, last: int, seed: int, rows: Int64s, probabilities: Floats, counts: Int64s) -> None:
    nothing = np.empty(0, np.int32)
    for i in range(first, last):
        counts[i] = draw_row(stream(seed, rows[i]), probabilities, nothing, 0)


@jit
def fill_rows(
    first: int, last: int, seed: int, rows: Int64s, probabilities: Floats, starts: Int64s, values: Int32s
) -> None:
    for i in range(first, last):
        draw_row(stream(seed, rows[i]), probabilities, values, starts[i])


@jit
def draw_row(state: np.uint64, probabilities: Floats, values: Int32s, start: int) -> int:
    """Write the values from a start on, where there is room for any, and return how many they are."""
    found = 0
    value = 0
    last = 1.0  # the probability of the last value that was looked at
    while value < len(probabilities) and last > 0:
        if last < 1:
            skipped = np.log1p(-unit(state)) / np.log1p(-last)
            state = advance(state)
            if skipped >= len(probabilities) - value:
                break
            value += int(skipped)
        if unit(state) * last < probabilities[value]:
            if len(values):
                values[start + found] = value
            found += 1
        state = advance(state)
        last = probabilities[value]
        value += 1
    return found
