"""The routing table: successor, predecessor, a few small-world links, and friends, the peers of highest utility.

Every round it is chosen again from all that the node knows of, the present table included; so it only gets better, but
for peers that fail. Ties go to the lower node.

Small-world links have harmonically distributed distances, from the mean gap between neighbours on the ring to half of
it (Kleinberg; Symphony, Manku et al. 2003). The mean gap is that of the node's own two neighbours: so links shorter
than the ring is dense, which would be successors once more, are not drawn, whatever the size of the network.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from weft.model.ring import clockwise
from weft.protocol.vitis.descriptor import Descriptor
from weft.protocol.vitis.parameters import RING


def apart(one: int, other: int) -> int:
    """The distance of two identifiers, the shorter way round."""
    distance = clockwise(one, other, RING)
    return min(distance, RING - distance)


@dataclass(frozen=True)
class Table:
    successor: int | None = None
    predecessor: int | None = None
    peers: dict[int, Descriptor] = field(default_factory=dict)  # those two as well
    friends: frozenset[int] = frozenset()  # of the peers, those chosen by utility


def small_world_target(ring_id: int, unit: float, span: int) -> int:
    """The identifier of a link; the span is from predecessor to successor, twice the gap."""
    ratio: float = max(span, 1) / RING
    return (ring_id + int(RING / 2 * ratio ** (1.0 - unit))) % RING


def chosen_table(
    ring_id: int,
    candidates: dict[int, Descriptor],
    small_world_units: Iterable[float],
    utility: Callable[[Descriptor], float],
    size: int,
) -> Table:
    if not candidates:
        return Table()
    others = candidates.values()
    successor = min(others, key=lambda peer: (clockwise(ring_id, peer.ring_id, RING), peer.node))
    predecessor = min(others, key=lambda peer: (clockwise(peer.ring_id, ring_id, RING), peer.node))
    peers = {peer.node: peer for peer in (successor, predecessor)}
    span = clockwise(ring_id, successor.ring_id, RING) + clockwise(predecessor.ring_id, ring_id, RING)
    for unit in small_world_units:
        left = [peer for peer in others if peer.node not in peers]
        if left:
            nearest = _nearest(left, small_world_target(ring_id, unit, span))
            peers[nearest.node] = nearest
    worth = {peer.node: utility(peer) for peer in others if peer.node not in peers}
    by_worth = sorted((node for node in worth if worth[node] > 0), key=lambda node: (-worth[node], node))
    friends = by_worth[: size - len(peers)]
    peers |= {node: candidates[node] for node in friends}
    return Table(successor.node, predecessor.node, peers, frozenset(friends))


def _nearest(peers: Iterable[Descriptor], target: int) -> Descriptor:
    return min(peers, key=lambda peer: (apart(peer.ring_id, target), peer.node))


def next_hop(node: int, ring_id: int, links: dict[int, Descriptor], target: int) -> int | None:
    """The linked peer nearest to an identifier; None where the node itself is nearer than all of them."""
    nearest = min(((apart(peer.ring_id, target), peer.node) for peer in links.values()), default=None)
    return nearest[1] if nearest is not None and nearest < (apart(ring_id, target), node) else None
