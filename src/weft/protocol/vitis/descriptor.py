"""Descriptors, by which nodes learn of others: number, place on the ring, interest, and age of the information.

The age counts the rounds since the node itself said so, except for the time spent on links. It grows from
round to round and from node to node, so that all copies of a node that has failed grow too old together.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Descriptor:
    node: int
    ring_id: int
    interest: tuple[int, ...]  # topics, ascending
    age: int = 0  # rounds
    is_full: bool = False  # as many have it as their friend as may

    def older(self) -> "Descriptor":
        return replace(self, age=self.age + 1)


def freshest(descriptors: Iterable[Descriptor]) -> dict[int, Descriptor]:
    """The freshest descriptor of each node."""
    best: dict[int, Descriptor] = {}
    for descriptor in descriptors:
        known = best.get(descriptor.node)
        if known is None or descriptor.age < known.age:
            best[descriptor.node] = descriptor
    return best
