"""What is counted while publications travel.

totals: a row for each run of publications, all sums but the last column.
load: a row a node, the messages that it sent and received.
trace: a row a message, for a run of a single publication; where nobody asks, the trace is empty and is not written.
"""

import numpy as np
import numpy.typing as npt

from weft.kernels.jit import jit

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]

EXPECTED, DELIVERIES, REPEATED, MESSAGES, OVERHEAD, PATH_SUM, PATH_MAX = range(7)  # columns of totals
TOTALS = 7
SENT, RECEIVED = 0, 1  # columns of a load
SOURCE, TARGET, HOPS, DELIVERED = range(4)  # columns of a trace; hops are those since the issuer


@jit
def deliver(total: Int64s, path: int, trace: Int32s) -> None:
    """The last message counted has reached a subscriber."""
    total[DELIVERIES] += 1
    total[PATH_SUM] += path
    total[PATH_MAX] = max(total[PATH_MAX], path)
    if total[MESSAGES] <= len(trace):
        trace[total[MESSAGES] - 1, DELIVERED] = 1


@jit
def trace_hop(trace: Int32s, row: int, source: int, target: int, hops: int) -> None:
    trace[row, SOURCE] = source
    trace[row, TARGET] = target
    trace[row, HOPS] = hops
    trace[row, DELIVERED] = 0


@jit
def mark(slots: Int32s, own: Int32s) -> None:
    """Nodes learn their index among the subscribers at hand; the slot of all others is -1."""
    for slot in range(len(own)):
        slots[own[slot]] = slot


@jit
def unmark(slots: Int32s, own: Int32s) -> None:
    for slot in range(len(own)):
        slots[own[slot]] = -1
