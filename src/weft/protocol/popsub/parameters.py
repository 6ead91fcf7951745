"""Parameters of PopSub's brokers. Times are in milliseconds; all brokers of a network have the same parameters."""

from dataclasses import dataclass
from enum import StrEnum
from math import isfinite
from typing import Literal

from weft.errors import WeftError


class Way(StrEnum):
    """What is done with publications that are unpopular on a link."""

    TREE = "tree"  # the same as with popular ones: the baseline, which evaluates nothing
    DIRECT = "direct"
    BATCH = "batch"
    GOSSIP = "gossip"
    LPBCAST = "lpbcast"  # gossip in one group of all brokers, to compare with: in the simulation only
    ADAPTIVE = "adaptive"  # one of the three, chosen for each link and advertisement


@dataclass(frozen=True)
class Parameters:
    diameter: float  # the longest time between two brokers, along the tree or out of it
    capacity: float  # publications/s that a broker can forward
    phi: float = 0.05  # share of the capacity that is for popular publications, in (0, 1]
    evaluation: float = 2_000.0  # between evaluations of popularity
    tolerance: float = 0.1  # share of the capacity to fill that may be missed before it is planned again
    batch_timeout: float = 3_000.0
    batch_by: Literal["entry", "link"] = "entry"  # whose publications a batch has: an advertisement's, or all of a link
    round: float = 10_000.0  # between two gossips of a member
    fanout: int = 2  # members that a gossip is sent to
    view: int = 10  # members that a member knows
    history: int | None = None  # publications that a gossip pushes at most, and that its digest has; None: all
    digest_rounds: int = 5  # how long a member announces a publication
    sweep: bool = True  # whether issuers ask who lacks what gossip had its time for: without, delivery is likely only
    sweep_rounds: int = 6  # how long a publication is left to gossip before its issuer asks who lacks it, at least 1
    reorder: float | None = None  # how long a publication out of order is held back; None delivers as they come
    congestion: float = 100.0  # a queue that takes longer than this to work off is overload: adaptive only

    def __post_init__(self) -> None:
        if not 0.0 < self.phi <= 1.0:
            raise WeftError(f"phi is {self.phi}: give a share of the capacity above 0 and at most 1.")
        if not (isfinite(self.diameter) and self.diameter >= 0.0 and self.capacity > 0.0):
            raise WeftError(f"Diameter {self.diameter} and capacity {self.capacity} must be finite and positive.")
        if min(self.evaluation, self.batch_timeout, self.round) <= 0.0 or min(self.fanout, self.view) < 1:
            raise WeftError("The times, the fan-out and the view of PopSub must be above 0.")
        if self.sweep_rounds < 1 or self.digest_rounds < 0:
            raise WeftError("The rounds until a sweep must be at least 1, and those of a digest at least 0.")

    @property
    def to_fill(self) -> float:
        """Publications/s that are planned for the tree."""
        return self.capacity * self.phi

    @property
    def digest_time(self) -> float:
        return self.digest_rounds * self.round

    @property
    def sweep_time(self) -> float:
        """How long an issuer keeps what it gossips: until a sweep, or for the time that a hand-over takes."""
        return self.sweep_rounds * self.round if self.sweep else self.answer_time

    @property
    def sweep_age(self) -> float:
        """The age of what a sweep announces, so that there is one sweep a round at most; or of what is forgotten."""
        return self.sweep_time - self.round if self.sweep else self.diameter

    @property
    def answer_time(self) -> float:
        """Time from announcing what there is until the other brokers have what they asked for: there and back."""
        return 2.0 * self.diameter

    @property
    def memory(self) -> float:
        """How long the numbers of publications are remembered: longer than any copy can be under way.

        A member has a publication within a sweep and its answer, announces it for `digest_time` and pushes it within a
        round; what is asked for then arrives within another answer. Without sweeps it is as long, and late copies are
        unlikely.
        """
        return self.sweep_rounds * self.round + self.digest_time + self.round + 2.0 * self.answer_time
