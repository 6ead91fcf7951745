"""Members of a topic's tree: its subscribers, and few relays that join them.

Links among the subscribers leave them in parts. Relays are chosen by a greedy for the node-weighted Steiner tree (after
Klein and Ravi, J. Algorithms 1995): again and again the node with links into the most parts, so that one relay serves
them all. Where no node has links into two parts, the smallest part is joined to the nearest other one by a shortest
path. A relay that in the end holds nothing together is sent away.

A node next to two parts is next to one that is not the largest, so that the largest part, often all but a few of the
subscribers, is not searched.
"""

from typing import NamedTuple

import numpy as np

from weft.arrays import Int32s, Int64s
from weft.kernels.jit import jit, leaf_jit
from weft.kernels.order import descending

NOBODY = -1


class Party(NamedTuple):
    """The members of one tree after the other; arrays with room for all nodes."""

    slots: Int32s  # node -> member, as an index; -1 for all other nodes
    members: Int32s  # nodes, the subscribers first
    leaders: Int32s  # of every member: followed to the end, the member that stands for its part
    sizes: Int32s  # of the part, by leader
    part_seen: Int64s  # by leader: the last look at it
    node_seen: Int64s  # by node, likewise
    looks: Int64s  # one number: how many looks there were
    queue: Int32s  # nodes of a search,
    reached_from: Int32s  # and the node that each was reached from


@jit
def empty_party(nodes: int) -> Party:
    room, never = np.empty((5, nodes), np.int32), np.zeros((2, nodes), np.int64)
    slots = np.full(nodes, NOBODY, np.int32)
    return Party(slots, room[0], room[1], room[2], never[0], never[1], np.zeros(1, np.int64), room[3], room[4])


@jit
def gather(indptr: Int64s, neighbours: Int32s, party: Party, subscribers: Int32s) -> tuple[int, int]:
    """How many members there are, and in how many parts: 1, unless the overlay itself is in parts."""
    count = parts = len(subscribers)
    for slot in range(count):
        enter(party, subscribers[slot], slot)
    for slot in range(count):
        parts -= merge_around(indptr, neighbours, party, slot)
    while parts > 1:
        before = count
        count, parts = adopt_common(indptr, neighbours, party, count, parts)
        if count == before:
            count, parts = bridge(indptr, neighbours, party, count, parts)
        if count == before:
            return count, parts
    return send_away_idle(indptr, neighbours, party, len(subscribers), count), parts


@leaf_jit
def enter(party: Party, node: int, slot: int) -> None:
    party.slots[node] = slot
    party.members[slot] = node
    party.leaders[slot] = slot
    party.sizes[slot] = 1


@leaf_jit
def disperse(party: Party, count: int) -> None:
    for slot in range(count):
        party.slots[party.members[slot]] = NOBODY


@leaf_jit
def leader_of(party: Party, slot: int) -> int:
    leaders = party.leaders
    while leaders[slot] != slot:
        leaders[slot] = leaders[leaders[slot]]
        slot = leaders[slot]
    return int(slot)


@leaf_jit
def merge_around(indptr: Int64s, neighbours: Int32s, party: Party, slot: int) -> int:
    """Makes one part of a member's and those it has links into; how many parts are fewer then."""
    merged, own = 0, leader_of(party, slot)
    node = party.members[slot]
    for k in range(indptr[node], indptr[node + 1]):
        if party.slots[neighbours[k]] == NOBODY:
            continue
        other = leader_of(party, party.slots[neighbours[k]])
        if other != own:
            small, own = (own, other) if party.sizes[own] < party.sizes[other] else (other, own)
            party.leaders[small] = own
            party.sizes[own] += party.sizes[small]
            merged += 1
    return merged


@jit
def adopt_common(indptr: Int64s, neighbours: Int32s, party: Party, count: int, parts: int) -> tuple[int, int]:
    """Takes for relays the nodes next to several parts, those next to the most first."""
    found = common_neighbours(indptr, neighbours, party, count)
    touched = np.empty(len(found), np.int32)
    for k in range(len(found)):
        touched[k] = parts_around(indptr, neighbours, party, found[k])
    for k in descending(touched):
        if touched[k] < 2 or parts < 2:
            break
        if parts_around(indptr, neighbours, party, found[k]) == touched[k]:  # else it waits for the next round
            enter(party, found[k], count)
            parts += 1 - merge_around(indptr, neighbours, party, count)
            count += 1
    return count, parts


@jit
def common_neighbours(indptr: Int64s, neighbours: Int32s, party: Party, count: int) -> Int32s:
    """The nodes next to any part but the largest."""
    largest = leader_of(party, 0)
    for slot in range(count):
        if party.sizes[leader_of(party, slot)] > party.sizes[largest]:
            largest = leader_of(party, slot)
    party.looks[0] += 1
    found = 0
    for slot in range(count):
        if leader_of(party, slot) == largest:
            continue
        node = party.members[slot]
        for other in neighbours[indptr[node] : indptr[node + 1]]:
            if party.slots[other] == NOBODY and party.node_seen[other] != party.looks[0]:
                party.node_seen[other] = party.looks[0]
                party.queue[found] = other
                found += 1
    return party.queue[:found].copy()


@leaf_jit
def parts_around(indptr: Int64s, neighbours: Int32s, party: Party, node: int) -> int:
    party.looks[0] += 1
    count = 0
    for k in range(indptr[node], indptr[node + 1]):
        slot = party.slots[neighbours[k]]
        if slot != NOBODY:
            leader = leader_of(party, slot)
            count += party.part_seen[leader] != party.looks[0]
            party.part_seen[leader] = party.looks[0]
    return count


@jit
def bridge(indptr: Int64s, neighbours: Int32s, party: Party, count: int, parts: int) -> tuple[int, int]:
    """Takes for relays the nodes on a shortest path from the smallest part to another."""
    smallest = leader_of(party, 0)
    for slot in range(count):
        if party.sizes[leader_of(party, slot)] < party.sizes[smallest]:
            smallest = leader_of(party, slot)
    node = nearest_beside_another(indptr, neighbours, party, smallest, count)
    while node != NOBODY and party.slots[node] == NOBODY:
        enter(party, node, count)
        parts += 1 - merge_around(indptr, neighbours, party, count)
        count += 1
        node = int(party.reached_from[node])
    return count, parts


@jit
def nearest_beside_another(indptr: Int64s, neighbours: Int32s, party: Party, part: int, count: int) -> int:
    """The node nearest to a part that has a link into another; `reached_from` leads back to the part."""
    party.looks[0] += 1
    head = tail = 0
    for slot in range(count):
        if leader_of(party, slot) == part:
            party.queue[tail] = party.members[slot]
            tail += 1
    while head < tail:
        here = party.queue[head]
        head += 1
        for there in neighbours[indptr[here] : indptr[here + 1]]:
            if party.slots[there] != NOBODY:
                if leader_of(party, party.slots[there]) != part:
                    return int(here)
            elif party.node_seen[there] != party.looks[0]:
                party.node_seen[there] = party.looks[0]
                party.reached_from[there] = here
                party.queue[tail] = there
                tail += 1
    return NOBODY


@jit
def send_away_idle(indptr: Int64s, neighbours: Int32s, party: Party, subscribers: int, count: int) -> int:
    """Remove the relays that the others can do without; how many members are left. A relay alone is never idle."""
    for slot in range(count - 1, subscribers - 1, -1):
        if count > subscribers + 1 and is_idle(indptr, neighbours, party, slot, count):
            party.slots[party.members[slot]] = NOBODY
            count -= 1
            if slot < count:
                party.members[slot] = party.members[count]
                party.slots[party.members[slot]] = slot
    return count


@jit
def is_idle(indptr: Int64s, neighbours: Int32s, party: Party, slot: int, count: int) -> bool:
    party.looks[0] += 1
    party.node_seen[party.members[slot]] = party.looks[0]
    party.queue[0] = party.members[0]
    party.node_seen[party.members[0]] = party.looks[0]
    head, tail = 0, 1
    while head < tail:
        here = party.queue[head]
        head += 1
        for there in neighbours[indptr[here] : indptr[here + 1]]:
            if party.slots[there] != NOBODY and party.node_seen[there] != party.looks[0]:
                party.node_seen[there] = party.looks[0]
                party.queue[tail] = there
                tail += 1
    return tail == count - 1
