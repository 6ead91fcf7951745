"""Workloads in which every node has the same number of subscriptions.

A node's row depends on the seed and the node alone, so any slice of the nodes can be made anywhere.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from weft.arrays import Int32s, Int64s
from weft.errors import WeftError
from weft.model.csr import Csr
from weft.model.instance import LIMIT

Pairs = tuple[Int32s, Int32s]  # nodes and their topics, one entry a subscription


def require_count(option: str, value: int) -> None:
    if not 1 <= value <= LIMIT:
        raise WeftError(f"`{option}` {value} is out of range: give a number from 1 to {LIMIT}.", option)


@dataclass(frozen=True)
class Regular(ABC):
    nodes: int  # at least 1
    topics: int = 1_000  # at least 1
    subscriptions: int = 20  # of each node, from 1 to topics

    def __post_init__(self) -> None:
        for option in ("nodes", "topics", "subscriptions"):
            require_count(option, getattr(self, option))
        if self.subscriptions > self.topics:
            raise WeftError(
                f"`subscriptions` {self.subscriptions} is more than `topics` {self.topics}: "
                "a node subscribes to a topic once. Give fewer subscriptions or more topics.",
                "subscriptions",
                "topics",
            )

    @abstractmethod
    def rows(self, seed: int, nodes: Int64s) -> Int32s:
        """The topics of each of the nodes, ascending: one row a node."""

    def pairs(self, seed: int, first: int, last: int) -> Pairs:
        """The subscriptions of the nodes from `first` to before `last`."""
        nodes = np.arange(first, last, dtype=np.int64)
        topics = self.rows(seed, nodes)
        return np.repeat(nodes.astype(np.int32), self.subscriptions), topics.ravel()

    def interest(self, seed: int) -> Csr:
        topics = self.rows(seed, np.arange(self.nodes, dtype=np.int64))
        indptr = np.arange(self.nodes + 1, dtype=np.int64) * self.subscriptions
        return Csr(indptr, topics.ravel(), self.topics)
