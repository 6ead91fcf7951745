"""Who a node is."""

from dataclasses import dataclass

from weft.wire.frame import NOBODY


@dataclass(frozen=True, slots=True)
class Identity:
    name: str  # the operator's
    cluster: str
    incarnation: int  # drawn anew where the data folder is new; never 0
    address: str = ""  # where it takes links
    listeners: tuple[str, ...] = ()  # where it takes clients
    node: int = NOBODY  # the number that the master gave it, if it did
