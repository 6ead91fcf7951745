"""Scribe and iScribe."""

import numpy as np

from weft.arrays import Int32s
from weft.kernels.routing.scribe import FROM_ROOT, TO_ROOT, scribe_runs
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
