"""One design of an overlay in use, as the master of a simulated network keeps it while nodes and subscriptions change.

For every change it says which nodes must hear what: other fingers, deltas of the membership service, tables of Weave,
links that are closed. The overlay is repaired (weft.overlays.repair) when a node comes or goes, and one without a ring
also when a subscription changes, since its topics have to stay connected.

Nodes keep their identifiers as long as the design lives, so that what is under way arrives: the ring has SPACING times
as many identifiers as nodes at first, and a node that joins gets one in the middle between its neighbours.
"""

from collections.abc import Iterable, Mapping
from functools import partial

import numpy as np

from weft.errors import WeftError
from weft.model.churn import OF_TOPICS, Change
from weft.model.instance import Instance, instance_from_pairs
from weft.model.overlay import NO_PHASE, Overlay, neighbours_of, overlay_from_links, undirected
from weft.overlays.repair import Link, repair
from weft.protocol.finger import Finger, FingerTable
from weft.protocol.loom import Assignment, Loom
from weft.protocol.membership import Delta, MembershipService, NearestTable
from weft.protocol.rendezvous import rendezvous
from weft.protocol.router import Assigned, Event, Rewired, Router, Subscribed, Unlinked, Unsubscribed
from weft.sim.catalog import Place, routing
from weft.trees.weave import FAN_OUT, weave

SPACING = 2**40
NOBODY: frozenset[int] = frozenset()

Note = tuple[int, Event | Delta]  # for a node
Pair = tuple[int, int]


def present(interests: Mapping[int, set[int]], there: Iterable[int], topics: int) -> Instance:
    """The instance of the nodes that are there, which are named by their numbers."""
    nodes = sorted(there)
    pairs = [(place, topic) for place, node in enumerate(nodes) for topic in sorted(interests[node])]
    rows, columns = np.array(pairs, np.int64).reshape(-1, 2).T
    names = np.array([str(node) for node in nodes], object)
    return instance_from_pairs(rows, columns, node_count=len(nodes), topic_count=topics, node_names=names)


def _nodes_of(instance: Instance) -> list[int]:
    """The nodes of an instance of those that are there."""
    return [] if instance.node_names is None else [int(name) for name in instance.node_names]


class Steward:
    def __init__(self, instance: Instance, overlay: Overlay, router: str, nodes: int, seed: int) -> None:
        """`instance` has the nodes that are there, as of `present`, out of so many."""
        self.overlay = overlay
        self.links_opened = self.links_closed = 0
        self._routing = routing(router)
        if overlay.ring_ids is None and self._routing.needs_ring:
            raise WeftError(f"{router} goes by a ring, which the overlay does not have: design another one.")
        self._made_for = self._instance = instance
        self._seed = seed
        self._service = MembershipService()
        self._ids: dict[int, int] = {}
        self._ring_size = SPACING * instance.nodes
        self._fingers: dict[int, frozenset[int]] = {}
        order = np.arange(instance.nodes) if overlay.ring_ids is None else np.argsort(overlay.ring_ids)
        members = _nodes_of(instance)
        for place, position in enumerate(order.tolist()):
            self._enter(members[position], SPACING * place)
        self._rewired()
        for node, topic in self._subscriptions():
            self._service.subscribe(node, topic)
        self._loom = self._woven(nodes) if self._routing.has_trees else None

    @property
    def known(self) -> Instance:
        """The instance as the master knows it."""
        return self._instance

    @property
    def nodes(self) -> set[int]:
        return set(_nodes_of(self._instance))

    @property
    def links(self) -> set[Pair]:
        members = _nodes_of(self._made_for)
        low, high = undirected(self.overlay)
        return {(members[one], members[other]) for one, other in zip(low.tolist(), high.tolist(), strict=True)}

    def router(self, node: int) -> tuple[Router, NearestTable]:
        """The router of a node that is there, with all that it knows now."""
        table = NearestTable()
        table.apply(self._service.whole(node))
        meeting = partial(rendezvous, seed=self._seed, ring_size=self._ring_size)
        tables = {} if self._loom is None else self._loom.tables(node)
        return self._routing.make(Place(node, table, self._table(node), meeting, tables)), table

    def subscribed(self, node: int) -> list[Event]:
        """What a router hears first, where it grows trees by itself."""
        if self._routing.has_trees:
            return []
        return [Subscribed(topic) for each, topic in self._subscriptions() if each == node]

    def change(self, change: Change, instance: Instance) -> list[Note]:
        """What nodes must hear of a change, in order; the instance is that of after it.

        A node that joins needs none of it: its router is made afterwards.
        """
        _, node, event, topic = change
        opened, closed = set[Pair](), set[Pair]()
        if event not in OF_TOPICS or self.overlay.ring_ids is None:
            opened, closed = self._repair(instance)
        self._instance = instance
        if event == "join":
            self._enter(node, self._free_id(node))
        notes: list[Note] = [*self._rewired(), *self._told(change)]
        if self._loom is not None:
            notes += _assigned(self._rewoven(self._loom, change, opened, closed))
        elif event in OF_TOPICS:
            notes.append((node, Subscribed(topic) if event == "subscribe" else Unsubscribed(topic)))
        if event in ("leave", "fail"):
            del self._ids[node], self._fingers[node]
        ends = [end for one, other in sorted(closed) for end in ((one, other), (other, one))]
        notes += [(each, Unlinked(peer)) for each, peer in ends if each in self._ids]
        return notes

    def _subscriptions(self) -> list[tuple[int, int]]:
        members, interest = _nodes_of(self._instance), self._instance.interest
        pairs = zip(interest.row_of_each().tolist(), interest.indices.tolist(), strict=True)
        return [(members[place], topic) for place, topic in pairs]

    def _repair(self, instance: Instance) -> tuple[set[Pair], set[Pair]]:
        """The links that a repair opens and closes."""
        made = repair(self.overlay, self._made_for, instance, seed=self._seed)
        self.overlay, self._made_for = made.overlay, instance
        self.links_opened += len(made.opened)
        self.links_closed += len(made.closed)
        return _pairs(made.opened), _pairs(made.closed)

    def _enter(self, node: int, ring_id: int) -> None:
        self._ids[node] = ring_id
        self._service.enter(node, ring_id)

    def _free_id(self, node: int) -> int:
        """The identifier in the middle between the two neighbours of a node."""
        members = _nodes_of(self._instance)
        if self.overlay.ring_ids is None:
            return max(self._ids.values()) + 1  # nobody goes by it
        around = [members[position] for position in np.argsort(self.overlay.ring_ids).tolist()]
        place = around.index(node)
        before, after = (self._ids[around[each % len(around)]] for each in (place - 1, place + 1))
        gap = (after - before - 1) % self._ring_size + 1
        if gap < 2:
            raise WeftError("So many nodes have joined in one place that the ring has no identifier left: rebuild.")
        return (before + gap // 2) % self._ring_size

    def _rewired(self) -> list[Note]:
        """Other fingers for all nodes whose fingers the overlay has changed, and the interests of these."""
        notes: list[Note] = []
        overlay, members = self.overlay, _nodes_of(self._instance)
        for position, node in enumerate(members if overlay.ring_ids is not None else []):
            links = slice(overlay.indptr[position], overlay.indptr[position + 1])
            fingers = overlay.targets[links][overlay.phases[links] != NO_PHASE]
            peers = frozenset(members[each] for each in fingers.tolist())
            if peers != self._fingers.get(node, NOBODY):
                self._fingers[node] = peers
                table = self._table(node)
                notes += [] if table is None else [(node, Rewired(table))]
                notes += self._service.rewire(node, peers).items()
        for node in members:
            self._fingers.setdefault(node, NOBODY)
        return notes

    def _table(self, node: int) -> FingerTable | None:
        if self.overlay.ring_ids is None:
            return None
        fingers = [Finger(peer, self._ids[peer]) for peer in sorted(self._fingers[node])]
        return FingerTable(self._ids[node], self._ring_size, fingers)

    def _told(self, change: Change) -> list[Note]:
        """Deltas of the membership service."""
        _, node, event, topic = change
        match event:
            case "subscribe":
                return list(self._service.subscribe(node, topic).items())
            case "unsubscribe":
                return list(self._service.unsubscribe(node, topic).items())
            case "join":
                own = [each for who, each in self._subscriptions() if who == node]
                return [note for each in own for note in self._service.subscribe(node, each).items()]
        return list(self._service.leave(node).items())

    def _woven(self, nodes: int) -> Loom:
        """The trees of all topics; nodes that are not there have no links."""
        members = np.array(_nodes_of(self._instance), np.int64)
        interest = self._instance.interest
        whole = instance_from_pairs(
            members[interest.row_of_each()], interest.indices, node_count=nodes, topic_count=interest.columns
        )
        low, high = undirected(self.overlay)
        links = overlay_from_links(nodes, members[low], members[high])
        loom = Loom(whole, neighbours_of(links), weave(whole, links), FAN_OUT)
        for node in set(range(nodes)) - set(members.tolist()):
            loom.leave(node)
        return loom

    def _rewoven(self, loom: Loom, change: Change, opened: set[Pair], closed: set[Pair]) -> list[Assignment]:
        _, node, event, topic = change
        if event == "join":
            loom.join(node, [], [])
        found = loom.connect_all(sorted(opened))
        match event:
            case "join":
                own = [each for who, each in self._subscriptions() if who == node]
                found += [each for one in own for each in loom.subscribe(node, one)]
            case "subscribe":
                found += loom.subscribe(node, topic)
            case "unsubscribe":
                found += loom.unsubscribe(node, topic)
            case _:
                found += loom.fail(node)
        for one, other in sorted(closed):
            if one in loom.links and other in loom.links:
                found += loom.disconnect(one, other)
        return found


def _assigned(assignments: list[Assignment]) -> list[Note]:
    return [(each.node, Assigned(each.topic, each.neighbours)) for each in assignments]


def _pairs(links: Iterable[Link]) -> set[Pair]:
    return {(min(int(one), int(other)), max(int(one), int(other))) for one, other in links}
