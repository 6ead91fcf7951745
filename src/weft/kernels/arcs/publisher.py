"""Links between those who publish on a topic without subscribing and its subscribers.

A publisher that no link joins with a subscriber looks at SEEN of these, and proposes a finger: its own if it has the
phase, else the subscriber's. Of several subscribers the one with the most fingers is nearest to the middle of the
topic's tree, as in weft.overlays.lazy_greedy.links_to_publishers.
"""

import numpy as np

from weft.arrays import Int32s, Int64s
from weft.kernels.greedy.candidate import first_above
from weft.kernels.jit import jit
from weft.kernels.random import stream

SEEN = 256
NO_NODE = -1


@jit
def propose(
    publishers: Int32s,
    topics: Int32s,
    start: Int64s,
    subscribers: Int32s,
    table: Int32s,
    places: Int32s,
    phase_of: Int32s,
    seed: int,
    fingers: Int32s,
) -> int:
    """fingers[:count]: owner, target and phase."""
    count = 0
    for row in range(len(publishers)):
        own = subscribers[start[topics[row]] : start[topics[row] + 1]]
        if len(own) > 0 and not is_served(publishers[row], own, table):
            found = best_finger(publishers[row], own, table, places, phase_of, stream(seed, row), fingers[count])
            count += found
    return count


@jit
def is_served(publisher: int, own: Int32s, table: Int32s) -> bool:
    if has(own, publisher):
        return True
    for w in table[publisher]:
        if w != NO_NODE and has(own, w):
            return True
    for w in own:
        for target in table[w]:
            if target == publisher:
                return True
    return False


@jit
def has(nodes: Int32s, v: int) -> bool:
    place = first_above(nodes, 0, len(nodes), v - 1)
    return bool(place < len(nodes) and nodes[place] == v)


@jit
def best_finger(
    v: int, own: Int32s, table: Int32s, places: Int32s, phase_of: Int32s, state: np.uint64, finger: Int32s
) -> bool:
    seen, offset = min(len(own), SEEN), np.int64(state >> np.uint64(33))
    most = -1
    for k in range(seen):
        w = own[(offset + k * len(own) // seen) % len(own)]
        links = 0
        for target in table[w]:
            links += target != NO_NODE
        if links <= most:
            continue
        there, back = phase_of[(w - v) % len(table)], phase_of[(v - w) % len(table)]
        if table[v, there] == NO_NODE and places[w] > 0:
            finger[0], finger[1], finger[2], most = v, w, there, links
        elif table[w, back] == NO_NODE and places[v] > 0:
            finger[0], finger[1], finger[2], most = w, v, back, links
    return most >= 0
