"""An instance and its overlay as the routing kernels take them: nodes named by position, their rank in ring order.

Made once and used for any number of publications; a value over arrays, so that executors can hold it. Without a ring,
which a router with trees can do without, positions are nodes and there are no fingers.
"""

from dataclasses import dataclass, replace

import numpy as np

from weft.arrays import Int32s, Int64s, distinct
from weft.errors import WeftError
from weft.kernels.routing.walk import Offsets, Ring
from weft.kernels.routing.weave import Links
from weft.model.csr import Csr
from weft.model.forwarding import AS_PRINTED, Forwarding
from weft.model.instance import Instance
from weft.model.overlay import NO_PHASE, Overlay, most_links, named, neighbours_of, require_made_for
from weft.model.ring import phase, phase_count
from weft.model.tree import Trees

NO_LINKS = Links(np.zeros(1, np.int64), np.empty(0, np.int32))
NO_OFFSETS = Offsets(np.empty(0, np.int32), np.empty((0, 0), np.int32))


@dataclass(frozen=True, eq=False)
class Network:
    overlay: str  # its algorithm, where that is known
    ids: Int64s  # the ring id at each position
    ring_size: int
    node_at: Int32s  # position -> node
    position_of: Int32s  # node -> position
    subscribers: Csr  # topic -> positions
    most_links: int  # of any node, whoever opened them
    fingers: Offsets = NO_OFFSETS  # of every position
    neighbours: Offsets = NO_OFFSETS  # the same from both ends, where the forwarding needs them
    forwarding: Forwarding = AS_PRINTED
    links: Links = NO_LINKS  # from both ends, the nodes at the others in the order of their numbers; beside trees only
    trees: Trees | None = None  # of positions, where the router has them

    @property
    def nodes(self) -> int:
        return len(self.ids)

    @property
    def topics(self) -> int:
        return self.subscribers.rows

    @property
    def has_ring(self) -> bool:
        return len(self.fingers.values) > 0

    @property
    def finger_counts(self) -> Int64s:
        """How many nodes the one at every position sends to or takes for next hops."""
        known = self.fingers if self.forwarding == AS_PRINTED else self.neighbours
        counts: Int64s = (known.starts[:, -1] - known.starts[:, 0]).astype(np.int64)
        return counts

    @property
    def ring(self) -> Ring:
        links = self.neighbours if self.forwarding.links == "both" else self.fingers
        return Ring(links, self.pivots, self.forwarding.distance == "absolute", self.ids, self.ring_size)

    @property
    def pivots(self) -> Offsets:
        return self.neighbours if self.forwarding.pivots == "neighbours" else self.fingers

    @property
    def most_pivots(self) -> int:
        """Possible next hops of the node that has most."""
        return int((self.pivots.starts[:, -1] - self.pivots.starts[:, 0]).max(initial=0))

    @property
    def woven(self) -> Trees:
        if self.trees is None:
            raise WeftError("The network has no trees, which the router needs: make it by network_for.")
        return self.trees


def network_of(instance: Instance, overlay: Overlay, forwarding: Forwarding = AS_PRINTED) -> Network:
    ring_of(instance, overlay)
    return with_interest(bare_network(overlay, instance.topics, forwarding), instance.interest)


def network_with(
    instance: Instance, overlay: Overlay, trees: Trees | None, forwarding: Forwarding = AS_PRINTED
) -> Network:
    """The network; with trees the overlay need not have a ring."""
    if trees is None:
        return network_of(instance, overlay, forwarding)
    require_made_for(instance, overlay)
    return with_interest(bare_network(overlay, instance.topics, has_trees=True), instance.interest, trees)


def bare_network(
    overlay: Overlay, topics: int, forwarding: Forwarding = AS_PRINTED, *, has_trees: bool = False
) -> Network:
    """The network before anybody subscribes: what the overlay alone gives."""
    if not has_trees:
        return _on_ring(overlay, topics, forwarding)
    network = _ringless(overlay, topics) if overlay.ring_ids is None else _on_ring(overlay, topics, forwarding)
    return replace(network, links=_links(overlay, network))


def with_interest(network: Network, interest: Csr, trees: Trees | None = None) -> Network:
    """The network with the interest of its nodes, and trees of nodes, if the router has them."""
    subscribers = interest.take(network.node_at).transpose()
    if trees is not None:
        trees = replace(trees, members=network.position_of[trees.members])
    return replace(network, subscribers=subscribers, trees=trees)


def _on_ring(overlay: Overlay, topics: int, forwarding: Forwarding) -> Network:
    ring_ids, ring_size = _ring(overlay)
    nodes, node_at = overlay.nodes, np.argsort(ring_ids).astype(np.int32)
    position_of = np.empty_like(node_at)
    position_of[node_at] = np.arange(nodes, dtype=np.int32)
    is_finger = overlay.phases != NO_PHASE
    sources, targets = position_of[overlay.sources[is_finger]], position_of[overlay.targets[is_finger]]
    fingers = _offsets(nodes, sources, targets)
    firsts = fingers.starts[:, :1] < fingers.starts[:, 1:2]  # phase 0 has the successor alone
    if nodes > 1 and not firsts.all():
        node = node_at[np.flatnonzero(~firsts)[0]]
        raise WeftError(f"{named(overlay)} has no finger from node {node} to its successor: design another.")
    network = Network(
        overlay.meta.get("algorithm", ""),
        ring_ids[node_at],
        ring_size,
        node_at,
        position_of,
        _nobody(overlay, topics),
        most_links(overlay),
        fingers,
        forwarding=forwarding,
    )
    if forwarding == AS_PRINTED:
        return network
    ends = np.concatenate([sources, targets]), np.concatenate([targets, sources])
    return replace(network, neighbours=_offsets(nodes, *ends))


def _nobody(overlay: Overlay, topics: int) -> Csr:
    return Csr(np.zeros(topics + 1, np.int64), np.empty(0, np.int32), overlay.nodes)


def _links(overlay: Overlay, network: Network) -> Links:
    neighbours = neighbours_of(overlay).take(network.node_at)
    return Links(neighbours.indptr, network.position_of[neighbours.indices])


def _ringless(overlay: Overlay, topics: int) -> Network:
    nodes = np.arange(overlay.nodes, dtype=np.int32)
    ids, algorithm = nodes.astype(np.int64), overlay.meta.get("algorithm", "")
    return Network(algorithm, ids, overlay.nodes, nodes, nodes, _nobody(overlay, topics), most_links(overlay))


def ring_of(instance: Instance, overlay: Overlay) -> tuple[Int64s, int]:
    """The ring ids of the overlay, and the size of its ring; an error if it has none, or is not the instance's."""
    ring = _ring(overlay)
    require_made_for(instance, overlay)
    return ring


def _ring(overlay: Overlay) -> tuple[Int64s, int]:
    if overlay.ring_ids is None or overlay.ring_size is None:
        raise WeftError(f"{named(overlay)} has no ring: design one that has, such as chord or swico-sl.")
    return overlay.ring_ids, overlay.ring_size


def _offsets(nodes: int, sources: Int32s, targets: Int32s) -> Offsets:
    """Offsets of the targets from the sources, positions both, each once."""
    offsets = (targets.astype(np.int64) - sources) % nodes
    rows, values = np.divmod(distinct(sources.astype(np.int64) * nodes + offsets), nodes)
    phases = phase_count(nodes)
    begins = np.arange(nodes)[:, None] * np.int64(phases) + np.arange(phases + 1)
    starts = np.searchsorted(rows * phases + phase(values), begins)
    return Offsets(values.astype(np.int32), starts.astype(np.int32))
