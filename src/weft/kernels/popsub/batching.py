"""PopSub's Batching (Algorithms 2 and 3) over arrays.

A buffer is a linked list of publications, and a batch is that list, cut off: a broker on the way finds out which of
them are for it, and nothing is copied. There is a buffer for each entry, or, as section 4.4 has for comparison, for
each link, with publications of several advertisements; all of a batch come from one broker.
"""

from typing import NamedTuple

import numpy as np

from weft.arrays import Floats, Int32s, Int64s
from weft.kernels.jit import leaf_jit
from weft.kernels.popsub.agenda import Agenda, event, schedule
from weft.kernels.popsub.broker import (
    BATCHED,
    BATCHES,
    BY_BATCH,
    MATCHED,
    TIMED_OUT,
    Scene,
    cell_of,
    count_forward,
    count_routed,
    deliver,
    end_job,
    first_entry,
    is_wanted,
    job_start,
    sent_at,
)
from weft.kernels.popsub.tree import first_at_least, link_toward

NONE = -1
NEVER = -1.0


class Buffers(NamedTuple):
    publications: Int32s  # of the nodes of all lists
    next: Int32s  # node
    batches: Int32s  # the first node of each
    used: Int64s  # [0]: nodes; [1]: batches
    heads: Int32s  # nodes, of buffers: by entry, or by link
    tails: Int32s
    sizes: Int64s
    gains: Floats  # of what is in a buffer, together
    deadlines: Floats
    waiting: Int32s  # of entries: publications in their buffer


@leaf_jit
def buffer_of(scene: Scene, entry: int) -> int:
    return int(scene.table.links[entry]) if scene.settings.by_link else entry


@leaf_jit
def buffer(
    scene: Scene, buffers: Buffers, agenda: Agenda, publication: int, broker: int, entry: int, now: float
) -> None:
    node, slot, gain = buffers.used[0], buffer_of(scene, entry), scene.table.gains[entry]
    buffers.used[0] += 1
    buffers.publications[node] = publication
    buffers.next[node] = NONE
    if buffers.sizes[slot] == 0:
        buffers.heads[slot] = node
        buffers.gains[slot] = 0.0
        buffers.deadlines[slot] = now + scene.settings.timeout
        schedule(agenda, buffers.deadlines[slot], event(TIMED_OUT, broker, slot))
    else:
        buffers.next[buffers.tails[slot]] = node
    buffers.tails[slot] = node
    buffers.sizes[slot] += 1
    buffers.gains[slot] += gain
    buffers.waiting[entry] += 1
    if scene.settings.by_link:
        gain = buffers.gains[slot] / buffers.sizes[slot]
    enough = np.ceil(scene.table.least_popular[broker] / gain)
    if buffers.sizes[slot] > max(enough, 1.0):
        send_batch(scene, buffers, agenda, broker, slot, now)


@leaf_jit
def send_batch(scene: Scene, buffers: Buffers, agenda: Agenda, broker: int, slot: int, now: float) -> None:
    """Send all that is in a buffer."""
    tree, load, traffic = scene.tree, scene.load, scene.traffic
    batch, first = buffers.used[1], buffers.heads[slot]
    link = slot if scene.settings.by_link else int(scene.table.links[slot])
    buffers.used[1] += 1
    buffers.batches[batch] = first
    buffers.sizes[slot] = 0
    buffers.deadlines[slot] = NEVER
    size, gain, node = 0, 0.0, first
    while node != NONE:
        entry = entry_at(scene, traffic.advertisements[buffers.publications[node]], link)
        buffers.waiting[entry] = 0
        size += 1
        gain += scene.table.gains[entry]
        node = buffers.next[node]
    if not scene.settings.by_link:
        gain = size * scene.table.gains[slot]
    scene.ledger.totals[BATCHES] += 1
    count_forward(
        scene,
        entry_at(scene, traffic.advertisements[buffers.publications[first]], link),
        size,
        gain,
        True,
        False,
        False,
    )
    start = job_start(scene, broker, now)
    end = sent_at(load, start, start, size)
    end_job(scene, agenda, broker, size, now, start, end)
    peer = tree.peers[link]
    schedule(agenda, end + tree.delays[broker, peer], event(BATCHED, peer, batch))


@leaf_jit
def entry_at(scene: Scene, advertisement: int, link: int) -> int:
    """The entry of an advertisement on a link, which must have one."""
    table = scene.table
    return first_at_least(table.links, table.bounds[advertisement], table.bounds[advertisement + 1], link)


@leaf_jit
def handle_batch(scene: Scene, buffers: Buffers, agenda: Agenda, batch: int, broker: int, now: float) -> None:
    """Deliver, and send on what is wanted: for a batch of one advertisement, only the links of its entries matter."""
    tree, traffic, load, table = scene.tree, scene.traffic, scene.load, scene.table
    first = buffers.batches[batch]
    advertisement = traffic.advertisements[buffers.publications[first]]
    back = link_toward(tree, broker, traffic.issuers[advertisement])
    received = deliver_batch(scene, buffers, first, broker, back, now)
    start = job_start(scene, broker, now)
    end = start
    entry = first_entry(scene, advertisement, broker)
    for link in range(tree.indptr[broker], tree.indptr[broker + 1]):
        while entry < table.bounds[advertisement + 1] and table.links[entry] < link:
            entry += 1
        is_entry = entry < table.bounds[advertisement + 1] and table.links[entry] == link
        if link == back or not (is_entry or scene.settings.by_link):
            continue
        size, gain, matches_here, mine = part_for(scene, buffers, first, broker, link)
        if size > 0:
            if not scene.settings.by_link:
                gain = size * table.gains[entry]
            count_forward(scene, mine, size, gain, False, matches_here, False)
            end = sent_at(load, start, end, received if end == start else size)
            peer = tree.peers[link]
            schedule(agenda, end + tree.delays[broker, peer], event(BATCHED, peer, batch))
    end_job(scene, agenda, broker, received, now, start, end)


@leaf_jit
def part_for(scene: Scene, buffers: Buffers, first: int, broker: int, link: int) -> tuple[int, float, bool, int]:
    """How many publications of a batch go over a link, their gains, whether any matches here, and an entry of them."""
    size, gain, matches_here, mine = 0, 0.0, False, NONE
    node = first
    while node != NONE:
        publication = buffers.publications[node]
        if is_wanted(scene, publication, link):
            size += 1
            matches_here |= cell_of(scene, publication, broker) >= 0
            mine = entry_at(scene, scene.traffic.advertisements[publication], link)
            gain += scene.table.gains[mine]
            count_routed(scene, publication, mine)
        node = buffers.next[node]
    return size, gain, matches_here, mine


@leaf_jit
def deliver_batch(scene: Scene, buffers: Buffers, first: int, broker: int, back: int, now: float) -> int:
    """How many publications of a batch have come to a broker: those that are not only for what lies the other way."""
    received = 0
    node = first
    before = scene.tree.back[back]
    while node != NONE:
        publication = buffers.publications[node]
        if is_wanted(scene, publication, before):
            received += 1
            scene.ledger.totals[MATCHED] += 1
            deliver(scene, publication, broker, BY_BATCH, 0, now)
        node = buffers.next[node]
    return received
