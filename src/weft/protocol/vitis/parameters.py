"""What the nodes of a Vitis network agree on."""

from dataclasses import dataclass
from math import inf
from typing import Literal, get_args

from weft.errors import WeftError

Form = Literal["product", "sum"]  # of the utility: formula (1) as it stands, or similarity + (1 / d)^n

RING = 1 << 62  # identifiers of nodes and topics
LOCALITY = 0.25  # n with locality: 16 to 21 % of the time for 5 to 13 % more relays on PlanetLab, see docs/vitis.md


@dataclass(frozen=True)
class Parameters:
    table: int = 30  # links that a node opens, from 3: see docs/vitis.md
    small_world: int = 2  # of them chosen by distance on the ring, beside successor and predecessor; below table - 2
    in_degree: int | None = None  # nodes that may have a node as their friend, from 1; None: as many as like
    view: int = 20  # random nodes that a node knows of, from 2
    shuffle: int = 8  # of them exchanged in a round, from 1 to view
    period: float = 1000.0  # milliseconds of a round, above 0
    patience: int = 5  # rounds without a sign of life after which a node counts as failed, from 2
    gateway_hops: int = 5  # between a node and its first gateway at most, from 0
    gateway_step: int | None = None  # a further gateway for every so many hops from the first, from 1; None: no other
    expiry: int = 8  # rounds that an unrenewed relay path or link stays in use, from 1: see docs/vitis.md
    memory: int = 60  # rounds that a publication is remembered, from 1
    exponent: float = 0.0  # n in formula (1), from 0: 0 is without locality, LOCALITY with it
    utility: Form = "product"
    floor: float = 1.0  # milliseconds; a shorter round trip counts as so long; above 0
    measured: bool = False  # nodes measure round trips of their links and estimate others, and do not know all

    def __post_init__(self) -> None:
        for name, least in LEAST.items():
            if not least <= getattr(self, name) < inf:
                raise WeftError(f"Vitis' parameter {name} is {getattr(self, name)}: give a finite number from {least}.")
        for name in ("period", "floor"):
            if not 0 < getattr(self, name) < inf:
                raise WeftError(f"Vitis' parameter {name} is {getattr(self, name)}: give a positive time.")
        for name in ("in_degree", "gateway_step"):
            if getattr(self, name) is not None and getattr(self, name) < 1:
                raise WeftError(f"Vitis' parameter {name} is {getattr(self, name)}: give a number from 1, or None.")
        if self.small_world > self.table - 3:
            raise WeftError(
                f"{self.small_world} small-world links leave no friend in a table of {self.table}: "
                "give a larger table or fewer of them."
            )
        if self.utility not in get_args(Form):
            raise WeftError(f"Vitis' parameter utility is {self.utility!r}: give one of {', '.join(get_args(Form))}.")
        if self.shuffle > self.view:
            raise WeftError(f"A shuffle of {self.shuffle} is larger than the view of {self.view}: shuffle less.")


LEAST = {
    "table": 3,
    "small_world": 0,
    "view": 2,
    "shuffle": 1,
    "patience": 2,
    "gateway_hops": 0,
    "expiry": 1,
    "memory": 1,
    "exponent": 0,
}
