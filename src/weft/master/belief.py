"""Counts of the master's that nodes state: it goes on from them where it has lost some of its store.

A node may lie, and no count ever goes back. So none is believed that a network could not have come to: a million
events a second for nine years. From there on there is room for as many again, thousands of times (frame_field.TALLY).
"""

from weft.wire.frame_field import FrameError
from weft.wire.weight import AT_MASTER

BELIEVED = 2**48
NUMBERS = 2**24  # of nodes


def require_weight(weight: int) -> None:
    """What a node states of its clients is kept here: so it has a bound, which no node comes to by its clients."""
    if weight > AT_MASTER:
        raise FrameError("It states more of its clients than a master keeps: see how many sessions and filters it has.")


def require_count(said: int, known: int) -> None:
    if said > max(known, BELIEVED):
        raise FrameError(f"It states the count {said}, and here it is {known}: restore the data folder that it has.")
