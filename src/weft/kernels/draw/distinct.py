"""Rows of distinct values, drawn one after the other with given weights (successive sampling).

The law: each draw takes value t with probability w(t) / (sum of w over the values not drawn yet). It is met
exactly, in two ways that may follow each other within a row.

- Rejection: draw from the whole distribution by alias table, and draw again if the value was drawn before.
  Given the values drawn so far, the first accepted value has the law above, whatever was rejected before it.
- Exponential keys (Efraimidis and Spirakis 2006): give every value not drawn yet the key E(t) / w(t), with
  E(t) exponential of mean one; by the memoryless property of E the k smallest keys are k more draws.

A row starts with rejection and changes to keys once it has rejected as many draws as there are values, that
is, once it has spent about what keys cost. The change keeps the law: when it happens is decided by rejected
draws, which tell nothing about the next accepted one beyond the set that is drawn already, and given that set
both ways continue with the same law. A row therefore never costs more than about twice the cheaper way, and
always ends.

Keys are compared as log E(t) - log w(t), so weights that underflow as numbers (an exponent of 5, the end of a
steep exponential) keep their odds. Rejection does not draw what underflows to 0: chances below 10^-300 are
lost there.

A row depends on the seed and its number alone. Its values come out ascending: the order of the draws is not
kept.
"""

import numpy as np

from weft.arrays import Bools, Floats, Int32s, Int64s
from weft.kernels.draw.alias import draw_alias, table_of_logarithms
from weft.kernels.jit import jit
from weft.kernels.order import in_order
from weft.kernels.parallel import in_ranges
from weft.kernels.random import advance, stream, unit

CHUNK = 256  # rows that share one array of flags


def draw_rows(seed: int, rows: Int64s, count: int, log_weights: Floats) -> Int32s:
    """Draw `count` distinct indices of log_weights for each row number; count is at most their number."""
    keep, other = table_of_logarithms(log_weights)
    drawn = np.empty((len(rows), count), dtype=np.int32)
    in_ranges(draw_chunks, (len(rows) + CHUNK - 1) // CHUNK, seed, rows, drawn, log_weights, keep, other)
    return drawn


@jit
def draw_chunks(
    first: int, last: int, seed: int, rows: Int64s, drawn: Int32s, log_weights: Floats, keep: Floats, other: Int32s
) -> None:
    for chunk in range(first, last):
        taken = np.zeros(len(log_weights), dtype=np.bool_)
        for i in range(chunk * CHUNK, min((chunk + 1) * CHUNK, len(rows))):
            draw_row(stream(seed, rows[i]), drawn[i], taken, log_weights, keep, other)
            for value in drawn[i]:
                taken[value] = False
            drawn[i].sort()


@jit
def draw_row(state: np.uint64, row: Int32s, taken: Bools, log_weights: Floats, keep: Floats, other: Int32s) -> None:
    found = 0
    rejected = 0
    while found < len(row) and rejected < len(keep):
        value = draw_alias(state, keep, other)
        state = advance(advance(state))
        if taken[value]:
            rejected += 1
        else:
            taken[value] = True
            row[found] = value
            found += 1
    if found < len(row):
        draw_by_keys(state, row[found:], taken, log_weights)


@jit
def draw_by_keys(state: np.uint64, row: Int32s, taken: Bools, log_weights: Floats) -> None:
    """Fill the row with values that are not taken, and mark them."""
    keys = np.empty(len(taken), dtype=np.float64)
    for value in range(len(taken)):
        keys[value] = np.inf if taken[value] else np.log(-np.log1p(-unit(state))) - log_weights[value]
        state = advance(state)
    last = in_order(keys.copy(), len(row) - 1)
    found = 0
    for value in range(len(taken)):
        if keys[value] <= last and found < len(row):
            taken[value] = True
            row[found] = value
            found += 1
