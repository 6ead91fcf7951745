"""Po, Pie and Pal."""

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
