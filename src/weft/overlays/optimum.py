"""The fewest links of any topic-connected overlay, for small instances: what the greedy is measured against.

An integer program has a 0/1 variable for every pair of nodes that share a topic. For a topic and a division of its
subscribers into k parts, at least k - 1 of the pairs between different parts must be links; all such rows together say
that every topic is connected. There are too many to write down. So the program starts with the divisions into single
nodes and into one node and the rest; where its answer leaves a topic in parts, it gets the row of these parts, and one
for each part against the rest, and is solved again (by HiGHS).
"""

from dataclasses import dataclass, field

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csgraph

from weft.arrays import Bools, Int32s, Int64s
from weft.errors import WeftError
from weft.model.instance import Instance
from weft.model.overlay import Overlay, overlay_from_links

MOST_PAIRS = 5_000


def optimum(instance: Instance, *, seconds: float = 60.0) -> Overlay:
    """A topic-connected overlay of the fewest links."""
    interest = instance.interest.matrix(np.int32)
    sources, targets = sparse.triu(interest @ interest.T, 1).nonzero()
    if len(sources) > MOST_PAIRS:
        raise WeftError(f"{len(sources)} pairs of nodes share a topic: an optimum is found for {MOST_PAIRS} at most.")
    program = Program(sources.astype(np.int32), targets.astype(np.int32))
    topics = [nodes for nodes in map(instance.subscribers.__getitem__, range(instance.topics)) if len(nodes) > 1]
    for nodes in topics:
        program.divide(nodes, np.arange(len(nodes)))
    while True:
        chosen = program.solution(seconds)
        divided = sum(program.connect(nodes, chosen) for nodes in topics)
        if not divided:
            return overlay_from_links(instance.nodes, sources[chosen], targets[chosen], algorithm="optimum")


@dataclass
class Program:
    sources: Int32s
    targets: Int32s
    rows: list[tuple[Int64s, int]] = field(default_factory=list)  # of these pairs at least so many are links

    def solution(self, seconds: float) -> Bools:
        """Which pairs are links."""
        if not self.rows:
            return np.zeros(len(self.sources), np.bool_)
        columns = np.concatenate([pairs for pairs, _ in self.rows])
        indptr = np.append(0, np.cumsum([len(pairs) for pairs, _ in self.rows]))
        matrix = sparse.csr_array((np.ones(len(columns)), columns, indptr), shape=(len(self.rows), len(self.sources)))
        found = milp(
            np.ones(len(self.sources)),
            integrality=np.ones(len(self.sources), np.int64),
            bounds=Bounds(0, 1),
            constraints=LinearConstraint(matrix, lb=np.array([least for _, least in self.rows])),
            options={"time_limit": seconds},
        )
        if not found.success:
            raise WeftError(f"No optimum within {seconds:g} seconds: the instance is too large for it.")
        return np.asarray(found.x > 0.5)

    def connect(self, nodes: Int32s, chosen: Bools) -> bool:
        """Adds rows if the topic of these nodes is in parts; whether it is."""
        inside = chosen & np.isin(self.sources, nodes) & np.isin(self.targets, nodes)
        ends = np.searchsorted(nodes, self.sources[inside]), np.searchsorted(nodes, self.targets[inside])
        graph = sparse.coo_array((np.ones(len(ends[0])), ends), shape=(len(nodes), len(nodes)))
        parts, part = csgraph.connected_components(graph, directed=False)
        if parts > 1:
            self.divide(nodes, part)
        return bool(parts > 1)

    def divide(self, nodes: Int32s, part: Int64s | Int32s) -> None:
        """The topic of these nodes must not stay in these parts, nor any of the parts apart from the rest."""
        part_of = np.full(1 + int(max(self.targets.max(initial=0), nodes.max())), -1)
        part_of[nodes] = part
        one, other = part_of[self.sources], part_of[self.targets]
        across = (one >= 0) & (other >= 0) & (one != other)
        self.rows.append((np.flatnonzero(across), int(part.max())))
        self.rows += [(np.flatnonzero(across & ((one == each) | (other == each))), 1) for each in range(part.max() + 1)]
