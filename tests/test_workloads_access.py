"""Latencies between homes: nobody is near by accident, and access lines differ much."""

import numpy as np

from weft.model.latency import MatrixLatency
from weft.workloads.access import ACCESS, SCALE, home_latency

HOSTS = 10


def hosts(seed=1):
    trips = np.random.default_rng(seed).uniform(50, 200, (HOSTS, HOSTS))
    trips = (trips + trips.T) / 2
    np.fill_diagonal(trips, 0.0)
    return trips


def access_of(latency):
    """What each node adds, from all round trips of nodes on hosts that are 0 ms apart."""
    return (latency.matrix.sum(axis=1) - latency.matrix.sum() / (2 * (latency.nodes - 1))) / (latency.nodes - 2)


def test_a_round_trip_is_shortened_and_has_the_access_of_both_ends():
    """Where hosts are all equally far apart, so are nodes, but for their access."""
    latency = home_latency(MatrixLatency(100.0 * (1 - np.eye(HOSTS))), 400, seed=3)
    access = access_of(latency) - SCALE * 50.0
    v, w = np.nonzero(~np.eye(400, dtype=bool))
    assert np.allclose(latency.round_trip(v, w), 100.0 * SCALE + access[v] + access[w])
    assert access.min() > 0
    assert abs(access.mean() / ACCESS - 1) < 0.2
    assert abs(access.std() / ACCESS - 1) < 0.3  # as of an exponential distribution


def test_nodes_on_one_host_are_as_far_apart_as_any():
    """A hundred nodes on each of ten hosts: no pair is nearer than the nearest hosts are."""
    trips = hosts()
    latency = home_latency(MatrixLatency(trips), 1000, seed=1)
    apart = ~np.eye(1000, dtype=bool)
    assert latency.matrix[apart].min() > SCALE * trips[~np.eye(HOSTS, dtype=bool)].min()
    assert np.array_equal(latency.matrix, latency.matrix.T)
    assert np.all(np.diag(latency.matrix) == 0)


def test_a_time_of_zero_was_not_measured():
    trips = hosts()
    trips[2, 5] = trips[5, 2] = 0.0
    latency = home_latency(MatrixLatency(trips), HOSTS, seed=1)
    assert latency.matrix[~np.eye(HOSTS, dtype=bool)].min() > SCALE * 50


def test_homes_are_the_same_each_time():
    one, other, another = (home_latency(MatrixLatency(hosts()), 30, seed).matrix for seed in (1, 1, 2))
    assert np.array_equal(one, other)
    assert not np.array_equal(one, another)
