"""Po, Pie and Pal."""

import numpy as np

from weft.arrays import Int64s
from weft.kernels.routing.convey import NO_PIVOT, PIVOT_ALWAYS, PIVOT_IF_FINGER, convey_runs
from weft.sim.network import Network
from weft.sim.runs import Counted, Runs


def po(network: Network, runs: Runs, seed: int, counted: Counted) -> None:
    _convey(network, NO_PIVOT, runs, counted)


def pie(network: Network, runs: Runs, seed: int, counted: Counted) -> None:
    _convey(network, PIVOT_IF_FINGER, runs, counted)


def pal(network: Network, runs: Runs, seed: int, counted: Counted) -> None:
    _convey(network, PIVOT_ALWAYS, runs, counted)


def _convey(network: Network, pivot: int, runs: Runs, counted: Counted) -> None:
    indptr, subscribers = network.subscribers.indptr, network.subscribers.indices
    topics, starts, issuers = runs.topics, runs.starts, runs.issuers
    totals, load, trace = counted
    convey_runs(
        network.ring,
        pivot,
        network.most_pivots,
        indptr,
        subscribers,
        topics,
        starts,
        issuers,
        totals,
        load,
        trace,
    )


def entries(network: Network, seed: int) -> Int64s:
    """The nearest subscriber to each topic that others subscribe to, and the topics of all that may be next hops."""
    wanted = network.subscribers.transpose().counts
    sizes = network.subscribers.counts
    alone = network.subscribers.indices[np.repeat(sizes == 1, sizes)]
    nearest = np.count_nonzero(sizes) - np.bincount(alone, minlength=network.nodes)
    known = network.pivots
    positions = np.repeat(np.arange(network.nodes), known.starts[:, -1] - known.starts[:, 0])
    ends = (positions + known.values) % network.nodes
    return (nearest + np.bincount(positions, wanted[ends], minlength=network.nodes)).astype(np.int64)
