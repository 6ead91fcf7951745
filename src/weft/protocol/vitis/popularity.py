"""A bound on how many nodes may have a node as their friend, which nobody's own table would keep.

A node accepts those that choose it as a friend as they come, the lower first, until there are as many as may be; who
is accepted stays so as long as it chooses the node. All others are refused, which the next heartbeat tells them, and
leave. The node's descriptor says that it is full, so that hardly anybody comes to be refused. Successors,
predecessors and small-world links are never refused: the ring would break, and each node has few of them.

The best are not preferred: if those accepted had to go for better ones, each would take a place elsewhere, where
another would have to go for it, and a change at one node would run through the network.
"""

from collections.abc import Iterable


class Popularity:
    def __init__(self, bound: int | None) -> None:
        self.bound = bound
        self.accepted: frozenset[int] = frozenset()
        self.refused: frozenset[int] = frozenset()

    @property
    def is_full(self) -> bool:
        return self.bound is not None and len(self.accepted) >= self.bound

    def chosen_by(self, choosers: Iterable[int]) -> None:
        """Take in who has the node as a friend."""
        now = frozenset(choosers)
        stayed = self.accepted & now
        room = None if self.bound is None else self.bound - len(stayed)
        self.accepted = stayed | frozenset(sorted(now - stayed)[:room])
        self.refused = now - self.accepted
