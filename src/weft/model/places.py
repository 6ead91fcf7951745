"""Places: where nodes are, so that what goes from one place to another can be counted.

A place is a path such as `eu/fra/a`, whose levels are a region, a site, a rack: two nodes are apart at a level where
their paths differ up to there.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from weft.arrays import Bools, Int32s, Int64s
from weft.errors import WeftError

MOST = 2000  # places: what goes between two of them is counted for every pair
KINDS = 2  # of messages that are counted: contents, and notifications of them


@dataclass(frozen=True, eq=False)
class Places:
    names: tuple[str, ...]  # each place once
    numbers: Int32s  # of every node: its place

    def of(self, nodes: int) -> "Places":
        """The places themselves, if they are of so many nodes."""
        if len(self.numbers) != nodes:
            raise WeftError(f"The places are of {len(self.numbers)} nodes and not of {nodes}: give one for every node.")
        return self

    def nothing_counted(self) -> Int64s:
        """Counts of messages between places: [kind, place, place]."""
        return np.zeros((KINDS, len(self.names), len(self.names)), np.int64)

    @property
    def levels(self) -> int:
        return max((name.count("/") + 1 for name in self.names), default=1)

    def are_apart(self, level: int) -> Bools:
        """Whether two places differ in the first `level` parts of their paths: [place, place]."""
        parts = np.unique(["/".join(name.split("/")[:level]) for name in self.names], return_inverse=True)[1]
        return np.asarray(parts[:, None] != parts)


def places_of(names: Sequence[str]) -> Places:
    """The places of all nodes, from the name of each one's."""
    known, numbers = np.unique(np.array([str(name) for name in names], np.object_), return_inverse=True)
    if len(known) > MOST:
        raise WeftError(f"There are {len(known)} places, and traffic is counted between {MOST} at most: name fewer.")
    return Places(tuple(known.tolist()), numbers.astype(np.int32))


def one_place(nodes: int) -> Places:
    return Places(("",), np.zeros(nodes, np.int32))
