"""Where the subscribers of a topic meet: an identifier hashed from the topic, known to everybody who knows the topic.

The rendezvous point is the node nearest to that identifier, by the distance that is routed by, which is where a greedy
route to it ends: it knows itself by having no link towards it. On a full ring it is the node that has the identifier,
and all nodes are equally likely. By the clockwise distance it is the last node at or before the identifier. (Chord
would take the first node after it, but that one knows itself only by its predecessor.)
"""

from typing import Any, overload

from weft.arrays import Words

WORD = 0xFFFFFFFFFFFFFFFF
GOLDEN = 0x9E3779B97F4A7C15


@overload
def rendezvous(topic: int, seed: int, ring_size: int) -> int: ...
@overload
def rendezvous(topic: Words, seed: int, ring_size: int) -> Words: ...
def rendezvous(topic: Words | int, seed: int, ring_size: int) -> Words | int:
    """The identifier of a topic: integers, or arrays of uint64, which wrap by themselves."""
    hashed: Words | int = mix(mix((seed + GOLDEN) & WORD) ^ (topic * GOLDEN & WORD)) % ring_size
    return hashed


def mix(word: Any) -> Any:
    """SplitMix64's finalizer, as in weft.kernels.random."""
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 & WORD
    word = (word ^ word >> 27) * 0x94D049BB133111EB & WORD
    return word ^ word >> 31
