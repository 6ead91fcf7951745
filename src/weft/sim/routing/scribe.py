"""Scribe and iScribe."""

import numpy as np

from weft.arrays import Int32s, Int64s
from weft.kernels.routing.scribe import FROM_ROOT, TO_ROOT, children_of_all, scribe_runs
from weft.protocol.rendezvous import rendezvous
from weft.sim.network import Network
from weft.sim.runs import Counted, Runs


def scribe(network: Network, runs: Runs, seed: int, counted: Counted) -> None:
    _scribe(network, TO_ROOT, runs, seed, counted)


def iscribe(network: Network, runs: Runs, seed: int, counted: Counted) -> None:
    _scribe(network, FROM_ROOT, runs, seed, counted)


def _scribe(network: Network, direction: int, runs: Runs, seed: int, counted: Counted) -> None:
    indptr, subscribers = network.subscribers.indptr, network.subscribers.indices
    topics, starts, issuers = runs.topics, runs.starts, runs.issuers
    totals, load, trace = counted
    roots = _rendezvous_positions(network, topics, seed)
    scribe_runs(network.ring, direction, indptr, subscribers, topics, roots, starts, issuers, totals, load, trace)


def _rendezvous_positions(network: Network, topics: Int32s, seed: int) -> Int32s:
    ids = rendezvous(topics.astype(np.uint64), seed, network.ring_size).astype(np.int64)
    return ((np.searchsorted(network.ids, ids, side="right") - 1) % network.nodes).astype(np.int32)


def scribe_entries(network: Network, seed: int) -> Int64s:
    return _children(network, TO_ROOT, seed)


def iscribe_entries(network: Network, seed: int) -> Int64s:
    return _children(network, FROM_ROOT, seed)


def _children(network: Network, direction: int, seed: int) -> Int64s:
    """Children of every node in the trees of all topics."""
    topics = np.flatnonzero(network.subscribers.counts).astype(np.int32)
    roots = _rendezvous_positions(network, topics, seed)
    return children_of_all(
        network.ring, direction, network.subscribers.indptr, network.subscribers.indices, topics, roots
    )
