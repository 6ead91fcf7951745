"""What an operator may set of a master. The comment of a field is the rule that validation enforces."""

from dataclasses import dataclass

from weft.errors import WeftError


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    gather: float = 0.05  # seconds that nodes which join are gathered for one change of the plan, at least 0
    grace: float = 1.0  # seconds that a node may be without its connection before it counts as failed, at least 0
    making: float = 3.0  # seconds that a link has to come up before others are given up without it, above 0
    settling: float = 5.0  # seconds after a re-design for which the links of before are kept, at least 0
    fan_out: int = 64  # neighbours of a node in a topic's tree, at least 2
    automatic: bool = True  # re-design when quality has fallen
    fall: float = 0.05  # relays a delivery more than when it was designed, from which it has, above 0
    uneven: float = 2.0  # times the share of the busiest node when it was designed, from which it has, above 1
    longer: float = 0.5  # hops more than when it was designed, from which it has, above 0
    rest: float = 60.0  # seconds between two designs at least, and after a change of nodes, at least 0
    gain: float = 0.1  # share of the relays or hops that a design must spare to be put in place by itself, 0 to 1
    review: float = 10.0  # seconds between two looks at the quality, above 0

    def __post_init__(self) -> None:
        for name in ("gather", "grace", "settling", "rest"):
            self._require(name, getattr(self, name) >= 0, "seconds from 0")
        for name in ("making", "fall", "longer", "review"):
            self._require(name, getattr(self, name) > 0, "a number above 0")
        self._require("fan_out", self.fan_out >= 2, "2 or more")
        self._require("uneven", self.uneven > 1, "a number above 1")
        self._require("gain", 0 <= self.gain <= 1, "a share from 0 to 1")

    def _require(self, name: str, holds: bool, rule: str) -> None:
        if not holds:
            raise WeftError(f"`{name}` is {getattr(self, name)}: give {rule}.", name)
