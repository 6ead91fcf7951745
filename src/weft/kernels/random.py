"""Random numbers that depend on a seed and a row, and on nothing else.

Each row (a node, a publication) draws from a stream of its own, so that the result is the same in whatever order, on
however many threads or Spark tasks the rows are worked on. The generator is SplitMix64 (Steele, Lea, Flood 2014):
one 64-bit word of state, held by the caller.
"""

import numpy as np

from weft.kernels.jit import jit

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MIX1 = np.uint64(0xBF58476D1CE4E5B9)
MIX2 = np.uint64(0x94D049BB133111EB)
TO_UNIT = 1.0 / 9007199254740992.0  # 2^-53


@jit
def mix(word: np.uint64) -> np.uint64:
    """A bijection of 64-bit words that spreads every bit over all."""
    word = np.uint64(word)
    word = (word ^ (word >> np.uint64(30))) * MIX1
    word = (word ^ (word >> np.uint64(27))) * MIX2
    return word ^ (word >> np.uint64(31))


@jit
def stream(seed: int, row: int) -> np.uint64:
    """The first state of a row's stream."""
    return mix(mix(np.uint64(seed) + GOLDEN) ^ (np.uint64(row) * GOLDEN))


@jit
def advance(state: np.uint64) -> np.uint64:
    return state + GOLDEN


@jit
def unit(state: np.uint64) -> float:
    """The uniform number in [0, 1) that belongs to a state; `advance` before the next."""
    return np.float64(mix(state) >> np.uint64(11)) * TO_UNIT


@jit
def below(state: np.uint64, bound: int) -> np.int64:
    """A uniform integer in [0, bound), for bounds below 2^31; the bias is under 2^-22."""
    return np.int64(unit(state) * np.float64(bound))
