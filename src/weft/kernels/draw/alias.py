"""Alias tables (Walker 1977, Vose 1991): a draw from any discrete distribution in constant time.

The distribution over n values is cut into n columns of equal area, each shared by at most two values: column
i keeps i with probability `keep[i]` and gives `other[i]` otherwise.
"""

import numpy as np

from weft.arrays import Floats, Int32s
from weft.kernels.jit import jit
from weft.kernels.random import advance, below, unit


@jit
def alias_table(weights: Floats) -> tuple[Floats, Int32s]:
    """The table (keep, other) of weights that are not negative and not all zero."""
    n = len(weights)
    keep = weights * (n / weights.sum())
    other = np.arange(n).astype(np.int32)
    poor = np.flatnonzero(keep < 1.0)
    rich = np.flatnonzero(keep >= 1.0)
    poor_left, rich_left = len(poor), len(rich)
    while poor_left > 0 and rich_left > 0:
        taker, giver = poor[poor_left - 1], rich[rich_left - 1]
        other[taker] = giver
        keep[giver] -= 1.0 - keep[taker]
        if keep[giver] < 1.0:
            poor[poor_left - 1] = giver
            rich_left -= 1
        else:
            poor_left -= 1
    for i in poor[:poor_left]:  # what is left differs from one by rounding alone
        keep[i] = 1.0
    for i in rich[:rich_left]:
        keep[i] = 1.0
    return keep, other


@jit
def table_of_logarithms(log_weights: Floats) -> tuple[Floats, Int32s]:
    return alias_table(np.exp(log_weights - log_weights.max()))


@jit
def draw_alias(state: np.uint64, keep: Floats, other: Int32s) -> np.int64:
    """The value that belongs to two states, `state` and the next; `advance` twice before the next draw."""
    column = below(state, len(keep))
    return column if unit(advance(state)) < keep[column] else np.int64(other[column])
