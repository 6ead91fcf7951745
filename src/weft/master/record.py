"""What a master keeps, as records that a store has by kind and key; what was said last of a key holds.

cluster   ""       its name, the plan's version, the number that the next new node gets, claims of sessions so far
node      name     number, incarnation, addresses, place on the ring, whether it is up
fingers   number   the fingers that the node owns
spare     ""       links beside these, by their ends
filters   number   the filters that the node's clients hold; true where a persistent session does
others    number   of a node that is down, the filters of sessions that are not kept
session   client   its node, its subscriptions, and who else has parts of it
tree      topic    the tables of its members
quality   ""       what the plan was worth when it was designed
snapshot  fingerprint of the instance    the names of its nodes, in their order
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Record:
    kind: str
    key: str
    value: Any  # as JSON has it; None: it is gone


class Store(Protocol):
    """Where records are kept."""

    def records(self) -> Iterator[Record]:
        """All that there are."""
        ...

    def keep(self, records: Iterable[Record]) -> None:
        """All of them or none."""
        ...
