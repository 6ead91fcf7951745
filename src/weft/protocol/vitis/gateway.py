"""Gateways, which speak for clusters: connected parts of the overlay whose nodes all subscribe to a topic.

Every round a node proposes itself, or the proposal of a neighbour in the cluster whose gateway is nearer to the topic's
identifier, as long as that gateway is within a few hops. A node that proposes itself is a gateway. Proposals of a
gateway that has failed go from neighbour to neighbour, with one hop more each time, until they are too far away.

The paper's gateways are "proportional to the diameter" of the cluster. So further ones may stand behind the first
(`gateway_step`). A node's height is how far nodes lead away from the first gateway through it: one more than
the greatest among the neighbours that are a hop further. The first gateway names one of these of greatest height its
heir, the heir one of its own, and so on: their path is a longest shortest path from the first gateway, whose length is
between half the diameter and all of it. Every `gateway_step`th node on the path is a gateway.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from weft.protocol.vitis.table import apart


@dataclass(frozen=True, slots=True)
class Proposal:
    gateway: int
    ring_id: int
    hops: int
    height: int = 0  # hops that the cluster goes on for behind the node
    heir: int | None = None  # the next node on the path of heirs, if this one is on it
    is_on_path: bool = False

    def is_gateway(self, step: int | None) -> bool:
        """Whether the node whose proposal it is speaks for the cluster."""
        return self.hops == 0 or (step is not None and self.is_on_path and self.hops % step == 0)


def elected(own: Proposal, heard: Iterable[Proposal], target: int, most_hops: int) -> Proposal:
    farther = (Proposal(heard.gateway, heard.ring_id, heard.hops + 1) for heard in heard)
    return min(
        (own, *(proposal for proposal in farther if proposal.hops <= most_hops)),
        key=lambda proposal: (apart(proposal.ring_id, target), proposal.gateway, proposal.hops),
    )


def inherited(node: int, proposal: Proposal, heard: Mapping[int, Proposal]) -> Proposal:
    """The proposal with its place among heirs, from those of the neighbours in the cluster."""
    same = {peer: each for peer, each in heard.items() if each.gateway == proposal.gateway}
    further = {peer: each for peer, each in same.items() if each.hops == proposal.hops + 1}
    named = any(each.heir == node and each.hops == proposal.hops - 1 for each in same.values())
    is_on_path = proposal.hops == 0 or named
    heir = min(further, key=lambda peer: (-further[peer].height, peer), default=None)
    height = 0 if heir is None else further[heir].height + 1
    return replace(proposal, height=height, heir=heir if is_on_path else None, is_on_path=is_on_path)
