"""What a routing kernel is given and what it counts."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from weft.arrays import Int32s, Int64s
from weft.kernels.routing.tally import TOTALS
from weft.sim.network import Network

NO_TRACE = np.empty((0, 4), np.int32)


@dataclass(frozen=True, eq=False)
class Runs:
    """Publications ordered by topic; run r is those from starts[r] to starts[r + 1]."""

    topics: Int32s
    starts: Int64s  # one more than topics
    issuers: Int32s  # positions, a row a publication


class Counted(NamedTuple):
    """Arrays that the kernels write, with the columns of weft.kernels.routing.tally."""

    totals: Int64s  # of every run
    load: Int64s  # of every position
    trace: Int32s  # a row a message, or empty


Kernel = Callable[[Network, Runs, int, Counted], None]  # the number is the seed, which places rendezvous points


def runs_of(topics: Int32s, issuers: Int32s) -> Runs:
    """Runs of publications that are in the order of their topics."""
    starts = np.flatnonzero(np.diff(topics, prepend=-1))
    return Runs(topics[starts], np.append(starts, len(topics)), issuers)


def nothing_counted(network: Network, runs: Runs, trace: Int32s = NO_TRACE) -> Counted:
    return Counted(np.zeros((len(runs.topics), TOTALS), np.int64), np.zeros((network.nodes, 2), np.int64), trace)
