"""Publications over bridges, as brokers pass them on: to every bridge that lets the topic pass but the one it came by.

Brokers remember nothing, so a broker that a message comes to on two ways passes on both. Messages are counted on the
graph whose vertices are the directed links of a topic: link e is followed by all links f that leave where e arrives, by
another bridge. If that graph has no circle, the messages on a link are the ways on which it is reached, counted in
topological order (Kahn). If it has one, messages never end; those on the circle are counted once.
"""

import numpy as np

from weft.arrays import Bools, Int32s, Int64s
from weft.kernels.jit import jit

MANY = 10**12  # messages of one publication on one link, at most
FIGURES = (
    "publications",
    "expected_deliveries",
    "deliveries",
    "messages",
    "relays",
    "duplicates",
    "path_sum",
    "maximum_path",
    "endless",
)


@jit
def flood(
    topics: Int32s,
    issuers: Int32s,
    counts: Int64s,
    indptr: Int64s,
    sources: Int32s,
    targets: Int32s,
    bridges: Int32s,
    subscriber_indptr: Int64s,
    subscribers: Int32s,
    forwards: bool,
    sent: Int64s,
    received: Int64s,
    endless: Bools,
    missed: Int64s,
    totals: Int64s,
) -> None:
    """Add up what publications cost: `counts` of them from each issuer on each topic, which come in order.

    Links of topic t are indptr[t]:indptr[t + 1], by source. `totals` are FIGURES; `endless` and `missed` are by topic.
    """
    nodes = len(sent)
    starts, wanted = np.zeros(nodes + 1, np.int64), np.zeros(nodes, np.bool_)
    distance, copies = np.zeros(nodes, np.int64), np.zeros(nodes, np.int64)
    last = -1
    for row in range(len(topics)):
        topic, issuer, count = topics[row], issuers[row], counts[row]
        first, end = indptr[topic], indptr[topic + 1]
        if topic != last:
            index_sources(sources[first:end], starts)
            mark(subscribers[subscriber_indptr[topic] : subscriber_indptr[topic + 1]], wanted)
            last = topic
        ways = spread(issuer, starts, targets[first:end], bridges[first:end], forwards, distance, copies)
        if ways[-1]:
            endless[topic] = True
            totals[8] += count
        for link in range(end - first):
            sent[sources[first + link]] += count * ways[link]
            received[targets[first + link]] += count * ways[link]
            totals[3] += count * ways[link]
        totals[0] += count
        for node in range(nodes):
            if not wanted[node]:
                totals[4] += count * copies[node]
            elif node == issuer:
                totals[5] += count * copies[node]
            else:
                totals[1] += count
                if copies[node]:
                    totals[2] += count
                    totals[5] += count * (copies[node] - 1)
                    totals[6] += count * distance[node]
                    totals[7] = max(totals[7], distance[node])
                else:
                    missed[topic] += count


@jit
def index_sources(sources: Int32s, starts: Int64s) -> None:
    """The links that leave node v become those from starts[v] to starts[v + 1]."""
    starts[:] = 0
    for source in sources:
        starts[source + 1] += 1
    for node in range(len(starts) - 1):
        starts[node + 1] += starts[node]


@jit
def mark(nodes: Int32s, marked: Bools) -> None:
    marked[:] = False
    for node in nodes:
        marked[node] = True


@jit
def spread(
    issuer: int, starts: Int64s, targets: Int32s, bridges: Int32s, forwards: bool, distance: Int64s, copies: Int64s
) -> Int64s:
    """Messages on every link, and at the end whether they never end; hops and copies by node are written."""
    size = len(targets)
    ways, hops, waits = np.zeros(size + 1, np.int64), np.zeros(size, np.int64), np.zeros(size, np.int64)
    queue = np.empty(size, np.int64)
    reached = 0
    for link in range(starts[issuer], starts[issuer + 1]):
        queue[reached] = link
        hops[link] = ways[link] = 1
        reached += 1
    begun, place = reached, 0
    while forwards and place < reached:
        link = queue[place]
        place += 1
        for onward in range(starts[targets[link]], starts[targets[link] + 1]):
            if bridges[onward] != bridges[link]:
                waits[onward] += 1
                if not hops[onward]:
                    hops[onward] = hops[link] + 1
                    queue[reached] = onward
                    reached += 1
    if forwards:
        ways[size] = reached - count_ways(begun, queue, starts, targets, bridges, ways, waits)
    distance[:] = 0
    copies[:] = 0
    for link in range(size):
        if hops[link]:
            ways[link] = max(ways[link], 1)
            copies[targets[link]] += ways[link]
            if not distance[targets[link]] or hops[link] < distance[targets[link]]:
                distance[targets[link]] = hops[link]
    return ways


@jit
def count_ways(
    begun: int, queue: Int64s, starts: Int64s, targets: Int32s, bridges: Int32s, ways: Int64s, waits: Int64s
) -> int:
    """Add up ways in topological order; how many links have one. `waits` are links before each that are not done."""
    ready, place = 0, 0
    for start in range(begun):
        if not waits[queue[start]]:
            queue[ready] = queue[start]
            ready += 1
    while place < ready:
        link = queue[place]
        place += 1
        for onward in range(starts[targets[link]], starts[targets[link] + 1]):
            if bridges[onward] != bridges[link]:
                ways[onward] = min(ways[onward] + ways[link], MANY)
                waits[onward] -= 1
                if not waits[onward]:
                    queue[ready] = onward
                    ready += 1
    return ready
