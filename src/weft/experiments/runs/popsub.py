"""Runs of PopSub's brokers: one way of handling unpopular publications, on a tree of brokers."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from weft.protocol.popsub.parameters import Way


@dataclass(frozen=True)
class Input:
    brokers: int = 200
    subscriptions: int = 22_000
    rate: float = 10.0  # publications a second and publisher
    exponent: float | None = None  # of a Zipf law; none: publishers are as popular as users of a social graph
    followers: str | None = None  # the folder of ego-Twitter; none: a generated graph
    latency: str | None = None  # a file; none: generated latencies


@dataclass(frozen=True)
class PopSubRun:
    input: Input
    way: Way
    phi: float  # 1 for the baseline, which has none
    seed: int

    @property
    def batch(self) -> Hashable:
        return self.input, self.seed

    @property
    def cost(self) -> float:
        return 1e-7 * self.input.subscriptions * self.input.rate * 60

    def measure(self) -> dict[str, Any]:
        from weft.experiments.measures.popsub import measure_popsub

        return measure_popsub(self)
