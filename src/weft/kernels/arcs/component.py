"""Components of topics: the parts in which links leave the subscribers of a topic.

Nodes are numbered by their places on the ring, so that in a list of subscribers those of an arc stand together. A
component is known by the place in the list of its first member, whoever found it in whatever order.
"""

import numpy as np

from weft.arrays import Int32s, Int64s
from weft.kernels.jit import jit, leaf_jit

NO_NODE = -1


@jit
def find_components(
    first: int,
    last: int,
    start: Int64s,
    subscribers: Int32s,
    table: Int32s,
    label: Int32s,
    parts: Int32s,
    main: Int32s,
) -> None:
    """Find the components of the topics from first to last: of each subscription its own, how many, and the largest.

    label, parts and main begin with the first topic; table[v, i] is the finger of node v in phase i.
    """
    slots = np.full(len(table), NO_NODE, np.int32)
    most = 0
    for topic in range(first, last):
        most = max(most, start[topic + 1] - start[topic])
    size = np.zeros(most, np.int32)
    for topic in range(first, last):
        own = subscribers[start[topic] : start[topic + 1]]
        leader = label[start[topic] - start[first] : start[topic + 1] - start[first]]
        for place in range(len(own)):
            slots[own[place]], leader[place], size[place] = place, place, 0
        join_fingers(own, table, slots, leader)
        largest, count = 0, 0
        for place in range(len(own)):
            leader[place] = leader[leader[place]]  # leaders come first, and lead themselves
            size[leader[place]] += 1
            count += leader[place] == place
            largest = leader[place] if size[leader[place]] > size[largest] else largest
        parts[topic - first], main[topic - first] = count, largest
        for v in own:
            slots[v] = NO_NODE


@leaf_jit
def join_fingers(own: Int32s, table: Int32s, slots: Int32s, leader: Int32s) -> None:
    for place in range(len(own)):
        for i in range(table.shape[1]):
            w = table[own[place], i]
            if w != NO_NODE and slots[w] != NO_NODE:
                one, other = led_by(leader, place), led_by(leader, slots[w])
                leader[max(one, other)] = min(one, other)


@leaf_jit
def led_by(leader: Int32s, place: int) -> int:
    while leader[place] != place:
        leader[place] = leader[leader[place]]
        place = leader[place]
    return place
