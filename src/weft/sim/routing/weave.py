"""Weave, over the trees of the network."""

from weft.arrays import Int64s
from weft.kernels.routing.weave import weave_runs
from weft.sim.network import Network
from weft.sim.runs import Counted, Runs


def weave(network: Network, runs: Runs, seed: int, counted: Counted) -> None:
    indptr, subscribers = network.subscribers.indptr, network.subscribers.indices
    trees, (totals, load, trace) = network.woven, counted
    weave_runs(
        network.links,
        indptr,
        subscribers,
        trees.indptr,
        trees.members,
        trees.parents,
        runs.topics,
        runs.starts,
        runs.issuers,
        totals,
        load,
        trace,
    )


def entries(network: Network, seed: int) -> Int64s:
    """Neighbours of every node in the trees of all topics."""
    return network.woven.entries
