"""Links that make the sub-overlays of topics shallow, one topic after the other, each on top of those before.

In a topic's sub-overlay a middle is chosen: the subscriber with the most links in the topic, and for an odd bound the
link from there to the next such one. Every subscriber has to come within a radius of the middle. The farthest that is
not gets an ancestor, radius - 1 hops up its shortest path, linked with the middle; that brings near all that are within
radius - 1 hops of the ancestor. In a tree no fewer links would do (the classic covering of trees by balls).

Neighbours are kept in linked lists, as links are added: head[v] is the first entry of node v, next_entry[e] the one
after e, and to[e] the node at its end.
"""

import numpy as np

from weft.arrays import Int32s, Int64s
from weft.kernels.jit import jit

END = -1


@jit
def shorten(
    topics: Int64s,
    indptr: Int64s,
    subscribers: Int32s,
    head: Int32s,
    next_entry: Int32s,
    to: Int32s,
    entries: int,
    radius: int,
    is_odd: bool,
    sources: Int32s,
    targets: Int32s,
) -> int:
    """Write links for the topics to sources and targets; how many these are."""
    nodes = len(head)
    topic_of = np.full(nodes, -1, np.int64)  # of a subscriber, the topic at hand
    distance = np.empty(nodes, np.int32)
    parent = np.empty(nodes, np.int32)
    covered = np.full(nodes, -1, np.int64)  # the last topic in which it was brought near
    ball_of, depth = np.full(nodes, -1, np.int64), np.empty(nodes, np.int32)
    order, ball = np.empty(nodes, np.int32), np.empty(nodes, np.int32)
    found = 0
    for topic in topics:
        own = subscribers[indptr[topic] : indptr[topic + 1]]
        for v in own:
            topic_of[v] = topic
            distance[v] = END
        middle = most_linked(own, topic, topic_of, head, next_entry, to)
        distance[middle], order[0], count = 0, middle, 1
        if is_odd:
            other = most_linked_neighbour(middle, topic, topic_of, head, next_entry, to)
            if other != END:
                distance[other], order[1], count = 0, other, 2
        count = search(topic, topic_of, distance, parent, order, count, head, next_entry, to)
        for place in range(count - 1, -1, -1):
            v = order[place]
            if distance[v] <= radius:
                break
            if covered[v] == topic:
                continue
            for _ in range(radius - 1):
                v = parent[v]
            sources[found], targets[found] = v, middle
            cover(v, radius - 1, topic, found, topic_of, covered, ball_of, depth, ball, head, next_entry, to)
            found += 1
            entries = add_entry(head, next_entry, to, entries, v, middle)
            entries = add_entry(head, next_entry, to, entries, middle, v)
    return found


@jit
def add_entry(head: Int32s, next_entry: Int32s, to: Int32s, entries: int, v: int, w: int) -> int:
    to[entries], next_entry[entries] = w, head[v]
    head[v] = entries
    return entries + 1


@jit
def links_within(v: int, topic: int, topic_of: Int64s, head: Int32s, next_entry: Int32s, to: Int32s) -> int:
    count = 0
    entry = head[v]
    while entry != END:
        count += topic_of[to[entry]] == topic
        entry = next_entry[entry]
    return count


@jit
def most_linked(own: Int32s, topic: int, topic_of: Int64s, head: Int32s, next_entry: Int32s, to: Int32s) -> int:
    best, most = END, END
    for v in own:
        count = links_within(v, topic, topic_of, head, next_entry, to)
        if count > most:
            best, most = int(v), count
    return best


@jit
def most_linked_neighbour(
    middle: int, topic: int, topic_of: Int64s, head: Int32s, next_entry: Int32s, to: Int32s
) -> int:
    best, most = END, END
    entry = head[middle]
    while entry != END:
        v = to[entry]
        entry = next_entry[entry]
        if topic_of[v] == topic:
            count = links_within(v, topic, topic_of, head, next_entry, to)
            if count > most or (count == most and v < best):
                best, most = v, count
    return best


@jit
def search(
    topic: int,
    topic_of: Int64s,
    distance: Int32s,
    parent: Int32s,
    order: Int32s,
    count: int,
    head: Int32s,
    next_entry: Int32s,
    to: Int32s,
) -> int:
    """Breadth first from what is in order already; how many are reached."""
    place = 0
    while place < count:
        here = order[place]
        place += 1
        entry = head[here]
        while entry != END:
            there = to[entry]
            entry = next_entry[entry]
            if topic_of[there] == topic and distance[there] == END:
                distance[there], parent[there] = distance[here] + 1, here
                order[count] = there
                count += 1
    return count


@jit
def cover(
    v: int,
    radius: int,
    topic: int,
    number: int,
    topic_of: Int64s,
    covered: Int64s,
    ball_of: Int64s,
    depth: Int32s,
    ball: Int32s,
    head: Int32s,
    next_entry: Int32s,
    to: Int32s,
) -> None:
    """Note that all within the radius of v are near."""
    ball_of[v], depth[v], ball[0], count, place = number, 0, v, 1, 0
    while place < count:
        here = ball[place]
        place += 1
        covered[here] = topic
        if depth[here] == radius:
            continue
        entry = head[here]
        while entry != END:
            there = to[entry]
            entry = next_entry[entry]
            if topic_of[there] == topic and ball_of[there] != number:
                ball_of[there], depth[there] = number, depth[here] + 1
                ball[count] = there
                count += 1
