"""What an arc is to join: components of topics, and some of the subscribers outside that it may join them to.

Arcs choose at the same time, and know of each other's choices only afterwards. That two arcs join the same components
twice is avoided by rules that all of them know:

TO_OTHERS  Of two arcs, chance lets one open fingers to the other. A component of the arc is joined once, to any other
           that the arc has no members of. All topics that two nodes share count, so this is for what contributes much;
           of many components of a topic a few links are one too many.
TO_ELDERS  The largest component of a topic is its main one. Any other is joined by the arc of its first member, to the
           main one or to one whose first member comes earlier on the ring: its elders. So every component but the main
           one gets one link, and the links of all arcs are a tree of the topic.
FROM_MAIN  The other way round, for nodes that have no phases left: members of the main component open fingers. Which
           arc does that for a component is decided by a hash, another one each time.

Of the subscribers outside an arc sees SEEN, at even distances in the list of subscribers, and of these takes
REPRESENTATIVES with a free place, those of least hash. The hash is of the node and the arc: one node stands for several
topics of an arc, so that one link may join several, and other arcs see others.
"""

import numpy as np

from weft.arrays import Int32s, Int64s, Words
from weft.kernels.greedy.candidate import first_above
from weft.kernels.greedy.connectivity import Connectivity, unite, unlinked
from weft.kernels.jit import jit
from weft.kernels.random import below, mix, stream

SEEN = 256
REPRESENTATIVES = 32
TO_ELDERS, FROM_MAIN, TO_OTHERS = 0, 1, 2  # ways to join
ELDER = -1  # the key of all elders together
FINISHED = -2


@jit
def find_keys(
    low: int,
    high: int,
    indptr: Int64s,
    topics: Int32s,
    start: Int64s,
    subscribers: Int32s,
    label: Int32s,
    parts: Int32s,
    main: Int32s,
    way: int,
) -> Int32s:
    """Keys of the subscriptions of the nodes from low to high: the component if the arc is to join it, else ELDER.

    FINISHED where the topic is one component.
    """
    keys = np.empty(indptr[high] - indptr[low], np.int32)
    for v in range(low, high):
        for i in range(indptr[v], indptr[v + 1]):
            topic, key = topics[i], FINISHED
            if parts[topic] > 1:
                begin, end = start[topic], start[topic + 1]
                key = label[first_above(subscribers, begin, end, v - 1)]
                first_of_arc = 0 if way != TO_ELDERS else first_above(subscribers, begin, end, low - 1) - begin
                if way != TO_OTHERS and (key == main[topic] or key < first_of_arc):
                    key = ELDER
            keys[i - indptr[low]] = key
    return keys


@jit
def representatives(
    low: int,
    high: int,
    wanted: Int32s,
    start: Int64s,
    subscribers: Int32s,
    label: Int32s,
    main: Int32s,
    places: Int32s,
    way: int,
    seed: int,
    arc_seed: int,
    arc: int,
) -> tuple[Int32s, Int32s, Int32s]:
    """Nodes outside the arc that its nodes may open fingers to, the topic for which each stands, and its key there."""
    nodes, of, keys = np.empty(1024, np.int32), np.empty(1024, np.int32), np.empty(1024, np.int32)
    hashes, count = np.empty(REPRESENTATIVES, np.uint64), 0
    most = 1
    for topic in wanted:
        most = max(most, start[topic + 1] - start[topic])
    own_in = np.full(most, -1, np.int32)  # by component: the last topic in which the arc has members of it
    for topic in wanted:
        begin, size = start[topic], start[topic + 1] - start[topic]
        if way == TO_OTHERS:
            for place in range(first_above(subscribers, begin, begin + size, low - 1), begin + size):
                if subscribers[place] >= high:
                    break
                own_in[label[place]] = topic
        first_of_arc = 0 if way != TO_ELDERS else first_above(subscribers, begin, begin + size, low - 1) - begin
        if count + REPRESENTATIVES > len(nodes):
            nodes, of = np.concatenate((nodes, nodes)), np.concatenate((of, of))
            keys = np.concatenate((keys, keys))
        seen, offset = min(size, SEEN), np.int64(stream(arc_seed, topic) >> np.uint64(33))
        kept = 0
        for k in range(seen):
            place = begin + (offset + k * size // seen) % size
            w, of_main = subscribers[place], label[place] == main[topic]
            if places[w] <= 0 or low <= w < high:
                continue
            if way == TO_OTHERS:
                fits = own_in[label[place]] != topic and is_asked(low // arc, w // arc, seed)
            elif way == FROM_MAIN:
                own = label[begin : begin + size]
                fits = not of_main and low <= subscribers[begin + joiner(own, main[topic], label[place], seed)] < high
            else:
                fits = of_main or label[place] < first_of_arc
            if fits:
                kept = keep_least(place, stream(arc_seed, w), nodes[count : count + REPRESENTATIVES], hashes, kept)
        for k in range(count, count + kept):
            place = nodes[k]
            nodes[k], of[k], keys[k] = subscribers[place], topic, label[place] if way == FROM_MAIN else ELDER
        count += kept
    return nodes[:count].copy(), of[:count].copy(), keys[:count].copy()


@jit
def is_asked(arc: int, other: int, seed: int) -> bool:
    """Whether the first of two arcs may open fingers to the other, in this round; else the other may."""
    low, high = min(arc, other), max(arc, other)
    return bool((mix(stream(seed, low) + np.uint64(high)) & np.uint64(1)) == np.uint64(arc < other))


@jit
def joiner(own: Int32s, main: int, component: int, seed: int) -> int:
    """A place of the main component, any, always the same one for a component."""
    place = int(below(stream(seed, component), len(own)))
    while own[place] != main:
        place = place + 1 if place + 1 < len(own) else 0
    return place


@jit
def keep_least(w: int, own: np.uint64, nodes: Int32s, hashes: Words, kept: int) -> int:
    if kept == len(nodes):
        if own >= hashes[kept - 1]:
            return kept
        kept -= 1
    place = kept
    while place > 0 and own < hashes[place - 1]:
        nodes[place], hashes[place] = nodes[place - 1], hashes[place - 1]
        place -= 1
    nodes[place], hashes[place] = w, own
    return kept + 1


@jit
def connected_keys(indptr: Int64s, topics: Int32s, keys: Int32s, order: Int64s) -> Connectivity:
    """Subscriptions of the same topic and key are one part; `order` has them together."""
    tcc = unlinked(indptr, topics)
    for k in range(1, len(order)):
        one, other = order[k - 1], order[k]
        if topics[one] == topics[other] and keys[one] == keys[other]:
            unite(tcc, tcc.part[one], tcc.part[other])
    return tcc


@jit
def accept(
    owners: Int32s,
    targets: Int32s,
    phases: Int32s,
    contributions: Int32s,
    order: Int64s,
    table: Int32s,
    gains: Int32s,
    places: Int32s,
) -> int:
    """Opens, in the order, the fingers whose phase is empty and whose target has a place; how many."""
    count = 0
    for k in order:
        v, w, i = owners[k], targets[k], phases[k]
        if table[v, i] < 0 and (i == 0 or places[w] > 0):
            table[v, i], gains[v, i] = w, contributions[k]
            places[w] -= i > 0
            count += 1
    return count
