"""What is counted while publications travel."""

from typing import NamedTuple

from weft.arrays import Int32s, Int64s
from weft.kernels.jit import leaf_jit

EXPECTED, DELIVERIES, REPEATED, MESSAGES, OVERHEAD, PATH_SUM, PATH_MAX = range(7)  # columns of totals
TOTALS = 7
SENT, RECEIVED = 0, 1  # columns of a load
SOURCE, TARGET, HOPS, DELIVERED = range(4)  # columns of a trace; hops are those since the issuer


class Tally(NamedTuple):
    total: Int64s  # a row of totals, for a run of publications: sums, but for the last column
    load: Int64s  # a row a node: the messages that it sent and received
    trace: Int32s  # a row a message, where the run is a single publication and somebody asks; else it is empty


@leaf_jit
def trace_message(tally: Tally, row: int, source: int, target: int, hops: int) -> None:
    """A message over the link that is so many hops from the issuer."""
    if row < len(tally.trace):
        tally.trace[row, SOURCE] = source
        tally.trace[row, TARGET] = target
        tally.trace[row, HOPS] = hops
        tally.trace[row, DELIVERED] = 0


@leaf_jit
def deliver(tally: Tally, path: int) -> None:
    """The last message counted has reached a subscriber that it was meant for."""
    tally.total[DELIVERIES] += 1
    tally.total[PATH_SUM] += path
    tally.total[PATH_MAX] = max(tally.total[PATH_MAX], path)
    if tally.total[MESSAGES] <= len(tally.trace):
        tally.trace[tally.total[MESSAGES] - 1, DELIVERED] = 1
