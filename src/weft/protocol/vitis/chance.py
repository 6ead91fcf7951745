"""Random choices that depend on who chooses, when and what for, and on nothing else.

A choice among peers takes those of lowest priority. So it is the same in whatever order the peers are looked at, and
the kernels, which look at them in another, choose the same. Numbers are those of weft.kernels.random.
"""

from collections.abc import Iterable

from weft.protocol.rendezvous import GOLDEN, WORD, mix
from weft.protocol.vitis.parameters import RING, Parameters

# Purposes of draws in a round. Round 0, before the first, is for what a node draws once.
SHUFFLE, KEEP, EXCHANGE, ANSWER = 0, 1, 2, 3  # ANSWER + requester
RING_ID, SMALL_WORLD = 0, 1  # SMALL_WORLD + link

TO_UNIT = 2.0**-53


def key(seed: int, node: int, when: int, purpose: int) -> int:
    """Random key of the choice that a node makes in a round."""
    word: int = mix((seed + GOLDEN) & WORD)
    for part in (node, when, purpose):
        word = mix(word ^ part * GOLDEN & WORD)
    return word


def priority(chooser: int, peer: int) -> int:
    chosen: int = mix(chooser ^ peer * GOLDEN & WORD)
    return chosen


def first(chooser: int, peers: Iterable[int], count: int) -> list[int]:
    return sorted(peers, key=lambda peer: priority(chooser, peer))[:count]


def ring_id(seed: int, node: int) -> int:
    return key(seed, node, 0, RING_ID) % RING


def small_world_units(seed: int, node: int, parameters: Parameters) -> list[float]:
    """What the distances of its small-world links depend on: uniform numbers from 0 to below 1."""
    return [(key(seed, node, 0, SMALL_WORLD + link) >> 11) * TO_UNIT for link in range(parameters.small_world)]
