"""PopSub's Batching (Algorithms 2 and 3) over arrays.

The buffer of an entry is a linked list of publications, and a batch is that list, cut off: a broker on the way reads
from its own column of reach which of them are for it, and nothing is copied.
"""

from typing import NamedTuple

import numpy as np

from weft.arrays import Floats, Int64s
from weft.kernels.jit import leaf_jit
from weft.kernels.popsub.agenda import Agenda, event, schedule
from weft.kernels.popsub.broker import (
    BATCHED,
    BATCHES,
    TIMED_OUT,
    UNPOPULAR,
    Scene,
    count_forward,
    deliver,
    end_job,
    job_start,
    sent_at,
)

NONE = -1
NEVER = -1.0


class Buffers(NamedTuple):
    publications: Int64s  # of the nodes of all lists
    next: Int64s  # node
    batches: Int64s  # the first node of each
    used: Int64s  # [0]: nodes; [1]: batches
    heads: Int64s  # nodes, of entries
    tails: Int64s
    sizes: Int64s
    deadlines: Floats  # of entries


@leaf_jit
def buffer(
    scene: Scene, buffers: Buffers, agenda: Agenda, publication: int, broker: int, entry: int, now: float
) -> None:
    node = buffers.used[0]
    buffers.used[0] += 1
    buffers.publications[node] = publication
    buffers.next[node] = NONE
    if buffers.sizes[entry] == 0:
        buffers.heads[entry] = node
        buffers.deadlines[entry] = now + scene.settings.timeout
        schedule(agenda, buffers.deadlines[entry], event(TIMED_OUT, broker, entry))
    else:
        buffers.next[buffers.tails[entry]] = node
    buffers.tails[entry] = node
    buffers.sizes[entry] += 1
    enough = np.ceil(scene.table.least_popular[broker] / scene.table.gains[entry])
    if buffers.sizes[entry] > max(enough, 1.0):
        send_batch(scene, buffers, agenda, broker, entry, now)


@leaf_jit
def send_batch(scene: Scene, buffers: Buffers, agenda: Agenda, broker: int, entry: int, now: float) -> None:
    """Send all that is in the buffer of an entry."""
    tree, load = scene.tree, scene.load
    batch, size = buffers.used[1], buffers.sizes[entry]
    buffers.used[1] += 1
    buffers.batches[batch] = buffers.heads[entry]
    buffers.sizes[entry] = 0
    buffers.deadlines[entry] = NEVER
    scene.ledger.totals[BATCHES] += 1
    count_forward(scene.ledger, size * scene.table.gains[entry], True, False)
    start = job_start(scene, broker, now)
    end = sent_at(load, start, start, size)
    end_job(scene, agenda, broker, size, now, start, end)
    peer = tree.peers[entry // len(scene.traffic.issuers)]
    schedule(agenda, end + tree.delays[broker, peer], event(BATCHED, peer, batch))


@leaf_jit
def handle_batch(scene: Scene, buffers: Buffers, agenda: Agenda, batch: int, broker: int, now: float) -> None:
    tree, traffic, load = scene.tree, scene.traffic, scene.load
    first = buffers.batches[batch]
    advertisement = traffic.advertisements[buffers.publications[first]]
    issuer = traffic.issuers[advertisement]
    received = deliver_batch(scene, buffers, first, broker, now)
    start = job_start(scene, broker, now)
    end = start
    for link in range(tree.indptr[broker], tree.indptr[broker + 1]):
        peer = tree.peers[link]
        if peer == tree.parents[issuer, broker]:
            continue
        size, matches_here = part_for(scene, buffers, first, broker, peer)
        if size > 0:
            entry = link * len(traffic.issuers) + advertisement
            scene.table.routed[entry] += size
            count_forward(scene.ledger, size * scene.table.gains[entry], False, matches_here)
            end = sent_at(load, start, end, received if end == start else size)
            schedule(agenda, end + tree.delays[broker, peer], event(BATCHED, peer, batch))
    end_job(scene, agenda, broker, received, now, start, end)


@leaf_jit
def part_for(scene: Scene, buffers: Buffers, first: int, broker: int, peer: int) -> tuple[int, bool]:
    """How many publications of a batch a broker sends on to a peer, and whether any of them matches at the broker."""
    size, matches_here = 0, False
    node = first
    while node != NONE:
        row = scene.traffic.reach[buffers.publications[node]]
        if row[peer] >= 0:
            size += 1
            matches_here |= row[broker] > 0
        node = buffers.next[node]
    return size, matches_here


@leaf_jit
def deliver_batch(scene: Scene, buffers: Buffers, first: int, broker: int, now: float) -> int:
    """How many publications of a batch have come to a broker."""
    received = 0
    node = first
    while node != NONE:
        publication = buffers.publications[node]
        if scene.traffic.reach[publication, broker] >= 0:
            received += 1
            deliver(scene, publication, broker, UNPOPULAR, now)
        node = buffers.next[node]
    return received
