"""Vitis' patterns (section 4, experimental setup): topics in buckets, and nodes that pick buckets first.

The topics are divided evenly into buckets of consecutive topics. Every node picks some of the buckets, each
set of them being equally likely, and from each the same number of topics, again uniformly. The fewer buckets
a node picks, the more two nodes have in common if they have anything in common.

    random   no buckets: 50 of the 1,000 topics, which is Unif
    low      20 buckets, 5 picked, 10 of the 50 topics of each
    high     20 buckets, 2 picked, 25 of the 50 topics of each
"""

from dataclasses import dataclass

import numpy as np

from weft.arrays import Int32s, Int64s
from weft.errors import WeftError
from weft.kernels.draw.distinct import draw_rows
from weft.workloads.regular import Regular, require_count
from weft.workloads.synthetic import Unif


@dataclass(frozen=True)
class Bucketed(Regular):
    subscriptions: int = 50  # a multiple of picked
    buckets: int = 20  # divides topics
    picked: int = 5  # buckets of a node, from 1 to buckets

    def __post_init__(self) -> None:
        super().__post_init__()
        require_count("buckets", self.buckets)
        require_count("picked", self.picked)
        if self.picked > self.buckets:
            raise WeftError(
                f"`picked` {self.picked} is more than `buckets` {self.buckets}: pick fewer.", "picked", "buckets"
            )
        if self.topics % self.buckets:
            raise WeftError(
                f"`topics` {self.topics} is no multiple of `buckets` {self.buckets}: all have one size.",
                "topics",
                "buckets",
            )
        if self.subscriptions % self.picked:
            raise WeftError(
                f"`subscriptions` {self.subscriptions} is no multiple of `picked` {self.picked}: "
                "a node takes the same number of topics from each bucket that it picks.",
                "subscriptions",
                "picked",
            )
        if self.share > self.bucket_size:
            raise WeftError(
                f"`subscriptions` {self.subscriptions} takes {self.share} topics from each of {self.picked} "
                f"buckets of {self.bucket_size}: give fewer subscriptions, more topics or fewer buckets.",
                "subscriptions",
            )

    @property
    def bucket_size(self) -> int:
        return self.topics // self.buckets

    @property
    def share(self) -> int:
        """Topics that a node takes from each bucket that it picks."""
        return self.subscriptions // self.picked

    def rows(self, seed: int, nodes: Int64s) -> Int32s:
        streams = nodes[:, np.newaxis] * (self.picked + 1) + np.arange(self.picked + 1)
        buckets = draw_rows(seed, streams[:, 0].copy(), self.picked, np.zeros(self.buckets))
        inside = draw_rows(seed, streams[:, 1:].ravel(), self.share, np.zeros(self.bucket_size))
        inside = inside.reshape(len(nodes), self.picked, self.share)
        topics = buckets[:, :, np.newaxis] * np.int32(self.bucket_size) + inside
        return topics.reshape(len(nodes), self.subscriptions)


def random(nodes: int, topics: int = 1_000, subscriptions: int = 50) -> Unif:
    return Unif(nodes, topics, subscriptions)


def low(nodes: int, topics: int = 1_000, subscriptions: int = 50, buckets: int = 20, picked: int = 5) -> Bucketed:
    return Bucketed(nodes, topics, subscriptions, buckets, picked)


def high(nodes: int, topics: int = 1_000, subscriptions: int = 50, buckets: int = 20, picked: int = 2) -> Bucketed:
    return Bucketed(nodes, topics, subscriptions, buckets, picked)
