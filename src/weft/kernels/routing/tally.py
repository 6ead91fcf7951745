"""What is counted while publications travel."""

from typing import NamedTuple

from weft.arrays import Int32s, Int64s
from weft.kernels.jit import leaf_jit

# Columns of totals. Arrivals are those of messages where they were sent to, whether that node subscribes or not.
EXPECTED, DELIVERIES, REPEATED, MESSAGES, OVERHEAD, PATH_SUM = range(6)
ARRIVALS, ARRIVAL_SUM = 6, 7  # and the hops of these from the issuer
ANSWERED, MEAN_SUM = 8, 9  # publications with a delivery, and the mean paths of these, in MICRO hops
PATH_MAX = 10
TOTALS = 11
MICRO = 1_000_000  # of a hop: integers add up to the same in any order
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
def end_publication(tally: Tally, deliveries: int, paths: int) -> None:
    """Counts the mean path of a publication, before which there were so many deliveries and hops to them."""
    count = tally.total[DELIVERIES] - deliveries
    if count > 0:
        tally.total[ANSWERED] += 1
        tally.total[MEAN_SUM] += ((tally.total[PATH_SUM] - paths) * MICRO + count // 2) // count


@leaf_jit
def deliver(tally: Tally, path: int) -> None:
    """The last message counted has reached a subscriber that it was meant for."""
    tally.total[DELIVERIES] += 1
    tally.total[PATH_SUM] += path
    tally.total[PATH_MAX] = max(tally.total[PATH_MAX], path)
    if tally.total[MESSAGES] <= len(tally.trace):
        tally.trace[tally.total[MESSAGES] - 1, DELIVERED] = 1


@leaf_jit
def deliver_all(tally: Tally, count: int, paths: int, longest: int) -> None:
    """Counts all deliveries of a publication, at least one; each subscriber is where its message was sent to."""
    total = tally.total
    deliveries, before = total[DELIVERIES], total[PATH_SUM]
    total[DELIVERIES] += count
    total[PATH_SUM] += paths
    total[PATH_MAX] = max(total[PATH_MAX], longest)
    total[ARRIVALS] += count
    total[ARRIVAL_SUM] += paths
    end_publication(tally, deliveries, before)
