"""Small ring overlays, and the routers a second time: recursive, all-knowing, straight from the papers' pseudo-code.

Used by the tests of protocol/, kernels/ and sim/. Everything is looked up by brute force; nothing is shared with src.
"""

from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise

import networkx as nx
import numpy as np

from weft.model.forwarding import AS_PRINTED, Forwarding
from weft.model.instance import Instance, instance_from_pairs
from weft.model.overlay import Overlay, overlay_from_links
from weft.protocol.rendezvous import rendezvous
from weft.trees.weave import weave

READINGS = [  # all ways of forwarding that there are: absolute distance goes with links both ways only
    Forwarding(links, distance, pivots)
    for links, distance in (("own", "clockwise"), ("both", "clockwise"), ("both", "absolute"))
    for pivots in ("own", "neighbours")
]


def ring_instance(seed: int, nodes: int, topics: int, chance: float = 0.4) -> Instance:
    interest = np.random.default_rng(seed).random((nodes, topics)) < chance
    return instance_from_pairs(*np.nonzero(interest), node_count=nodes, topic_count=topics)


def ring_overlay(seed: int, nodes: int, ring_size: int, extra: int = 0) -> Overlay:
    """A random ring; for every node its successor, a random node in each phase, and some fingers more than that."""
    rng = np.random.default_rng(seed)
    ids = rng.choice(ring_size, nodes, replace=False)
    order = np.argsort(ids)
    links = set()
    for place, source in enumerate(order):
        distances = (ids - ids[source]) % ring_size
        phases = {target: int(distances[target]).bit_length() - 1 for target in range(nodes) if target != source}
        candidates = {phase: [t for t in phases if phases[t] == phase] for phase in set(phases.values())}
        targets = [rng.choice(candidates[phase]) for phase in sorted(candidates)]
        if nodes > 1:
            targets += [order[(place + 1) % nodes], *rng.choice(list(phases), extra)]
        links |= {(int(source), int(target), phases[target]) for target in targets}
    columns = np.array(sorted(links), np.int64).reshape(-1, 3).T
    return overlay_from_links(nodes, *columns, ring_ids=ids, ring_size=ring_size, algorithm="test")


@dataclass
class Outcome:
    hops: Counter[tuple[int, int]] = field(default_factory=Counter)  # (from, to) -> messages
    paths: list[tuple[int, int]] = field(default_factory=list)  # (subscriber, hops from the issuer), a row a delivery
    arrivals: list[int] = field(default_factory=list)  # hops from the issuer, a row a message that came to its `low`


class Oracle:
    def __init__(
        self, instance: Instance, overlay: Overlay, seed: int = 0, forwarding: Forwarding = AS_PRINTED
    ) -> None:
        self.instance = instance
        self.size = overlay.ring_size
        self.id_of = dict(enumerate(overlay.ring_ids.tolist()))
        self.node_at = {ring_id: node for node, ring_id in self.id_of.items()}
        fingers = {node: set(overlay.of(node).tolist()) for node in self.id_of}
        neighbours = {node: fingers[node] | {u for u in fingers if node in fingers[u]} for node in fingers}
        self.sends = neighbours if forwarding.links == "both" else fingers
        self.fingers = neighbours if forwarding.pivots == "neighbours" else fingers
        self.absolute = forwarding.distance == "absolute"
        self.seed = seed
        self.trees = weave(instance, overlay)
        self.links = nx.Graph(zip(overlay.sources.tolist(), overlay.targets.tolist(), strict=True))

    def publish(self, router: str, topic: int, issuer: int) -> Outcome:
        self.out = Outcome()
        self.topic, self.issuer, self.router = topic, issuer, router
        self.subscribers = set(self.instance.subscribers[topic].tolist())
        if router in ("scribe", "iscribe"):
            self.rendezvous_routing()
        elif router == "weave":
            self.weave(issuer, self.trees.tables(topic))
        else:
            self.beaconvey(issuer, self.id_of[issuer], self.id_of[issuer], 0)
        if router in ("scribe", "iscribe", "weave"):
            self.out.arrivals = [path for _, path in self.out.paths]
        return self.out

    def distance(self, node: int, ring_id: int) -> int:
        return (ring_id - self.id_of[node]) % self.size

    def hop(self, source: int, target: int) -> int:
        self.out.hops[source, target] += 1
        return target

    def nearest(self, nodes: set[int], ring_id: int) -> int:
        """The node nearest to an identifier, of two as near by the absolute distance the one before it."""

        def far(node: int) -> tuple[int, int]:
            clockwise = self.distance(node, ring_id)
            return min(clockwise, self.size - clockwise) if self.absolute else clockwise, clockwise

        return min(nodes, key=far)

    def towards(self, node: int, ring_id: int) -> int:
        """Where `send` sends; the node itself where none of its links comes nearer."""
        return self.nearest(self.sends[node] | {node}, ring_id)

    def first_at_or_after(self, ring_id: int) -> int:
        return next(
            self.node_at[i % self.size] for i in range(ring_id, ring_id + self.size) if i % self.size in self.node_at
        )

    def last_at_or_before(self, ring_id: int) -> int:
        return next(
            self.node_at[i % self.size]
            for i in range(ring_id, ring_id - self.size, -1)
            if i % self.size in self.node_at
        )

    # docs/weave.md: by the best of the shortest ways to the tree, and from there over the whole of it.
    def weave(self, v: int, tables: dict[int, set[int]]) -> None:
        if not tables:
            return
        way = self.way_to_tree(v, tables)
        for source, target in pairwise(way):
            self.hop(source, target)
        self.flood(None, way[-1], tables, len(way) - 1)

    def way_to_tree(self, v: int, tables: dict[int, set[int]]) -> list[int]:
        if v in tables:
            return [v]
        tree = nx.Graph([(m, n) for m in tables for n in tables[m]])
        tree.add_nodes_from(tables)
        sums = {
            m: sum(hops for s, hops in nx.single_source_shortest_path_length(tree, m).items() if s in self.subscribers)
            for m in tables
        }
        ways = [way for m in tables for way in nx.all_shortest_paths(self.links, v, m)]
        return min(ways, key=lambda way: (len(way), sums[way[-1]], way))

    def flood(self, sender: int | None, v: int, tables: dict[int, set[int]], path: int) -> None:
        if path and v in self.subscribers:
            self.out.paths.append((v, path))
        for u in tables[v] - {sender}:
            self.flood(v, self.hop(v, u), tables, path + 1)

    # BeaConvey, Protocol 4. `low` may be an identifier that nobody has.
    def beaconvey(self, v: int, low: int, high: int, path: int) -> None:
        if self.node_at.get(low) != v and self.towards(v, low) != v:
            return self.beaconvey(self.hop(v, self.towards(v, low)), low, high, path + 1)
        if low not in self.node_at:
            owner = self.first_at_or_after(low)
            assert v in (owner, self.last_at_or_before(low))
            if (self.id_of[owner] - low) % self.size >= (high - low) % self.size:
                return None
            if v != owner:
                return self.beaconvey(self.hop(v, owner), self.id_of[owner], high, path + 1)
            low = self.id_of[owner]
        assert v == self.node_at[low]
        if path:
            self.out.arrivals.append(path)
        if path and v in self.subscribers:
            self.out.paths.append((v, path))
        span = (high - low) % self.size or self.size
        x = getattr(self, self.router)(v, span)
        for j in range(len(x)):
            self.send(v, x[j], x[j + 1] if j + 1 < len(x) else high, path)
        return None

    def send(self, v: int, low: int, high: int, path: int) -> None:
        if self.towards(v, low) != v:
            self.beaconvey(self.hop(v, self.towards(v, low)), low, high, path + 1)
        else:  # an identifier that nobody has, beside this node
            self.beaconvey(v, low, high, path)

    # BeaConvey, Protocol 5. Next hops are identifiers.
    def po(self, v: int, span: int) -> list[int]:
        others = self.subscribers - {v}
        if not others:
            return []
        nearest = min(others, key=lambda u: self.distance(v, self.id_of[u]))
        x = {nearest} | {u for u in self.fingers[v] if u in self.subscribers}
        ids = [self.id_of[u] for u in x if self.distance(v, self.id_of[u]) < span]
        return sorted(ids, key=lambda u: self.distance(v, u))

    def pal(self, v: int, span: int) -> list[int]:
        x = self.po(v, span)
        if x and self.distance(v, x[-1]) < span / 2:
            pivot = self.pivot_by_finger(v, span)
            x.append((self.id_of[v] + -(-span // 2)) % self.size if pivot is None else pivot)
        return x

    def pie(self, v: int, span: int) -> list[int]:
        x = self.po(v, span)
        if x and self.distance(v, x[-1]) < span / 2:
            pivot = self.pivot_by_finger(v, span)
            if pivot is not None:
                x.append(pivot)
        return x

    def pivot_by_finger(self, v: int, span: int) -> int | None:
        distant = [self.id_of[u] for u in self.fingers[v] if span / 2 <= self.distance(v, self.id_of[u]) < span]
        return min(distant, key=lambda ring_id: self.distance(v, ring_id), default=None)

    # Scribe and iScribe, as BeaConvey section 5.1 and docs/routing.md have them.
    def rendezvous_routing(self) -> None:
        meeting = rendezvous(self.topic, self.seed, self.size)
        root = self.nearest(set(self.id_of), meeting)
        if self.router == "scribe":
            links = {(b, a) for s in self.subscribers for a, b in self.route(s, meeting)}
        else:
            routes = [self.route(root, self.id_of[s]) for s in self.subscribers]
            links = self.fewest_hops([(hops, link) for route in routes for hops, link in enumerate(route, 1)])
        rise = self.route(self.issuer, meeting)
        assert self.issuer == root or rise[-1][1] == root
        for link in rise:
            self.hop(*link)
        self.descend(root, links, len(rise))

    def descend(self, node: int, links: set[tuple[int, int]], path: int) -> None:
        if node in self.subscribers and node != self.issuer:
            self.out.paths.append((node, path))
        for child in (b for a, b in links if a == node):
            self.descend(self.hop(node, child), links, path + 1)

    def route(self, source: int, target: int) -> list[tuple[int, int]]:
        """Links from a node to the one nearest to an identifier."""
        links = []
        while self.towards(source, target) != source:
            links.append((source, self.towards(source, target)))
            source = links[-1][1]
        return links

    def fewest_hops(self, routes: list[tuple[int, tuple[int, int]]]) -> set[tuple[int, int]]:
        """Links to each node: the one over the fewest hops from the root, of several that of the lowest id."""
        best: dict[int, tuple[int, int, int]] = {}
        for hops, (a, b) in routes:
            best[b] = min(best.get(b, (hops, self.id_of[a], a)), (hops, self.id_of[a], a))
        return {(a, b) for b, (_, _, a) in best.items()}
