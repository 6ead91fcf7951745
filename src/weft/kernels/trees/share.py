"""What every subscriber of a topic issues, on average."""

from weft.arrays import Floats, Int32s, Int64s
from weft.kernels.jit import jit


@jit
def add_shares(indptr: Int64s, subscribers: Int32s, shares: Floats, sent: Floats) -> None:
    for topic in range(len(shares)):
        for node in subscribers[indptr[topic] : indptr[topic + 1]]:
            sent[node] += shares[topic]
