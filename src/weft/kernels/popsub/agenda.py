"""What will happen, by time: a heap of (time, sequence, what), so that ties are taken in the order they were caused.

What happens is one number: what kind of thing, to which broker, and which item. Heaps of four children a slot are
shallow, and the times of siblings lie side by side.
"""

from typing import NamedTuple

import numpy as np

from weft.arrays import Floats, Int64s
from weft.kernels.jit import inline_jit, jit, leaf_jit

KINDS, BROKERS = 16, 1 << 16  # bounds of what `event` can name


class Agenda(NamedTuple):
    times: Floats
    sequences: Int64s
    events: Int64s
    size: Int64s  # [0]: entries now; [1]: entries ever


@jit
def agenda_of(capacity: int) -> Agenda:
    slots = np.empty(capacity, np.float64), np.empty(capacity, np.int64), np.empty(capacity, np.int64)
    return Agenda(slots[0], slots[1], slots[2], np.zeros(2, np.int64))


@jit
def enlarged(agenda: Agenda) -> Agenda:
    larger = agenda_of(2 * len(agenda.times))
    count = agenda.size[0]
    for slot in range(count):
        larger.times[slot], larger.sequences[slot] = agenda.times[slot], agenda.sequences[slot]
        larger.events[slot] = agenda.events[slot]
    larger.size[0], larger.size[1] = agenda.size[0], agenda.size[1]
    return larger


@inline_jit
def event(kind: int, broker: int, item: int) -> int:
    return (item * BROKERS + broker) * KINDS + kind


@leaf_jit
def schedule(agenda: Agenda, time: float, what: int) -> None:
    """Put an event on the agenda, which must have a free slot."""
    slot = agenda.size[0]
    agenda.size[0] += 1
    agenda.size[1] += 1
    while slot > 0:
        parent = (slot - 1) >> 2
        if agenda.times[parent] <= time:  # what came before goes first
            break
        move(agenda, parent, slot)
        slot = parent
    agenda.times[slot] = time
    agenda.sequences[slot] = agenda.size[1]
    agenda.events[slot] = what


@leaf_jit
def take_next(agenda: Agenda) -> int:
    """The event at times[0], which is no longer there."""
    what = int(agenda.events[0])
    agenda.size[0] -= 1
    last = agenda.size[0]
    slot = 0
    while True:
        child = 4 * slot + 1
        if child >= last:
            break
        least = child
        for other in range(child + 1, min(child + 4, last)):
            if is_before(agenda, other, least):
                least = other
        if not is_before(agenda, least, last):
            break
        move(agenda, least, slot)
        slot = least
    move(agenda, last, slot)
    return what


@inline_jit
def is_before(agenda: Agenda, one: int, other: int) -> bool:
    if agenda.times[one] != agenda.times[other]:
        return bool(agenda.times[one] < agenda.times[other])
    return bool(agenda.sequences[one] < agenda.sequences[other])


@inline_jit
def move(agenda: Agenda, source: int, target: int) -> None:
    agenda.times[target] = agenda.times[source]
    agenda.sequences[target] = agenda.sequences[source]
    agenda.events[target] = agenda.events[source]
