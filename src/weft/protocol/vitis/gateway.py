"""Gateways, which speak for clusters: connected parts of the overlay whose nodes all subscribe to a topic.

Every round a node proposes itself, or the proposal of a neighbour in the cluster whose gateway is nearer to the topic's
identifier, as long as that gateway is within a few hops. A node that proposes itself is a gateway. Proposals of a
gateway that has failed go from neighbour to neighbour, with one hop more each time, until they are too far away.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from weft.protocol.vitis.table import apart


@dataclass(frozen=True, slots=True)
class Proposal:
    gateway: int
    ring_id: int
    hops: int


def elected(own: Proposal, heard: Iterable[Proposal], target: int, most_hops: int) -> Proposal:
    farther = (Proposal(heard.gateway, heard.ring_id, heard.hops + 1) for heard in heard)
    return min(
        (own, *(proposal for proposal in farther if proposal.hops <= most_hops)),
        key=lambda proposal: (apart(proposal.ring_id, target), proposal.gateway, proposal.hops),
    )
