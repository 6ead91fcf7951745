"""Interests drawn one by one (DC paper, section VIII-A): node v subscribes to topic t with probability q(t).

q(t) = min(1, c p(t)), with p(t) of Unif, Zipf or Expo as in `synthetic.py`, and c such that a node has the wanted
number of subscriptions on average. Nodes differ in that number, unlike those of `synthetic.py`, and DCBC lives on it:
where all have as many, its lead over DC shrinks, and is lost under Unif with many subscriptions and few topics.
"""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from weft.arrays import Floats
from weft.errors import WeftError
from weft.kernels.draw.independent import draw_independently
from weft.model.csr import Csr
from weft.workloads.regular import Pairs, require_count
from weft.workloads.synthetic import Expo, Unif, Zipf

Popularity = Literal["unif", "zipf", "expo"]

LAWS = {"unif": Unif, "zipf": Zipf, "expo": Expo}


@dataclass(frozen=True)
class Independent:
    nodes: int  # at least 1
    topics: int = 1_000  # at least 1
    subscriptions: float = 20  # of a node in the mean, up to the number of topics
    popularity: Popularity = "unif"

    def __post_init__(self) -> None:
        for option in ("nodes", "topics"):
            require_count(option, getattr(self, option))
        if self.popularity not in LAWS:
            names = ", ".join(get_args(Popularity))
            raise WeftError(f"`popularity` is {self.popularity!r}: choose one of {names}.", "popularity")
        if not 0 < self.subscriptions <= self.topics:
            raise WeftError(
                f"`subscriptions` {self.subscriptions} is out of range: give a number above 0, up to {self.topics}, "
                "the topics.",
                "subscriptions",
            )

    def pairs(self, seed: int, first: int, last: int) -> Pairs:
        """The subscriptions of the nodes from `first` to before `last`."""
        nodes = np.arange(first, last, dtype=np.int64)
        counts, topics = draw_independently(seed, nodes, self.probabilities())
        return np.repeat(nodes.astype(np.int32), counts), topics

    def interest(self, seed: int) -> Csr:
        counts, topics = draw_independently(seed, np.arange(self.nodes, dtype=np.int64), self.probabilities())
        return Csr(np.append(0, np.cumsum(counts)), topics, self.topics)

    def probabilities(self) -> Floats:
        weights = np.exp(LAWS[self.popularity](nodes=1, topics=self.topics, subscriptions=1).log_weights())
        return probabilities(weights, self.subscriptions)


def probabilities(weights: Floats, total: float) -> Floats:
    """min(1, c * weights), whose sum is the given total; weights descend."""
    certain = np.arange(len(weights))  # how many topics everybody subscribes to
    factors = (total - certain) / np.cumsum(weights[::-1])[::-1]
    fits = np.flatnonzero(factors * weights <= 1)
    return np.minimum(1, factors[fits[0]] * weights) if len(fits) else np.ones(len(weights))
