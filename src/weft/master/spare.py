"""Spare links: those that the bound leaves over when every node has its fingers.

Fingers take two thirds of a node's links in the mean. In a small network the rest join so large a part of all pairs
that many publications need one hop less, and few need a relay (docs/benchmarks.md, "Hops"). Above FULL nodes a spare
link joins too few pairs to pay for its upkeep, and what is left over is for those who come.

Who has fewest links chooses first, the node with room that has most topics in common. Links of before are kept as long
as there is room, so that little changes; fingers always come first.
"""

from collections.abc import Iterable, Mapping

from weft.master.link import Link, link

FULL = 64  # nodes, up to which links are filled up

Interests = Mapping[int, set[int]]  # node -> topics


def spare_links(
    peers: Mapping[int, set[int]], bound: int, interests: Interests, before: Iterable[Link] = (), *, fill: bool = True
) -> set[Link]:
    """Links beside those that nodes have, up to the bound."""
    peers = {node: set(own) for node, own in peers.items()}

    def shared(one: int, other: int) -> int:
        return len(interests[one] & interests[other])

    def has_room(node: int) -> bool:
        return len(peers[node]) < bound

    def take(one: int, other: int) -> Link:
        peers[one].add(other)
        peers[other].add(one)
        return link(one, other)

    known = [pair for pair in before if pair[0] in peers and pair[1] in peers]
    found = set()
    for one, other in sorted(known, key=lambda pair: (-shared(*pair), pair)):
        if one not in peers[other] and has_room(one) and has_room(other):
            found.add(take(one, other))
    choosing = {node for node in peers if has_room(node)} if fill and len(peers) <= FULL else set()
    while choosing:
        node = min(choosing, key=lambda one: (len(peers[one]), one))
        others = choosing - peers[node] - {node}
        if others:
            found.add(take(node, max(others, key=lambda one: (shared(node, one), -len(peers[one]), -one))))
        choosing = {one for one in choosing if has_room(one) and (others or one != node)}
    return found
