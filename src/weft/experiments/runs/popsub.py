"""Runs of PopSub's brokers: one way of handling unpopular publications, on a tree of brokers, by one reading of the
paper where it leaves something open."""

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from weft.protocol.popsub.parameters import Way

if TYPE_CHECKING:
    from weft.workloads.popsub import Wanted


@dataclass(frozen=True)
class Input:
    brokers: int = 200
    subscriptions: int = 22_000
    rate: float = 10.0  # publications a second and publisher
    exponent: float | None = None  # of a Zipf law over classes; none: by the followers of users of a social graph
    followers: str | None = None  # the folder of ego-Twitter; none: a generated graph
    latency: str | None = None  # a file; none: generated latencies
    nearest: int | None = None  # hosts that a host is linked to; none: all, as in section 5.1
    wanted: "Wanted" = "half"


@dataclass(frozen=True)
class Power:
    """What brokers can do: by the paper's words what was measured, and every forward over a link takes a unit."""

    share: float = 1.0  # of the measured publications a second
    additional: float | None = 1.0  # of a unit, for each link but the first; none: writing only, as measured
    batch_gain: float | None = None  # at most; none: as measured


@dataclass(frozen=True)
class PopSubRun:
    input: Input
    way: Way
    phi: float  # 1 for the baseline, which has none
    seed: int
    power: Power = field(default_factory=Power)
    sweep: bool = False  # of gossip: the paper's has none

    @property
    def batch(self) -> Hashable:
        return self.input, self.seed

    @property
    def cost(self) -> float:
        return 1e-7 * self.input.subscriptions * self.input.rate * 60

    def measure(self) -> dict[str, Any]:
        from weft.experiments.measures.popsub import measure_popsub

        return measure_popsub(self)
