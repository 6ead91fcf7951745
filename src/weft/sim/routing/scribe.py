"""Scribe and iScribe."""

import numpy as np

from weft.arrays import Int32s, Int64s
from weft.kernels.routing.scribe import FROM_ROOT, TO_ROOT, children_of_all, scribe_runs
from weft.model.ring import clockwise
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
    roots, firsts, shorts = _rendezvous(network, topics, seed)
    scribe_runs(
        network.ring,
        direction,
        indptr,
        subscribers,
        topics,
        roots,
        firsts,
        shorts,
        starts,
        issuers,
        totals,
        load,
        trace,
    )


def _rendezvous(network: Network, topics: Int32s, seed: int) -> tuple[Int32s, Int32s, Int64s]:
    """Positions of the rendezvous points, of the first nodes from the topics' identifiers on, and how far these are."""
    ids, size = rendezvous(topics.astype(np.uint64), seed, network.ring_size).astype(np.int64), network.ring_size
    firsts = np.searchsorted(network.ids, ids) % network.nodes
    shorts, passed = clockwise(ids, network.ids[firsts], size), clockwise(network.ids[firsts - 1], ids, size)
    nearer = shorts < passed if network.forwarding.distance == "absolute" else shorts == 0
    roots = np.where(nearer, firsts, (firsts - 1) % network.nodes)
    return roots.astype(np.int32), firsts.astype(np.int32), shorts


def scribe_entries(network: Network, seed: int) -> Int64s:
    return _children(network, TO_ROOT, seed)


def iscribe_entries(network: Network, seed: int) -> Int64s:
    return _children(network, FROM_ROOT, seed)


def _children(network: Network, direction: int, seed: int) -> Int64s:
    """Children of every node in the trees of all topics."""
    topics = np.flatnonzero(network.subscribers.counts).astype(np.int32)
    indptr, subscribers = network.subscribers.indptr, network.subscribers.indices
    roots, firsts, shorts = _rendezvous(network, topics, seed)
    return children_of_all(network.ring, direction, indptr, subscribers, topics, roots, firsts, shorts)
