"""The routers of an overlay, one a node, each with what its node would know."""

from bisect import bisect_right
from functools import partial

from weft.model.csr import Int64s
from weft.model.instance import Instance
from weft.model.overlay import NO_PHASE, Overlay
from weft.protocol.catalog import make_router
from weft.protocol.finger import Finger, FingerTable
from weft.protocol.rendezvous import rendezvous
from weft.protocol.router import Router, Subscribed
from weft.sim.network import ring_of
from weft.sim.world import World


class Directory:
    """All that a membership service knows: who subscribes to what, and where on the ring they are."""

    def __init__(self, instance: Instance, ring_ids: Int64s) -> None:
        topics = [instance.subscribers[topic] for topic in range(instance.topics)]
        self.subscribers = [set(nodes.tolist()) for nodes in topics]
        self.ring = [sorted(ring_ids[nodes].tolist()) for nodes in topics]


class View:
    """What it tells one node."""

    def __init__(self, directory: Directory, ring_id: int) -> None:
        self._directory = directory
        self._ring_id = ring_id

    def subscribes(self, node: int, topic: int) -> bool:
        return node in self._directory.subscribers[topic]

    def nearest_subscriber(self, topic: int) -> int | None:
        ring: list[int] = self._directory.ring[topic]
        if not ring or ring == [self._ring_id]:
            return None
        return ring[bisect_right(ring, self._ring_id) % len(ring)]


def routers_of(instance: Instance, overlay: Overlay, router: str, seed: int = 0) -> list[Router]:
    ring_ids, ring_size = ring_of(instance, overlay)
    directory = Directory(instance, ring_ids)
    meeting = partial(rendezvous, seed=seed, ring_size=ring_size)
    ids = ring_ids.tolist()
    return [
        make_router(router, node, _fingers(overlay, ids, ring_size, node), View(directory, ids[node]), meeting)
        for node in range(overlay.nodes)
    ]


def subscribe_all(world: World, instance: Instance) -> None:
    """Every subscription of the instance happens now, and the routers come to rest."""
    for node in range(instance.nodes):
        for topic in instance.interest[node].tolist():
            world.schedule(world.now, node, Subscribed(topic))
    world.run()


def _fingers(overlay: Overlay, ids: list[int], ring_size: int, node: int) -> FingerTable:
    links = slice(overlay.indptr[node], overlay.indptr[node + 1])
    peers = set(overlay.targets[links][overlay.phases[links] != NO_PHASE].tolist())
    return FingerTable(ids[node], ring_size, [Finger(peer, ids[peer]) for peer in peers])
