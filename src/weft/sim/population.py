"""The routers of an overlay, one a node, each with what its node would know."""

from bisect import bisect_right, insort
from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from weft.arrays import Int64s
from weft.model.forwarding import AS_PRINTED, Forwarding
from weft.model.instance import Instance
from weft.model.overlay import NO_PHASE, Overlay, neighbours_of
from weft.model.publication import Publications
from weft.model.tree import Trees
from weft.protocol.finger import Finger, FingerTable
from weft.protocol.loom import Loom
from weft.protocol.rendezvous import rendezvous
from weft.protocol.router import Directed, Router, Subscribed
from weft.sim.catalog import Place, routing, trees_for
from weft.sim.network import ring_of
from weft.sim.world import World


class Directory:
    """All that a membership service knows: who subscribes to what, and where on the ring they are."""

    def __init__(self, instance: Instance, ring_ids: Int64s) -> None:
        topics = [instance.subscribers[topic] for topic in range(instance.topics)]
        self.ids = ring_ids.tolist()
        self.subscribers = [set(nodes.tolist()) for nodes in topics]
        self.ring = [sorted(ring_ids[nodes].tolist()) for nodes in topics]

    def view(self, node: int) -> "View":
        return View(self, self.ids[node])

    def subscribe(self, node: int, topic: int) -> None:
        if node not in self.subscribers[topic]:
            self.subscribers[topic].add(node)
            insort(self.ring[topic], self.ids[node])

    def unsubscribe(self, node: int, topic: int) -> None:
        if node in self.subscribers[topic]:
            self.subscribers[topic].remove(node)
            self.ring[topic].remove(self.ids[node])


class View:
    """The part of the directory that one node sees."""

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


def routers_of(
    instance: Instance,
    overlay: Overlay,
    router: str,
    seed: int = 0,
    trees: Trees | None = None,
    forwarding: Forwarding = AS_PRINTED,
) -> list[Router]:
    """A router that has trees has all its tables in place; the trees are woven where none are given."""
    row = routing(router)
    if row.needs_ring:
        ring_of(instance, overlay)
    trees = trees_for(router, instance, overlay, given=trees)
    return [row.make(place) for place in places_of(overlay, directory_of(instance, overlay), seed, trees, forwarding)]


def places_of(
    overlay: Overlay,
    directory: Directory,
    seed: int = 0,
    trees: Trees | None = None,
    forwarding: Forwarding = AS_PRINTED,
) -> Iterator[Place]:
    fingers = _finger_tables(overlay, forwarding)
    tables = _tables_of(overlay.nodes, trees)
    meeting = partial(rendezvous, seed=seed, ring_size=overlay.ring_size or overlay.nodes)
    for node in range(overlay.nodes):
        yield Place(node, directory.view(node), fingers[node], meeting, tables[node])


def _tables_of(nodes: int, trees: Trees | None) -> list[dict[int, frozenset[int]]]:
    """Tables of every node, by topic; empty without trees."""
    tables: list[dict[int, frozenset[int]]] = [{} for _ in range(nodes)]
    if trees is not None:
        for topic in range(trees.topics):
            for node, neighbours in trees.tables(topic).items():
                tables[node][topic] = frozenset(neighbours)
    return tables


def directory_of(instance: Instance, overlay: Overlay) -> Directory:
    """The directory; without a ring, nodes are in the order of their numbers, which nobody asks for."""
    return Directory(instance, np.arange(instance.nodes) if overlay.ring_ids is None else overlay.ring_ids)


def subscribe_all(world: World, instance: Instance) -> None:
    """Let every subscription of the instance happen now, and the routers come to rest."""
    for node in range(instance.nodes):
        for topic in instance.interest[node].tolist():
            world.schedule(world.now, node, Subscribed(topic))
    world.run()


def direct_issuers(
    world: World, instance: Instance, overlay: Overlay, trees: Trees, publications: Publications
) -> None:
    """Every node that publishes on a topic without a table for it is told its way to the tree now."""
    loom = Loom(instance, neighbours_of(overlay), trees, fan_out=overlay.nodes)
    pairs = np.unique(np.column_stack([publications.nodes, publications.topics]), axis=0)
    for node, topic in pairs.tolist():
        world.schedule(world.now, node, Directed(topic, loom.way(node, topic)))
    world.run()


def _finger_tables(overlay: Overlay, forwarding: Forwarding) -> Sequence[FingerTable | None]:
    """Fingers of every node; None without a ring."""
    if overlay.ring_ids is None or overlay.ring_size is None:
        return [None] * overlay.nodes
    own: list[set[Finger]] = [set() for _ in range(overlay.nodes)]
    pointing: list[set[Finger]] = [set() for _ in range(overlay.nodes)]
    ids, is_finger = overlay.ring_ids.tolist(), overlay.phases != NO_PHASE
    for node, peer in zip(overlay.sources[is_finger].tolist(), overlay.targets[is_finger].tolist(), strict=True):
        own[node].add(Finger(peer, ids[peer]))
        pointing[peer].add(Finger(node, ids[node]))
    size = overlay.ring_size
    return [FingerTable(ids[v], size, own[v], pointing[v], forwarding) for v in range(overlay.nodes)]
