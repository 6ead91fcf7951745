"""Members of a topic's tree: its subscribers, and few relays that join them.

Links among the subscribers leave them in parts. Relays are chosen by a greedy for the node-weighted Steiner tree (after
Klein and Ravi, J. Algorithms 1995): again and again the node that is cheapest for each of the parts that it has links
into, so that one relay serves many. A relay costs 1, and its price, which is higher the more it sends for other topics.
Where no node has links into two parts, the smallest part is joined to the nearest other one by the cheapest of the
shortest paths. A relay that in the end holds nothing together is sent away.

A node next to two parts is next to one that is not the largest, so that the largest part, often all but a few of the
subscribers, is not searched.
"""

from typing import NamedTuple

import numpy as np

from weft.arrays import Floats, Int32s, Int64s
from weft.kernels.jit import jit, leaf_jit
from weft.kernels.order import descending

NOBODY = -1
ANY_LEVEL = -1


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
    reached_from: Int32s  # the node that each was reached from,
    levels: Int32s  # the search's step in which it was found,
    sums: Floats  # and the prices on the way to it
    other_queue: Int32s  # nodes of a search that comes towards it,
    other_seen: Int64s  # by node: the last look at it,
    other_levels: Int32s  # and how far it is


@jit
def empty_party(nodes: int) -> Party:
    room, never = np.empty((8, nodes), np.int32), np.zeros((3, nodes), np.int64)
    slots, sums = np.full(nodes, NOBODY, np.int32), np.empty(nodes, np.float64)
    looks = np.zeros(1, np.int64)
    own = slots, room[0], room[1], room[2], never[0], never[1], looks, room[3], room[4], room[5], sums
    return Party(*own, room[6], never[2], room[7])


@jit
def gather(indptr: Int64s, neighbours: Int32s, prices: Floats, party: Party, subscribers: Int32s) -> tuple[int, int]:
    """How many members there are, and in how many parts: 1, unless the overlay itself is in parts."""
    count = parts = len(subscribers)
    for slot in range(count):
        enter(party, subscribers[slot], slot)
    for slot in range(count):
        parts -= merge_around(indptr, neighbours, party, slot)
    while parts > 1:
        before = count
        count, parts = adopt_common(indptr, neighbours, prices, party, count, parts)
        if count == before:
            count, parts = bridge(indptr, neighbours, prices, party, count, parts)
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
def adopt_common(
    indptr: Int64s, neighbours: Int32s, prices: Floats, party: Party, count: int, parts: int
) -> tuple[int, int]:
    """Takes for relays the nodes next to several parts, the cheapest for each part first."""
    found = common_neighbours(indptr, neighbours, party, count)
    touched = np.empty(len(found), np.int32)
    for k in range(len(found)):
        touched[k] = parts_around(indptr, neighbours, party, found[k])
    worth = np.empty(len(found), np.float64)
    for k in range(len(found)):
        worth[k] = touched[k] / (1.0 + prices[found[k]])
    for k in descending(worth):
        if touched[k] < 2:
            continue
        if parts < 2:
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
def bridge(indptr: Int64s, neighbours: Int32s, prices: Floats, party: Party, count: int, parts: int) -> tuple[int, int]:
    """Takes for relays the nodes on the cheapest shortest way from the smallest part to another."""
    smallest = leader_of(party, 0)
    for slot in range(count):
        if party.sizes[leader_of(party, slot)] < party.sizes[smallest]:
            smallest = leader_of(party, slot)
    node = nearest_beside_another(indptr, neighbours, prices, party, smallest, count)
    while node != NOBODY and party.slots[node] == NOBODY:
        enter(party, node, count)
        parts += 1 - merge_around(indptr, neighbours, party, count)
        count += 1
        node = int(party.reached_from[node])
    return count, parts


@jit
def nearest_beside_another(
    indptr: Int64s, neighbours: Int32s, prices: Floats, party: Party, part: int, count: int
) -> int:
    """The node nearest to a part that has a link into another, of several the cheapest; `reached_from` leads
    back to the part.

    Two searches go out, level by level, from the part and from all others, always the one where fewer nodes wait. Where
    they meet, the first goes on through nodes that the second has found, each level nearer to the others. A level is
    complete when the next begins, so that the sums on the ways to it are final then.
    """
    party.looks[0] += 1
    (tail, other_tail), head, other_head, level = start(party, part, count), 0, 0, 0
    while head < tail and other_head < other_tail:
        if tail - head <= other_tail - other_head:
            found = cheapest_beside_another(indptr, neighbours, party, part, head, tail) if level == 0 else NOBODY
            if found != NOBODY:
                return found
            head, tail = tail, go_out(indptr, neighbours, prices, party, head, tail, ANY_LEVEL)
        else:
            level += 1
            other_head, other_tail = other_tail, come_nearer(indptr, neighbours, party, other_head, other_tail, level)
        met = keep_met(party, head, tail, level)
        if met > head:
            tail = met
            for nearer in range(level - 1, 0, -1):
                head, tail = tail, go_out(indptr, neighbours, prices, party, head, tail, nearer)
            return cheapest_beside_another(indptr, neighbours, party, part, head, tail)
    return NOBODY


@leaf_jit
def start(party: Party, part: int, count: int) -> tuple[int, int]:
    """How many members there are in the part, and in all others."""
    tail = other_tail = 0
    for slot in range(count):
        if leader_of(party, slot) == part:
            party.queue[tail] = party.members[slot]
            party.sums[party.members[slot]] = 0.0
            tail += 1
        else:
            party.other_queue[other_tail] = party.members[slot]
            other_tail += 1
    return tail, other_tail


@leaf_jit
def go_out(
    indptr: Int64s, neighbours: Int32s, prices: Floats, party: Party, head: int, tail: int, other_level: int
) -> int:
    """Adds the nodes next to those from head to tail, where a level is given only those that the other search has
    there; the new tail."""
    look, level = party.looks[0], tail
    for k in range(head, level):
        here = party.queue[k]
        for there in neighbours[indptr[here] : indptr[here + 1]]:
            if party.slots[there] != NOBODY:
                continue
            if other_level != ANY_LEVEL and (
                party.other_seen[there] != look or party.other_levels[there] != other_level
            ):
                continue
            if party.node_seen[there] != look:
                party.node_seen[there] = look
                party.levels[there] = level
                party.reached_from[there], party.sums[there] = here, party.sums[here] + prices[there]
                party.queue[tail] = there
                tail += 1
            elif party.levels[there] == level and party.sums[here] + prices[there] < party.sums[there]:
                party.reached_from[there], party.sums[there] = here, party.sums[here] + prices[there]
    return tail


@leaf_jit
def come_nearer(indptr: Int64s, neighbours: Int32s, party: Party, head: int, tail: int, level: int) -> int:
    """The same for the search from all other parts, which needs no sums."""
    look, end = party.looks[0], tail
    for k in range(head, end):
        here = party.other_queue[k]
        for there in neighbours[indptr[here] : indptr[here + 1]]:
            if party.slots[there] == NOBODY and party.other_seen[there] != look:
                party.other_seen[there], party.other_levels[there] = look, level
                party.other_queue[tail] = there
                tail += 1
    return tail


@leaf_jit
def keep_met(party: Party, head: int, tail: int, level: int) -> int:
    """Leaves those that the other search has found, if there are any; the new tail, or the head."""
    kept = head
    for k in range(head, tail):
        node = party.queue[k]
        if level > 0 and party.other_seen[node] == party.looks[0] and party.other_levels[node] == level:
            party.queue[kept] = node
            kept += 1
    return kept


@leaf_jit
def cheapest_beside_another(indptr: Int64s, neighbours: Int32s, party: Party, part: int, head: int, tail: int) -> int:
    """The node with a link into another part, the first of the cheapest."""
    found = NOBODY
    for k in range(head, tail):
        here = party.queue[k]
        if found != NOBODY and party.sums[here] >= party.sums[found]:
            continue
        for there in neighbours[indptr[here] : indptr[here + 1]]:
            if party.slots[there] != NOBODY and leader_of(party, party.slots[there]) != part:
                found = here
                break
    return int(found)


@jit
def send_away_idle(indptr: Int64s, neighbours: Int32s, party: Party, subscribers: int, count: int) -> int:
    """Remove the relays that the others can do without; how many members are left. A relay alone is never idle."""
    for slot in range(count - 1, subscribers - 1, -1):
        if count > subscribers + 1 and is_idle(indptr, neighbours, party, slot):
            party.slots[party.members[slot]] = NOBODY
            count -= 1
            if slot < count:
                party.members[slot] = party.members[count]
                party.slots[party.members[slot]] = slot
    return count


@jit
def is_idle(indptr: Int64s, neighbours: Int32s, party: Party, slot: int) -> bool:
    """Whether all others are connected without it: those next to it are, as all are connected with it."""
    party.looks[0] += 1
    look, node = party.looks[0], party.members[slot]
    left, first = 0, NOBODY  # those next to it that are not reached yet
    for there in neighbours[indptr[node] : indptr[node + 1]]:
        if party.slots[there] != NOBODY and party.part_seen[party.slots[there]] != look:
            party.part_seen[party.slots[there]] = look
            left, first = left + 1, there
    party.node_seen[node] = party.node_seen[first] = look
    party.queue[0] = first
    head, tail, left = 0, 1, left - 1
    while head < tail and left > 0:
        here = party.queue[head]
        head += 1
        for there in neighbours[indptr[here] : indptr[here + 1]]:
            if party.slots[there] != NOBODY and party.node_seen[there] != look:
                party.node_seen[there] = look
                left -= party.part_seen[party.slots[there]] == look
                party.queue[tail] = there
                tail += 1
    return left == 0
