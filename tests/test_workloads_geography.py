import numpy as np

from weft.workloads.geography import geographic_latency


def matrix(hosts, seed):
    latency = geographic_latency(hosts, seed)
    every = np.arange(hosts)
    return latency.round_trip(every[:, None], every)


def test_times_are_those_of_the_globe():
    times = matrix(300, 1)
    assert np.allclose(times, times.T)
    assert not times.diagonal().any()
    assert times.max() < 2 * 6.371 * 15 + 30  # through the earth, with suburbs and access
    nearest = np.sort(times, axis=1)[:, 1]
    assert np.median(nearest) < 15  # somebody lives in the same city
    assert np.median(times) > 80


def test_the_seed_decides():
    assert np.array_equal(matrix(20, 1), matrix(20, 1))
    assert not np.array_equal(matrix(20, 1), matrix(20, 2))
