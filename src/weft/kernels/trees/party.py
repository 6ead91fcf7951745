"""Members of a topic's tree: its subscribers, and few relays that join them.

Links among the subscribers leave them in parts. Relays are chosen by a greedy for the node-weighted Steiner tree (after
Klein and Ravi, J. Algorithms 1995): again and again the node that is cheapest for each of the parts that it has links
into, so that one relay serves many. A relay costs 1, and its price, which is higher the more it sends for other topics.
Where no node has links into two parts, the smallest part is joined to the nearest other one by the cheapest of the
shortest paths. A relay that in the end holds nothing together is sent away.

Every node next to a member knows one such member, and so a part that it is next to. A member that comes tells the nodes
next to it: one that knows a member of another part is shared by two parts, and nobody needs to search for these. Where
no node is shared, each is next to one part only, and the one member that it knows says which: so a search from the
smallest part sees at once where it is next to another. (To look for members around every node that it reaches took
nine tenths of the time, with three million nodes.)
"""

from typing import NamedTuple

import numpy as np

from weft.arrays import Bools, Bytes, Floats, Int32s, Int64s
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
    known: Int64s  # by node: a member next to it, after the number of the tree;
    hints: Bytes  # the last digits of that number, which the caches hold for more nodes: most that are asked know none
    shared: Int32s  # nodes next to several parts, and some that no longer are
    is_shared: Int64s  # by node: the number of the last tree for which it is among them
    counts: Int64s  # two numbers: that of the tree, and how many nodes are shared
    queue: Int32s  # nodes of a search,
    reached_from: Int32s  # the node that each was reached from,
    levels: Int32s  # the search's step in which it was found,
    sums: Floats  # and the prices on the way to it
    other_queue: Int32s  # nodes of a search that comes towards it,
    other_seen: Int64s  # by node: the last look at it,
    other_levels: Int32s  # and how far it is


@jit
def empty_party(nodes: int) -> Party:
    room, never = np.empty((9, nodes), np.int32), np.zeros((5, nodes), np.int64)
    slots, sums = np.full(nodes, NOBODY, np.int32), np.empty(nodes, np.float64)
    looks, counts, hints = np.zeros(1, np.int64), np.zeros(2, np.int64), np.zeros(nodes, np.uint8)
    own = slots, room[0], room[1], room[2], never[0], never[1], looks, never[2], hints, room[3], never[3], counts
    return Party(*own, room[4], room[5], room[6], sums, room[7], never[4], room[8])


@jit
def gather(indptr: Int64s, neighbours: Int32s, prices: Floats, party: Party, subscribers: Int32s) -> tuple[int, int]:
    """How many members there are, and in how many parts: 1, unless the overlay itself is in parts."""
    count = parts = len(subscribers)
    for slot in range(count):
        enter(party, subscribers[slot], slot)
    for slot in range(count):
        parts -= merge_around(indptr, neighbours, party, slot)
    if parts > 1:
        tell_all(indptr, neighbours, party, count)
    while parts > 1:
        before = count
        count, parts = adopt_shared(indptr, neighbours, prices, party, count, parts)
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


@leaf_jit
def tell_all(indptr: Int64s, neighbours: Int32s, party: Party, count: int) -> None:
    party.counts[0] += 1
    party.counts[1] = 0
    for slot in range(count):
        tell_around(indptr, neighbours, party, slot)


@leaf_jit
def tell_around(indptr: Int64s, neighbours: Int32s, party: Party, slot: int) -> None:
    """The nodes next to a member know it, or another one; those that know one of another part are shared."""
    own, tree = leader_of(party, slot), party.counts[0]
    node = party.members[slot]
    for other in neighbours[indptr[node] : indptr[node + 1]]:
        if party.slots[other] != NOBODY:
            continue
        known = known_by(party, other)
        if known == NOBODY:
            party.known[other], party.hints[other] = tree << 32 | slot, tree & 0xFF
        elif party.is_shared[other] != tree and leader_of(party, known) != own:
            party.is_shared[other] = tree
            party.shared[party.counts[1]] = other
            party.counts[1] += 1


@leaf_jit
def known_by(party: Party, node: int) -> int:
    """A member next to a node."""
    tree = party.counts[0]
    if party.hints[node] != tree & 0xFF or party.known[node] >> 32 != tree:
        return NOBODY
    return int(party.known[node] & 0xFFFFFFFF)


@jit
def join(indptr: Int64s, neighbours: Int32s, party: Party, node: int, slot: int) -> int:
    """Takes a node for a relay; how many parts are fewer then."""
    enter(party, node, slot)
    merged = merge_around(indptr, neighbours, party, slot)
    tell_around(indptr, neighbours, party, slot)
    return merged - 1


@jit
def adopt_shared(
    indptr: Int64s, neighbours: Int32s, prices: Floats, party: Party, count: int, parts: int
) -> tuple[int, int]:
    """Takes for relays the nodes next to several parts, the cheapest for each part first."""
    keep_shared(indptr, neighbours, party)
    if party.counts[1] == 0:
        return count, parts
    found = shared_in_order(indptr, neighbours, party, count)
    touched, worth = np.empty(len(found), np.int32), np.empty(len(found), np.float64)
    for k in range(len(found)):
        touched[k] = parts_around(indptr, neighbours, party, found[k])
        worth[k] = touched[k] / (1.0 + prices[found[k]])
    for k in descending(worth):
        if parts < 2:
            break
        if parts_around(indptr, neighbours, party, found[k]) == touched[k]:  # else it waits for the next round
            parts -= join(indptr, neighbours, party, found[k], count)
            count += 1
    return count, parts


@jit
def keep_shared(indptr: Int64s, neighbours: Int32s, party: Party) -> None:
    """Forget those that were shared by parts that are one now, and those that are members."""
    kept = 0
    for node in party.shared[: party.counts[1]]:
        if party.slots[node] == NOBODY and parts_around(indptr, neighbours, party, node) > 1:
            party.shared[kept] = node
            kept += 1
        else:
            party.is_shared[node] = 0
    party.counts[1] = kept


@jit
def shared_in_order(indptr: Int64s, neighbours: Int32s, party: Party, count: int) -> Int32s:
    """The shared nodes in the order of the first members next to them, those of the largest part aside.

    A node next to two parts is next to one that is not the largest, so that the largest part, often all but a few of
    the subscribers, is not searched.
    """
    largest = leader_of(party, 0)
    for slot in range(count):
        if party.sizes[leader_of(party, slot)] > party.sizes[largest]:
            largest = leader_of(party, slot)
    party.looks[0] += 1
    found, ordered = 0, np.empty(party.counts[1], np.int32)
    for slot in range(count):
        if leader_of(party, slot) == largest:
            continue
        node = party.members[slot]
        for other in neighbours[indptr[node] : indptr[node + 1]]:
            if party.is_shared[other] == party.counts[0] and party.node_seen[other] != party.looks[0]:
                party.node_seen[other] = party.looks[0]
                ordered[found] = other
                found += 1
    return ordered


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
        parts -= join(indptr, neighbours, party, node, count)
        count += 1
        node = int(party.reached_from[node])
    return count, parts


@jit
def nearest_beside_another(
    indptr: Int64s, neighbours: Int32s, prices: Floats, party: Party, part: int, count: int
) -> int:
    """The node nearest to a part that has a link into another, of several the cheapest; `reached_from` leads
    back to the part.

    Two searches go out, level by level, from the part and from all others, always the one where fewer nodes wait. The
    first level of the second is known without a search. Where they meet, the first goes on through nodes that the
    second has found, each level nearer to the others. A level is complete when the next begins, so that the sums on the
    ways to it are final then.
    """
    party.looks[0] += 1
    (tail, other_tail), head, other_head, level = start(party, part, count), 0, 0, 0
    links = len(neighbours) // len(party.slots)  # of a node, on average
    while head < tail and other_head < other_tail:
        waiting = other_tail - other_head if level > 0 else links * other_tail
        if tail - head <= waiting:
            outer = max(level, 1)
            met = go_out(indptr, neighbours, prices, party, part, head, tail, outer)
            if met > tail:
                return nearest_of_met(indptr, neighbours, prices, party, part, tail, met, outer)
            head, tail = tail, go_out(indptr, neighbours, prices, party, part, head, tail, ANY_LEVEL)
        else:
            level += 1
            other_head, other_tail = other_tail, come_nearer(indptr, neighbours, party, other_head, other_tail, level)
            met = keep_met(party, part, head, tail, level)
            if met > head:
                return nearest_of_met(indptr, neighbours, prices, party, part, head, met, level)
    return NOBODY


@jit
def nearest_of_met(
    indptr: Int64s, neighbours: Int32s, prices: Floats, party: Party, part: int, head: int, tail: int, level: int
) -> int:
    """The way on from nodes that the other search has at a level, down to its first; the cheapest there."""
    for nearer in range(level - 1, 0, -1):
        head, tail = tail, go_out(indptr, neighbours, prices, party, part, head, tail, nearer)
    found = party.queue[head]
    for node in party.queue[head:tail]:
        if party.sums[node] < party.sums[found]:
            found = node
    return int(found)


@leaf_jit
def is_at(party: Party, part: int, node: int, level: int) -> bool:
    """Whether the search from all other parts has a node at a level."""
    if level == 1:
        known = known_by(party, node)
        return known != NOBODY and leader_of(party, known) != part
    return bool(party.other_seen[node] == party.looks[0] and party.other_levels[node] == level)


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


@jit
def go_out(
    indptr: Int64s,
    neighbours: Int32s,
    prices: Floats,
    party: Party,
    part: int,
    head: int,
    tail: int,
    other_level: int,
) -> int:
    """Adds the nodes next to those from head to tail, where a level is given only those that the other search has
    there; the new tail."""
    look, level = party.looks[0], tail
    for k in range(head, level):
        here = party.queue[k]
        for there in neighbours[indptr[here] : indptr[here + 1]]:
            if other_level != ANY_LEVEL and not is_at(party, part, there, other_level):
                continue
            if party.slots[there] != NOBODY:
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
def keep_met(party: Party, part: int, head: int, tail: int, level: int) -> int:
    """Leaves those that the other search has found, if there are any; the new tail, or the head."""
    kept = head
    for node in party.queue[head:tail]:
        if is_at(party, part, node, level):
            party.queue[kept] = node
            kept += 1
    return kept


@jit
def send_away_idle(indptr: Int64s, neighbours: Int32s, party: Party, subscribers: int, count: int) -> int:
    """Remove the relays that the others can do without; how many members are left. A relay alone is never idle.

    Most relays are needed, and stay so when others go: what one holds together are subscribers, who never go. (Parts
    are of subscribers at first, and a relay comes to join two, so that none comes for relays alone.)
    """
    if count < subscribers + 2:
        return count
    needed = needed_members(indptr, neighbours, party, count)
    for slot in range(count - 1, subscribers - 1, -1):
        if count > subscribers + 1 and not needed[slot] and is_idle(indptr, neighbours, party, slot):
            party.slots[party.members[slot]] = NOBODY
            count -= 1
            if slot < count:
                party.members[slot] = party.members[count]
                party.slots[party.members[slot]] = slot
    return count


@jit
def needed_members(indptr: Int64s, neighbours: Int32s, party: Party, count: int) -> Bools:
    """Members without whom the others, who are connected, would be in parts (Hopcroft and Tarjan, CACM 1973).

    A search goes as deep as it can, and numbers members as it comes to them. One is needed if it has a child from which
    no way leads on, through that child and those that were reached from it, to a member with a lower number than its
    own; the first member if it has several children.
    """
    needed, numbers = np.zeros(count, np.bool_), np.zeros(count, np.int32)  # 0: not reached
    lowest = np.empty(count, np.int32)  # number that such ways have led to
    parents, links = np.empty(count, np.int32), np.empty(count, np.int64)  # the link to go on with
    here, parents[0], links[0] = 0, NOBODY, indptr[party.members[0]]
    numbers[0] = lowest[0] = reached = 1
    children = 0  # of the first member
    while here != NOBODY:
        if links[here] < indptr[party.members[here] + 1]:
            there = party.slots[neighbours[links[here]]]
            links[here] += 1
            if there == NOBODY:
                continue
            if numbers[there] > 0:
                lowest[here] = min(lowest[here], numbers[there])
                continue
            reached += 1
            numbers[there] = lowest[there] = reached
            parents[there], links[there] = here, indptr[party.members[there]]
            children += here == 0
            here = there
        else:
            parent = parents[here]
            if parent != NOBODY:
                lowest[parent] = min(lowest[parent], lowest[here])
                needed[parent] |= lowest[here] >= numbers[parent]
            here = parent
    needed[0] = children > 1
    return needed


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
