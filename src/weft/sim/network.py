"""An instance and its overlay as the routing kernels take them: nodes named by position, their rank in ring order.

Made once and used for any number of publications; a value over arrays, so that executors can hold it. Without a ring,
which a router with trees can do without, positions are nodes and there are no fingers.
"""

from dataclasses import dataclass, replace

import numpy as np

from weft.arrays import Int32s, Int64s, distinct
from weft.errors import WeftError
from weft.kernels.routing.walk import Ring
from weft.kernels.routing.weave import Links
from weft.model.csr import Csr
from weft.model.instance import Instance
from weft.model.overlay import NO_PHASE, Overlay, most_links, named, neighbours_of, require_made_for
from weft.model.ring import phase, phase_count
from weft.model.tree import Trees

NO_LINKS = Links(np.zeros(1, np.int64), np.empty(0, np.int32))


@dataclass(frozen=True, eq=False)
class Network:
    overlay: str  # its algorithm, where that is known
    fingers: Int32s  # [position, column], see weft.kernels.routing.walk
    per_phase: int
    ids: Int64s  # the ring id at each position
    ring_size: int
    node_at: Int32s  # position -> node
    position_of: Int32s  # node -> position
    subscribers: Csr  # topic -> positions
    most_links: int  # of any node, whoever opened them
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
        return bool(self.fingers.shape[1] > 0)

    @property
    def finger_counts(self) -> Int64s:
        """How many fingers the node at every position has."""
        counts: Int64s = np.count_nonzero(np.diff(self.fingers, axis=1, prepend=0), axis=1)
        return counts

    @property
    def ring(self) -> Ring:
        return Ring(self.fingers, self.per_phase, self.ids, self.ring_size)

    @property
    def woven(self) -> Trees:
        if self.trees is None:
            raise WeftError("The network has no trees, which the router needs: make it by network_for.")
        return self.trees


def network_of(instance: Instance, overlay: Overlay) -> Network:
    ring_of(instance, overlay)
    return with_interest(bare_network(overlay, instance.topics, has_trees=False), instance.interest)


def network_with(instance: Instance, overlay: Overlay, trees: Trees | None) -> Network:
    """The network; with trees the overlay need not have a ring."""
    if trees is None:
        return network_of(instance, overlay)
    require_made_for(instance, overlay)
    return with_interest(bare_network(overlay, instance.topics, has_trees=True), instance.interest, trees)


def bare_network(overlay: Overlay, topics: int, *, has_trees: bool) -> Network:
    """The network before anybody subscribes: what the overlay alone gives."""
    if not has_trees:
        return _on_ring(overlay, topics)
    network = _ringless(overlay, topics) if overlay.ring_ids is None else _on_ring(overlay, topics)
    return replace(network, links=_links(overlay, network))


def with_interest(network: Network, interest: Csr, trees: Trees | None = None) -> Network:
    """The network with the interest of its nodes, and trees of nodes, if the router has them."""
    subscribers = interest.take(network.node_at).transpose()
    if trees is not None:
        trees = replace(trees, members=network.position_of[trees.members])
    return replace(network, subscribers=subscribers, trees=trees)


def _on_ring(overlay: Overlay, topics: int) -> Network:
    ring_ids, ring_size = _ring(overlay)
    node_at = np.argsort(ring_ids).astype(np.int32)
    position_of = np.empty_like(node_at)
    position_of[node_at] = np.arange(overlay.nodes, dtype=np.int32)
    fingers, per_phase = _finger_rows(overlay, position_of)
    if overlay.nodes > 1 and not np.all(fingers[:, 0] == 1):
        node = node_at[np.flatnonzero(fingers[:, 0] != 1)[0]]
        raise WeftError(f"{named(overlay)} has no finger from node {node} to its successor: design another.")
    return Network(
        overlay.meta.get("algorithm", ""),
        fingers,
        per_phase,
        ring_ids[node_at],
        ring_size,
        node_at,
        position_of,
        _nobody(overlay, topics),
        most_links(overlay),
    )


def _nobody(overlay: Overlay, topics: int) -> Csr:
    return Csr(np.zeros(topics + 1, np.int64), np.empty(0, np.int32), overlay.nodes)


def _links(overlay: Overlay, network: Network) -> Links:
    neighbours = neighbours_of(overlay).take(network.node_at)
    return Links(neighbours.indptr, network.position_of[neighbours.indices])


def _ringless(overlay: Overlay, topics: int) -> Network:
    nodes = np.arange(overlay.nodes, dtype=np.int32)
    no_fingers = np.empty((overlay.nodes, 0), np.int32)
    ids, algorithm = nodes.astype(np.int64), overlay.meta.get("algorithm", "")
    nobody = _nobody(overlay, topics)
    return Network(algorithm, no_fingers, 1, ids, overlay.nodes, nodes, nodes, nobody, most_links(overlay))


def ring_of(instance: Instance, overlay: Overlay) -> tuple[Int64s, int]:
    """The ring ids of the overlay, and the size of its ring; an error if it has none, or is not the instance's."""
    ring = _ring(overlay)
    require_made_for(instance, overlay)
    return ring


def _ring(overlay: Overlay) -> tuple[Int64s, int]:
    if overlay.ring_ids is None or overlay.ring_size is None:
        raise WeftError(f"{named(overlay)} has no ring: design one that has, such as chord or swico-sl.")
    return overlay.ring_ids, overlay.ring_size


def _finger_rows(overlay: Overlay, position_of: Int32s) -> tuple[Int32s, int]:
    nodes = overlay.nodes
    is_finger = overlay.phases != NO_PHASE
    source = position_of[overlay.sources[is_finger]].astype(np.int64)
    offset = (position_of[overlay.targets[is_finger]] - source) % nodes
    source, offset = np.divmod(distinct(source * nodes + offset), nodes)
    phases = phase(offset)
    row = source * phase_count(nodes) + phases
    rank = np.arange(len(row)) - np.searchsorted(row, row)
    per_phase = int(rank.max(initial=0)) + 1
    fingers = np.zeros((nodes, phase_count(nodes) * per_phase), np.int32)
    fingers[source, phases * per_phase + rank] = offset
    return np.maximum.accumulate(fingers, axis=1), per_phase
