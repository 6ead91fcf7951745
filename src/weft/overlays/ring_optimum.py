"""The highest TcoSuppR of any fingers on a ring, for small instances: what GrSwico is measured against.

BeaConvey's Problem 1 leaves open how far the greedy is from the best. Fingers save as many TCCs as the largest forests
of all topics have links, so an integer program counts those: a 0/1 variable for every finger, at most one of a node's
phase, and for every topic one for every pair of its subscribers that is in the topic's forest, which takes a finger
between them. That a forest has no cycle, |S| - 1 links within any nodes S, are too many rows to write down. The program
starts with pairs and with all subscribers; where its answer has a cycle in a topic, it gets the row of the nodes that
this connects, and is solved again (by HiGHS).
"""

from itertools import combinations

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csgraph

from weft.arrays import Int64s
from weft.errors import WeftError
from weft.model.instance import Instance
from weft.model.overlay import Overlay, overlay_from_links
from weft.model.ring import clockwise, phase

MOST_NODES = 16

Pair = tuple[int, int]


def ring_optimum(instance: Instance, ring_ids: Int64s, *, seconds: float = 60.0) -> Overlay:
    """Fingers of the highest TcoSuppR; phases in which none helps have no finger."""
    if instance.nodes > MOST_NODES:
        raise WeftError(f"{instance.nodes} nodes are too many: the best fingers are found for {MOST_NODES} at most.")
    program = _Program(instance, ring_ids)
    while True:
        chosen = program.solution(seconds)
        if not program.forbid_cycles(chosen):
            sources, targets = np.array(program.fingers_of(chosen), np.int64).reshape(-1, 2).T
            return overlay_from_links(instance.nodes, sources, targets, algorithm="ring-optimum")


class _Program:
    def __init__(self, instance: Instance, ring_ids: Int64s) -> None:
        nodes, size = range(instance.nodes), instance.nodes
        self.fingers = [(v, w) for v in nodes for w in nodes if v != w]
        self.forest: list[tuple[int, Pair]] = []  # topic and pair
        for topic in range(instance.topics):
            subscribers = sorted(instance.subscribers[topic].tolist())
            self.forest += [(topic, pair) for pair in combinations(subscribers, 2)]
        self._place = {edge: len(self.fingers) + n for n, edge in enumerate(self.forest)}
        self._rows: list[tuple[dict[int, float], float]] = []  # coefficients by variable, and what the sum is at most
        of_phase: dict[Pair, list[int]] = {}
        for n, (v, w) in enumerate(self.fingers):
            distance = int(clockwise(int(ring_ids[v]), int(ring_ids[w]), size))
            of_phase.setdefault((v, phase(distance)), []).append(n)
        self._rows += [(dict.fromkeys(fingers, 1.0), 1.0) for fingers in of_phase.values()]
        number = {finger: n for n, finger in enumerate(self.fingers)}
        for edge, place in self._place.items():
            v, w = edge[1]
            self._rows.append(({place: 1.0, number[v, w]: -1.0, number[w, v]: -1.0}, 0.0))
        for topic in range(instance.topics):
            if instance.subscribers.counts[topic] > 1:
                self._forest_within(topic, set(instance.subscribers[topic].tolist()))

    def solution(self, seconds: float) -> Int64s:
        """The variables that are 1."""
        count = len(self.fingers) + len(self.forest)
        if not self.forest:
            return np.empty(0, np.int64)
        columns = np.array([column for row, _ in self._rows for column in row])
        values = np.array([value for row, _ in self._rows for value in row.values()])
        indptr = np.append(0, np.cumsum([len(row) for row, _ in self._rows]))
        matrix = sparse.csr_array((values, columns, indptr), shape=(len(self._rows), count))
        found = milp(
            np.append(np.full(len(self.fingers), 1e-6), np.full(len(self.forest), -1.0)),  # no finger for nothing
            integrality=np.ones(count, np.int64),
            bounds=Bounds(0, 1),
            constraints=LinearConstraint(matrix, ub=np.array([most for _, most in self._rows])),
            options={"time_limit": seconds, "mip_rel_gap": 0.0},
        )
        if not found.success:
            raise WeftError(f"No optimum within {seconds:g} seconds: the instance is too large for it.")
        return np.flatnonzero(found.x > 0.5)

    def fingers_of(self, chosen: Int64s) -> list[Pair]:
        return [self.fingers[n] for n in chosen.tolist() if n < len(self.fingers)]

    def forbid_cycles(self, chosen: Int64s) -> bool:
        """Add rows for the topics whose links have a cycle; whether there are any."""
        links: dict[int, list[Pair]] = {}
        for n in chosen.tolist():
            if n >= len(self.fingers):
                topic, pair = self.forest[n - len(self.fingers)]
                links.setdefault(topic, []).append(pair)
        found = False
        for topic, pairs in links.items():
            for nodes in _connected(pairs):
                if sum(v in nodes for v, _ in pairs) >= len(nodes):
                    self._forest_within(topic, nodes)
                    found = True
        return found

    def _forest_within(self, topic: int, nodes: set[int]) -> None:
        inside = [self._place[topic, pair] for pair in combinations(sorted(nodes), 2)]
        self._rows.append((dict.fromkeys(inside, 1.0), len(nodes) - 1.0))


def _connected(pairs: list[Pair]) -> list[set[int]]:
    """The nodes that links connect, in sets."""
    ends = np.array(pairs).T
    size = int(ends.max()) + 1
    graph = sparse.coo_array((np.ones(len(pairs)), (ends[0], ends[1])), shape=(size, size))
    part = csgraph.connected_components(graph, directed=False)[1]
    return [set(np.flatnonzero(part == each).tolist()) for each in np.unique(part[ends[0]])]
